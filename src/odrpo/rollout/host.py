"""Rollouts of Gymnasium's vector environments: stepped one by one on the host."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from odrpo.envs.checks import StepError, check_infos, check_step, shown, told
from odrpo.envs.replayable import EnvError, is_replayable, name_of
from odrpo.envs.spaces import action_count, action_decoder, encode, state_count
from odrpo.rollout.batch import Batch
from odrpo.rollout.position import Moves, Position, bring_back

Act = Callable[[int, np.ndarray, np.ndarray | None], np.ndarray]
"""Actions, (B,) counted from 0, or (B, D) in [-1, 1]: from the number of the step, observations and
a mask or None."""
ENDLESS = 100_000
"""Steps after which training takes it that an episode never ends."""


def endless(name: str, where: str) -> EnvError:
    """What to say of such an episode."""
    return EnvError(
        f"env: {name} does not end: it has taken {ENDLESS} steps{where}; set a limit, as in "
        f"odrpo.ODRPO(..., max_steps=1000), of at most {ENDLESS}. A task may go on for ever beyond "
        "it: cut-off episodes count as if they went on. Tables and vector environments have a "
        "limit of their own"
    )


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
        with walkers._watched("return to an episode"):
            raw = bring_back(env, position)
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
        with self._watched("reset"):
            self.raw, infos = self.env.reset(seed=given)
            self.observation = self._encode(self.raw)
            self.mask = self._mask(infos, np.zeros(count, bool))
        self.moves = Moves(count)
        self.episode_return = np.zeros(count, np.float32)
        # With next-step autoreset the step after the end only begins the next episode.
        self.idle = np.zeros(count, bool)

    def collect(self, act: Act, steps: int) -> Batch:
        """Take `steps` steps in each environment; where an episode is over, the next one begins."""
        rows = []
        for number in range(steps):
            rows.append(self.step(act, number))
            if (self.time >= ENDLESS).any():
                which = int(np.argmax(self.time))
                raise endless(name_of(self.env, which), f" in an episode of environment {which}")
        return _stack(rows)

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
        valid = ~self.idle
        with self._watched("step"):
            raw, reward, terminated, truncated, infos = self.env.step(decoded)
            reward, terminated, truncated = check_step(valid, reward, terminated, truncated, infos)
            truncated = truncated & ~terminated
            done = terminated | truncated
            # With same-step autoreset the mask is that of the next episode already.
            over = done & (self.mode != AutoresetMode.SAME_STEP)
            following, mask = self._encode(raw), self._mask(infos, over)
            next_observation = self._true_next(following, infos, done)
            next_mask = self._true_next_mask(mask, infos, done)
        episode_return = self.episode_return + reward
        row = {
            "observation": self.observation,
            "action": action.astype(np.int32 if self.actions else np.float32),
            "reward": reward,
            "next_observation": next_observation,
            "terminated": terminated,
            "truncated": truncated,
            "time": self.time,
            "episode_return": episode_return,
            "valid": valid,
            "mask": self.mask,
            "next_mask": next_mask,
        }
        if self.mode == AutoresetMode.DISABLED and done.any():
            with self._watched("reset"):
                raw, infos = self.env.reset(options={"reset_mask": done})
                following = self._encode(raw)
                mask = self._mask(infos, np.zeros_like(done), mask, done)
        self.raw, self.observation, self.mask = raw, following, mask
        begins = done | self.idle
        self.moves.add(moves, begins)
        self.time = np.where(begins, 0, self.time + 1).astype(np.int32)
        self.episode_return = np.where(begins, 0, episode_return).astype(np.float32)
        self.idle = done if self.mode == AutoresetMode.NEXT_STEP else np.zeros_like(done)
        return row

    def _encode(self, observation: Any, only: int | None = None) -> np.ndarray:
        """Of all environments, or of `only` one."""
        seen = np.array(encode(self.env.single_observation_space, observation))
        count = self.env.num_envs if only is None else 1
        if len(seen) != count:
            raise StepError(
                f"gave {len(seen)} observations, expected {count}, one for each environment"
            )
        sound = np.isfinite(seen) if self.states is None else seen >= 0
        if not sound.all():
            place = int(np.flatnonzero(~sound.reshape(count, -1).all(axis=1))[0])
            value = shown(_one_of(observation, place))
            which = place if only is None else only
            raise StepError(
                f"gave an observation of {value}, not finite or not in its space", which
            )
        return seen

    @contextlib.contextmanager
    def _watched(self, what: str) -> Iterator[None]:
        """Whatever an environment does wrong is told with its name, and where that is known."""
        try:
            yield
        except EnvError:  # by one that knows its place
            raise
        except Exception as error:
            which = getattr(error, "which", None)
            if self.env.num_envs == 1:
                which = 0
            raise told(what, name_of(self.env, which), self._where(which), error) from error

    def _where(self, which: int | None) -> str:
        """In which of them and when, for errors."""
        if which is None:
            return ""
        one = f" of environment {which}" if self.env.num_envs > 1 else ""
        return f" around step {self.time[which] + 1} of an episode{one}"

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
        check_infos(infos)
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
            raise StepError(
                'gave an info["action_mask"] that forbids all (but the episode goes on)',
                int(np.argmin(result.any(axis=1) | over)),
            )
        # At an end no choice is left to be made.
        return result | ~result.any(axis=1, keepdims=True)

    def _allowed(self, given: Any) -> np.ndarray:
        row = np.asarray(given)
        if row.shape != (self.actions,):
            raise StepError(
                f'gave an info["action_mask"] of shape {row.shape}, expected {(self.actions,)}, '
                "one number for each action"
            )
        return row.astype(bool)

    def _true_next(self, following: np.ndarray, infos: dict, done: np.ndarray) -> np.ndarray:
        """What was seen last of an episode that is over, not the first of the next one."""
        if self.mode != AutoresetMode.SAME_STEP or not done.any():
            return following
        last = following.copy()
        final = infos.get("final_obs", [None] * len(done))
        for k in np.flatnonzero(done).tolist():
            if final[k] is None:
                raise StepError(
                    'ended an episode without infos["final_obs"], its last observation', k
                )
            last[k] = self._encode(_as_batch_of_one(final[k]), k)[0]
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


def _one_of(batch: Any, place: int) -> Any:
    if isinstance(batch, dict):
        return {key: _one_of(part, place) for key, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_one_of(part, place) for part in batch)
    return np.asarray(batch)[place]


def _stack(rows: list[dict[str, Any]]) -> Batch:
    return Batch(**{name: _column([row[name] for row in rows]) for name in rows[0]})


def _column(parts: list[np.ndarray | None]) -> np.ndarray | None:
    """Only masks may be missing: where nothing is said, everything is allowed."""
    some = next((part for part in parts if part is not None), None)
    if some is None:
        return None
    return np.stack([np.ones_like(some) if part is None else part for part in parts])
