"""Reliability, the long form: runs that are killed, damaged files, a hundred million steps.

Parts write what they found into results/soak.json as they go, and are not done again while it is
there; remove it to begin anew. `--short` shows that everything runs, in results/soak_short.json.
"""

import contextlib
import functools
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import tyro
from rich.console import Console
from tests.faults import KINDS, ROOT, STEPS, Killed, assert_same_run, damaged, run_in_process

import odrpo
from odrpo.checkpoints import Checkpoints
from odrpo.model_files import contents
from odrpo.run_folder import RunFolder
from odrpo.training import train

console = Console()
Found = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """How long, and where to."""

    short: bool = False
    """A small part of everything."""
    out: Path = ROOT / "results"
    """Where soak.json and soak.md go."""


def kills(short: bool) -> Found:
    """Runs of each kind are killed again and again, and end as one that was not."""
    each, updates = (3, 64) if short else (20, 512)
    rng = np.random.default_rng(0)
    found: Found = {"killed while a checkpoint was written": 0, "killed at another time": 0}
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as place:
            whole, killed = Path(place) / "whole", Path(place) / "killed"
            timesteps = updates * STEPS[kind]
            run_in_process(kind, whole, timesteps)
            for k in range(each):
                writes = k % 2 == 0
                at = (
                    Killed(operation=int(rng.integers(1, 120)))
                    if writes
                    else Killed(seconds=float(rng.uniform(0, 0.1)))
                )
                died = run_in_process(kind, killed, timesteps, at) != 0
                names = list(found)
                found[names[0] if writes else names[1]] += died
            run_in_process(kind, killed, timesteps)
            assert_same_run(killed, whole)
    return found | {"kinds of runs": len(KINDS), "rows or parameters that differ": 0}


def fuzz(short: bool) -> Found:
    """Damaged checkpoints, and what is in their replay: an error, or what was saved."""
    count = 300 if short else 20_000
    rng = np.random.default_rng(1)
    found: Found = {"files": 0, "bytes": 0, "refused": 0, "loaded wrongly": 0}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run_in_process("generative", folder / "run", 256)
        path = folder / "model.odrpo"
        odrpo.ODRPO.load(folder / "run").save(path, replay=True)
        content = path.read_bytes()
        whole = _contents(path)
        for _ in range(count):
            data = damaged(content, rng)
            path.write_bytes(data)
            found["files"] += 1
            found["bytes"] += len(data)
            try:
                found["loaded wrongly"] += _contents(path) != whole
            except ValueError:
                found["refused"] += 1
    return found


def _contents(path: Path) -> dict[str, bytes]:
    model = odrpo.ODRPO.load(path)
    arrays = contents(model)[0]
    assert model.replay is not None
    arrays |= model.replay.rows(model.replay.oldest, model.replay.added)
    return {name: array.tobytes() for name, array in arrays.items()}


