"""Records by task and method, and how long the runs of each were."""

from collections.abc import Callable, Sequence

import numpy as np

from odrpo.experiments import statistics
from odrpo.experiments.record import Record
from odrpo.presets import TASKS

NAMES = {
    "odrpo-kl": "ODRPO-KL",
    "odrpo-wasserstein": "ODRPO-Wass",
    "odrpo-sinkhorn": "ODRPO-Sinkhorn",
    "trpo": "TRPO",
    "ppo": "PPO",
    "a2c": "A2C",
}
LONGER = "paper-budget"
"""The variant of ours that has all of the paper's timesteps."""


class Results:
    """Records by task and method."""

    def __init__(self, records: Sequence[Record]) -> None:
        """Sort them in."""
        self.found: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            self.found.setdefault((record.env, record.label), []).append(record)

    def of(self, env: str, label: str) -> list[Record]:
        """All seeds."""
        return self.found.get((env, label), [])

    def values(self, env: str, label: str, measure: Callable[[Record], float]) -> np.ndarray:
        """A number of each seed."""
        return np.array([measure(record) for record in self.of(env, label)])

    def mean_last_tenth(self, env: str, label: str) -> float | None:
        """Over the seeds; None: there are none."""
        values = self.values(env, label, statistics.last_tenth)
        return float(values.mean()) if len(values) else None

    @property
    def envs(self) -> list[str]:
        """The paper's tasks that have any."""
        return [env for env in TASKS if any(env == found for found, _ in self.found)]

    def budget(self, env: str) -> str:
        """How long the runs of a task were, as the table counts it."""
        if not counts_episodes(env):
            return self.steps(env)
        full = self._timesteps(env) == [TASKS[env].timesteps]
        return f"{TASKS[env].episodes} episodes" + ("" if full else f" of {self.steps(env)}")

    def steps(self, env: str, variant: str = "") -> str:
        """How long the runs of a task were."""
        every = self._timesteps(env, variant)
        return " or ".join(
            f"{n / 1e6:g} M steps" if n >= 1e6 else f"{n / 1e3:g} k steps" for n in every
        )

    def _timesteps(self, env: str, variant: str = "") -> list[int]:
        every = [record for (found, _), own in self.found.items() if found == env for record in own]
        return sorted({record.timesteps for record in every if record.variant == variant})


def counts_episodes(env: str) -> bool:
    """Whether the paper's budget of a task is a number of episodes."""
    return env in TASKS and TASKS[env].episodes is not None
