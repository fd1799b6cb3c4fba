"""How updates come about: one model at a time on the host or from replay, or many on the device."""

import functools
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import VectorEnv

from odrpo import algorithm
from odrpo.config import Config
from odrpo.envs.env import Array, Env
from odrpo.envs.replayable import EnvError, name_of
from odrpo.exact_step import Info
from odrpo.learner import Learner, Sizes
from odrpo.off_policy import improve_from_replay
from odrpo.records import Played
from odrpo.replay import Replay
from odrpo.rollout import Batch, host
from odrpo.rollout.host import HostWalkers

if TYPE_CHECKING:
    from odrpo.model import ODRPO

MOST_RESTARTS = 10
"""Of environments, for one update."""
PAUSE = 0.1
"""Seconds before the second of them in a row; before each later one twice as many."""

Result = tuple[Any, Played, Info]
"""The state after an update, or a function that gives it; what was played; what it reports."""


class Alone:
    """One model whose environments are Gymnasium's, or that learns from replay."""

    def __init__(self, model: "ODRPO") -> None:
        """Begin where the model is."""
        self.model = model
        self.begun = -1
        """The timestep at which the last update began."""
        self.before: Any = None
        """The replay as it was then."""

    def update(self) -> list[Result]:
        """Collect, estimate, solve, project; before a first update from replay, warm up."""
        model, config = self.model, self.model.config
        if model.replay is not None:
            self.begun = model.num_timesteps
            self.before = model.replay.mark(config.num_steps)
        key, collect_key, improve_key = jax.random.split(model.state.key, 3)
        progress = np.float32(model.num_timesteps / config.horizon)
        state, batch = self._collect(model.state, collect_key, progress)
        played = Played.of(batch)
        if model.replay is None:
            learner, info = algorithm.compiled_improve(
                config, model.sizes, state.learner, batch, improve_key, progress
            )
        else:
            model.replay.add(batch)
            while model.replay.added * config.num_envs < config.warm_up:
                collect_key = jax.random.split(collect_key)[0]
                state, batch = self._collect(state, collect_key, progress)
                model.replay.add(batch)
                played = Played(*map(np.concatenate, zip(played, Played.of(batch), strict=True)))
            learner, info = self._improve(state.learner, model.replay, improve_key, progress)
        state = state._replace(learner=learner, key=key)
        return [(state, *jax.tree.map(np.asarray, (played, info)))]

    def broken_off(self, error: type[BaseException] | None, *_: object) -> None:
        """After an error environments stand where no update was taken: they are brought back.

        What that update had put into the replay, the next one puts there again.
        """
        if error is None:
            return
        self.model.walkers = None
        if self.model.replay is not None and self.begun == self.model.num_timesteps:
            self.model.replay.forget(self.before)

    def _collect(
        self, state: algorithm.State, key: jax.Array, progress: np.float32
    ) -> tuple[algorithm.State, Batch]:
        """What happens next; where an environment fails, what happens in a new one, if asked."""
        model = self.model
        for attempt in range(MOST_RESTARTS + 1):
            try:
                if attempt:
                    model.renew_env()
                own_key = jax.random.fold_in(key, attempt) if attempt else key
                return self._collected(state, own_key, progress)
            except EnvError as error:
                told = f"{error}; this was after {model.num_timesteps} timesteps"
                if model.config.on_env_error == "stop":
                    raise EnvError(told) from error
                if attempt == MOST_RESTARTS:
                    raise EnvError(f"{told}, and {attempt} times in a row") from error
                warnings.warn(f"{told}; the environments are made anew", stacklevel=2)
                if attempt:  # what it needs may be starting
                    time.sleep(PAUSE * 2 ** (attempt - 1))
        raise AssertionError

    def _collected(
        self, state: algorithm.State, key: jax.Array, progress: np.float32
    ) -> tuple[algorithm.State, Batch]:
        model, config = self.model, self.model.config
        held = None
        if model.replay is not None and config.octaves > 1:
            # The number begins anew before it is too large for the program's 32 bits.
            held = jax.random.key(model.seed), model.replay.added % 2**31
        if not isinstance(model.env, VectorEnv):
            walkers, batch = algorithm.compiled_collect(
                config, model.sizes, model.env, state, key, progress, held
            )
            if not algorithm.is_sound(batch):
                raise EnvError(unsound(model))
            return state._replace(walkers=walkers), batch
        model.walkers = model.walkers or self._walkers()
        walkers = model.walkers
        batch = algorithm.collect_on_host(
            config, model.sizes, walkers, state.learner, key, progress, held
        )
        return state, batch

    def _walkers(self) -> HostWalkers:
        """Environments where the last update left them; where that can't be, at a beginning."""
        model = self.model
        if model.position is not None:
            walkers = HostWalkers.at(model.env, model.position)
            if walkers is not None:
                return walkers
            warnings.warn(
                f"env: {name_of(model.env)} does not do the same twice from the same seed and "
                "actions, so that training goes on with new episodes",
                stacklevel=2,
            )
        if model.replay is not None:
            model.replay.break_off()
        begun = model.num_timesteps + model.records.env_restarts
        return HostWalkers(model.env, model.seed + begun)

    def _improve(
        self, learner: Learner, replay: Replay, key: jax.Array, progress: np.float32
    ) -> tuple[Learner, Info]:
        model, config = self.model, self.model.config
        shape = (config.updates_at_once, config.minibatch)
        minibatches = replay.draw(shape, config.n_step, config.discount)
        return improve_from_replay(
            config, model.sizes, learner, minibatches, replay.reward_square, key, progress
        )


