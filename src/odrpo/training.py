"""The loop around the updates: one model, or several in one program."""

import contextlib
import copy
import functools
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import VectorEnv

from odrpo import algorithm
from odrpo.acceptance import CAUSES, REMEDY, UNSOUND
from odrpo.arguments import finite, whole
from odrpo.callbacks import Callback, Callbacks, as_list
from odrpo.config import Config
from odrpo.envs.env import Array, Env
from odrpo.envs.replayable import EnvError, name_of
from odrpo.exact_step import Info
from odrpo.learner import Learner, Sizes
from odrpo.off_policy import improve_from_replay
from odrpo.records import Played
from odrpo.replay import Replay
from odrpo.rollout import Batch
from odrpo.rollout.host import HostWalkers

if TYPE_CHECKING:
    from odrpo.model import ODRPO

MOST_RESTARTS = 10
"""Of environments, for one update."""
MOST_REFUSED = 10
"""Updates in a row; then training ends."""

Result = tuple[Any, Played, Info]
"""The state after an update, or a function that gives it; what was played; what it reports."""


def train(
    models: Sequence["ODRPO"],
    total_timesteps: int,
    callback: Callbacks = None,
    progress_bar: bool | None = None,
    run_dir: str | Path | None = None,
    unfinished: bool = False,
    stop: Callable[[], bool] | None = None,
    checkpoint_seconds: float = 30.0,
    checkpoint_timesteps: int | None = None,
) -> None:
    """Train each model for so many more timesteps; see `ODRPO.learn`.

    Several models may differ in nothing but their seeds; those on the device run as one program.
    With `unfinished` they first make up for what an earlier call was stopped before. Where `stop`
    says True after an update, the training of all of them ends in good order.
    """
    _check_alike(models)
    total_timesteps = whole("total_timesteps", total_timesteps)
    for model in models:
        if model.env is None:
            raise ValueError("env: the model file names none; pass it to ODRPO.load(path, env=...)")
        _warn_of_warm_up(model, total_timesteps)
        # Counted from what was asked for, not from where the last update ended: two calls make one.
        # But a warm-up may have gone far beyond, which no later call should have to make up for.
        beyond = model.num_timesteps - model.target
        ended = 0 <= beyond < model.config.num_envs * model.config.num_steps
        begun = model.target if unfinished or ended else model.num_timesteps
        model.target = begun + total_timesteps
    hooks = [_own_hooks(model, callback, len(models)) for model in models]
    if run_dir is not None:
        often = finite("checkpoint_seconds", checkpoint_seconds), checkpoint_timesteps
        for model, own in zip(models, hooks, strict=True):
            place = Path(run_dir) if len(models) == 1 else Path(run_dir) / f"seed_{model.seed}"
            own.append(_run_folder(model, place, own, often))
    with contextlib.ExitStack() as ending:
        for hook in [hook for own in hooks for hook in own]:
            ending.callback(hook.after_training)
            hook.before_training()
        if isinstance(models[0].env, VectorEnv) or models[0].config.critic == "replay":
            for model, own in zip(models, hooks, strict=True):
                _run(_Alone(model), [model], [own], progress_bar, stop)
        else:
            _run(_OnDevice(models), models, hooks, progress_bar, stop)


def _warn_of_warm_up(model: "ODRPO", total_timesteps: int) -> None:
    if model.replay is None or model.replay.added:
        return
    count = model.config.warm_up
    if model.num_timesteps:
        warnings.warn(
            f"the file of this model has no transitions, so that it begins with {count} timesteps "
            "of warm-up; save(path, replay=True) keeps them",
            stacklevel=4,
        )
    elif 0 < total_timesteps < count:
        warnings.warn(
            f"total_timesteps: {total_timesteps} are fewer than the {count} before the first "
            "update, which are taken all the same; ask for more, or for a smaller warm_up",
            stacklevel=4,
        )


def _check_alike(models: Sequence["ODRPO"]) -> None:
    if not models:
        raise ValueError("models: none; pass at least one")
    if len({model.seed for model in models}) < len(models):
        raise ValueError("models: two of them have the same seed")
    first = models[0]
    for model in models[1:]:
        described = (model.config.to_json(), model.sizes, model.env_id, model.max_steps)
        if described != (first.config.to_json(), first.sizes, first.env_id, first.max_steps):
            raise ValueError("models: they differ in more than their seeds; train them one by one")


class _Alone:
    """One model whose environments are Gymnasium's, or that learns from replay."""

    def __init__(self, model: "ODRPO") -> None:
        self.model = model
        self.begun = -1
        """The timestep at which the last update began."""
        self.before: Any = None
        """The replay as it was then."""

    def update(self) -> list[Result]:
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
                own_key = jax.random.fold_in(key, attempt) if attempt else key
                return self._collected(state, own_key, progress)
            except EnvError as error:
                told = f"{error}; this was after {model.num_timesteps} timesteps"
                if model.config.on_env_error == "stop":
                    raise EnvError(told) from error
                if attempt == MOST_RESTARTS:
                    raise EnvError(f"{told}, and {attempt} times in a row") from error
                warnings.warn(f"{told}; the environments are made anew", stacklevel=2)
                model.renew_env()
        raise AssertionError

    def _collected(
        self, state: algorithm.State, key: jax.Array, progress: np.float32
    ) -> tuple[algorithm.State, Batch]:
        model, config = self.model, self.model.config
        held = None
        if model.replay is not None and config.octaves > 1:
            held = jax.random.key(model.seed), model.replay.added
        if not isinstance(model.env, VectorEnv):
            walkers, batch = algorithm.compiled_collect(
                config, model.sizes, model.env, state, key, progress, held
            )
            if not algorithm.is_sound(batch):
                raise EnvError(_unsound(model))
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


