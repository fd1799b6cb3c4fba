"""How long runs take: from records of the same where there are any, else from rough rates."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from odrpo.experiments.record import Record
from odrpo.experiments.runs import BASELINES, GROUPS, OURS, Run
from odrpo.experiments.status import read_status

START = 10.0
"""Seconds until a process trains: imports, and compilation for ours."""
RATES = {"tabular": 40_000.0, "discrete": 60_000.0}
OTHERWISE = 500.0
"""Timesteps a second of ours on one core of a small machine, without its start."""
SLOWER = {"HalfCheetah-v5": 160.0, "Ant-v5": 160.0}
BASELINE_RATES = {"trpo": 3500.0, "ppo": 2500.0, "a2c": 2000.0}


class Pace:
    """How fast runs are here, as far as records tell."""

    def __init__(self, records: Sequence[Record]) -> None:
        """Of runs of the same they tell how long it takes, of others how rough the rates are."""
        self.known: dict[tuple[str, str], list[float]] = {}
        for record in records:
            rates = self.known.setdefault((record.env, record.label), [])
            rates.append(record.seconds / record.taken)
        factors = [(START + r.seconds) / _roughly(r.env, r.method, r.taken) for r in records]
        self.factor = median(factors) if factors else 1.0

    def seconds(self, run: Run, done: int = 0) -> float:
        """What a run will take on a core of its own from so many timesteps on."""
        left = max(0, run.timesteps - done)
        rates = self.known.get((run.env, run.label))
        if rates:
            return START + left * sum(rates) / len(rates)
        return self.factor * _roughly(run.env, run.method, left)


def of_all(seconds: Sequence[float], jobs: int) -> float:
    """Until all runs are over, so many at once: no less than the longest takes."""
    return max([0.0, *seconds, sum(seconds) / jobs])


def done_before(run: Run, out: Path) -> int:
    """The timesteps from which a run that was stopped goes on; baselines begin anew."""
    return read_status(run.folder(out)).get("done", 0) if run.method in OURS else 0


def _roughly(env: str, method: str, timesteps: int) -> float:
    if method in BASELINES:
        return START + timesteps / BASELINE_RATES[method]
    group = next((group for group, envs in GROUPS.items() if env in envs), "")
    return START + timesteps / SLOWER.get(env, RATES.get(group, OTHERWISE))


def in_words(seconds: float) -> str:
    """As a person would say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
