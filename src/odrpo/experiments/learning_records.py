"""The record of an experiment: all that tables and figures are made from, as small JSON files."""

import json
import re
import subprocess
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from odrpo.config import Config
from odrpo.records import Episode

POINTS = 200
INNERMOST = re.compile(r"\[[^\[\]{}]*\]")
"""Lists of numbers, such as a point of a curve, stand in one line."""


@dataclass(frozen=True)
class Seed:
    """How one seed fared."""

    seed: int
    final_return: float
    """Mean over the last tenth of the episodes within the budget."""
    greedy_return: float
    """Mean of the evaluated greedy policy at the end."""
    success: float | None
    """Share of the evaluated episodes that came to their end within the step limit."""
    reached: float | None
    """Timesteps to the task's threshold; None: never, or there is none."""
    optimum_reached: float | None
    """Timesteps to a mean over 20 episodes within 1 % of the optimum; None: never, or unknown."""
    largest_gap: float
    """Of all certificates, relative to 1 + the gain."""
    largest_use: float
    """Of the radius by the exact steps: distance / radius."""
    curve: list[tuple[int, float]]
    """Timesteps and mean return of 20 episodes, thinned out."""


@dataclass(frozen=True)
class Record:
    """One task, metric and kind of settings over several seeds."""

    env: str
    metric: str
    kind: str
    """tuned, model-free, paper, default, or the name of a baseline."""
    timesteps: int
    episodes: int | None
    max_steps: int | None
    config: dict[str, Any]
    seeds: list[Seed]
    wall_clock: float
    versions: dict[str, str]
    commit: str


def provenance() -> dict[str, Any]:
    """Versions and commit of what runs."""
    packages = ("odrpo", "jax", "numpy", "gymnasium", "optax")
    asked = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    versions = {name: version(name) for name in packages}
    return {"versions": versions, "commit": asked.stdout.strip() or "unknown"}


def thinned(episodes: list[Episode]) -> list[tuple[int, float]]:
    """At most so many points of a learning curve as a picture can show."""
    from odrpo.curves import smoothed  # matplotlib is slow to import

    timesteps, returns = smoothed(episodes)
    step = max(1, len(timesteps) // POINTS)
    return [
        (int(t), round(float(r), 3))
        for t, r in zip(timesteps[::step], returns[::step], strict=True)
    ]


def write_record(record: Record, folder: Path) -> Path:
    """Write it as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record.env}-{record.kind}-{record.metric}.json"
    text = json.dumps(asdict(record), indent=1, default=float)
    path.write_text(re.sub(INNERMOST, lambda found: " ".join(found[0].split()), text) + "\n")
    return path


def add_seeds(record: Record, folder: Path) -> Record:
    """Write it together with the seeds that are recorded of the same already."""
    known = find_record(folder, record.env, record.kind, record.metric)
    if known is not None:
        check_settings(known, record.config, record.timesteps)
        seeds = sorted([*known.seeds, *record.seeds], key=lambda seed: seed.seed)
        record = replace(record, seeds=seeds, wall_clock=known.wall_clock + record.wall_clock)
    write_record(record, folder)
    return record


def check_settings(known: Record, config: dict[str, Any], timesteps: int) -> None:
    """Refuse to add to it what was run, or is to be run, in another way."""
    config = json.loads(json.dumps(config))  # lists where there were tuples
    # A setting that there was not yet is as good as one that is left at its default.
    defaults = json.loads(json.dumps(Config().to_json()))
    if (defaults | known.config, known.timesteps) != (config, timesteps):
        raise ValueError(
            f"{known.env}-{known.kind}-{known.metric}: it is recorded with other settings; remove "
            "that record to begin anew"
        )


def find_record(folder: Path, env: str, kind: str, metric: str) -> Record | None:
    """The one of these, if there is one."""
    wanted = (env, kind, metric)
    every = read_records(folder)
    return next((known for known in every if (known.env, known.kind, known.metric) == wanted), None)


def has_seed(folder: Path, env: str, kind: str, metric: str, seed: int) -> bool:
    """Whether it is recorded already."""
    record = find_record(folder, env, kind, metric)
    return record is not None and any(known.seed == seed for known in record.seeds)


def read_records(folder: Path) -> list[Record]:
    """All records of a folder."""
    records = []
    for path in sorted(folder.glob("*.json")):
        values = json.loads(path.read_text())
        seeds = [Seed(**seed) for seed in values.pop("seeds")]
        records.append(Record(**values, seeds=seeds))
    return records