class _OnDevice:
    """One model, or several with their states stacked, an update ahead of what is recorded.

    While Python takes in an update the next one is computed; where training stops it is dropped.
    """

    def __init__(self, models: Sequence["ODRPO"]) -> None:
        self.models, self.config = models, models[0].config
        self.alone = len(models) == 1
        states = [model.state for model in models]
        self.states = states[0] if self.alone else jax.tree.map(lambda *x: jnp.stack(x), *states)
        self.ahead: Result | None = None

    def update(self) -> list[Result]:
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


def _run(
    trainer: _Alone | _OnDevice,
    models: Sequence["ODRPO"],
    hooks: list[list[Callback]],
    progress_bar: bool | None,
    stop: Callable[[], bool] | None,
) -> None:
    if stop is not None and stop():
        return
    from odrpo.progress import Progress  # rich takes a while to import

    started = time.perf_counter()
    before = [model.records.seconds for model in models]
    active = [model.num_timesteps < model.target for model in models]
    every = [hook for own in hooks for hook in own]
    with contextlib.ExitStack() as ending:
        # Whatever happens, and whatever else fails then: every hook is told of the end.
        for hook in every:
            ending.callback(hook.on_training_end)
        ending.callback(_settle, models)
        for hook in every:
            hook.on_training_start()
        with Progress(models, progress_bar) as progress:
            ending.push(trainer.broken_off)
            while any(active) and not (stop is not None and stop()):
                results = trainer.update()
                seconds = time.perf_counter() - started
                for k, (model, result) in enumerate(zip(models, results, strict=True)):
                    if active[k]:
                        row = _take(model, *result, before[k] + seconds)
                        said = [hook.on_update(row) for hook in hooks[k]]
                        going_on = all(answer is None or bool(answer) for answer in said)
                        active[k] = going_on and model.num_timesteps < model.target
                progress.show()


def _settle(models: Sequence["ODRPO"]) -> None:
    """Each model has a state of its own again."""
    for model in models:
        model.state = model.state


def _take(
    model: "ODRPO", state: Any, played: Played, info: Info, seconds: float
) -> dict[str, float]:
    """The model after an update; of one that was refused the policy is the old one."""
    if info.refused == UNSOUND:
        raise EnvError(_unsound(model))
    model.state = state
    if model.walkers is not None:
        model.position = model.walkers.position()
    at = model.num_timesteps
    row = model.records.add(played, info, seconds)
    if row["refused"]:
        _tell_refusal(model, at, CAUSES[row["refused"]])
    return row


def _tell_refusal(model: "ODRPO", timesteps: int, cause: str) -> None:
    told = f"seed {model.seed}: the update after {timesteps} timesteps was refused ({cause})"
    many = model.records.refused_in_a_row
    if many >= MOST_REFUSED:
        raise FloatingPointError(
            f"{told}, as were the {many - 1} before it; the policy is that of before; {REMEDY}"
        )
    warnings.warn(f"{told}; the policy stays as it was", RuntimeWarning, stacklevel=2)


def _unsound(model: "ODRPO") -> str:
    """What to say of an environment on the device, where steps are not looked at one by one."""
    return (
        f"env: {model.env_id or type(model.env).__name__} gave a reward or an observation that is "
        f"not finite, in the update after {model.num_timesteps} timesteps; mend it, or end the "
        "episode before"
    )


def _own_hooks(model: "ODRPO", callback: Callbacks, count: int) -> list[Callback]:
    """Hooks remember things: each model has its own."""
    hooks = [copy.deepcopy(hook) if count > 1 else hook for hook in as_list(callback)]
    for hook in hooks:
        hook.model = model
        name = type(hook).__name__
        known = next((entry for entry in model.callbacks if entry[0] == name), None)
        if known is None:
            continue
        model.callbacks.remove(known)
        try:
            if known[1] is not None:
                hook.from_json(known[1])
        except Exception as error:
            raise ValueError(f"callback: {name} can't take over {known[1]} ({error!r})") from error
    return hooks


def _run_folder(
    model: "ODRPO", folder: Path, others: Sequence[Callback], often: tuple[float, int | None]
) -> Callback:
    """It comes last, so that a checkpoint knows what all others make of its update."""
    from odrpo.run_folder import RunFolder

    seconds, timesteps = often
    if timesteps is not None:
        timesteps = whole("checkpoint_timesteps", timesteps, 1)
    hook = RunFolder(folder, seconds, timesteps)
    hook.model, hook.others = model, tuple(others)
    return hook
