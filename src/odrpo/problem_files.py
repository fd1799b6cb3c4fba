"""Trust-region problems and policies as files: .npz, .json, or a folder of .csv, .json and .npy."""

import csv
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
WRITABLE = (".npz", ".npy", ".csv", ".json")


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

    def unused_by(self, name: str) -> list[str]:
        """What the file gives that the metric of a name takes no notice of."""
        own = {each.name for each in fields(METRICS[name])}
        return sorted({"cost", "strength"} & self.arrays.keys() - own)

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
        if not isinstance(entries, dict):
            raise ValueError(f"{path}: expected an object with the names {', '.join(REQUIRED)}")
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
    for axis, kind in enumerate(("states", "actions")):
        count = arrays["advantages"].shape[axis] if arrays["advantages"].ndim == 2 else 0
        if kind in labels and len(labels[kind]) != count:
            raise ValueError(f"{path}: {len(labels[kind])} names of {kind} for {count} {kind}")
    metric = np.ravel(entries.get("metric", "kl"))
    if metric.size != 1:
        raise ValueError(f"{path}: metric must be one name, of {', '.join(METRICS)}")
    return ProblemFile(arrays, str(metric[0]), labels)


def check_writable(path: Path) -> None:
    """Refuse an ending that `write_solution` does not know, before any work is done."""
    if path.suffix not in WRITABLE:
        found = f"can't write {path.suffix!r}" if path.suffix else "has no ending"
        raise ValueError(f"{path}: {found}; use {', '.join(WRITABLE)}")


def write_solution(path: Path, solution: Solution) -> None:
    """Write the policy (.csv, .npy) or the whole solution (.npz, .json), by the file's ending."""
    check_writable(path)
    everything = {each.name: getattr(solution, each.name) for each in fields(solution)}
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffix:
        case ".csv":
            np.savetxt(path, solution.policy, delimiter=",", fmt="%.17g")
        case ".npy":
            np.save(path, solution.policy)
        case ".npz":
            np.savez(path, **everything)
        case ".json":  # JSON has no infinity, which beta is for a radius of zero
            lists = {name: np.asarray(value).tolist() for name, value in everything.items()}
            lists["beta"] = lists["beta"] if np.isfinite(lists["beta"]) else None
            path.write_text(json.dumps(lists, allow_nan=False))


def _read_npz(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
            return {name: archive[name] for name in archive.files}
        except Exception as error:  # damage shows in as many ways as zip files have parts
            raise ValueError(f"{path}: not an .npz archive of plain arrays") from error


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))  # some programs begin with a mark
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: can't be read as JSON ({error})") from error


def _read_folder(path: Path) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for file in sorted(path.iterdir()):
        if file.suffix == ".csv":
            entries[file.stem] = _read_csv(file)
        elif file.suffix == ".json":
            entries[file.stem] = _read_json(file)
        elif file.suffix == ".npy":
            entries[file.stem] = _read_npy(file)
    if not entries:
        raise ValueError(f"{path}: no .csv, .json or .npy files in it")
    return entries


def _read_npy(path: Path) -> np.ndarray:
    with path.open("rb") as file:
        try:
            return np.asarray(np.load(file, allow_pickle=False))
        except Exception as error:  # as above
            raise ValueError(f"{path}: not an .npy file of plain numbers") from error


def _read_csv(path: Path) -> list:
    """Rows of numbers, true and false among them; of words where they are labels."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:  # Excel begins with a mark
            rows = [row for row in csv.reader(file) if row]
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path}: can't be read as CSV in UTF-8 ({error})") from error
    if path.stem in TEXTS:
        return [cell.strip() for row in rows for cell in row]
    return [
        [
            _number(cell, f"{path}, row {row}, column {column}")
            for column, cell in enumerate(cells, 1)
        ]
        for row, cells in enumerate(rows, 1)
    ]


def _number(cell: str, place: str) -> float:
    words = {"true": 1.0, "false": 0.0}
    try:
        return float(words.get(cell.strip().lower(), cell))
    except ValueError as error:
        raise ValueError(
            f"{place}: {cell!r} is not a number; there is no header row and no column of labels, "
            "names go into states.csv and actions.csv"
        ) from error


def _numbers(name: str, value: Any) -> np.ndarray:
    """An array; what a CSV file can only hold as a table gets its own shape back."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: rows of different lengths") from error
    if name in ("radius", "strength") and array.size == 1:
        return array.reshape(())
    if name == "weights":
        return array.ravel()
    if name == "cost" and array.ndim == 2 and array.shape[0] != array.shape[1]:
        return array.reshape(-1, array.shape[1], array.shape[1])
    return array