def soak(short: bool) -> Found:
    """A long run on the device with its folder; memory is measured from a fifth of it on.

    By then the records that are kept in memory are as many as they will be.
    """
    timesteps = 1_000_000 if short else 100_000_000
    settings: dict[str, Any] = {"num_envs": 64, "num_steps": 64, "policy_epochs": 2}
    settings |= {"critic_epochs": 2, "minibatch": 1024, "horizon": timesteps}
    memory: list[float] = []

    def watch(model: odrpo.ODRPO, row: dict[str, float]) -> None:
        if row["timesteps"] > timesteps / 5 and model.records.update_count % 100 == 0:
            memory.append(_resident())

    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        model = odrpo.ODRPO("CartPole-v1", **settings)
        model.learn(timesteps, callback=watch, run_dir=place)
    return {
        "timesteps": model.num_timesteps,
        "hours": round((time.perf_counter() - began) / 3600, 2),
        "memory at a fifth, MB": round(memory[0]),
        "memory at the end, MB": round(memory[-1]),
        "largest over smallest, %": round(100 * (max(memory) / min(memory) - 1), 2),
        "updates refused": model.records.refused,
    }


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def interleaved(short: bool) -> Found:
    """Two seeds take turns, each loaded from its folder for every turn."""
    turns, each = (4, 2_048) if short else (20, 20_480)
    with tempfile.TemporaryDirectory() as place:
        folders = [Path(place) / str(seed) for seed in range(2)]
        for turn in range(turns):
            for seed, folder in enumerate(folders):
                model = odrpo.ODRPO.load(folder) if turn else odrpo.ODRPO("CartPole-v1", seed=seed)
                model.learn(each, run_dir=folder)
        differ = 0
        for seed, folder in enumerate(folders):
            never = odrpo.ODRPO("CartPole-v1", seed=seed).learn(turns * each)
            mine, its = (contents(m)[0] for m in (odrpo.ODRPO.load(folder), never))
            differ += sum(mine[name].tobytes() != its[name].tobytes() for name in its)
    return {"seeds": 2, "restarts": 2 * turns, "timesteps": 2 * turns * each, "differ": differ}


def saving(short: bool) -> Found:
    """What logs and checkpoints take of the time in which a run trains, at the defaults."""
    seconds, often = (5, 1.0) if short else (100, 30.0)
    runs: dict[str, dict[str, Any]] = {
        "a network on the device": {"env": "CartPole-v1", "horizon": 10**8},
        "a network on Gymnasium": {"env": "CartPole-v1", "backend": "host", "horizon": 10**8},
        "a generator with replay": {"env": "HalfCheetah-v5"},
    }
    found: Found = {}
    for name, settings in runs.items():
        model = odrpo.ODRPO(**settings)
        model.learn(model.config.warm_up + 1)  # compiled, and warmed up
        with (
            tempfile.TemporaryDirectory() as place,
            timed(Checkpoints, "save") as checkpoints,
            timed(RunFolder, "_log") as rows,
            timed(RunFolder, "_write") as files,
        ):
            began = time.perf_counter()
            ended = functools.partial(_is_over, began + seconds)
            train([model], 10**8, run_dir=place, stop=ended, checkpoint_seconds=often)
            total = time.perf_counter() - began
        found[f"{name}: checkpoints, %"] = round(100 * sum(checkpoints) / total, 2)
        found[f"{name}: logs, %"] = round(100 * (sum(rows) + sum(files)) / total, 2)
    return found


def _is_over(end: float) -> bool:
    return time.perf_counter() > end


@contextlib.contextmanager
def timed(kind: type, name: str) -> Iterator[list[float]]:
    """The seconds of each call of a method."""
    spent: list[float] = []
    real = getattr(kind, name)

    def method(*arguments: Any, **options: Any) -> None:
        began = time.perf_counter()
        real(*arguments, **options)
        spent.append(time.perf_counter() - began)

    with mock.patch.object(kind, name, method):
        yield spent


PARTS: dict[str, Callable[[bool], Found]] = {
    "Killed with SIGKILL and resumed": kills,
    "Damaged files": fuzz,
    "Two seeds in turn": interleaved,
    "What saving costs": saving,
    "A long run": soak,
}


def main(options: Options) -> None:
    """Do what is not there yet."""
    path = options.out / ("soak_short.json" if options.short else "soak.json")
    found: Found = json.loads(path.read_text()) if path.exists() else {}
    for name, part in PARTS.items():
        if name not in found:
            console.print(f"{name} ...")
            found[name] = part(options.short) | {"date": str(date.today())}
            path.write_text(json.dumps(found, indent=1) + "\n")
    lines = ["| what | |", "| --- | --- |"]
    for name, values in found.items():
        told = ", ".join(f"{key} {value:,}" for key, value in values.items() if key != "date")
        lines.append(f"| {name} | {told} |")
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")
    console.print("\n".join(lines))


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
