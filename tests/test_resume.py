"""A run that is killed, whenever that is, goes on as if nothing had happened."""

import signal
from pathlib import Path

import numpy as np
import pytest

from tests.faults import KINDS, STEPS, Killed, assert_same_run, run_in_process


def moments(kills: int, seed: int) -> list[Killed]:
    """Every other one while a checkpoint is being written, the others at any time."""
    rng = np.random.default_rng(seed)
    return [
        Killed(seconds=float(rng.uniform(0, 0.1)))
        if k % 2
        else Killed(operation=int(rng.integers(1, 60)))
        for k in range(kills)
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_run_that_was_killed_ends_as_one_that_was_not(
    kind: str, kills: int, tmp_path: Path
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    timesteps = STEPS[kind] * (16 + 16 * kills)  # so many that none of them comes too late
    assert run_in_process(kind, whole, timesteps) == 0
    for at in moments(kills, 7):
        assert run_in_process(kind, killed, timesteps, at) == -signal.SIGKILL
    assert run_in_process(kind, killed, timesteps) == 0
    assert_same_run(killed, whole)
