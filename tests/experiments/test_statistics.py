from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

from odrpo.experiments import statistics
from odrpo.experiments.figures import PLACES, curves, placed
from odrpo.experiments.tables import Results
from tests.experiments.made_up import made_up


def test_last_tenth_counts_the_papers_episodes() -> None:
    record = made_up("Taxi-v4", "ppo", level=5.0)
    assert statistics.last_tenth(record) == 5.0
    played = np.repeat(record.played, 4, axis=0)
    played[200:, 1] = 100.0  # beyond the 200 episodes that count on CartPole
    longer = replace(record, env="CartPole-v1", played=played)
    assert statistics.last_tenth(longer) == pytest.approx(played[180:200, 1].mean())
    assert statistics.last_tenth_of_all(longer) == 100.0


def test_reached_is_the_end_of_the_first_mean_of_twenty() -> None:
    record = made_up("CartPole-v1", "ppo")
    returns = np.where(np.arange(100) < 30, 0.0, 10.0)
    played = np.stack([record.played[:, 0], returns, record.played[:, 2]], axis=1)
    record = replace(record, played=played)
    # Twenty of ten each: episodes 31 to 50; half of them are enough for five.
    assert statistics.reached(record, 10.0) == 500
    assert statistics.reached(record, 5.0) == 400
    assert statistics.reached(record, 11.0) == np.inf
    assert statistics.reached(replace(record, played=played[:19]), 0.0) == np.inf


def test_interquartile_mean_of_few_and_of_many() -> None:
    rng = np.random.default_rng(0)
    many = rng.normal(size=(1001, 3))
    middle = np.sort(many, axis=0)[251:750].mean(axis=0)
    assert np.allclose(statistics.interquartile_mean(many), middle, atol=0.01)
    # Of five the middle three, the outer two of them by three quarters.
    five = np.array([-100.0, 1.0, 2.0, 4.0, 100.0])
    assert float(statistics.interquartile_mean(five)) == pytest.approx((0.75 + 2 + 3) / 2.5)


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(100):
        low, high = statistics.interval(rng.normal(size=30))
        held += low <= 0 <= high
    assert 85 <= held <= 99


def test_of_many_seeds_chance_is_estimated() -> None:
    """Fifteen a side have 155 million ways."""
    rng = np.random.default_rng(2)
    one, other = rng.normal(size=15), rng.normal(size=15)
    for shift in (0.0, 0.5, 1.0):
        likely = stats.ttest_ind(one + shift, other).pvalue
        assert statistics.by_chance(one + shift, other) == pytest.approx(likely, abs=0.02)
    assert 0 < statistics.by_chance(one + 10, other) < 1e-3
    assert statistics.by_chance(one, other) == statistics.by_chance(one, other)


def test_the_estimate_is_that_of_all_ways(monkeypatch) -> None:
    one, other = np.arange(8.0), np.arange(8.0) + 2.5
    exact = statistics.by_chance(one, other)
    monkeypatch.setattr(statistics, "MOST_WAYS", 0)
    assert statistics.by_chance(one, other) == pytest.approx(exact, abs=0.01)


def test_curves_on_a_grid_are_where_all_of_them_are() -> None:
    one, other = np.array([[0.0, 0.0], [10.0, 10.0]]), np.array([[2.0, 4.0], [8.0, 16.0]])
    grid, values = statistics.on_grid([one, other], points=4)
    assert grid.tolist() == [2, 4, 6, 8]
    assert values.tolist() == [[2, 4, 6, 8], [4, 8, 12, 16]]


def test_places_for_a_logarithmic_axis_are_closer_at_the_beginning() -> None:
    curve = np.array([[1.0, 1.0], [10.0, 10.0]])
    grid, values = statistics.on_grid([curve], points=4, early=True)
    assert grid.tolist() == [1, 2, 5, 10]
    assert values.tolist() == [[1, 2, 5, 10]]


def test_curves_against_seconds_are_as_measured_without_compilation() -> None:
    """What compiles for ten seconds goes on like a seed that finds what was compiled."""
    cached = {"timesteps": [10.0, 1000.0], "seconds": [0.1, 10.0]}
    compiled = cached | {"seconds": [10.1, 20.0]}
    for clock in (cached, compiled):
        measured = PLACES["seconds"](made_up("CartPole-v1", "odrpo-kl", clock=clock))
        assert measured[0] == pytest.approx(0.1)
        assert measured[-1] == pytest.approx(10)
    slower = cached | {"seconds": [0.05, 10.0]}  # a quick beginning is no compilation
    assert PLACES["seconds"](made_up("CartPole-v1", "ppo", clock=slower))[-1] == 10
    assert PLACES["seconds"](made_up("CartPole-v1", "ppo", seconds=11.0))[0] == pytest.approx(0.11)


def test_episodes_that_end_at_once_are_one_place() -> None:
    clock = {"timesteps": [500.0, 1000.0], "seconds": [0.0, 1.0]}
    run = placed(made_up("CartPole-v1", "odrpo-kl", clock=clock), "seconds")
    assert (np.diff(run[:, 0]) > 0).all()
    assert run[0].tolist() == pytest.approx([0, -2.1])


@pytest.mark.parametrize("against", PLACES)
def test_logarithmic_axes_name_powers_of_ten_alone(against: str) -> None:
    records = [made_up("CartPole-v1", "odrpo-kl", seed, seconds=300.0) for seed in range(3)]
    figure = curves(Results(records), against)
    figure.canvas.draw()
    axis = figure.axes[0].xaxis
    assert axis.get_scale() == ("linear" if against == "timesteps" else "log")
    assert not any(label.get_text() for label in axis.get_minorticklabels())
    if against == "seconds":
        assert [label.get_text() for label in axis.get_majorticklabels()].count("100") == 1
    plt.close(figure)


@pytest.mark.parametrize("against", PLACES)
def test_few_episodes_or_none_make_a_figure(against: str) -> None:
    for count in (0, 3):
        record = made_up("CartPole-v1", "odrpo-kl")
        figure = curves(Results([replace(record, played=record.played[:count])]), against)
        left, right = figure.axes[0].get_xlim()
        assert left < right
        plt.close(figure)
