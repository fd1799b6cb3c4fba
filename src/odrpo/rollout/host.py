"""Rollouts of Gymnasium's vector environments: stepped one by one on the host."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from odrpo.envs.replayable import EnvError, is_replayable, name_of
from odrpo.envs.spaces import action_count, action_decoder, encode, state_count
from odrpo.rollout.batch import Batch
from odrpo.rollout.position import Moves, Position, bring_back

Act = Callable[[int, np.ndarray, np.ndarray | None], np.ndarray]
"""Actions, (B,) counted from 0, or (B, D) in [-1, 1]: from the number of the step, observations and
a mask or None."""
ENDLESS = 100_000
"""Steps of an episode after which its environment is asked about."""


class HostWalkers:
    """B environments in the midst of their episodes."""

    def __init__(self, env: VectorEnv, seed: int | None = None, as_given: bool = False) -> None:
        """Begin an episode in each; actions may come as they are to be given to it."""
        self.env = env
        self.decode = np.asarray if as_given else action_decoder(env.single_action_space)
        self.mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self.actions = action_count(env.single_action_space)
        self.states = state_count(env.single_observation_space)
        self.time = np.zeros(env.num_envs, np.int32)
        self.reset(seed)

    @classmethod
    def at(cls, env: VectorEnv, position: Position) -> "HostWalkers | None":
        """Where others were in such environments; None: they can't be brought there."""
        walkers = cls(env)
        try:
            raw = bring_back(env, position)
        except Exception as error:
            raise EnvError(walkers._failed("return to an episode", error)) from error
        if raw is None or not np.array_equal(walkers._encode(raw), position.observation):
            return None
        walkers.raw, walkers.observation, walkers.mask = raw, position.observation, position.mask
        walkers.time, walkers.episode_return = position.time, position.episode_return
        walkers.moves = Moves.of(position)
        return walkers

    def position(self) -> Position | None:
        """Where they are; None where nobody could bring them back there."""
        return self.moves.position(
            self.env, self.observation, self.mask, self.time, self.episode_return
        )

    def reset(self, seed: int | None = None) -> None:
        """Begin anew everywhere."""
        count = self.env.num_envs
        self.time = np.zeros(count, np.int32)
        given: Any = seed
        if seed is not None and is_replayable(self.env):
            # Gymnasium would make seed, seed + 1, ... of it: the same as of the seed next to it.
            given = np.random.SeedSequence(seed).generate_state(count).tolist()
        try:
            self.raw, infos = self.env.reset(seed=given)
        except Exception as error:
            raise EnvError(self._failed("reset", error)) from error
        self.moves = Moves(count)
        self.observation = self._encode(self.raw)
        self.mask = self._mask(infos, np.zeros(count, bool))
        self.episode_return = np.zeros(count, np.float32)
        # With next-step autoreset the step after the end only begins the next episode.
        self.idle = np.zeros(count, bool)

    def collect(self, act: Act, steps: int) -> Batch:
        """Take `steps` steps in each environment; where an episode is over, the next one begins."""
        return _stack([self.step(act, number) for number in range(steps)])

    def collect_episodes(self, act: Act, steps: int) -> Batch:
        """One episode from its beginning in each; one of more than `steps` is cut off."""
        self.reset()
        rows: list[dict[str, Any]] = []
        over = np.zeros(self.env.num_envs, bool)
        for number in range(steps):
            row = self.step(act, number)
            row["valid"] = row["valid"] & ~over
            row["truncated"] = row["truncated"] & ~over
            row["terminated"] = row["terminated"] & ~over
            if number == steps - 1:
                row["truncated"] = row["truncated"] | (row["valid"] & ~row["terminated"])
            over = over | row["terminated"] | row["truncated"]
            rows.append(row)
            if over.all():
                break
        # The shape of a batch stays the same, lest each one be compiled for.
        still = dict(rows[-1])
        for name in ("valid", "terminated", "truncated"):
            still[name] = np.zeros_like(over)
        return _stack(rows + [still] * (steps - len(rows)))

    def step(self, act: Act, number: int) -> dict[str, Any]:
        """One step in each environment: a row of a batch."""
        action = np.asarray(act(number, self.observation, self.mask))
        decoded = self.decode(action)
        moves = np.array(decoded)  # an environment may change what it is given
        try:
            raw, reward, terminated, truncated, infos = self.env.step(decoded)
            reward = np.asarray(reward, np.float32).reshape(self.time.shape)
        except Exception as error:
            raise EnvError(self._failed("step", error)) from error
        valid = ~self.idle
        terminated = np.asarray(terminated, bool) & valid
        truncated = np.asarray(truncated, bool) & ~terminated & valid
        done = terminated | truncated
        if not np.isfinite(reward[valid]).all():
            which = np.flatnonzero(valid & ~np.isfinite(reward))[0]
            raise EnvError(
                f"env: {name_of(self.env, which)} paid a reward of {reward[which]} "
                f"{self._where(which)}; mend it, or take such steps out with a wrapper"
            )
        # With same-step autoreset the mask is that of the next episode already.
        over = done & (self.mode != AutoresetMode.SAME_STEP)
        following, mask = self._encode(raw), self._mask(infos, over)
        episode_return = self.episode_return + np.where(valid, reward, 0)
        row = {
            "observation": self.observation,
            "action": action.astype(np.int32 if self.actions else np.float32),
            "reward": np.where(valid, reward, 0),
            "next_observation": self._true_next(following, infos, done),
            "terminated": terminated,
            "truncated": truncated,
            "time": self.time,
            "episode_return": episode_return,
            "valid": valid,
            "mask": self.mask,
            "next_mask": self._true_next_mask(mask, infos, done),
        }
        if self.mode == AutoresetMode.DISABLED and done.any():
            try:
                raw, infos = self.env.reset(options={"reset_mask": done})
            except Exception as error:
                raise EnvError(self._failed("reset", error)) from error
            nowhere = np.zeros_like(done)
            following, mask = self._encode(raw), self._mask(infos, nowhere, mask, done)
        self.raw, self.observation, self.mask = raw, following, mask
        begins = done | self.idle
        self.moves.add(moves, begins)
        self.time = np.where(begins, 0, self.time + 1).astype(np.int32)
        if (self.time == ENDLESS).any():
            which = int(np.argmax(self.time))
            warnings.warn(
                f"env: {name_of(self.env, which)} is {self._where(which)}, which may never end; if "
                "it is not meant to go on forever, max_steps sets a limit",
                RuntimeWarning,
                stacklevel=2,
            )
        self.episode_return = np.where(begins, 0, episode_return).astype(np.float32)
        self.idle = done if self.mode == AutoresetMode.NEXT_STEP else np.zeros_like(done)
        return row

    def _encode(self, observation: Any, only: int | None = None) -> np.ndarray:
        """Of all environments, or of `only` one."""
        try:
            seen = np.array(encode(self.env.single_observation_space, observation))
        except Exception as error:  # it has another shape, or is no number
            raise EnvError(self._failed("observation", error)) from error
        if len(seen) != (self.env.num_envs if only is None else 1):
            raise EnvError(
                f"env: {name_of(self.env)} gave {len(seen)} observations; expected one of each of "
                f"{self.env.num_envs} environments"
            )
        sound = np.isfinite(seen)
        if self.states is not None:
            sound = (seen >= 0) & (seen < self.states)
        if not sound.all():
            bad = np.flatnonzero(~sound.reshape(len(seen), -1).all(axis=1))
            which = bad[0] if only is None else only
            value = np.array2string(seen[bad[0]], threshold=20)
            raise EnvError(
                f"env: {name_of(self.env, which)} gave an observation of {value} "
                f"{self._where(which)}; it must be finite and in its space: mend it, or end the "
                "episode before"
            )
        return seen

    def _failed(self, what: str, error: Exception) -> str:
        """What to say of an exception in an environment."""
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        latest = int(np.argmax(self.time))
        return f"env: the {what} of {name_of(self.env)} failed {self._where(latest)} ({reason})"

    def _where(self, which: int) -> str:
        """In which of them and when, for errors."""
        one = f" of environment {which}" if self.env.num_envs > 1 else ""
        return f"around step {self.time[which] + 1} of an episode{one}"

    def _mask(
        self,
        infos: dict,
        over: np.ndarray,
        before: np.ndarray | None = None,
        fresh: np.ndarray | None = None,
    ) -> np.ndarray | None:
        """Which actions are allowed, (B, A); None where the environment does not say.

        Where an episode is `over` it may be none; what is not `fresh` is as it was `before`.
        """
        given = infos.get("action_mask")
        if self.actions is None or (given is None and before is None):
            return None
        everywhere = np.ones(self.env.num_envs, bool)
        fresh = everywhere if fresh is None else fresh
        result = np.ones((len(fresh), self.actions), bool) if before is None else before.copy()
        result[fresh] = True  # where nothing is said, everything is allowed
        if given is not None:
            for k in np.flatnonzero(infos.get("_action_mask", everywhere) & fresh):
                result[k] = self._allowed(given[k])
        if not (result.any(axis=1) | over).all():
            raise EnvError(
                'env: its info["action_mask"] forbids all actions, but the episode goes on; allow '
                "one, or end the episode"
            )
        # At an end no choice is left to be made.
        return result | ~result.any(axis=1, keepdims=True)

    def _allowed(self, given: Any) -> np.ndarray:
        row = np.asarray(given)
        if row.shape != (self.actions,):
            raise EnvError(
                f'env: its info["action_mask"] has shape {row.shape}, expected {(self.actions,)}, '
                "one number for each action"
            )
        return row.astype(bool)

    def _true_next(self, following: np.ndarray, infos: dict, done: np.ndarray) -> np.ndarray:
        """What was seen last of an episode that is over, not the first of the next one."""
        if self.mode != AutoresetMode.SAME_STEP or not done.any():
            return following
        last = following.copy()
        for k in np.flatnonzero(done).tolist():
            last[k] = self._encode(_as_batch_of_one(infos["final_obs"][k]), k)[0]
        return last

    def _true_next_mask(
        self, mask: np.ndarray | None, infos: dict, done: np.ndarray
    ) -> np.ndarray | None:
        if self.mode != AutoresetMode.SAME_STEP or not done.any():
            return mask
        return self._mask(infos.get("final_info", {}), done, mask, done)


def _as_batch_of_one(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {key: _as_batch_of_one(part) for key, part in observation.items()}
    if isinstance(observation, tuple):
        return tuple(_as_batch_of_one(part) for part in observation)
    return np.asarray(observation)[None]


def _stack(rows: list[dict[str, Any]]) -> Batch:
    return Batch(**{name: _column([row[name] for row in rows]) for name in rows[0]})


def _column(parts: list[np.ndarray | None]) -> np.ndarray | None:
    """Only masks may be missing: where nothing is said, everything is allowed."""
    some = next((part for part in parts if part is not None), None)
    if some is None:
        return None
    return np.stack([np.ones_like(some) if part is None else part for part in parts])
