"""Probe environments: each isolates one thing that can go wrong, and has a known answer."""

from typing import Any

import gymnasium
import numpy as np

from odrpo import FiniteMDP

END = 2
"""The last state of each probe, where an episode ends."""


def reward_by_action() -> FiniteMDP:
    """One step, and only action 1 pays: advantages have the right sign."""
    return FiniteMDP([[END, END]] * 3, [[0.0, 1.0]] * 3, 0, [0, 0, 1])


def reward_by_state_and_action() -> FiniteMDP:
    """One step from one of two states, and the action that pays is another in each."""
    return FiniteMDP([[END, END]] * 3, [[0, 1], [1, 0], [0, 0]], [0.5, 0.5, 0], [0, 0, 1])


def delayed_reward() -> FiniteMDP:
    """What pays at the second step was decided at the first: values travel back in time."""
    return FiniteMDP([[1, 3], [2, 2], [2, 2], [2, 2]], [0, 1, 0, 0], 0, [0, 0, 1, 0])


def endless_reward() -> FiniteMDP:
    """A reward of one for ever, cut off after four steps: truncation is no end."""
    return FiniteMDP([[0, 0]], [1.0], 0, max_steps=4)


def ending_reward() -> FiniteMDP:
    """Staying pays one and may go on, ending pays two: good only if ends and cuts are told apart.

    With a discount of 0.9 staying for ever is worth 10; cut off at four steps as if that were the
    end, it would be worth less than 3.5, and near the cut ending would look better.
    """
    return FiniteMDP([[0, 1], [1, 1]], [[1.0, 2.0], [0, 0]], 0, [0, 1], max_steps=4)


class Aim(gymnasium.Env):
    """One step; the nearer the action comes to half of what is seen, the better.

    Actions have a shape, and bounds of their own in each component.
    """

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    pays = 1.0
    action_space = gymnasium.spaces.Box(
        np.array([[-2.0, 0.0]], np.float32), np.array([[6.0, 1.0]], np.float32)
    )

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.seen = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self.seen, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        assert self.action_space.contains(action)
        shares = 2 * (action - self.action_space.low) / np.ptp(self.bounds(), axis=0) - 1
        missed = float(np.sum((shares[0] - self.seen / 2) ** 2))
        return self.seen, -self.pays * missed, True, False, {}

    def bounds(self) -> np.ndarray:
        return np.stack([self.action_space.low, self.action_space.high])

    def missed_by(self, seen: np.ndarray, actions: np.ndarray) -> float:
        """The mean distance from the best action, in shares of the bounds."""
        shares = 2 * (actions - self.action_space.low) / np.ptp(self.bounds(), axis=0) - 1
        return float(np.abs(shares[:, 0] - seen / 2).mean())


class Endless(gymnasium.Env):
    """A reward of one at every step whatever is done, cut off after a few: truncation is no end."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        self.time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        self.time += 1
        return np.zeros(1, np.float32), 1.0, False, self.time == 4, {}


class Later(gymnasium.Env):
    """Where an action aimed at is paid for at the next step only: values travel back in time."""

    observation_space = gymnasium.spaces.Box(-2, 2, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.aim, self.missed = float(self.np_random.uniform(-0.8, 0.8)), None
        return np.array([0, self.aim], np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        if self.missed is None:
            self.missed = float(action[0]) - self.aim
            return np.array([1, self.missed], np.float32), 0.0, False, False, {}
        return np.zeros(2, np.float32), -(self.missed**2), True, False, {}


class Staying(Endless):
    """The counterpart of `ending_reward`: an action above zero ends the episode."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        self.time += 1
        ends = bool(action[0] > 0)
        return np.zeros(1, np.float32), 2.0 if ends else 1.0, ends, self.time == 4, {}
