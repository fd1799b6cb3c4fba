"""What stands in a cell: a mean and its spread, every seed, a median, a difference."""

from collections.abc import Sequence

import numpy as np

from odrpo.experiments.published import Value
from odrpo.experiments.table import Cell, estimate, number


def spreads(every: Sequence[np.ndarray]) -> list[Cell]:
    """Mean and deviation of each method, the best mean bold."""
    best = best_mean(every)
    return [_spread(values, best) for values in every]


def _spread(values: np.ndarray, best: float | None) -> Cell:
    if not len(values):
        return Cell("-")
    mean = values.mean()
    text = estimate(mean, values.std(ddof=1)) if len(values) > 1 else number(mean)
    return Cell(f"{text} ({len(values)})", _as_good(mean, best))


def _as_good(mean: float, best: float | None) -> bool:
    """As far as it is shown."""
    return best is not None and number(mean) == number(best)


def best_mean(every: Sequence[np.ndarray]) -> float | None:
    """The best of several; None: there is nothing that it could be better than."""
    means = [values.mean() for values in every if len(values)]
    known = [mean for mean in means if not np.isnan(mean)]
    return max(known) if len(means) > 1 and known else None


def every_seed(values: np.ndarray, best: float | None) -> Cell:
    """Their mean, and each of them."""
    if not len(values):
        return Cell("-")
    each = " ".join(number(value) for value in np.sort(values))
    return Cell(f"{number(values.mean())} ({each})", _as_good(values.mean(), best))


def known(value: Value | None) -> Cell:
    """A number that others have published."""
    if value is None:
        return Cell("-")
    spread = "" if value.spread is None else f" ± {number(value.spread)}"
    return Cell(number(value.mean) + spread)


def medians(every: Sequence[np.ndarray]) -> list[Cell]:
    """The median of each method in thousands, the least one bold."""
    found = [np.median(values) for values in every if len(values)]
    best = min(found) if len(found) > 1 else None
    return [_median(values, best) for values in every]


def _median(values: np.ndarray, best: float | None) -> Cell:
    if not len(values):
        return Cell("-")
    median, there = np.median(values), int(np.isfinite(values).sum())
    text = thousands(median) if np.isfinite(median) else "-" if there else "never"
    return Cell(f"{text} ({there}/{len(values)})", bool(np.isfinite(median) and median == best))


def thousands(value: float) -> str:
    """One digit after the point: 5.5 k."""
    return f"{value / 1000:.1f} k"


def difference(ours: float, theirs: float) -> str:
    """What we have more, and how much of theirs that is."""
    gain = ours - theirs
    text = f"{'+' if gain >= 0 else ''}{number(gain)}"
    return f"{text} ({100 * gain / abs(theirs):+.0f} %)" if theirs else text
