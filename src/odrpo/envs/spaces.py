"""Gymnasium's spaces as the algorithm sees them: a state's index, or a vector of features."""

import math
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from odrpo.arguments import whole
from odrpo.envs.env import Array

SUPPORTED = "Discrete, Box, MultiDiscrete, MultiBinary, or a Dict or Tuple of these"


UNBOUNDED = 3.0
"""An action without bounds is taken from [-3, 3]."""
MOST_PLACES = 2**31
"""Of a space in a file; beyond it their index has no room in 32 bits."""


def check_actions(space: gymnasium.Space) -> None:
    """Refuse actions that no policy of ours takes."""
    if isinstance(space, spaces.Discrete):
        return
    if not isinstance(space, spaces.Box) or np.prod(space.shape) == 0:
        raise ValueError(
            f"env: its action space is {space}; odrpo trains on Discrete actions and on a Box. "
            "gymnasium.wrappers.TransformAction can make one of another space"
        )


def action_count(space: gymnasium.Space) -> int | None:
    """The number of actions of a Discrete space; None for a continuum."""
    return int(space.n) if isinstance(space, spaces.Discrete) else None


def action_dimensions(space: gymnasium.Space) -> int | None:
    """The number of components of a continuous action; None where actions are counted."""
    return int(np.prod(space.shape)) if isinstance(space, spaces.Box) else None


def decode_actions(space: gymnasium.Space, batch: Array) -> Array:
    """What the environment takes, from numbers counted from 0, (B,), or from [-1, 1], (B, D).

    Where it is, on the host or on the device.
    """
    return action_decoder(space)(batch)


def action_decoder(space: gymnasium.Space) -> Callable[[Array], Array]:
    """`decode_actions` for many batches of one space: to find its bounds takes the longest."""
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        return lambda batch: batch + start
    low, high = (bound[None] for bound in _bounds(space))
    whole = np.issubdtype(space.dtype, np.integer)

    def decode(batch: Array) -> Array:
        xp: Any = jnp if isinstance(batch, jax.Array) else np
        if xp is np:
            batch = np.asarray(batch, np.float64)
        shares = (batch.reshape(-1, *low.shape[1:]) + 1) / 2
        actions = xp.minimum(xp.maximum(low + shares * (high - low), low), high)
        kept = jax.dtypes.canonicalize_dtype(space.dtype) if xp is jnp else space.dtype
        return (xp.rint(actions) if whole else actions).astype(kept)

    return decode


def is_bounded(space: gymnasium.Space) -> bool:
    """Whether all components of an action have bounds."""
    return isinstance(space, spaces.Discrete) or bool(np.isfinite(_given_bounds(space)).all())


def _bounds(space: gymnasium.Space) -> tuple[np.ndarray, np.ndarray]:
    """Those of a Box; one that is missing is put where [-3, 3] has it, or 6 from the other one."""
    low, high = _given_bounds(space)
    low = np.where(np.isfinite(low), low, np.minimum(-UNBOUNDED, high - 2 * UNBOUNDED))
    high = np.where(np.isfinite(high), high, np.maximum(UNBOUNDED, low + 2 * UNBOUNDED))
    return low, high


def _given_bounds(space: Any) -> tuple[np.ndarray, np.ndarray]:
    """Those of a Box, infinite where there is none.

    The largest float that there is stands for none, and so does what Gymnasium makes of infinity
    where actions are integers: the largest one less two.
    """
    largest = np.inf
    if space.dtype.kind == "f":
        largest = np.finfo(space.dtype).max
    elif space.dtype.itemsize >= 4:  # those of one or two bytes may well be meant
        largest = np.iinfo(space.dtype).max - 2
    low = np.where(space.low > -largest, space.low.astype(np.float64), -np.inf)
    high = np.where(space.high < largest, space.high.astype(np.float64), np.inf)
    return low, high


def state_count(space: gymnasium.Space) -> int | None:
    """The number of states, where an observation is the index of one; else None."""
    return int(space.n) if isinstance(space, spaces.Discrete) else None


def feature_count(space: gymnasium.Space) -> int:
    """The length of an observation as a vector; Discrete ones become indicators (one-hot)."""
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return int(space.nvec.sum())
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        return int(np.prod(space.shape))
    if isinstance(space, spaces.Dict | spaces.Tuple):
        return sum(feature_count(part) for part, _ in _parts(space, None))
    raise ValueError(f"env: its observation space is {space}; odrpo takes {SUPPORTED}")


