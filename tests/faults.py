"""Faults on demand: processes that are killed, disks that are full, files that are damaged.

`python -m tests.faults RUN` is a process to be killed: it begins a run, or goes on with it.
"""

import contextlib
import csv
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

ROOT = Path(__file__).parent.parent
NETWORK: dict[str, Any] = {"hidden": (8, 8), "num_envs": 2, "num_steps": 16, "preset": "default"}
KINDS: dict[str, dict[str, Any]] = {
    "tabular": {"env": "CliffWalking-v1", "num_envs": 4, "num_steps": 16},
    "device": {"env": "CartPole-v1", **NETWORK},
    "host": {"env": "CartPole-v1", "backend": "host", **NETWORK},
    "generative": {
        "env": "Pendulum-v1",
        "hidden": (8, 8),
        "levels": 4,
        "head": 8,
        "minibatch": 8,
        "projection_states": 4,
        "num_steps": 16,
        "warm_up": 64,
        "replay_size": 150,  # so that the ring goes around
        "updates_per_step": 0.25,
        "preset": "default",
    },
}
"""What runs: tables, networks on the device and on Gymnasium, a generator from replay."""
STEPS = {"tabular": 64, "device": 32, "host": 32, "generative": 16}
"""Of an update."""
OPERATIONS = ("fsync", "replace", "link", "unlink")
"""What a checkpoint is made of."""


@dataclass(frozen=True)
class Killed:
    """When a process kills itself: before an operation on files, or so long after an update."""

    operation: int | None = None
    seconds: float | None = None


NEVER = Killed()


def run_in_process(kind: str, folder: Path, timesteps: int, killed: Killed = NEVER) -> int:
    """Begin a run or go on with it, saving at every update; returns the exit code."""
    spec = {"kind": kind, "folder": str(folder), "timesteps": timesteps, **asdict(killed)}
    environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(ROOT / ".jax_cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    command = [sys.executable, "-m", "tests.faults", json.dumps(spec)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, -signal.SIGKILL):
        raise AssertionError(done.stderr)
    return done.returncode


def what_is_left(folder: Path) -> tuple[dict[str, np.ndarray], dict, list[dict], list[dict]]:
    """All that the last checkpoint has, and the logs; but for the clock."""
    from odrpo import ODRPO
    from odrpo.model_files import contents

    model = ODRPO.load(folder)
    arrays, header = contents(model)
    header = {name: value for name, value in header.items() if name != "seconds"}
    if model.replay is not None:
        rows = model.replay.rows(model.replay.oldest, model.replay.added)
        arrays |= {f"replay.{name}": array for name, array in rows.items()}
        header["replay"] = model.replay.described()
    logs = []
    for name in ("progress.csv", "episodes.csv"):
        with (folder / name).open(newline="") as file:
            known = list(csv.DictReader(file))
        logs.append([{k: v for k, v in row.items() if k != "seconds"} for row in known])
    return arrays, header, logs[0], logs[1]


def assert_same_run(one: Path, other: Path) -> None:
    """Bit for bit."""
    (arrays, *rest), (expected, *known) = what_is_left(one), what_is_left(other)
    assert set(arrays) == set(expected)
    for name, array in arrays.items():
        assert array.dtype == expected[name].dtype
        assert array.tobytes() == expected[name].tobytes(), name
    assert rest == known


@contextlib.contextmanager
def full_disk(is_full: Callable[[], bool]) -> Iterator[None]:
    """Nothing gets onto the disk while it is full."""
    real = os.fsync

    def fsync(handle: int) -> None:
        if is_full():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with mock.patch.object(os, "fsync", fsync):
        yield


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """A file with something wrong in it: bits, lengths, pieces, or all of it."""
    kind = rng.integers(7)
    data, place = bytearray(content), int(rng.integers(len(content)))
    if kind == 0:
        data[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        data = data[:place]
    elif kind == 2:
        data[place:place] = rng.bytes(int(rng.integers(1, 64)))
    elif kind == 3:
        del data[place : place + int(rng.integers(1, 64))]
    elif kind == 4:
        length = int(rng.integers(1, 256))
        data[place : place + length] = bytes(length)
    elif kind == 5:  # in the header, where lengths, types and settings are
        header = min(len(data), 8 + int.from_bytes(data[:8], "little"))
        where = int(rng.integers(header))
        data[where] = int(rng.integers(256))
    else:
        other = int(rng.integers(len(content)))
        length = int(rng.integers(1, 256))
        data[place : place + length] = data[other : other + length]
    return bytes(data)


def _die_before(count: int) -> None:
    """Kill this process before the so many-th operation on files."""
    left = [count]

    def counted(real: Callable) -> Callable:
        def operation(*arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        return operation

    for name in OPERATIONS:
        setattr(os, name, counted(getattr(os, name)))


def _die_after(seconds: float) -> None:
    def wait() -> None:
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def _main(spec: dict[str, Any]) -> None:
    from odrpo import ODRPO, replay_files
    from odrpo.run_folder import holds_run
    from odrpo.training import train

    replay_files.TRANSITIONS = 32  # so that there are many files
    folder, settings = Path(spec["folder"]), dict(KINDS[spec["kind"]])
    model = ODRPO.load(folder) if holds_run(folder) else ODRPO(settings.pop("env"), **settings)
    begun: list[int] = []

    def on_update(model: ODRPO, row: dict[str, float]) -> None:
        if not begun and spec["seconds"] is not None:
            _die_after(spec["seconds"])
        begun.append(1)

    if spec["operation"] is not None:
        _die_before(spec["operation"])
    left = spec["timesteps"] - model.target
    train([model], left, on_update, False, folder, model.target > 0, checkpoint_timesteps=1)


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
