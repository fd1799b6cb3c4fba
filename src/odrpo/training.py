"""The loop around the updates: one model, or several in one program."""

import contextlib
import copy
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnasium.vector import VectorEnv

from odrpo.acceptance import CAUSES, REMEDY, UNSOUND
from odrpo.arguments import finite, whole
from odrpo.callbacks import Callback, Callbacks, as_list
from odrpo.envs.replayable import EnvError
from odrpo.exact_step import Info
from odrpo.records import Played
from odrpo.signals import Abandoned, StopRequest
from odrpo.updates import Alone, OnDevice, check_ends, unsound

if TYPE_CHECKING:
    from odrpo.model import ODRPO

MOST_REFUSED = 10
"""Updates in a row; then training ends."""


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
    says True after an update, the training of all of them ends in good order; without it so do
    Ctrl-C and SIGTERM, which then take their effect.
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
            own.append(_run_folder(models, model, place, own, often))
    request = StopRequest()
    with contextlib.ExitStack() as ending:
        if stop is None:
            stop = ending.enter_context(request)
        for hook in [hook for own in hooks for hook in own]:
            ending.callback(hook.after_training)
            hook.before_training()
        if isinstance(models[0].env, VectorEnv) or models[0].config.critic == "replay":
            for model, own in zip(models, hooks, strict=True):
                _run(Alone(model), [model], [own], progress_bar, stop)
        else:
            _run(OnDevice(models), models, hooks, progress_bar, stop)
    if request():
        _tell_how_to_go_on(models, run_dir)
        request.pass_on()


def _tell_how_to_go_on(models: Sequence["ODRPO"], run_dir: str | Path | None) -> None:
    steps = ", ".join(f"{model.num_timesteps:,}" for model in models)
    how = "learn goes on" if run_dir is None else f"what is saved in {run_dir} goes on"
    print(f"stopped at {steps} timesteps; {how}", file=sys.stderr)


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


def _run(
    trainer: Alone | OnDevice,
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
            ending.callback(_end, hook)
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


def _end(hook: Callback) -> None:
    """Unless all is to end at once: then things may be half done, and must not be saved."""
    if not isinstance(sys.exception(), Abandoned):
        hook.on_training_end()


def _settle(models: Sequence["ODRPO"]) -> None:
    """Each model has a state of its own again."""
    for model in models:
        model.state = model.state


def _take(
    model: "ODRPO", state: Any, played: Played, info: Info, seconds: float
) -> dict[str, float]:
    """The model after an update; of one that was refused the policy is the old one."""
    if info.refused == UNSOUND:
        raise EnvError(unsound(model))
    check_ends(model, played.time)
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
    models: Sequence["ODRPO"],
    model: "ODRPO",
    folder: Path,
    others: Sequence[Callback],
    often: tuple[float, int | None],
) -> Callback:
    """It comes last, so that a checkpoint knows what all others make of its update."""
    from odrpo.run_folder import RunFolder

    seconds, timesteps = often
    if timesteps is not None:
        timesteps = whole("checkpoint_timesteps", timesteps, 1)
    hook = RunFolder(folder, seconds, timesteps)
    hook.model, hook.others = model, tuple(others)
    if len(models) > 1:
        hook.seeds = [each.seed for each in models]
    return hook
