"""Trust-region problems and policies as files: .npz, .json, or a folder of .csv, .json and .npy."""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from odrpo.trust_region import Metric, Solution
from odrpo.trust_region.checks import METRICS

REQUIRED = ("advantages", "policy", "radius")
ARRAYS = (*REQUIRED, "weights", "mask", "cost", "strength")
TEXTS = ("metric", "states", "actions")


@dataclass(frozen=True)
class ProblemFile:
    """What a file says: arguments of `odrpo.solve` by name, and labels if it has any."""

    arrays: dict[str, np.ndarray]
    metric: str = "kl"
    labels: dict[str, list[str]] = field(default_factory=dict)

    def build_metric(self, name: str) -> Metric:
        """The metric of a name with the cost and the strength of the file, where it uses them."""
        if name not in METRICS:
            raise ValueError(f"metric: {name!r} is not known; use one of {', '.join(METRICS)}")
        own = {each.name for each in fields(METRICS[name])} & self.arrays.keys()
        metric: Metric = METRICS[name](**{key: self.arrays[key] for key in own})
        return metric

    def arguments(self) -> dict[str, Any]:
        """All arguments of `odrpo.solve` but for the metric."""
        return {
            name: value for name, value in self.arrays.items() if name not in ("cost", "strength")
        }

    def label(self, kind: str, index: int) -> str:
        """The name of a state or an action, its number where it has none."""
        names = self.labels.get(kind, [])
        return names[index] if index < len(names) else str(index)


def read_problem(path: Path, radius: float | None = None) -> ProblemFile:
    """Read a problem; a radius given here replaces the file's."""
    if not path.exists():
        raise ValueError(f"{path}: no such file or folder")
    if path.is_dir():
        entries = _read_folder(path)
    elif path.suffix == ".npz":
        entries = _read_npz(path)
    elif path.suffix == ".json":
        entries = _read_json(path)
    else:
        raise ValueError(f"{path}: expected an .npz or .json file, or a folder of .csv files")
    if radius is not None:
        entries["radius"] = radius
    unknown = sorted(entries.keys() - {*ARRAYS, *TEXTS})
    if unknown:
        raise ValueError(
            f"{path}: unknown name {unknown[0]!r}; known are {', '.join(ARRAYS + TEXTS)}"
        )
    missing = [name for name in REQUIRED if name not in entries]
    if missing:
        hint = "; give it with --radius" if missing[0] == "radius" else ""
        raise ValueError(f"{path}: {missing[0]!r} is missing{hint}")
    arrays = {name: _numbers(name, entries[name]) for name in ARRAYS if name in entries}
    labels: dict[str, list[str]] = {
        kind: [str(name) for name in np.ravel(np.asarray(entries[kind]))]
        for kind in ("states", "actions")
        if kind in entries
    }
    metric = str(np.ravel(entries.get("metric", "kl"))[0])
    return ProblemFile(arrays, metric, labels)


def write_solution(path: Path, solution: Solution) -> None:
    """Write the policy (.csv, .npy) or the whole solution (.npz, .json), by the file's ending."""
    everything = {each.name: getattr(solution, each.name) for each in fields(solution)}
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffix:
        case ".csv":
            np.savetxt(path, solution.policy, delimiter=",", fmt="%.17g")
        case ".npy":
            np.save(path, solution.policy)
        case ".npz":
            np.savez(path, **everything)
        case ".json":
            path.write_text(json.dumps({k: np.asarray(v).tolist() for k, v in everything.items()}))
        case other:
            raise ValueError(f"{path}: can't write {other!r}; use .npz, .npy, .csv or .json")


def _read_npz(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path}: can't be read as .npz ({error})") from error


def _read_json(path: Path) -> Any:
    try:
        content = json.loads(path.read_text())
    except (ValueError, OSError, RecursionError) as error:
        raise ValueError(f"{path}: can't be read as JSON ({error})") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected an object with the names {', '.join(REQUIRED)}, ...")
    return content


def _read_folder(path: Path) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for file in sorted(path.iterdir()):
        if file.suffix == ".csv":
            entries[file.stem] = _read_csv(file)
        elif file.suffix == ".json":
            entries[file.stem] = json.loads(file.read_text())
        elif file.suffix == ".npy":
            entries[file.stem] = np.load(file, allow_pickle=False)
    if not entries:
        raise ValueError(f"{path}: no .csv, .json or .npy files in it")
    return entries


def _read_csv(path: Path) -> np.ndarray:
    if path.stem in TEXTS:
        return np.loadtxt(path, delimiter=",", dtype=str, ndmin=1)
    try:
        return np.loadtxt(path, delimiter=",", ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path}: can't be read as numbers ({error})") from error


def _numbers(name: str, value: Any) -> np.ndarray:
    """An array; what a CSV file can only hold as a table gets its own shape back."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: rows of different lengths") from error
    if name == "mask":
        return array.astype(bool)
    if name in ("radius", "strength") and array.size == 1:
        return array.reshape(())
    if name == "weights":
        return array.ravel()
    if name == "cost" and array.ndim == 2 and array.shape[0] != array.shape[1]:
        return array.reshape(-1, array.shape[1], array.shape[1])
    return array
