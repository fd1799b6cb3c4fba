"""The paper's figures from records, and those that only exact steps can have."""

import io
from collections.abc import Callable, Sequence

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullFormatter

from odrpo.experiments import published, statistics
from odrpo.experiments.record import CLOCK, Record
from odrpo.experiments.results import NAMES, Results
from odrpo.experiments.runs import METHODS, OURS
from odrpo.presets import TASKS
from odrpo.records import WINDOW

COLOURS = dict(
    zip(
        METHODS,
        ("#00798c", "#d1495b", "#8e6bbf", "#edae49", "#66a182", "#8d99ae"),
        strict=True,
    )
)
COLUMNS, ACROSS = 4, 6
"""Panels beside each other: of curves, and of certificates."""
NAME = 1.7
"""Inches of a name in a legend."""
CUT = 0.05
"""The share of all points of the curves that may lie below a picture."""

Place = Callable[[Record], np.ndarray]
"""Where each episode of a run lies on the x axis."""
PLACES: dict[str, Place] = {
    "timesteps": lambda record: record.played[:, 0],
    "episodes": lambda record: np.arange(1.0, len(record.played) + 1),
    "seconds": lambda record: _seconds(record),
}
LOGARITHMIC = {"episodes": WINDOW, "seconds": 0}
"""Axes on which one method goes on a hundred times as long as another; where they begin."""
DECADES = 3
"""So much of such an axis at most: before that are a few episodes alone."""
CURVES = {f"curves_{place}": place for place in PLACES}
"""Figures by name, and what is on their x axis."""
CERTIFICATES = "certificates"


def _seconds(record: Record) -> np.ndarray:
    """Until the end of each episode, as measured; evenly over the run where nothing was.

    Without what the first update takes longer than the others: a first seed compiles.
    """
    clock = record.clock or {"timesteps": [record.taken], "seconds": [record.seconds]}
    places, times = (np.array([0, *clock[name]], float) for name in CLOCK)
    if len(places) > 2:
        pace = (times[-1] - times[1]) / max(places[-1] - places[1], 1)
        times[1:] -= max(0.0, times[1] - pace * places[1])
    return np.interp(record.played[:, 0], places, times)


def every_figure(records: Sequence[Record]) -> dict[str, bytes]:
    """Those that the records have something for, by name, as PNG."""
    results = Results(records)
    return {
        name: _png(curves(results, CURVES[name]) if name in CURVES else certificates(results))
        for name in drawable(results)
    }


def drawable(results: Results) -> list[str]:
    """The names of these figures."""
    certified = any(_certified(results, env) for env in results.envs)
    return [*(CURVES if results.envs else ()), *([CERTIFICATES] if certified else ())]


def curves(results: Results, against: str) -> Figure:
    """Every task: the interquartile mean of the seeds, its interval, and each seed thin."""
    columns = min(len(results.envs), COLUMNS)
    figure, grid = _panels(len(results.envs), columns)
    for axes, env in zip(grid, results.envs, strict=False):
        middles, last = [], 0.0
        for method in METHODS:
            runs = [placed(record, against) for record in results.of(env, method)]
            places, values = on_grid(runs, against)
            middles.append(_draw(axes, places, values, COLOURS[method], NAMES[method]))
            last = max([last, *places[-1:]])
        best = max(v.mean for m, v in published.LAST_TENTH[env].items() if m in OURS)
        axes.axhline(best, color="grey", ls="--", lw=1, label="the paper's best ODRPO")
        lines, optimum = [best], TASKS[env].optimum
        if optimum is not None:
            axes.axhline(optimum, color="grey", ls=":", lw=1, label="optimum")
            lines.append(optimum)
        axes.set_title(env)
        axes.set_xlabel({"seconds": "seconds of training"}.get(against, against))
        if against in LOGARITHMIC:
            axes.set_xscale("log")
            begin = max(LOGARITHMIC[against], last / 10**DECADES)
            if begin < last:
                axes.set_xlim(left=begin)
            axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter("{x:g}" if against == "seconds" else EngFormatter(sep=""))
        _limit(axes, middles, lines)
    for axes in grid[::columns]:
        axes.set_ylabel(f"return, mean of {WINDOW} episodes")
    _legend(figure, grid)
    return figure


def placed(record: Record, against: str) -> np.ndarray:
    """Where the episodes of a run lie, and the mean return until there, (E, 2).

    Of those that end at once in a batch the last stands for all.
    """
    run = np.stack([PLACES[against](record), statistics.curve(record)[:, 1]], axis=1)
    return run[np.diff(run[:, 0], append=np.inf) > 0]


