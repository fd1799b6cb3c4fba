"""What was lived through, to learn from again: a ring of the last transitions, on the host."""

from typing import Any, NamedTuple

import numpy as np

from odrpo.arguments import finite, whole
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


class Mark(NamedTuple):
    """A moment to which a replay can go back."""

    added: int
    reward_square: np.float32
    rng: Any
    first: int
    lost: dict[str, np.ndarray]
    """Rows from `first` on that will be overwritten."""


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
        self.put({name: np.asarray(getattr(batch, name)) for name in FIELDS}, self.added)
        valid = np.asarray(batch.valid)
        reward = np.asarray(batch.reward, np.float64)[valid]  # a square of float32 may have no room
        square = float(np.mean(reward**2)) if len(reward) else 0.0
        self.added += len(valid)
        before = float(self.reward_square)
        mean = before + len(valid) / self.added * (square - before)
        self.reward_square = np.float32(min(mean, float(np.finfo(np.float32).max)))

    def put(self, rows: dict[str, np.ndarray], first: int) -> None:
        """Rows in their places, counted from the beginning; memory is taken as it is needed."""
        count = len(rows["valid"])
        places = (first + np.arange(count)) % self.capacity
        for name, new in rows.items():
            old = self.arrays.get(name)
            room = min(self.capacity, first + count)
            if old is None or len(old) < room:
                room = min(self.capacity, max(room, 2 * (0 if old is None else len(old))))
                larger = np.zeros((room, *new.shape[1:]), new.dtype)
                if old is not None:
                    larger[: len(old)] = old
                self.arrays[name] = larger
            self.arrays[name][places[-self.capacity :]] = new[-self.capacity :]

    def rows(self, first: int, end: int) -> dict[str, np.ndarray]:
        """Those from `first` to before `end`, counted from the beginning."""
        places = np.arange(first, end) % self.capacity
        return {name: array[places] for name, array in self.arrays.items()}

    def mark(self, steps: int) -> Mark:
        """What is needed to undo the next so many rows, and all draws from here on."""
        lost = self.rows(self.oldest, max(self.oldest, self.added + steps - self.capacity))
        rng = self.rng.bit_generator.state
        return Mark(self.added, self.reward_square, rng, self.oldest, lost)

    def forget(self, mark: Mark) -> None:
        """Go back to there.

        After more steps than were said, what the ring has overwritten can't be had back: all of it
        is kept.
        """
        if self.oldest > mark.first + len(mark.lost.get("valid", ())):
            return
        self.added, self.reward_square = mark.added, mark.reward_square
        self.rng.bit_generator.state = mark.rng
        if mark.lost:
            self.put(mark.lost, mark.first)

    def break_off(self) -> None:
        """What comes next does not follow from the last row: the environments begin anew."""
        if self.added:
            last = (self.added - 1) % self.capacity
            self.arrays["truncated"][last] |= ~self.arrays["terminated"][last]

    @property
    def oldest(self) -> int:
        """The first row that is still there, counted from the beginning."""
        return max(0, self.added - self.capacity)

    def described(self) -> dict[str, Any]:
        """What is to be remembered beside the rows, as JSON."""
        described = {"added": self.added, "reward_square": float(self.reward_square)}
        return described | {"rng": self.rng.bit_generator.state}

    def restore(self, parts: list[dict[str, np.ndarray]], described: dict[str, Any]) -> None:
        """Go on from what was described, with the rows in parts, from the oldest to the last."""
        self.added = whole("replay added", described["added"])
        self.reward_square = np.float32(finite("reward_square", described["reward_square"]))
        if not 0 <= self.reward_square < np.inf:
            raise ValueError(f"reward_square: {self.reward_square}; use a number >= 0")
        self.rng.bit_generator.state = described["rng"]
        at = self.added - sum(len(part["valid"]) for part in parts)
        if not 0 <= at <= self.oldest:
            raise ValueError(f"the replay has no rows {self.oldest} to {at}")
        for part in parts:
            self._check_rows(part, parts[0])
            self.put(part, at)
            at += len(part["valid"])
        if parts and not self.arrays["valid"].any():
            raise ValueError("the replay has no step at which something was done")

    def _check_rows(self, rows: dict[str, np.ndarray], first: dict[str, np.ndarray]) -> None:
        """Refuse rows of a file that are not what `add` takes in, or unlike the first ones."""
        count = len(rows["valid"])
        if set(rows) != set(FIELDS) or any(
            x.shape[:2] != (count, self.num_envs) for x in rows.values()
        ):
            raise ValueError(f"rows of the replay are not {count} of {self.num_envs} each")
        kinds = {name: (x.dtype, x.shape[2:]) for name, x in rows.items()}
        expected = {name: (x.dtype, x.shape[2:]) for name, x in first.items()}
        expected |= {"reward": (np.dtype(np.float32), ()), "next_observation": kinds["observation"]}
        flag = np.dtype(bool), ()
        expected |= {"terminated": flag, "truncated": flag, "valid": flag}
        for name, array in rows.items():
            if kinds[name] != expected[name] or array.dtype.kind not in "biuf":
                raise ValueError(f"{name} of the replay is {kinds[name]}, not {expected[name]}")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} of the replay is not finite everywhere")

    def draw(self, shape: tuple[int, ...], steps: int, discount: float) -> Transitions:
        """Transitions at random, (*shape, ...), each of up to so many steps."""
        filled, oldest = self.added - self.oldest, self.oldest
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
            place = (np.minimum(row + step, self.added - 1) % self.capacity, env)
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
