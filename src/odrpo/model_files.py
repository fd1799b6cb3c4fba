"""A model as a file: all that is needed to predict, and to go on, without any code in it."""

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import jax
import numpy as np

from odrpo import algorithm, checkpoint
from odrpo.arguments import seed_of, whole
from odrpo.config import Config
from odrpo.envs import spaces
from odrpo.envs.make import Backend
from odrpo.learner import Sizes
from odrpo.records import Records
from odrpo.replay import Replay
from odrpo.replay_files import read_rows, replay_folder, row_files
from odrpo.rollout.position import Position

if TYPE_CHECKING:
    from odrpo.model import ODRPO

Arrays = dict[str, np.ndarray]
Header = dict[str, Any]


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
        return _parsed(arrays, header, replay_folder(path), with_rows)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path}: this is no odrpo model, or it is damaged ({what})") from error


def _parsed(arrays: Arrays, header: Header, rows: Path, with_rows: bool) -> Stored:
    config, seed = Config.from_json(header["config"]), seed_of(header["seed"])
    observation_space = spaces.from_json(header["observation_space"])
    action_space = spaces.from_json(header["action_space"])
    env_id, backend, max_steps = header["env"], header["backend"], header["max_steps"]
    if not (env_id is None or isinstance(env_id, str)):
        raise ValueError(f"env: {env_id!r} is no id")
    if backend not in get_args(Backend):
        raise ValueError(f"backend: {backend!r} is none of {get_args(Backend)}")
    sizes = Sizes.of(observation_space, action_space)
    config.check_spaces(*sizes)
    template = jax.eval_shape(
        lambda key: algorithm.init(config, sizes, None, key), jax.random.key(0)
    )
    return Stored(
        env_id=env_id,
        backend=backend,
        max_steps=None if max_steps is None else whole("max_steps", max_steps, 1),
        seed=seed,
        config=config,
        observation_space=observation_space,
        action_space=action_space,
        sizes=sizes,
        records=Records.from_json(header),
        target=whole("target", header["target"]),
        callbacks=[(name, values) for name, values in header.get("callbacks", [])],
        state=checkpoint.restore(template, arrays),
        walker_arrays={k: v for k, v in arrays.items() if k.startswith(".walkers")},
        position=Position.from_arrays(arrays, config.num_envs),
        replay=_replay(config, seed, arrays, header, rows, with_rows),
    )


def _replay(
    config: Config, seed: int, arrays: Arrays, header: Header, folder: Path, with_rows: bool
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
    return replay
