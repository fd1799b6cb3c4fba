"""What the page draws and lists, as plain lists and numbers."""

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np

from odrpo.experiments import published, statistics
from odrpo.experiments.figures import (
    COLOURS,
    LOGARITHMIC,
    PLACES,
    beta,
    on_grid,
    placed,
    relative_gap,
    used,
)
from odrpo.experiments.record import Record
from odrpo.experiments.results import NAMES, Results
from odrpo.experiments.runs import OURS
from odrpo.presets import TASKS

MOST_POINTS, FEWEST_POINTS, ALL_POINTS = 160, 40, 80_000
"""Points of a curve: fewer where there are very many runs."""
DRAWN = {"beta": beta, "use": used, "gap": relative_gap}
OTHERS = (
    *("#ff00ff", "#004bff", "#00d200", "#ff96e1", "#785a00", "#9600ff", "#008700", "#c300a5"),
    *("#0096ff", "#c37800", "#874b69", "#00d2c3", "#ff3ca5", "#ff7869", "#c378ff", "#a5b4ff"),
    *("#3c5ab4", "#96c369", "#d2b4b4", "#69a500", "#d278b4", "#6969ff", "#873ca5", "#0fc3ff"),
    *("#a53c0f", "#c33cf0", "#ff3c00"),
)
"""The colours of what is none of the six methods.

Each is, of those that are seen on white and on black, the one farthest in OKLab from all before it.
"""

Json = dict[str, Any]


def page_data(records: Sequence[Record]) -> Json:
    """All of it."""
    points = int(np.clip(ALL_POINTS // max(1, len(records)), FEWEST_POINTS, MOST_POINTS))
    results = Results(records)
    tasks = {env: _task(results, env, points) for env in tasks_of(records)}
    named = {(env, m["label"]): m for env, task in tasks.items() for m in task["methods"]}
    configs: list[Json] = []
    runs = [_run(r, named[r.env, r.label], configs, points) for r in records]
    return {"tasks": tasks, "runs": runs, "configs": configs, "logarithmic": LOGARITHMIC}


def tasks_of(records: Sequence[Record]) -> list[str]:
    """The paper's first, in its order."""
    found = {record.env for record in records}
    return [env for env in TASKS if env in found] + sorted(found - set(TASKS))


def _task(results: Results, env: str, points: int) -> Json:
    """The curves of all runs of a task, against timesteps, episodes and seconds."""
    labels = [label for found, label in results.found if found == env]
    labels.sort(key=lambda label: ("+" in label, _rank(label), label))
    groups = {label: results.of(env, label) for label in labels}
    lines = {}
    if env in published.LAST_TENTH:
        ours = [v.mean for m, v in published.LAST_TENTH[env].items() if m in OURS]
        lines["the paper's best ODRPO"] = max(ours)
    optimum = TASKS[env].optimum if env in TASKS else None
    if optimum is not None:
        lines["optimum"] = optimum
    return {
        "axes": {
            name: {label: _curves(group, name, points) for label, group in groups.items()}
            for name in PLACES
        },
        "methods": _methods(labels),
        "lines": lines,
    }


def _rank(label: str) -> int:
    method = label.partition("+")[0]
    return list(NAMES).index(method) if method in NAMES else len(NAMES)


def _methods(labels: Sequence[str]) -> list[Json]:
    """Their names, and their colours: the six methods have the same ones on every task."""
    others = cycle(OTHERS)
    return [
        {"label": label, "colour": COLOURS.get(label) or next(others), **_named(label)}
        for label in labels
    ]


def _named(label: str) -> Json:
    method, _, variant = label.partition("+")
    name = NAMES.get(method, method) + (f", {variant}" if variant else "")
    return {"name": name, "variant": variant}


def _curves(group: list[Record], against: str, points: int) -> Json:
    """The seeds of a method at places of their own, their middle and its interval."""
    runs = [placed(record, against) for record in group]
    grid, values = on_grid(runs, against, points)
    found: Json = {"grid": _listed(grid), "middle": [], "low": [], "high": []}
    if len(values):
        found["middle"] = _listed(statistics.interquartile_mean(values))
    if len(values) > 2:
        found["low"], found["high"] = map(_listed, statistics.interval(values))
    rows = iter(values)
    found["seeds"] = [_there(grid, next(rows), run) if len(run) else [] for run in runs]
    return found


def _there(grid: np.ndarray, values: np.ndarray, run: np.ndarray) -> list[float | None]:
    """Not where a run is held that has ended or not yet begun."""
    return _listed(np.where((grid < run[0, 0]) | (grid > run[-1, 0]), np.nan, values))


def _certificates(record: Record, points: int) -> Json:
    """What is drawn of them."""
    if not record.updates:
        return {}
    at = np.array(record.updates["timesteps"], float)
    kept = np.unique(np.linspace(0, len(at) - 1, points).round().astype(int))
    found = {"timesteps": at, **{name: values(record.updates) for name, values in DRAWN.items()}}
    return {name: _listed(values[kept]) for name, values in found.items()}


def _run(record: Record, method: Json, configs: list[Json], points: int) -> Json:
    if record.config not in configs:
        configs.append(record.config)
    returns = np.array(record.evaluation["returns"])
    return {
        "env": record.env,
        **method,
        "seed": record.seed,
        "timesteps": record.timesteps,
        "episodes": len(record.played),
        "last": _short(statistics.last_tenth(record)),
        "within": _within(record),
        "greedy": _short(statistics.greedy(record)),
        "seconds": record.seconds,
        "gap": _short(record.largest_gap),
        "use": _short(record.largest_use),
        "refused": record.refused,
        "updates": _certificates(record, points),
        "returns": _histogram(returns),
        "config": configs.index(record.config),
        "versions": record.versions,
        "commit": record.commit,
        "machine": record.machine,
    }


def _within(record: Record) -> Json | None:
    """Where the paper counts episodes and a run has more of them: how many, and all of them."""
    episodes = TASKS[record.env].episodes if record.env in TASKS else None
    if episodes is None or len(record.played) <= episodes:
        return None
    return {"episodes": episodes, "all": _short(statistics.last_tenth_of_all(record))}


def _histogram(returns: np.ndarray) -> Json:
    """How often the final policy returned how much."""
    counts, edges = np.histogram(returns, bins=min(20, max(1, len(np.unique(returns)))))
    return {"counts": counts.tolist(), "edges": _listed(edges), "episodes": len(returns)}


def _listed(values: np.ndarray) -> list[float | None]:
    return [_short(value) for value in values]


def _short(value: Any) -> float | None:
    if value is None or not np.isfinite(value):
        return None
    short = float(f"{value:.5g}")
    return int(short) if short.is_integer() else short
