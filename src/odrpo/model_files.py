"""A model as a file: all that is needed to predict, and to go on, without any code in it."""

import math
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import jax
import numpy as np

from odrpo import algorithm, checkpoint
from odrpo.arguments import seed_of, whole
from odrpo.config import Config
from odrpo.config_checks import check_updates
from odrpo.envs import spaces
from odrpo.envs.make import Backend
from odrpo.learner import Sizes
from odrpo.records import Records, counted
from odrpo.replay import Replay
from odrpo.replay_files import read_rows, replay_folder, row_files
from odrpo.rollout.position import Position

if TYPE_CHECKING:
    from odrpo.model import ODRPO

Arrays = dict[str, np.ndarray]
Header = dict[str, Any]

MOST_LETTERS = 200
"""Of a name in a file."""
MOST_STEPS = 2**31 - 1
"""Of an episode: they are counted in 32 bits."""


@dataclass(frozen=True)
class Stored:
    """What a file has of a model, by the names that the model has for it."""

    env_id: str | None
    backend: Backend
    max_steps: int | None
    seed: int
    config: Config
    observation_space: Any
    action_space: Any
    sizes: Sizes
    records: Records
    target: int
    callbacks: list[tuple[str, Any]]
    state: algorithm.State
    """But for environments on the device."""
    walker_arrays: Arrays
    """Of these."""
    position: Position | None
    replay: Replay | None
    file: Path
    """Where it was read."""


def contents(model: "ODRPO") -> tuple[Arrays, Header]:
    """What a file has of it, but for its replay: arrays, and the rest as JSON."""
    header = {
        "version": version("odrpo"),
        "env": model.env_id,
        "backend": model.backend,
        "max_steps": model.max_steps,
        "seed": model.seed,
        "config": model.config.to_json(),
        "observation_space": spaces.to_json(model.observation_space),
        "action_space": spaces.to_json(model.action_space),
        "target": model.target,
        **model.records.to_json(),
    }
    arrays = checkpoint.flatten(model.state)
    if model.state.walkers is None:  # of a file whose environment was not needed yet
        arrays |= model.walker_arrays
    if model.position is not None:
        arrays |= model.position.to_arrays()
    return arrays, header


def write(model: "ODRPO", path: Path, replay: bool) -> None:
    """One file, with all that was lived through in it or without."""
    arrays, header = contents(model)
    if replay and model.replay is not None:
        rows = model.replay.rows(model.replay.oldest, model.replay.added)
        arrays |= {f"replay.{name}": array for name, array in rows.items()}
        header["replay"] = model.replay.described()
    checkpoint.write(path, arrays, header)


def empty_replay(config: Config, seed: int) -> Replay | None:
    """For critics that learn from one."""
    if config.critic != "replay":
        return None
    return Replay(config.replay_size, config.num_envs, seed)


def read(path: Path, with_rows: bool = False) -> Stored:
    """A file may have been copied without what it had lived through, unless
    it must be `with_rows`."""
    arrays, header = checkpoint.read(path)
    try:
        return _parsed(arrays, header, path, with_rows)
    except (*checkpoint.DAMAGED, AssertionError) as error:  # Gymnasium asserts what a space is
        what = checkpoint.plain(f"{type(error).__name__}: {error}")
        raise ValueError(f"{path}: this is no odrpo model, or it is damaged ({what})") from error


