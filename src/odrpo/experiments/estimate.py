"""How long runs take: from records of the same where there are any, else from rough rates."""

from collections.abc import Sequence

from odrpo.experiments.record import Record
from odrpo.experiments.runs import BASELINES, GROUPS, Run

START = 10.0
"""Seconds until a process trains: imports, and compilation for ours."""
RATES = {"tabular": 40_000.0, "discrete": 60_000.0}
OTHERWISE = 500.0
"""Timesteps a second of ours on one core of a small machine, without its start."""
SLOWER = {"HalfCheetah-v5": 160.0, "Ant-v5": 160.0}
BASELINE_RATES = {"trpo": 3500.0, "ppo": 2500.0, "a2c": 2000.0}


def seconds_of(run: Run, records: Sequence[Record]) -> float:
    """What it will take on a core of its own."""
    alike = [
        record.seconds / record.taken
        for record in records
        if (record.env, record.label) == (run.env, run.label)
    ]
    if alike:
        return START + run.timesteps * sum(alike) / len(alike)
    if run.method in BASELINES:
        return START + run.timesteps / BASELINE_RATES[run.method]
    group = next((group for group, envs in GROUPS.items() if run.env in envs), "")
    return START + run.timesteps / SLOWER.get(run.env, RATES.get(group, OTHERWISE))


def in_words(seconds: float) -> str:
    """As a person would say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