def encode(space: gymnasium.Space, batch: Any) -> np.ndarray:
    """B observations as B indices, (B,), or as features, (B, D).

    A state that there is not becomes -1, and NaN among features.
    """
    if isinstance(space, spaces.Discrete):
        places = _rows(space, batch) - space.start
        return np.where(_there_is(places, space.n), places, -1).astype(np.int32)
    return features(space, batch)


def features(space: gymnasium.Space, batch: Any) -> np.ndarray:
    """B observations as features, (B, D) in float32."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        return np.concatenate([features(*part) for part in _parts(space, batch)], axis=1)
    array = _rows(space, batch)
    if isinstance(space, spaces.Discrete):
        return _indicators(array - space.start, space.n)
    if isinstance(space, spaces.MultiDiscrete):
        places = (array - space.start).reshape(len(array), space.nvec.size)
        columns = [_indicators(places[:, k], n) for k, n in enumerate(space.nvec.ravel())]
        return np.concatenate(columns, axis=1)
    return array.reshape(len(array), feature_count(space)).astype(np.float32)


def _rows(space: gymnasium.Space, batch: Any) -> np.ndarray:
    """Numbers of the shape that they have in B observations."""
    array = _numbers(space, batch)
    if array.ndim == 0 or array.shape[1:] != space.shape:
        expected = ", ".join(map(str, ("B", *(space.shape or ()))))
        raise ValueError(f"observation: shape {array.shape}, expected ({expected})")
    return array


def _numbers(space: gymnasium.Space, observation: Any) -> np.ndarray:
    array = np.asarray(observation)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"observation: {array.dtype} is no number; expected {space}")
    return array


def _there_is(places: np.ndarray, size: Any) -> np.ndarray:
    """Where a place is one of 0, 1, ..., size - 1; asked before a cast might make it one."""
    return (places >= 0) & (places < size) & (places == np.floor(places))


def _indicators(places: np.ndarray, size: int) -> np.ndarray:
    there = _there_is(places, size)
    rows = np.zeros((len(places), int(size)), np.float32)
    rows[there, places[there].astype(np.int32)] = 1
    rows[~there] = np.nan
    return rows


def as_batch(space: gymnasium.Space, observation: Any) -> tuple[Any, bool]:
    """An observation or a batch of them as a batch, and whether it was a single one."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        _check_parts(space, observation)
    if isinstance(space, spaces.Dict):
        parts = {key: as_batch(space[key], observation[key]) for key in space}
        return {key: part for key, (part, _) in parts.items()}, _one_count(parts.values())
    if isinstance(space, spaces.Tuple):
        pairs = [as_batch(*pair) for pair in zip(space, observation, strict=True)]
        return tuple(part for part, _ in pairs), _one_count(pairs)
    array = _numbers(space, observation)
    shape = space.shape or ()
    single = array.shape == shape
    if not single and (array.ndim == 0 or array.shape[1:] != shape):
        batch = str(("B", *shape)).replace("'", "")
        raise ValueError(
            f"observation: shape {array.shape}, expected {shape}, or {batch} for a batch"
        )
    array = array[None] if single else array
    _check_values(space, array)
    return array, single