def _parsed(arrays: Arrays, header: Header, path: Path, with_rows: bool) -> Stored:
    config, seed = Config.from_json(header["config"]), seed_of(header["seed"])
    check_updates(config)
    observation_space = spaces.from_json(header["observation_space"])
    action_space = spaces.from_json(header["action_space"])
    env_id, backend, max_steps = header["env"], header["backend"], header["max_steps"]
    if not (env_id is None or _is_name(env_id)):
        raise ValueError(f"env: {env_id!r} is no id")
    if backend not in get_args(Backend):
        raise ValueError(f"backend: {backend!r} is none of {get_args(Backend)}")
    spaces.check_actions(action_space)
    sizes = Sizes.of(observation_space, action_space)
    if sizes.features < 1:
        raise ValueError("observation_space: there is nothing in it")
    config.check_spaces(*sizes)
    template = jax.eval_shape(
        lambda key: algorithm.init(config, sizes, None, key), jax.random.key(0)
    )
    state = checkpoint.restore(template, arrays)
    _check_learner(config, state.learner)
    walker_arrays = {k: v for k, v in arrays.items() if k.startswith(".walkers")}
    _check_walkers(walker_arrays, config.num_envs)
    position = Position.from_arrays(arrays, config.num_envs, observation_space, action_space)
    return Stored(
        env_id=env_id,
        backend=backend,
        max_steps=None if max_steps is None else _step_limit(max_steps),
        seed=seed,
        config=config,
        observation_space=observation_space,
        action_space=action_space,
        sizes=sizes,
        records=Records.from_json(header),
        target=counted("target", header["target"]),
        callbacks=[_callback(*entry) for entry in header.get("callbacks", [])],
        state=state,
        walker_arrays=walker_arrays,
        position=position,
        replay=_replay(config, sizes, seed, arrays, header, replay_folder(path), with_rows),
        file=path,
    )


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and text.isprintable() and len(text) <= MOST_LETTERS


def _step_limit(value: Any) -> int:
    limit = whole("max_steps", value, 1)
    if limit > MOST_STEPS:
        raise ValueError(f"max_steps: {limit}; use at most {MOST_STEPS}")
    return limit


def _callback(name: Any, values: Any) -> tuple[str, Any]:
    if not _is_name(name):
        raise ValueError(f"callbacks: {name!r} is no name of one")
    return name, values


def _check_learner(config: Config, learner: Any) -> None:
    """Refuse numbers that no update has left: it would be the environment that is blamed."""
    # What comes of transitions that were counted is kept as it is: see `accept`.
    checked = learner._replace(critic=None) if config.critic == "model" else learner
    for name, array in checkpoint.flatten(checked).items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f".learner{name} is not finite everywhere")


def _check_walkers(arrays: Arrays, count: int) -> None:
    """Refuse others than `count` of them; what they are made of only the environment knows."""
    for name, array in arrays.items():
        if array.shape[:1] != (count,):
            raise ValueError(f"{name} has the shape {array.shape}, but num_envs is {count}")
    if (arrays.get(".walkers.time", np.zeros(())) < 0).any():
        raise ValueError(".walkers.time is less than 0 somewhere")
    seen = arrays.get(".walkers.observation", np.zeros(()))
    if seen.dtype.kind == "f" and not np.isfinite(seen).all():
        raise ValueError(".walkers.observation is not finite everywhere")


def _replay(
    config: Config,
    sizes: Sizes,
    seed: int,
    arrays: Arrays,
    header: Header,
    folder: Path,
    with_rows: bool,
) -> Replay | None:
    replay = empty_replay(config, seed)
    if replay is None or "replay" not in header:
        return replay
    names = row_files(header)
    if names and not with_rows and not folder.exists():
        return replay
    own = {k.removeprefix("replay."): x for k, x in arrays.items() if k.startswith("replay.")}
    parts = read_rows(folder, names) if names else [own] if own else []
    replay.restore(parts, header["replay"])
    if replay.added:
        _check_rows(replay.arrays, sizes)
    return replay


def _check_rows(rows: Arrays, sizes: Sizes) -> None:
    """Refuse what was seen and done in another environment."""
    seen, done = rows["observation"], rows["action"]
    if sizes.states is not None:
        fits = _are_indices(seen, sizes.states) and _are_indices(
            rows["next_observation"], sizes.states
        )
    else:
        fits = math.prod(seen.shape[2:]) == sizes.features
    if not fits:
        raise ValueError(f"the replay has observations {seen.dtype}{seen.shape}, not {sizes}")
    if sizes.actions is not None:
        fits = _are_indices(done, sizes.actions)
    else:
        fits = done.dtype.kind == "f" and done.shape[2:] == (sizes.dimensions,)
    if not fits:
        raise ValueError(f"the replay has actions {done.dtype}{done.shape}, not {sizes}")


def _are_indices(array: np.ndarray, count: int) -> bool:
    inside = array.ndim == 2 and array.dtype.kind in "iu"
    return inside and bool(((array >= 0) & (array < count)).all())
