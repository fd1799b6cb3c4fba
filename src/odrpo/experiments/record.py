"""The record of one run: all that tables, figures and the report are made from, in a small file."""

import contextlib
import gzip
import json
import os
import platform
import subprocess
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from odrpo.checkpoint import plain
from odrpo.experiments.checks import check_values
from odrpo.files import put
from odrpo.records import Episode

FORMAT = 1
LARGEST = 5_000_000
"""No record is longer than so many bytes; a file that claims to be is not read to its end."""
DENSEST = 100
"""Of more than a fifth of that no record has so many bytes for each one of its file."""
UPDATES = 200
"""So many updates are kept at most, and times."""
CERTIFICATE = (
    *("timesteps", "beta", "radius", "distance", "gap", "gain"),
    *("projected_distance", "entropy", "explained_variance"),
)
CLOCK = ("timesteps", "seconds")
DAMAGED = (
    *(OSError, EOFError, zlib.error, RecursionError, MemoryError),
    *(ValueError, LookupError, TypeError, AttributeError, OverflowError),
)
"""What reading a file that is no record may raise."""
PACKAGES = (
    *("odrpo", "jax", "jaxlib", "numpy", "gymnasium", "optax", "mujoco", "box2d"),
    *("stable-baselines3", "sb3-contrib", "torch"),
)


@dataclass(frozen=True)
class Record:
    """One run."""

    env: str
    method: str
    variant: str
    seed: int
    timesteps: int
    """The budget."""
    taken: int
    """Timesteps that there were: to the end of the update in which the budget was reached."""
    config: dict[str, Any]
    versions: dict[str, str]
    commit: str
    machine: dict[str, Any]
    seconds: float
    """Spent in training, compilation included, evaluation not."""
    played: np.ndarray
    """Of every training episode the timestep of its end, its return and its length, (E, 3)."""
    updates: dict[str, list[float | None]]
    """Certificates, thinned out; none of baselines."""
    largest_gap: float | None
    """Of all certificates, relative to 1 + the gain."""
    largest_use: float | None
    """Of the radius by the exact steps: distance / radius."""
    evaluation: dict[str, list[float]]
    """Of the greedy policy at the end, by episode: returns, and what a task counts besides."""
    clock: dict[str, list[float | None]] = field(default_factory=dict)
    """When timesteps were over: these and the seconds until then, thinned out; or nothing."""
    refused: int = 0
    """Updates of ours that were not taken; they have no part in the largest gap and use."""

    @property
    def label(self) -> str:
        """The method with its variant."""
        return labelled(self.method, self.variant)


def labelled(method: str, variant: str) -> str:
    """What runs of a method with a variant, or none, go by."""
    return f"{method}+{variant}" if variant else method


def columns(episodes: list[Episode]) -> np.ndarray:
    """Timesteps, returns and lengths, (E, 3)."""
    return np.array(episodes, float).reshape(-1, 3)


def thinned(
    rows: Sequence[dict[str, float]], names: Sequence[str]
) -> dict[str, list[float | None]]:
    """Columns of at most so many of them, evenly over the timesteps, with the first and last."""
    if not rows:
        return {}
    at = np.array([row["timesteps"] for row in rows])
    grid = np.linspace(at[0], at[-1], UPDATES)
    kept = np.unique(np.clip(np.searchsorted(at, grid), 0, len(at) - 1))
    return {name: [_rounded(rows[k][name]) for k in kept] for name in names}


def surroundings() -> dict[str, Any]:
    """Versions, commit and machine of what runs."""
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    machine = {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
    }
    return {"versions": found, "commit": _commit(), "machine": machine}


def write(record: Record, path: Path) -> None:
    """Put it where it belongs in one go; the same record gives the same bytes."""
    values = asdict(record)
    played = values.pop("played")
    values["played"] = {
        "steps": np.diff(played[:, 0], prepend=0).astype(int).tolist(),
        "returns": [_rounded(value) for value in played[:, 1]],
        "lengths": played[:, 2].astype(int).tolist(),
    }
    text = json.dumps({"format": FORMAT, **values}, separators=(",", ":"), allow_nan=False)
    put(path, gzip.compress(text.encode(), 9, mtime=0))


def read(path: Path) -> Record:
    """A record as `write` left it."""
    try:
        most = min(LARGEST, max(LARGEST // 5, DENSEST * path.stat().st_size))
        with gzip.open(path) as file:
            text = file.read(most + 1)
        if len(text) > most:
            raise ValueError(f"it is longer than {most} bytes")
        values = json.loads(text)
        if values.pop("format") != FORMAT:
            raise ValueError("it has another format")
        played = values.pop("played")
        table = [np.cumsum(played["steps"]), played["returns"], played["lengths"]]
        record = Record(**values, played=np.array(table, float).T)
        check_values(values, CERTIFICATE, CLOCK)
        if not np.isfinite(record.played).all():
            raise ValueError("played: not all of it is finite")
        return record
    except DAMAGED as error:
        what = plain(str(error))
        raise ValueError(f"{path}: it is no record ({what}); remove it and run again") from error


def read_all(out: Path) -> list[Record]:
    """All records of a folder, by task, method and seed."""
    records = []
    for path in (out / "records").glob("*/*/*.json.gz"):
        record = read(path)
        place = file_of(out, record.env, record.label, record.seed)
        if path != place:
            raise ValueError(f"{path}: it is the record of {place}; move it there, or remove it")
        records.append(record)
    return sorted(records, key=lambda record: (record.env, record.label, record.seed))


def file_of(out: Path, env: str, label: str, seed: int) -> Path:
    """Where the record of a run is."""
    return out / "records" / env / label / f"{seed}.json.gz"


def _rounded(value: Any) -> float | None:
    """Six digits, which is more than a table or a picture shows; None: no number."""
    if not np.isfinite(value):
        return None
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _commit() -> str:
    """That of this package, where it is run from its repository; "+" where files differ from it."""
    package = Path(__file__).parents[1]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        git = ["git", "-C", str(package)]
        top = subprocess.check_output(
            [*git, "rev-parse", "--show-toplevel"], text=True, stderr=subprocess.DEVNULL
        )
        if package == Path(top.strip()) / "src" / "odrpo":
            head = subprocess.check_output([*git, "rev-parse", "--short", "HEAD"], text=True)
            changed = subprocess.check_output([*git, "status", "--porcelain", "."], text=True)
            return head.strip() + ("+" if changed.strip() else "")
    return "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
