"""Gymnasium environments that can be brought back: a state is a seed and the actions since."""

import contextlib
from collections.abc import Sequence
from multiprocessing import connection
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

from odrpo.envs.checks import EnvError, StepError, check_infos, check_one, shown, told
from odrpo.envs.spaces import check_observation

__all__ = ["EnvError", "Replayable", "end", "is_replayable", "name_of", "share"]
PATIENCE = 5.0
"""Seconds for workers that have still to answer."""
MOMENT = 0.1
"""Seconds from the end of a worker's pipe to its own."""


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
        self.steps = 0
        """Of the episode that is under way."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        """Begin the next episode, or the first one from a seed."""
        if seed is not None:
            self.first_seed, self.episode = seed, 0
        self.episode += 1
        self.steps = 0
        own_seed = _episode_seed(self.first_seed, self.episode)
        try:
            observation, info = self.env.reset(seed=own_seed, options=options)
            self._check(observation)
            check_infos(info)
        except Exception as error:
            raise self._told("reset", error) from error
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        """Take a step; whatever goes wrong, this is the place that knows where and when."""
        self.steps += 1
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
            self._check(observation)
            paid, ended, cut = check_one(reward, terminated, truncated, info)
        except Exception as error:
            raise self._told("step", error) from error
        return observation, paid, ended, cut, info

    def go_to(
        self, first_seeds: Sequence[int], episodes: Sequence[int], moves: Sequence[np.ndarray]
    ) -> Any:
        """Be where the actions of an episode lead; all are told of all, each takes its own.

        Returns the observation there.
        """
        self.first_seed = int(first_seeds[self.place])
        self.episode = int(episodes[self.place]) - 1
        observation, _ = self.reset()
        try:
            for action in moves[self.place]:
                self.steps += 1
                observation, _, terminated, truncated, _ = self.env.step(action)
                if terminated or truncated:  # it did not end there before
                    return None
        except Exception as error:
            raise self._told("return to an episode", error) from error
        return observation

    def _check(self, observation: Any) -> None:
        try:
            check_observation(self.observation_space, observation)
        except ValueError as error:
            raise StepError(f"gave an observation of {shown(observation)} ({error})") from error

    def _told(self, what: str, error: Exception) -> EnvError:
        when = f"step {self.steps}" if self.steps else "the beginning"
        where = f" at {when} of an episode of environment {self.place}"
        return told(what, _name(self), where, error)


def is_replayable(env: VectorEnv) -> bool:
    """Whether all of its environments can be brought back."""
    return isinstance(env, SyncVectorEnv) and all(isinstance(one, Replayable) for one in env.envs)


def name_of(env: VectorEnv, which: int | None = None) -> str:
    """What a person calls it, or the one of those that are in it."""
    ones = getattr(env, "envs", [env])
    if which is not None and len(ones) == env.num_envs:
        return _name(ones[which])
    names = {_name(one) for one in ones}
    return names.pop() if len(names) == 1 else _name(env)


def share(one: VectorEnv, other: VectorEnv) -> bool:
    """Whether two are the same, or step the same ones."""
    mine, its = (
        [getattr(part, "unwrapped", part) for part in getattr(env, "envs", [env])]
        for env in (one, other)
    )
    return any(a is b for a in mine for b in its)


def end(env: VectorEnv) -> None:
    """Close one that has failed; workers one of whom has died are not waited for."""
    workers = env.unwrapped.processes if isinstance(env.unwrapped, AsyncVectorEnv) else []
    with contextlib.suppress(Exception):  # it may not even be able to end
        # Gymnasium would wait for answers of the dead, and ends the others by SIGTERM, which those
        # that were forked from us take for a wish to stop later on.
        if not connection.wait([worker.sentinel for worker in workers], MOMENT):
            env.close(**({"timeout": PATIENCE} if workers else {}))
    for worker in workers:
        worker.kill()
        worker.join()
    env.unwrapped.closed = True


def _name(env: Any) -> str:
    spec = getattr(env, "spec", None)
    return type(env.unwrapped).__name__ if spec is None else spec.id


def _episode_seed(first: int, episode: int) -> int:
    if episode == 1:
        return first
    return int(np.random.SeedSequence((first, episode)).generate_state(1)[0])
