"""The page of results, in a real browser where there is one."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

from odrpo.experiments.findings import Findings
from odrpo.report import build_report
from odrpo.report.build import as_script
from odrpo.report.film import FRAMES, film_strip
from odrpo.report.pictures import picture_of
from tests.experiments.made_up import made_up

HOSTILE = "</script><script>window.hurt=1</script><img src=x onerror='window.hurt=1'>"
HOSTILE_FINDINGS = Findings(ablations={"beta": HOSTILE})
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def some_records() -> list:
    methods = ("odrpo-kl", "odrpo-wasserstein", "ppo")
    records = [
        made_up(env, method, seed, level=float(10 * k + seed))
        for env in ("Taxi-v4", "CartPole-v1")
        for k, method in enumerate(methods)
        for seed in range(3)
    ]
    records.append(made_up("CartPole-v1", "odrpo-kl", variant="held-beta"))
    return records


def test_the_page_needs_nothing_else() -> None:
    text = build_report(some_records(), Findings())
    assert not re.search(r'(src|href)="?(https?:)?//', text)
    assert "$" + "data" not in text


def test_data_cannot_leave_its_element() -> None:
    text = as_script({"name": HOSTILE, "both": "&<>"})
    assert not set("<>&") & set(text)
    assert json.loads(text)["name"] == HOSTILE


def test_a_thousand_runs_make_a_page_of_some_megabytes() -> None:
    records = [made_up("CartPole-v1", "odrpo-kl", seed) for seed in range(1000)]
    assert len(build_report(records, Findings())) < 12_000_000


def test_a_policy_of_a_grid_is_drawn(tmp_path: Path) -> None:
    import odrpo

    for env in ("CliffWalking-v1", "NChain-v0", "Taxi-v4", "CartPole-v1"):
        model = odrpo.ODRPO(env).learn(500, progress_bar=False)
        model.save(tmp_path / "model.odrpo")
        picture = picture_of(tmp_path / "model.odrpo")
        assert picture is not None
        assert picture.png.startswith(b"\x89PNG")
        assert env.split("-")[0] in picture.html()


def test_a_film_renders_the_moments_that_it_shows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import odrpo

    kept = []
    render = CartPoleEnv.render
    monkeypatch.setattr(CartPoleEnv, "render", lambda env: kept.append(env.state) or render(env))
    picture = film_strip(odrpo.ODRPO("CartPole-v1"))
    assert picture is not None
    assert len(kept) == FRAMES
    assert (np.diff([state[2] for state in kept]) != 0).all()  # the pole moves from one to the next


@pytest.fixture
def page(tmp_path: Path):
    """The report in Chromium; whatever goes wrong in it is collected."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    records = some_records()
    hostile = made_up("CartPole-v1", "odrpo-kl", 7, commit=HOSTILE, config={HOSTILE: HOSTILE})
    other = made_up(HOSTILE, "odrpo-kl", 8)
    (tmp_path / "report.html").write_text(
        build_report([*records, hostile, other], HOSTILE_FINDINGS)
    )
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 1100, "height": 900})
        view.errors = []
        view.on("pageerror", lambda error: view.errors.append(str(error)))
        view.on("console", lambda m: view.errors.append(m.text) if m.type == "error" else None)
        view.on("request", lambda r: view.errors.append(r.url) if "http" in r.url else None)
        view.goto((tmp_path / "report.html").as_uri())
        yield view
        browser.close()


def coloured(page) -> int:
    """Pixels of the large chart that are drawn in some colour."""
    return page.evaluate(
        """() => {
            const c = document.querySelector('#chart canvas');
            const p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            let n = 0;
            for (let i = 0; i < p.length; i += 4) {
                const [r, g, b, a] = p.slice(i, i + 4);
                if (a > 60 && Math.max(r, g, b) - Math.min(r, g, b) > 60) n++;
            }
            return n;
        }"""
    )


def test_curves_draw_and_switches_work(page) -> None:
    assert page.errors == []
    page.select_option("#task", "CartPole-v1")
    drawn = coloured(page)
    assert drawn > 500
    page.click("#legend button:has-text('PPO')")
    assert page.get_attribute("#legend button:has-text('PPO')", "aria-pressed") == "false"
    assert coloured(page) < drawn
    page.click("#legend button:has-text('PPO')")
    assert coloured(page) == drawn
    page.uncheck("#seeds")
    assert coloured(page) < drawn
    page.check("#variants")
    assert page.locator("#legend button").count() == 4
    page.select_option("#axis", "seconds")
    page.hover("#chart .u-over", position={"x": 200, "y": 100})
    assert "ODRPO-KL" in page.inner_text("#readout")
    assert page.errors == []


def test_zooming_by_dragging_and_by_button(page) -> None:
    page.select_option("#task", "CartPole-v1")
    scale = "() => [chart.scales.x.min, chart.scales.x.max]"
    before = page.evaluate(scale)
    box = page.locator("#chart .u-over").bounding_box()
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 60)
    page.mouse.up()
    after = page.evaluate(scale)
    assert after[1] - after[0] < (before[1] - before[0]) / 2
    page.click(".zoom button[data-part='1']")
    assert page.evaluate(scale) == before
    page.click(".zoom button[data-part='0.1']")
    assert page.evaluate(scale)[1] == pytest.approx(before[1] / 10)


def test_runs_are_listed_found_and_shown(page) -> None:
    page.fill("#search", "taxi ppo")
    assert page.inner_text("#found") == "3 of 21 runs"
    page.click("#list tbody tr >> nth=1")
    page.wait_for_selector("#run-title:text-is('Taxi-v4, PPO, seed 1')")
    assert page.locator("#run-curve canvas").count() == 1
    page.fill("#search", "odrpo-kl cartpole 0")
    page.click("#list tbody tr >> nth=0")
    page.wait_for_selector("#run-gap canvas")
    assert page.locator("#run-gap canvas").count() == 1
    assert "radius" in page.inner_text("#run-config")
    assert page.errors == []


def test_hostile_texts_stay_texts(page) -> None:
    page.select_option("#task", HOSTILE)
    page.fill("#search", "seed 7")
    page.click("#list tbody tr >> nth=0")
    page.wait_for_selector("#run-title:text('seed 7')")
    assert HOSTILE in page.inner_text("#run-config")
    assert page.evaluate("() => window.hurt") is None
    assert page.errors == []


def test_it_fits_a_phone(page) -> None:
    page.set_viewport_size({"width": 380, "height": 800})
    page.wait_for_timeout(300)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 380
