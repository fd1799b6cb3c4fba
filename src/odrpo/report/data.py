"""What the page draws and lists, as plain lists and numbers."""

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np

from odrpo.experiments import published, statistics
from odrpo.experiments.figures import COLOURS, HELD, PLACES
from odrpo.experiments.record import Record
from odrpo.experiments.runs import OURS
from odrpo.experiments.tables import NAMES, Results
from odrpo.presets import TASKS

MOST_POINTS, FEWEST_POINTS, ALL_POINTS = 160, 40, 80_000
"""Points of a curve: fewer where there are very many runs."""
DRAWN = ("timesteps", "beta", "radius", "distance", "gap", "gain")
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
    return {"tasks": tasks, "runs": runs, "configs": configs}


def tasks_of(records: Sequence[Record]) -> list[str]:
    """The paper's first, in its order."""
    found = {record.env for record in records}
    return [env for env in TASKS if env in found] + sorted(found - set(TASKS))


def _task(results: Results, env: str, points: int) -> Json:
    """The curves of all runs of a task on common grids: timesteps, episodes and seconds."""
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
        "axes": {name: _curves(groups, name, points) for name in PLACES},
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


def _curves(groups: dict[str, list[Record]], against: str, points: int) -> Json:
    every = [record for group in groups.values() for record in group if len(record.played)]
    last = max((PLACES[against](record)[-1] for record in every), default=1.0)
    grid = np.linspace(0, last, points)
    found: Json = {"grid": _listed(grid), "methods": {}}
    for label, group in groups.items():
        values = np.array([_on(grid, record, against) for record in group])
        known = _held(values) if against in HELD else values
        there = np.isfinite(known).all(axis=0)
        whole = known[:, there]
        middle = np.full((3, points), np.nan)
        if whole.size:
            middle[0, there] = statistics.interquartile_mean(whole)
            if len(group) > 2:
                middle[1:, there] = statistics.interval(whole)
        found["methods"][label] = {
            "middle": _listed(middle[0]),
            "low": _listed(middle[1]),
            "high": _listed(middle[2]),
            "seeds": [_listed(row) for row in values],
        }
    return found


def _held(values: np.ndarray) -> np.ndarray:
    """Wherever one of them is; others stay as they end there, or as they begin."""
    places, known = np.arange(values.shape[1]), np.isfinite(values)
    filled = [
        np.interp(places, places[k], row[k]) if k.any() else row
        for row, k in zip(values, known, strict=True)
    ]
    return np.where(known.any(axis=0), filled, np.nan)


def _on(grid: np.ndarray, record: Record, against: str) -> np.ndarray:
    """A curve on a grid; nothing where it is not."""
    if not len(record.played):
        return np.full(len(grid), np.nan)
    place, returns = PLACES[against](record), statistics.curve(record)[:, 1]
    values = np.interp(grid, place, returns)
    step = grid[1] - grid[0]
    return np.where((grid < place[0] - step) | (grid > place[-1] + step), np.nan, values)


def _certificates(record: Record, points: int) -> Json:
    """What is drawn of them."""
    if not record.updates:
        return {}
    count = len(record.updates["timesteps"])
    kept = np.unique(np.linspace(0, count - 1, points).round().astype(int))
    return {name: [_short(record.updates[name][k]) for k in kept] for name in DRAWN}


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