class OnDevice:
    """One model, or several with their states stacked, an update ahead of what is recorded.

    While Python takes in an update the next one is computed; where training stops it is dropped.
    """

    def __init__(self, models: Sequence["ODRPO"]) -> None:
        """Begin where the models are."""
        self.models, self.config = models, models[0].config
        self.alone = len(models) == 1
        states = [model.state for model in models]
        self.states = states[0] if self.alone else jax.tree.map(lambda *x: jnp.stack(x), *states)
        self.ahead: Result | None = None

    def update(self) -> list[Result]:
        """What was ahead, a result for each model; the next one is on its way then."""
        states, played, info = self.ahead or self._begin(self.states, 0)
        self.states, self.ahead = states, None
        if not self.config.complete_episodes:  # or nobody knows yet how many steps those take
            steps = self.config.num_envs * self.config.num_steps
            if any(model.num_timesteps + steps < model.target for model in self.models):
                self.ahead = self._begin(states, steps)
        played, info = jax.tree.map(np.asarray, (played, info))
        if self.alone:
            return [(states, played, info)]

        def one(k: int) -> Result:
            state = functools.cache(lambda: jax.tree.map(lambda x: x[k], states))
            return (state, *jax.tree.map(lambda x: x[k], (played, info)))

        return [one(k) for k in range(len(self.models))]

    def broken_off(self, *_: object) -> None:
        """What was ahead is dropped anyway."""

    def _begin(self, states: Any, steps: int) -> Result:
        """Start an update that comes `steps` timesteps after what the models have recorded."""
        first = self.models[0]
        timesteps = np.array([model.num_timesteps + steps for model in self.models])
        progress = (timesteps / self.config.horizon).astype(np.float32)
        if self.alone:
            return compiled_update(self.config, first.sizes, first.env, states, progress[0])
        return compiled_updates(self.config, first.sizes, first.env, states, progress)


def _update(config: Config, sizes: Sizes, env: Env, state: Any, progress: Array) -> Result:
    state, batch, info = algorithm.update(config, sizes, env, state, progress)
    return state, Played.of(batch), info


compiled_update = jax.jit(_update, static_argnames="sizes")
compiled_updates = jax.jit(jax.vmap(_update, in_axes=(None, None, None, 0, 0)), static_argnums=1)


def check_ends(model: "ODRPO", time: np.ndarray) -> None:
    """Refuse episodes that never end, from their steps, (T, B); on the host each step is seen."""
    if model.config.complete_episodes or (time < host.ENDLESS).all():
        return
    which = int(np.argmax(time.max(axis=0)))
    name = model.env_id or type(model.env).__name__
    where = f" in environment {which}, in the update after {model.num_timesteps} timesteps"
    raise host.endless(name, where)


def unsound(model: "ODRPO") -> str:
    """What to say of an environment on the device, where steps are not looked at one by one."""
    return (
        f"env: {model.env_id or type(model.env).__name__} gave a reward or an observation that is "
        f"not finite, in the update after {model.num_timesteps} timesteps; mend it, or end the "
        "episode before"
    )