def on_grid(
    runs: Sequence[np.ndarray], against: str, points: int = 200
) -> tuple[np.ndarray, np.ndarray]:
    """These of several seeds at the same places, (P,) and (seeds, P)."""
    return statistics.on_grid(runs, points, against in LOGARITHMIC)


def certificates(results: Results) -> Figure:
    """beta*, the share of the radius that is used, and the gap, over the training of our runs."""
    envs = [env for env in results.envs if _certified(results, env)]
    rows = {"beta*": beta, "distance / radius": used, "gap / (1 + gain)": relative_gap}
    blocks, columns = -(-len(envs) // ACROSS), min(len(envs), ACROSS)
    figure, grid = plt.subplots(
        len(rows) * blocks,
        columns,
        figsize=(3.4 * columns, 2.2 * len(rows) * blocks),
        layout="constrained",
        squeeze=False,
    )
    for axes in grid[-len(rows) :, (len(envs) - 1) % ACROSS + 1 :].flat:
        axes.set_axis_off()
    for number, env in enumerate(envs):
        records = _certified(results, env)
        block, column = divmod(number, ACROSS)
        own = grid[len(rows) * block : len(rows) * (block + 1), column]
        for axes, (name, values) in zip(own, rows.items(), strict=True):
            for record in records:
                at = np.array(record.updates["timesteps"], float)
                axes.plot(
                    at,
                    values(record.updates),
                    color=COLOURS[record.method],
                    lw=0.8,
                    alpha=0.7,
                    label=NAMES[record.method],  # the legend has each once
                )
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
            axes.set_xlim(0, max(record.timesteps for record in records))
            axes.spines[["top", "right"]].set_visible(False)
            if name != "distance / radius":
                axes.set_yscale("log")
            else:
                axes.set_ylim(-0.05, 1.1)
            if column == 0:
                axes.set_ylabel(name)
        own[0].set_title(env)
        own[-1].set_xlabel("timesteps")
    _legend(figure, list(grid.flat))
    return figure


def _certified(results: Results, env: str) -> list[Record]:
    """Runs of ours that have updates."""
    return [r for method in OURS for r in results.of(env, method) if r.updates]


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, dpi=110)
    plt.close(figure)
    return file.getvalue()


def beta(updates: dict) -> np.ndarray:
    """beta* of these updates; nan where it is 0, which has no logarithm."""
    found = np.array(updates["beta"], float)
    return np.where(found > 0, found, np.nan)


def used(updates: dict) -> np.ndarray:
    """The share of the radius that each of them used."""
    return np.array(updates["distance"], float) / np.array(updates["radius"], float)


def relative_gap(updates: dict) -> np.ndarray:
    """The duality gap of each relative to 1 + the gain, 1e-12 at least; nan where it is unknown."""
    gap = np.abs(np.array(updates["gap"], float)) / (1 + np.abs(np.array(updates["gain"], float)))
    return np.maximum(gap, 1e-12)


def _draw(axes: Axes, grid: np.ndarray, values: np.ndarray, colour: str, name: str) -> np.ndarray:
    """The seeds of a method; returns their interquartile mean."""
    if not len(grid):
        return grid
    for run in values:
        axes.plot(grid, run, color=colour, lw=0.5, alpha=0.3)
    middle = statistics.interquartile_mean(values)
    axes.plot(grid, middle, color=colour, lw=1.8, label=name)
    if len(values) > 2:
        axes.fill_between(grid, *statistics.interval(values), color=colour, alpha=0.15, lw=0)
    return middle


def _limit(axes: Axes, middles: list[np.ndarray], lines: list[float]) -> None:
    """Leave out how bad a beginning may be: a cliff pays a hundred times what a step does."""
    every = np.concatenate([*middles, lines])
    low, high = min(np.quantile(every, CUT), *lines), every.max()
    room = (high - low) or 1.0
    axes.set_ylim(low - 0.05 * room, high + 0.08 * room)


def _panels(count: int, columns: int) -> tuple[Figure, list[Axes]]:
    rows = -(-count // columns)
    size = (4.4 * columns, 3.4 * rows + 0.5)
    figure, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    panels = list(grid.flat)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[count:]:
        axes.set_axis_off()
    return figure, panels


def _legend(figure: Figure, panels: Sequence[Axes]) -> None:
    named: dict[str, Artist] = {}
    for axes in panels:
        for line, name in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(name, line)
    figure.legend(
        list(named.values()),
        list(named),
        loc="outside lower center",
        ncols=min(len(named), int(figure.get_figwidth() / NAME)),
        frameon=False,
    )
