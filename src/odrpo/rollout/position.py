"""Where Gymnasium's environments are in their episodes, so that others can be brought there."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector.utils import concatenate, create_empty_array

from odrpo.envs.replayable import is_replayable

LONGEST = 100_000
"""Of a longer episode the actions are no longer kept."""
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
    def from_arrays(cls, arrays: dict[str, np.ndarray], count: int) -> "Position | None":
        """As `to_arrays` gave it, of `count` environments; None: there is nothing of it."""
        own: dict[str, Any] = {
            k.removeprefix(PREFIX): x for k, x in arrays.items() if k.startswith(PREFIX)
        }
        if not own:
            return None
        time, moves = own["time"], own.pop("moves")
        for name, array in own.items():
            if len(array) != count:
                raise ValueError(f"{PREFIX}{name} is of {len(array)} environments, not {count}")
        if (time < 0).any() or time.sum() != len(moves):
            raise ValueError(f"{PREFIX}moves has {len(moves)} actions, not {time.sum()}")
        own.setdefault("mask", None)
        return cls(moves=np.split(moves, np.cumsum(time)[:-1]), **own)


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
