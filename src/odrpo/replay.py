"""What was lived through, to learn from again: a ring of the last transitions, on the host."""

from typing import Any

import numpy as np

from odrpo.critics import Transitions
from odrpo.rollout import Batch

FIELDS = (
    "observation",
    "action",
    "reward",
    "next_observation",
    "terminated",
    "truncated",
    "valid",
)


class Replay:
    """The last transitions of B environments, in arrays (capacity, B, ...).

    On the host, since there they are written in place, whatever their number.
    """

    def __init__(self, capacity: int, num_envs: int, seed: int) -> None:
        """An empty one; memory is taken as it fills."""
        # Of two steps of an environment one at least is more than a new beginning.
        self.capacity = max(2, capacity // num_envs)
        self.num_envs = num_envs
        self.rng = np.random.default_rng(seed)
        self.arrays: dict[str, np.ndarray] = {}
        self.added = 0
        """Rows since the beginning."""
        self.reward_square = np.float32(0)
        """The mean square of all rewards since the beginning."""

    def __len__(self) -> int:
        """Transitions that can be drawn."""
        return min(self.added, self.capacity) * self.num_envs

    def add(self, batch: Batch) -> None:
        """Take in the rows of a batch, the oldest first."""
        if batch.mask is not None:
            raise ValueError(
                'env: it gives info["action_mask"], which critic="replay" does not know of; use '
                'critic="network"'
            )
        for name in FIELDS:
            rows = np.asarray(getattr(batch, name))
            if name not in self.arrays:
                self.arrays[name] = np.zeros((self.capacity, *rows.shape[1:]), rows.dtype)
            places = (self.added + np.arange(len(rows))) % self.capacity
            self.arrays[name][places[-self.capacity :]] = rows[-self.capacity :]
        valid = np.asarray(batch.valid)
        square = np.mean(np.asarray(batch.reward)[valid] ** 2) if valid.any() else 0
        self.added += len(valid)
        share = len(valid) / self.added
        self.reward_square = np.float32(self.reward_square + share * (square - self.reward_square))

    def forget(self, before: tuple[int, np.float32]) -> None:
        """Go back to the rows and the mean square there were before.

        What the ring has overwritten since can't be had back: then all is kept.
        """
        if self.added <= self.capacity:
            self.added, self.reward_square = before

    def break_off(self) -> None:
        """What comes next does not follow from the last row: the environments begin anew."""
        if self.added:
            last = (self.added - 1) % self.capacity
            self.arrays["truncated"][last] |= ~self.arrays["terminated"][last]

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """What was filled, by names of files, and what else is to be remembered, as JSON."""
        filled = min(self.added, self.capacity)
        arrays = {f"replay.{name}": array[:filled] for name, array in self.arrays.items()}
        described = {"added": self.added, "reward_square": float(self.reward_square)}
        return arrays, described | {"rng": self.rng.bit_generator.state}

    def from_arrays(self, arrays: dict[str, np.ndarray], described: dict[str, Any]) -> None:
        """Go on from what `to_arrays` gave."""
        self.added = int(described["added"])
        self.reward_square = np.float32(described["reward_square"])
        self.rng.bit_generator.state = described["rng"]
        filled = min(self.added, self.capacity)
        for name in FIELDS if filled else ():
            rows = arrays[f"replay.{name}"]
            if rows.shape[:2] != (filled, self.num_envs):
                raise ValueError(f"replay.{name} has shape {rows.shape}, not {filled} rows")
            self.arrays[name] = np.zeros((self.capacity, *rows.shape[1:]), rows.dtype)
            self.arrays[name][:filled] = rows

    def draw(self, shape: tuple[int, ...], steps: int, discount: float) -> Transitions:
        """Transitions at random, (*shape, ...), each of up to so many steps."""
        filled = min(self.added, self.capacity)
        oldest = self.added - filled
        row = self.rng.integers(0, filled, shape) + oldest
        env = self.rng.integers(0, self.num_envs, shape)
        # Where an environment only began anew, nothing was done.
        idle = ~self.arrays["valid"][row % self.capacity, env]
        while idle.any():
            row[idle] = self.rng.integers(0, filled, idle.sum()) + oldest
            idle = ~self.arrays["valid"][row % self.capacity, env]
        first = (row % self.capacity, env)
        reward = np.zeros(shape, np.float32)
        factor = np.ones(shape, np.float32)
        going_on = np.ones(shape, bool)
        last = row
        for step in range(steps):
            going_on = going_on & (row + step < self.added)
            place = ((row + step) % self.capacity, env)
            reward += np.where(going_on, factor * self.arrays["reward"][place], 0)
            factor = np.where(going_on, factor * np.float32(discount), factor)
            last = np.where(going_on, row + step, last)
            going_on &= ~(self.arrays["terminated"][place] | self.arrays["truncated"][place])
        end = (last % self.capacity, env)
        beyond = self.arrays["next_observation"][end]
        return Transitions(
            self.arrays["observation"][first],
            self.arrays["action"][first],
            reward,
            beyond,
            np.where(self.arrays["terminated"][end], np.float32(0), factor),
            beyond if steps == 1 else self.arrays["next_observation"][first],
        )
