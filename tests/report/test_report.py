"""The page of results as text and data."""

import json
import re

import numpy as np
import pytest

from odrpo.experiments.findings import Findings
from odrpo.report import build_report
from odrpo.report.build import as_script
from odrpo.report.data import OTHERS, page_data
from odrpo.report.markdown import as_html
from tests.experiments.made_up import made_up
from tests.report.made_up import HOSTILE, some_records, with_a_long_variant


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


def test_curves_against_seconds_are_of_all_seeds() -> None:
    """Also of the first one, which compiles for longer than the second takes."""
    clocks = [{"timesteps": [10, 1000], "seconds": seconds} for seconds in ([20, 22], [1, 3])]
    records = [made_up("CartPole-v1", "odrpo-kl", k, clock=c) for k, c in enumerate(clocks)]
    curves = page_data(records)["tasks"]["CartPole-v1"]["axes"]["seconds"]["odrpo-kl"]
    assert curves["grid"][-1] == pytest.approx(2.02, abs=0.01)
    assert curves["middle"][0] < curves["middle"][-1] == 0
    assert len(curves["seeds"]) == 2


@pytest.mark.parametrize("against", ["timesteps", "episodes", "seconds"])
def test_curves_have_all_their_points_beside_longer_ones(against: str) -> None:
    axes = page_data(with_a_long_variant())["tasks"]["CartPole-v1"]["axes"][against]
    for curves in axes.values():
        assert len(set(curves["grid"])) > 150
        assert len(curves["middle"]) == len(curves["low"]) == len(curves["grid"])
        assert [len(seed) for seed in curves["seeds"]] == [len(curves["grid"])] * 3
        assert None not in curves["middle"]


def test_a_run_without_episodes_leaves_the_curves_of_the_others() -> None:
    nothing = made_up("CartPole-v1", "odrpo-kl", 0, played=np.zeros((0, 3)))
    data = page_data([nothing, *(made_up("CartPole-v1", "odrpo-kl", seed) for seed in (1, 2))])
    curves = data["tasks"]["CartPole-v1"]["axes"]["timesteps"]["odrpo-kl"]
    assert [len(seed) > 0 for seed in curves["seeds"]] == [False, True, True]
    assert curves["middle"][-1] == 0


def test_limits_come_first_then_what_agrees_and_what_does_not() -> None:
    text = build_report(some_records(), Findings(["**Much** agrees."], ["`beta` does not."]))
    places = [
        text.index(part)
        for part in (
            "First, the limits</h2><ul><li><b>Short runs</b>",
            "<li><b>Much</b> agrees.",
            "<li><code>beta</code> does not.",
            "Learning curves</h2>",
        )
    ]
    assert places == sorted(places)


def test_bold_and_code_are_all_that_is_rendered() -> None:
    assert as_html("a `**b**` and **c `d` e**") == (
        "a <code>**b**</code> and <b>c <code>d</code> e</b>"
    )
    assert as_html("[x](y) *i* _u_ # `open **open") == "[x](y) *i* _u_ # `open **open"
    assert as_html(f"**{HOSTILE}**").count("<") == 2


def test_methods_of_a_task_have_colours_of_their_own() -> None:
    records = [made_up("CartPole-v1", method) for method in ("odrpo-kl", "ppo", "mine")]
    records += [made_up("CartPole-v1", "odrpo-kl", variant=f"v{k}") for k in range(26)]
    data = page_data(records)
    colours = {m["label"]: m["colour"] for m in data["tasks"]["CartPole-v1"]["methods"]}
    assert len(set(colours.values())) == len(records)
    assert colours["odrpo-kl"] == "#00798c"
    assert all(run["colour"] == colours[run["label"]] for run in data["runs"])
    assert not set(OTHERS) & {colours["odrpo-kl"], colours["ppo"]}


def test_a_run_says_within_how_many_episodes_its_last_tenth_is() -> None:
    steps = np.arange(1.0, 401)
    late = np.stack([steps, np.where(steps > 200, 500.0, 0.0), np.ones(400)], axis=1)
    records = [made_up("CartPole-v1", "ppo", played=late), made_up("Taxi-v4", "ppo", played=late)]
    cartpole, taxi = page_data(records)["runs"]
    assert (cartpole["last"], cartpole["within"]) == (0, {"episodes": 200, "all": 500})
    assert (taxi["last"], taxi["within"]) == (500, None)


def test_numbers_of_tasks_elsewhere_are_there() -> None:
    run = page_data([made_up("Pendulum-v1", "odrpo-kl", level=-100.0)])["runs"][0]
    assert (run["last"], run["greedy"]) == (-100, -100)
