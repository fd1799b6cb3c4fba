"""Gymnasium environments that can be brought back: a state is a seed and the actions since."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv, VectorEnv


class EnvError(ValueError):
    """An environment that misbehaves; the message names it, the step and the value."""


class Replayable(gymnasium.Wrapper):
    """One whose episodes begin from a seed each, that follows from the first one and their number.

    Gymnasium's own go on with the random numbers of the episode before, which no file could keep.
    """

    def __init__(self, env: gymnasium.Env, place: int) -> None:
        """`place` is its number among those beside it."""
        super().__init__(env)
        self.place = place
        self.first_seed = 0
        self.episode = 0
        """Episodes begun since the first seed was given."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        """Begin the next episode, or the first one from a seed."""
        if seed is not None:
            self.first_seed, self.episode = seed, 0
        self.episode += 1
        return self.env.reset(seed=_episode_seed(self.first_seed, self.episode), options=options)

    def go_to(
        self, first_seeds: Sequence[int], episodes: Sequence[int], moves: Sequence[np.ndarray]
    ) -> Any:
        """Be where the actions of an episode lead; all are told of all, each takes its own.

        Returns the observation there.
        """
        self.first_seed = int(first_seeds[self.place])
        self.episode = int(episodes[self.place]) - 1
        observation, _ = self.reset()
        for action in moves[self.place]:
            observation, _, terminated, truncated, _ = self.env.step(action)
            if terminated or truncated:  # it did not end there before
                return None
        return observation


def is_replayable(env: VectorEnv) -> bool:
    """Whether all of its environments can be brought back."""
    return isinstance(env, SyncVectorEnv) and all(isinstance(one, Replayable) for one in env.envs)


def name_of(env: VectorEnv, which: int = 0) -> str:
    """What a person calls it, or the one of those that are in it."""
    one = getattr(env, "envs", [env] * (which + 1))[which]
    spec = getattr(one, "spec", None)
    return type(one.unwrapped).__name__ if spec is None else spec.id


def _episode_seed(first: int, episode: int) -> int:
    if episode == 1:
        return first
    return int(np.random.SeedSequence((first, episode)).generate_state(1)[0])
