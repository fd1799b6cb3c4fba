"""Numbers of runs, and of several seeds: means, interquartile means and their uncertainty."""

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from math import comb

import numpy as np

from odrpo.experiments.record import Record
from odrpo.presets import TASKS
from odrpo.records import WINDOW

DRAWS, FEWEST_DRAWS, DRAWN = 2000, 200, 100_000
"""Of the bootstrap: fewer of very many seeds, whose interval is narrow whatever is drawn."""
MOST_WAYS, DEALT = 20_000, 10_000


def last_tenth(record: Record) -> float:
    """Mean return of the last tenth of the training episodes within the paper's budget."""
    episodes = TASKS[record.env].episodes if record.env in TASKS else None
    return _tail(record.played[:episodes, 1])


def last_tenth_of_all(record: Record) -> float:
    """The same within the timesteps of the run, which are the same for every method."""
    return _tail(record.played[:, 1])


def greedy(record: Record) -> float:
    """Mean return of the final greedy policy."""
    return float(np.mean(record.evaluation["returns"]))


def reached(record: Record, threshold: float) -> float:
    """Timesteps to the first mean of 20 episodes at a threshold; inf: never."""
    returns = record.played[:, 1]
    if len(returns) < WINDOW:
        return np.inf
    means = np.convolve(returns, np.ones(WINDOW) / WINDOW, "valid")
    above = np.flatnonzero(means >= threshold)
    return float(record.played[above[0] + WINDOW - 1, 0]) if len(above) else np.inf


def curve(record: Record) -> np.ndarray:
    """Timesteps and mean return of the last 20 episodes (fewer at first), (E, 2)."""
    returns, ends = record.played[:, 1], np.arange(1, len(record.played) + 1)
    total, begins = np.cumsum([0.0, *returns]), np.maximum(ends - WINDOW, 0)
    return np.stack([record.played[:, 0], (total[ends] - total[begins]) / (ends - begins)], axis=1)


def interquartile_mean(values: np.ndarray) -> np.ndarray:
    """The mean of the middle half over the first axis; of few values the outer ones count in part.

    >>> float(interquartile_mean(np.array([0.0, 1.0, 2.0, 100.0])))
    1.5
    """
    ordered = np.sort(values, axis=0)
    count = len(ordered)
    edges = np.arange(count + 1) / count
    weight = np.diff(np.clip(edges, 0.25, 0.75)) * 2
    return np.tensordot(weight, ordered, axes=(0, 0))


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % of the interquartile means of seeds drawn with replacement (percentile bootstrap)."""
    draws, times = _draws(len(values))
    means = np.repeat(interquartile_mean(values[draws]), times, axis=0)
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    return low, high


@cache
def _draws(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Which seeds were drawn, whatever their order, and how often: of few there are few ways."""
    draws = min(DRAWS, max(FEWEST_DRAWS, DRAWN // count))
    drawn = np.random.default_rng(0).integers(count, size=(count, draws))
    return np.unique(np.sort(drawn, axis=0), axis=1, return_counts=True)


def by_chance(one: np.ndarray, other: np.ndarray) -> float:
    """How often seeds dealt out at random have means as far apart: a permutation test.

    Exact up to 20,000 ways (eight seeds a side); of more, 10,000 are drawn at random, the same ones
    each time, and counted together with the one that there was.

    >>> by_chance(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))  # two of twenty ways
    0.1
    """
    every = np.concatenate([one, other])
    if comb(len(every), len(one)) <= MOST_WAYS:
        sums = np.array([sum(part) for part in combinations(every, len(one))])
    else:
        ways = np.tile(every, (DEALT, 1))
        dealt = np.random.default_rng(0).permuted(ways, axis=1)[:, : len(one)]
        sums = np.array([one.sum(), *dealt.sum(axis=1)])
    apart = np.abs(sums / len(one) - (every.sum() - sums) / len(other))
    return float(np.mean(apart >= abs(one.mean() - other.mean()) * (1 - 1e-9)))


def on_grid(
    curves: Sequence[np.ndarray], points: int = 200, early: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Several curves at the same places, (P,) and (seeds, P): only where all of them are.

    Early: more of the places are at the beginning, which a logarithmic axis stretches.
    """
    curves = [part for part in curves if len(part)]
    if not curves:
        return np.zeros(0), np.zeros((0, 0))
    shares = np.linspace(0, 1, points) ** (2 if early else 1)
    first, last = max(part[0, 0] for part in curves), min(part[-1, 0] for part in curves)
    grid = first + max(0.0, last - first) * shares
    return grid, np.array([np.interp(grid, part[:, 0], part[:, 1]) for part in curves])


def _tail(returns: np.ndarray) -> float:
    return float(returns[-max(1, len(returns) // 10) :].mean()) if len(returns) else np.nan