def check_observation(space: Any, observation: Any) -> None:
    """Refuse what one environment must not show; the bounds of a Box are not looked at."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        _check_parts(space, observation)
        for part in _parts(space, observation):
            check_observation(*part)
        return
    array = _numbers(space, observation)
    if array.shape != space.shape:
        raise ValueError(f"observation: shape {array.shape}, expected {space.shape}")
    if array.dtype != space.dtype:
        if not np.can_cast(array.dtype, space.dtype, "same_kind"):  # as vector environments cast
            raise ValueError(f"observation: {array.dtype}, expected {space.dtype}")
        if space.dtype.kind != "f" and (array.astype(space.dtype) != array).any():
            raise ValueError(f"observation: not in {space}, of {space.dtype}")
    _check_values(space, array[None])


def _check_values(space: gymnasium.Space, batch: np.ndarray) -> None:
    # Networks see it in float32, which may have no room for what is finite in float64.
    if batch.dtype.kind == "f" and not (np.abs(batch) <= np.finfo(np.float32).max).all():
        raise ValueError("observation: not all of it is finite in float32")
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        size = space.n if isinstance(space, spaces.Discrete) else space.nvec[None]
        if not _there_is(batch - space.start, size).all():
            raise ValueError(f"observation: not in {space}")


def _check_parts(space: Any, observation: Any) -> None:
    if isinstance(space, spaces.Dict):
        fits = isinstance(observation, dict) and set(observation) >= set(space)
    else:
        fits = isinstance(observation, tuple | list) and len(observation) == len(space)
    if not fits:
        raise ValueError(f"observation: {type(observation).__name__} without the parts of {space}")


def _count(batch: Any) -> int:
    if isinstance(batch, dict):
        batch = tuple(batch.values())
    return _count(batch[0]) if isinstance(batch, tuple) else len(batch)


def _one_count(pairs: Any) -> bool:
    """Whether all parts are single observations; they must agree."""
    pairs = list(pairs)
    if len({(_count(part), single) for part, single in pairs}) != 1:
        raise ValueError("observation: its parts differ in their number")
    return bool(pairs[0][1])


def _parts(space: Any, batch: Any) -> list[tuple[gymnasium.Space, Any]]:
    if isinstance(space, spaces.Dict):
        return [(space[key], None if batch is None else batch[key]) for key in space]
    return [(part, None if batch is None else batch[k]) for k, part in enumerate(space)]


def to_json(space: gymnasium.Space) -> dict[str, Any]:
    """What a space is, in numbers, words and lists."""
    if isinstance(space, spaces.Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        return {"kind": "MultiDiscrete", "n": space.nvec.tolist(), "start": space.start.tolist()}
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "MultiBinary", "n": space.n}
    if isinstance(space, spaces.Box):
        # JSON has no infinity: a bound that is missing is null.
        low, high = (
            [x if np.isfinite(x) else None for x in bound.ravel().tolist()]
            for bound in (space.low, space.high)
        )
        kind = {"kind": "Box", "shape": list(space.shape), "dtype": str(space.dtype)}
        return {**kind, "low": low, "high": high}
    if isinstance(space, spaces.Dict):
        return {"kind": "Dict", "parts": {key: to_json(space[key]) for key in space}}
    if isinstance(space, spaces.Tuple):
        return {"kind": "Tuple", "parts": [to_json(part) for part in space]}
    raise ValueError(f"env: its observation space is {space}; odrpo takes {SUPPORTED}")


def from_json(values: dict[str, Any]) -> gymnasium.Space:
    """A space as `to_json` wrote it."""
    kind = values["kind"]
    if kind == "Discrete":
        return spaces.Discrete(_sizes([values["n"]])[0], start=values["start"])
    if kind == "MultiDiscrete":
        _sizes([int(np.max(values["n"]))])
        return spaces.MultiDiscrete(values["n"], start=values["start"])
    if kind == "MultiBinary":
        n = values["n"]
        return spaces.MultiBinary(_sizes(n) if isinstance(n, list) else _sizes([n])[0])
    if kind == "Box":
        shape, dtype = _sizes(values["shape"], least=0), np.dtype(values["dtype"])
        # Before there are arrays of it: of S20000000 a few numbers take all memory.
        if dtype.kind not in "biuf":
            raise ValueError(f"space: {values['dtype']!r} is no kind of number")
        bounds = [
            np.array([end if x is None else x for x in values[name]], dtype).reshape(shape)
            for name, end in (("low", -np.inf), ("high", np.inf))
        ]
        return spaces.Box(bounds[0], bounds[1], shape=shape, dtype=dtype.type)
    if kind == "Dict":
        return spaces.Dict([(key, from_json(part)) for key, part in values["parts"].items()])
    if kind == "Tuple":
        return spaces.Tuple([from_json(part) for part in values["parts"]])
    raise ValueError(f"space: there is no kind {kind!r}; use {SUPPORTED}")


def _sizes(values: list[Any], least: int = 1) -> tuple[int, ...]:
    """Those of a space in a file, along each of its axes."""
    sizes = tuple(whole("space", value, least) for value in values)
    if math.prod(sizes) >= MOST_PLACES:
        raise ValueError(f"space: it has {sizes} places; use fewer than 2**31")
    return sizes
