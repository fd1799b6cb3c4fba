"""Where Gymnasium's environments are in their episodes, so that others can be brought there."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector.utils import concatenate, create_empty_array

from odrpo.envs.replayable import is_replayable
from odrpo.envs.spaces import action_count, feature_count, state_count

LONGEST = 100_000
"""Of a longer episode the actions are no longer kept."""
MOST = 2**53
"""No count and no seed goes beyond."""
PREFIX = "host."
"""Of its arrays in a file."""


class Position(NamedTuple):
    """B environments between two steps."""

    first_seeds: np.ndarray
    episodes: np.ndarray
    moves: Sequence[Any]
    """The actions since each episode began, as the environment takes them; perhaps of later steps
    too, for lists go on growing: `time` says how many."""
    observation: np.ndarray
    mask: np.ndarray | None
    time: np.ndarray
    episode_return: np.ndarray

    def own_moves(self) -> list[Sequence[Any]]:
        """Those up to here."""
        return [moves[:count] for moves, count in zip(self.moves, self.time, strict=True)]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """For a file: the actions one after the other, and how many each has."""
        arrays = self._asdict()
        arrays["moves"] = np.array([action for moves in self.own_moves() for action in moves])
        return {PREFIX + name: np.asarray(x) for name, x in arrays.items() if x is not None}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, np.ndarray], count: int, seen: gymnasium.Space, done: gymnasium.Space
    ) -> "Position | None":
        """As `to_arrays` gave it, of `count` environments that show and take what is said.

        None: there is nothing of it.
        """
        own: dict[str, Any] = {
            k.removeprefix(PREFIX): x for k, x in arrays.items() if k.startswith(PREFIX)
        }
        if not own:
            return None
        time, moves = own["time"], own.pop("moves")
        _check_now(own, count, seen, done)
        if time.sum() != len(moves):
            raise ValueError(f"{PREFIX}moves has {len(moves)} actions, not {time.sum()}")
        if len(moves):
            _check_moves(moves, done)
        own.setdefault("mask", None)
        return cls(moves=np.split(moves, np.cumsum(time)[:-1]), **own)


def _check_now(
    own: dict[str, np.ndarray], count: int, seen: gymnasium.Space, done: gymnasium.Space
) -> None:
    """Refuse what no rollout has left."""
    states = state_count(seen)
    kinds: dict[str, tuple[Any, tuple[int | None, ...]]] = {
        "first_seeds": (np.int64, (count,)),
        "episodes": (np.int64, (count,)),
        "observation": (np.float32, (count, feature_count(seen))),
        "mask": (np.bool_, (count, action_count(done))),
        "time": (np.int32, (count,)),
        "episode_return": (np.float32, (count,)),
    }
    if states is not None:
        kinds["observation"] = np.int32, (count,)
    if set(own) | {"mask"} != set(kinds):
        raise ValueError(f"{PREFIX}: it has {sorted(own)}, not {sorted(kinds)}")
    for name, array in own.items():
        dtype, shape = kinds[name]
        if array.dtype != dtype or array.shape != shape:
            right = f"{np.dtype(dtype)}{shape}"
            raise ValueError(f"{PREFIX}{name} is {array.dtype}{array.shape}, not {right}")
    # Of an unbounded return nothing is to be said: finite rewards may add up to it.
    whole = {"first_seeds": (0, MOST), "episodes": (1, MOST), "time": (0, LONGEST)}
    if states is not None:
        whole["observation"] = 0, states - 1
    for name, (least, most) in whole.items():
        if (own[name] < least).any() or (own[name] > most).any():
            raise ValueError(f"{PREFIX}{name} is not from {least} to {most} everywhere")
    if not np.isfinite(own["observation"]).all():
        raise ValueError(f"{PREFIX}observation is not finite everywhere")


def _check_moves(moves: np.ndarray, space: Any) -> None:
    counted = action_count(space)
    kind = "iu" if counted is not None else space.dtype.kind
    if moves.shape[1:] != space.shape or moves.dtype.kind not in kind:
        raise ValueError(f"{PREFIX}moves is {moves.dtype}{moves.shape}, no actions of {space}")
    places = moves if counted is None else moves - space.start
    inside = np.isfinite(moves) if counted is None else (places >= 0) & (places < counted)
    if not inside.all():
        raise ValueError(f"{PREFIX}moves has actions that are not in {space}")


class Moves:
    """The actions of the episodes that are under way."""

    def __init__(self, count: int) -> None:
        """Of so many environments that have just begun."""
        self.since: list[list[Any]] = [[] for _ in range(count)]

    @classmethod
    def of(cls, position: Position) -> "Moves":
        """Those up to there."""
        own = cls(0)
        own.since = [list(moves) for moves in position.own_moves()]
        return own

    def add(self, actions: np.ndarray, begins: np.ndarray) -> None:
        """One of each; where an episode begins there is none yet."""
        for place, begun in enumerate(begins.tolist()):
            if begun:
                self.since[place] = []
            elif len(self.since[place]) <= LONGEST:
                self.since[place].append(actions[place])

    def position(self, env: Any, *now: Any) -> Position | None:
        """Where they lead; None where they could not be repeated."""
        if not is_replayable(env) or any(len(moves) > LONGEST for moves in self.since):
            return None
        first_seeds = np.array(env.get_attr("first_seed"), np.int64)
        episodes = np.array(env.get_attr("episode"), np.int64)
        return Position(first_seeds, episodes, tuple(self.since), *now)


def bring_back(env: Any, position: Position) -> Any:
    """Repeat what was done: the observations there; None: an environment did not come along."""
    if not is_replayable(env):
        return None
    found = env.call("go_to", position.first_seeds, position.episodes, position.own_moves())
    if any(observation is None for observation in found):
        return None
    space = env.single_observation_space
    empty: Any = create_empty_array(space, env.num_envs)
    return concatenate(space, found, empty)
