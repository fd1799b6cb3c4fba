"""The report in a real browser, where there is one."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from odrpo.experiments.findings import Findings
from odrpo.experiments.record import CERTIFICATE
from odrpo.report import build_report
from tests.experiments.made_up import made_up
from tests.report.made_up import HOSTILE, some_records, with_a_long_variant

HOSTILE_FINDINGS = Findings(agrees=[HOSTILE], differs=[HOSTILE], ablations={"beta": HOSTILE})
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def shown_records() -> list:
    settings = {HOSTILE: HOSTILE}
    hostile = made_up("CartPole-v1", "odrpo-kl", 7, commit=HOSTILE, config=settings, refused=3)
    return [*some_records(), hostile, made_up(HOSTILE, "odrpo-kl", 8)]


@pytest.fixture
def page(tmp_path: Path, request: pytest.FixtureRequest):
    """The report in Chromium, of other records where a test asks for them; errors are collected."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    records = getattr(request, "param", shown_records)()
    (tmp_path / "report.html").write_text(build_report(records, HOSTILE_FINDINGS))
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


SCALE = "() => [chart.scales.x.min, chart.scales.x.max]"


def of_records(make: Callable[[], list]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", [make], indirect=True)


def coloured(page, chart: str = "chart") -> int:
    """Pixels of a chart that are drawn in some colour."""
    return page.evaluate(
        """(chart) => {
            const c = document.querySelector(`#${chart} canvas`);
            const p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            let n = 0;
            for (let i = 0; i < p.length; i += 4) {
                const [r, g, b, a] = p.slice(i, i + 4);
                if (a > 60 && Math.max(r, g, b) - Math.min(r, g, b) > 60) n++;
            }
            return n;
        }""",
        chart,
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
    page.select_option("#axis", "seconds")
    page.hover("#chart .u-over", position={"x": 200, "y": 100})
    assert "ODRPO-KL" in page.inner_text("#readout")
    assert page.errors == []


def test_variants_are_hidden_until_they_are_chosen(page) -> None:
    page.select_option("#task", "CartPole-v1")
    page.uncheck("#seeds")
    drawn = coloured(page)
    page.check("#variants")
    assert page.locator("#legend .methods button").count() == 4
    variant = "#legend button:has-text('held-beta')"
    assert page.get_attribute(variant, "aria-pressed") == "false"
    assert coloured(page) == drawn
    page.click(variant)
    assert coloured(page) > drawn
    for name, pressed in (("none", "false"), ("all", "true")):
        for button in page.locator(f"#legend .controls button:text-is('{name}')").all():
            button.click()
        states = page.locator(f"#legend .methods button[aria-pressed='{pressed}']")
        assert states.count() == 4
    assert coloured(page) > drawn
    page.uncheck("#variants")
    assert coloured(page) == drawn
    assert page.errors == []


def test_zooming_by_dragging_and_by_button(page) -> None:
    page.select_option("#task", "CartPole-v1")
    before = page.evaluate(SCALE)
    page.locator("#chart").scroll_into_view_if_needed()
    box = page.locator("#chart .u-over").bounding_box()
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 60)
    page.mouse.up()
    after = page.evaluate(SCALE)
    assert after[1] - after[0] < (before[1] - before[0]) / 2
    page.click(".zoom button[data-part='1']")
    assert page.evaluate(SCALE) == before
    page.click(".zoom button[data-part='0.1']")
    assert page.evaluate(SCALE)[1] == pytest.approx(before[1] / 10)
    page.dblclick("#chart .u-over")
    assert page.evaluate(SCALE) == before


@of_records(with_a_long_variant)
def test_hidden_variants_do_not_stretch_the_axis(page) -> None:
    for against, ends in (
        ("timesteps", [1e3, 1e4]),
        ("episodes", [100, 1e4]),
        ("seconds", [2, 200]),
    ):
        page.select_option("#axis", against)
        page.uncheck("#log")
        page.uncheck("#variants")
        assert page.evaluate(SCALE) == [0, ends[0]]
        page.check("#variants")
        page.click("#legend .controls:nth-child(3) button:text-is('all')")
        assert page.evaluate(SCALE) == [0, ends[1]]
        page.hover("#chart .u-over", position={"x": 400, "y": 100})
        assert page.inner_text("#readout").count("ODRPO-KL") == 1  # the other one has ended
        page.click("#legend .controls:nth-child(3) button:text-is('none')")
        assert page.evaluate(SCALE) == [0, ends[0]]
        page.click("#legend .controls:nth-child(1) button:text-is('none')")
        assert page.evaluate(SCALE) == [0, 1]
        page.click("#legend .controls:nth-child(1) button:text-is('all')")
    assert page.errors == []


def test_seconds_and_episodes_have_a_logarithmic_axis_at_first(page) -> None:
    page.select_option("#task", "CartPole-v1")
    middle = "() => chart.posToVal(chart.over.clientWidth / 2, 'x')"
    assert page.evaluate(middle) == pytest.approx(500)
    for against, begin, end in (("seconds", 0.02, 2), ("episodes", 20, 100)):
        page.select_option("#axis", against)
        assert page.is_checked("#log")
        assert page.evaluate(SCALE) == [begin, end]
        assert page.evaluate(middle) == pytest.approx((begin * end) ** 0.5, rel=0.01)
        assert coloured(page) > 500
        page.click(".zoom button[data-part='0.1']")
        assert page.evaluate(SCALE) == pytest.approx([begin, begin + (end - begin) / 10])
        page.dblclick("#chart .u-over")
        assert page.evaluate(SCALE) == [begin, end]
        page.uncheck("#log")
        assert page.evaluate(SCALE) == [0, end]
        assert page.evaluate(middle) == pytest.approx(end / 2, rel=0.01)
    page.select_option("#axis", "timesteps")
    assert not page.is_checked("#log")
    page.check("#log")
    assert page.evaluate(SCALE) == [10, 1000]
    page.click("#legend button:text-is('none')")
    assert page.errors == []


def test_places_on_a_logarithmic_axis_are_round(page) -> None:
    ticks = "([low, high, width]) => logarithmicTicks({ bbox: { width } }, 0, low, high)"
    assert page.evaluate(ticks, [0.3, 300, 200]) == pytest.approx([1, 10, 100])
    wide = [0.5, 1, 2, 5, 10, 20, 50, 100, 200]
    assert page.evaluate(ticks, [0.3, 300, 900]) == pytest.approx(wide)
    assert page.evaluate(ticks, [41, 58, 900]) == pytest.approx([45, 50, 55])


def with_unknown_certificates() -> list:
    """The second of five updates has no certificate; the other run has none at all."""
    updates = {name: [1.0, 2.0, 3.0, 4.0, 5.0] for name in CERTIFICATE}
    some = updates | {name: [1.0, None, 1.0, 1.0, 1.0] for name in ("gap", "distance")}
    none = updates | {name: [None] * 5 for name in ("gap", "distance")}
    return [
        made_up("CartPole-v1", "odrpo-kl", 0, updates=some),
        made_up("CartPole-v1", "odrpo-kl", 1, updates=none, largest_gap=None, largest_use=None),
    ]


@of_records(with_unknown_certificates)
def test_certificates_that_are_unknown_are_not_drawn(page) -> None:
    page.wait_for_selector("#gap canvas")
    for name, values in (
        ("gap", [0.5, None, 0.25, 0.2, 1 / 6]),
        ("use", [1, None, 1 / 3, 0.25, 0.2]),
    ):
        for number, drawn in ((0, values), (1, [None] * 5)):
            page.evaluate("(k) => { location.hash = `run-${k}`; }", number)
            page.wait_for_selector(f"#run-title:text('seed {number}')")
            found = page.evaluate("(name) => small[`run-${name}`].data[1]", name)
            assert found == [None if v is None else pytest.approx(v, rel=1e-4) for v in drawn]
            assert (coloured(page, f"run-{name}") > 0) == (number == 0)
            assert coloured(page, "run-beta") > 0
        parts = page.evaluate("(name) => small[name].data.slice(1).map((y) => y[1])", name)
        assert parts == [None, None]
    assert page.errors == []


def test_runs_are_listed_found_and_shown(page) -> None:
    page.fill("#search", "taxi ppo")
    assert page.inner_text("#found") == "3 of 21 runs"
    page.click("#list tbody tr >> nth=1")
    page.wait_for_selector("#run-title:text-is('Taxi-v4, PPO, seed 1')")
    assert page.locator("#run-curve canvas").count() == 1
    assert not page.is_visible("#tables")
    page.click("#back")
    assert page.is_visible("#tables")
    assert not page.is_visible("#run")
    page.fill("#search", "odrpo-kl cartpole 0")
    page.click("#list tbody tr >> nth=0")
    page.wait_for_selector("#run-gap canvas")
    assert page.locator("#run-gap canvas").count() == 1
    assert "radius" in page.inner_text("#run-config")
    assert "refused" not in page.inner_text("#run-facts")
    assert page.errors == []


def with_ties() -> list:
    """Runs in an order of their own, two gaps unknown and two the same."""
    gaps = [2e-7, None, 1e-7, 2e-7, None]
    return [made_up("CartPole-v1", "odrpo-kl", k, largest_gap=gap) for k, gap in enumerate(gaps)]


@of_records(with_ties)
def test_runs_are_sorted_by_keyboard_with_unknown_values_last(page) -> None:
    head = page.locator("#list th[data-key='gap']")
    for keys, order, seeds in (
        ("Enter", "ascending", ["2", "0", "3", "1", "4"]),
        ("Space", "descending", ["0", "3", "2", "1", "4"]),
    ):
        head.locator("button").focus()
        page.keyboard.press(keys)
        assert head.get_attribute("aria-sort") == order
        assert page.locator("#list tbody td:nth-child(3)").all_inner_texts() == seeds
    page.click("#list th button:text-is('seed')")
    assert page.locator("#list th[aria-sort]").all_inner_texts() == ["seed"]
    assert page.locator("#list tbody td:nth-child(3)").all_inner_texts() == list("01234")
    assert page.errors == []


def a_thousand_records() -> list:
    methods = ("odrpo-kl", "odrpo-wasserstein", "odrpo-sinkhorn", "ppo", "trpo")
    tasks = ("Taxi-v4", "CartPole-v1", "Acrobot-v1", "Pendulum-v1")
    kinds = [(env, method) for env in tasks for method in methods]
    return [made_up(*kinds[k % 20], k // 20, variant="held" * (k % 3 == 0)) for k in range(1000)]


@of_records(a_thousand_records)
def test_a_page_of_a_thousand_runs_is_filtered_and_opens_runs(page) -> None:
    assert page.inner_text("#found") == "1000 of 1000 runs"
    assert page.locator("#list tbody tr").count() == 100
    page.click("#more")
    assert page.locator("#list tbody tr").count() == 200
    page.check("#variants")
    page.select_option("#task", "Acrobot-v1")
    page.locator("#legend .controls button:text-is('all')").last.click()
    assert coloured(page) > 500
    page.fill("#search", "pendulum trpo 49")
    assert page.inner_text("#found") == "1 of 1000 runs"
    page.click("#list tbody tr")
    page.wait_for_selector("#run-title:text('Pendulum-v1, TRPO')")
    assert coloured(page, "run-curve") > 0
    page.click("#back")
    assert page.is_visible("#list")
    assert page.errors == []


def test_one_comes_back_to_where_one_was(page) -> None:
    row = page.locator("#list tbody a").nth(15)
    row.scroll_into_view_if_needed()
    before = page.evaluate("() => window.scrollY")
    row.click()
    page.wait_for_selector("#run", state="visible")
    assert page.evaluate("() => window.scrollY") == 0
    page.click("#back")
    page.wait_for_selector("#list", state="visible")
    assert page.evaluate("() => window.scrollY") == before > 0


def test_the_browsers_way_back_leads_there_too(page) -> None:
    page.click("#tiles a:has-text('CartPole-v1')")
    row = page.locator("#list tbody a").nth(15)
    row.scroll_into_view_if_needed()
    before = page.evaluate("() => window.scrollY")
    row.click()
    page.wait_for_selector("#run", state="visible")
    page.go_back()
    page.wait_for_selector("#list", state="visible")
    page.wait_for_function(f"() => window.scrollY === {before}")
    page.locator("#list tbody a").nth(15).click()
    page.click("nav a[href='#tables']")
    page.wait_for_selector("#tables", state="visible")
    assert 0 <= page.locator("#tables").bounding_box()["y"] < 100


def test_a_run_opened_first_leads_back_to_charts_that_fit(page) -> None:
    page.goto(page.url + "#run-0")
    page.reload()
    page.wait_for_selector("#run", state="visible")
    page.click("nav a[href='#curves']")
    width = page.locator("#chart").bounding_box()["width"]
    assert page.locator("#chart canvas").bounding_box()["width"] == pytest.approx(width, abs=2)
    tile = page.locator("#tiles a > div").first.bounding_box()["width"]
    assert page.locator("#tiles canvas").first.bounding_box()["width"] == pytest.approx(tile, abs=2)
    assert 0 <= page.locator("#curves").bounding_box()["y"] < 100
    assert page.errors == []


def test_every_task_has_a_small_chart_that_leads_to_the_large_one(page) -> None:
    assert page.locator("#tiles a").count() == page.locator("#task option").count() == 3
    assert page.locator("#key span").all_inner_texts() == ["ODRPO-KL", "ODRPO-Wass", "PPO"]
    page.click("#tiles a:has-text('CartPole-v1')")
    assert page.input_value("#task") == "CartPole-v1"
    assert page.locator("#legend .methods button").count() == 3
    assert 0 <= page.locator("#curves").bounding_box()["y"] < 100
    assert page.errors == []


def test_hostile_texts_stay_texts(page) -> None:
    page.select_option("#task", HOSTILE)
    page.fill("#search", "seed 7")
    page.click("#list tbody tr >> nth=0")
    page.wait_for_selector("#run-title:text('seed 7')")
    assert HOSTILE in page.inner_text("#run-config")
    assert "3 updates refused" in page.inner_text("#run-facts")
    assert page.evaluate("() => window.hurt") is None
    assert page.errors == []


def test_runs_and_names_are_reached_by_keyboard_and_when_scrolled(page) -> None:
    page.fill("#search", "taxi ppo 2")
    page.focus("#list tbody a")
    page.keyboard.press("Enter")
    page.wait_for_selector("#run-title:text-is('Taxi-v4, PPO, seed 2')")
    page.click("#back")
    names = page.locator("#last_tenth + .wide td:first-child").all_inner_texts()
    assert names[:2] == ["Taxi-v4", "Taxi-v4"]
    assert page.locator("#last_tenth + .wide td.again").first.inner_text() == "Taxi-v4"
    page.set_viewport_size({"width": 380, "height": 800})
    page.evaluate("() => { document.querySelector('#last_tenth + .wide').scrollLeft = 150; }")
    first = page.locator("#last_tenth + .wide td").first.bounding_box()
    assert 0 <= first["x"] < 20
    assert page.errors == []


WIDEST = """() => Math.max(document.documentElement.scrollWidth,
    ...[...document.querySelectorAll('.uplot')].map((u) => u.getBoundingClientRect().right))"""


@pytest.mark.parametrize("width", [380, 400])
def test_it_fits_a_phone_with_a_run_open(page, width: int) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.evaluate("() => { location.hash = 'run-0'; }")
    page.wait_for_selector("#run-gap canvas")
    wide = page.locator("#run-curve canvas").bounding_box()["width"]
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_timeout(500)
    assert page.evaluate(WIDEST) <= width
    page.click("nav a[href='#overview']")
    assert page.evaluate(WIDEST) <= width
    page.go_back()
    page.wait_for_selector("#run", state="visible")
    assert 250 < page.locator("#run-curve canvas").bounding_box()["width"] < wide
    at = page.evaluate("() => window.scrollY")
    page.evaluate("() => fitCharts()")
    assert page.evaluate("() => window.scrollY") == at
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_timeout(500)
    assert page.locator("#run-curve canvas").bounding_box()["width"] == wide
    assert page.errors == []


def test_the_legend_leaves_room_on_a_phone(page) -> None:
    page.set_viewport_size({"width": 380, "height": 800})
    page.select_option("#task", "CartPole-v1")
    page.check("#variants")
    page.evaluate(
        "() => { const [b] = document.querySelectorAll('.methods:last-child');"
        " for (let k = 0; k < 40; k++) b.append(b.lastChild.cloneNode(true)); }"
    )
    assert page.locator("#legend").bounding_box()["height"] < 400
