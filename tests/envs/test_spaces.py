"""Spaces: observations as indices and features against Gymnasium's own flattening."""

import json
from collections import OrderedDict
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

from odrpo.envs.spaces import (
    action_count,
    action_dimensions,
    as_batch,
    check_actions,
    decode_actions,
    encode,
    feature_count,
    features,
    from_json,
    state_count,
    to_json,
)

INFINITE = np.array([-np.inf, -1.0, 0.1], np.float32)
SPACES: dict[str, gymnasium.Space] = {
    "discrete": spaces.Discrete(5),
    "discrete from -2": spaces.Discrete(4, start=-2),
    "box": spaces.Box(INFINITE, np.array([1.0, np.inf, 0.3], np.float32)),
    "box in two dimensions": spaces.Box(-1.0, 2.0, (2, 3)),
    "box without dimension": spaces.Box(-1.0, 1.0, ()),
    "box in float64": spaces.Box(-1 / 3, 0.1, (2,), np.float64),
    "image": spaces.Box(0, 255, (3, 2, 2), np.uint8),
    "unbounded whole numbers": spaces.Box(-np.inf, np.inf, (2,), np.int64),
    "multi-discrete": spaces.MultiDiscrete([3, 1, 4]),
    "multi-discrete from 2, -1": spaces.MultiDiscrete([3, 2], start=[2, -1]),
    "multi-discrete in two dimensions": spaces.MultiDiscrete(
        [[2, 3], [4, 2]], start=[[0, 1], [5, 0]]
    ),
    "multi-binary": spaces.MultiBinary(4),
    "multi-binary in two dimensions": spaces.MultiBinary([2, 3]),
    "dict": spaces.Dict(b=spaces.Discrete(3, start=1), a=spaces.Box(-1.0, 1.0, (2, 2))),
    "dict not in the order of its keys": spaces.Dict(
        OrderedDict(b=spaces.Discrete(3), a=spaces.MultiBinary([2]))
    ),
    "tuple": spaces.Tuple((spaces.Discrete(32), spaces.Discrete(11), spaces.Discrete(2))),
    "nested": spaces.Dict(
        here=spaces.Tuple((spaces.Discrete(2, start=7), spaces.Box(0, 255, (2,), np.uint8))),
        there=spaces.Dict(
            z=spaces.MultiDiscrete([2, 3], start=[1, 0]),
            y=spaces.Tuple((spaces.MultiBinary(2),)),
        ),
    ),
}
ALL = pytest.mark.parametrize("name", SPACES)


def samples(space: gymnasium.Space, count: int) -> list[Any]:
    space.seed(0)
    return [space.sample() for _ in range(count)]


def side_by_side(space: gymnasium.Space, observations: list[Any]) -> Any:
    """As Gymnasium's vector environments put them."""
    return concatenate(space, observations, create_empty_array(space, len(observations)))


def flattened(space: gymnasium.Space, observations: list[Any]) -> np.ndarray:
    rows = [spaces.utils.flatten(space, observation) for observation in observations]
    return np.stack(rows).astype(np.float32)


@ALL
def test_features_are_what_gymnasium_flattens_to(name: str) -> None:
    space = SPACES[name]
    observations = samples(space, 30)
    found = features(space, side_by_side(space, observations))
    np.testing.assert_array_equal(found, flattened(space, observations))
    assert found.dtype == np.float32
    assert feature_count(space) == spaces.utils.flatdim(space) == found.shape[1]


@ALL
def test_only_a_discrete_space_is_counted_in_states(name: str) -> None:
    space = SPACES[name]
    observations = samples(space, 30)
    found = encode(space, side_by_side(space, observations))
    if isinstance(space, spaces.Discrete):
        assert state_count(space) == space.n
        assert (found.dtype, found.shape) == (np.int32, (30,))
        np.testing.assert_array_equal(np.eye(space.n)[found], flattened(space, observations))
    else:
        assert state_count(space) is None
        np.testing.assert_array_equal(found, flattened(space, observations))


@ALL
@pytest.mark.parametrize("count", [None, 1, 3])
def test_one_observation_or_a_batch(name: str, count: int | None) -> None:
    space = SPACES[name]
    observations = samples(space, count or 1)
    given = observations[0] if count is None else side_by_side(space, observations)
    batch, single = as_batch(space, given)
    assert single is (count is None)
    np.testing.assert_array_equal(features(space, batch), flattened(space, observations))


@ALL
def test_a_space_comes_back_from_json(name: str) -> None:
    space = SPACES[name]
    found = from_json(json.loads(json.dumps(to_json(space), allow_nan=False)))
    assert found == space
    observations = samples(space, 10)
    assert all(observation in found for observation in observations)
    batch = side_by_side(space, observations)
    np.testing.assert_array_equal(encode(found, batch), encode(space, batch))
    if isinstance(space, spaces.Box):  # its equality is up to a tolerance
        np.testing.assert_array_equal(found.low, space.low)
        np.testing.assert_array_equal(found.high, space.high)


WHOLE_FLOATS = {
    "discrete from -2": (-1.0, -1),
    "multi-discrete from 2, -1": ([4.0, -1.0], [4, -1]),
    "dict": ({"a": np.zeros((2, 2)), "b": 2.0}, {"a": np.zeros((2, 2)), "b": 2}),
}


@pytest.mark.parametrize("name", WHOLE_FLOATS)
def test_whole_numbers_may_come_as_floats(name: str) -> None:
    space, (floats, integers) = SPACES[name], WHOLE_FLOATS[name]
    found, expected = (
        encode(space, as_batch(space, observation)[0]) for observation in (floats, integers)
    )
    np.testing.assert_array_equal(found, expected)


UNSUPPORTED = {
    "text": spaces.Text(5),
    "sequence": spaces.Sequence(spaces.Discrete(2)),
    "text in a dict": spaces.Dict(a=spaces.Discrete(2), b=spaces.Text(5)),
    "text in a tuple": spaces.Tuple((spaces.Discrete(2), spaces.Text(5))),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_other_spaces_are_refused(name: str) -> None:
    for function in (feature_count, to_json):
        with pytest.raises(ValueError, match=r"env: its observation space is .*; odrpo takes Disc"):
            function(UNSUPPORTED[name])


def test_discrete_actions_are_counted_and_boxes_have_dimensions() -> None:
    three = spaces.Discrete(3, start=-1)
    assert (action_count(three), action_dimensions(three)) == (3, None)
    box = spaces.Box(-1, 1, (2, 3))
    assert (action_count(box), action_dimensions(box)) == (None, 6)


@pytest.mark.parametrize("space", [spaces.MultiDiscrete([2, 2]), spaces.MultiBinary(2)])
def test_other_actions_are_refused(space: spaces.Space) -> None:
    with pytest.raises(ValueError, match=r"env: its action space is .*Discrete actions and on"):
        check_actions(space)


@pytest.mark.parametrize(
    ("space", "lowest", "middle", "highest"),
    [
        (spaces.Discrete(3, start=-1), -1, 0, 1),
        (spaces.Box(-2, 6, (1, 2)), [[-2, -2]], [[2, 2]], [[6, 6]]),
        (spaces.Box(0, 255, (1,), np.uint8), [0], [128], [255]),
        (spaces.Box(-np.inf, np.inf, (1,)), [-3], [0], [3]),
        (spaces.Box(2, np.inf, (1,)), [2], [5], [8]),
        (spaces.Box(-np.inf, 10, (1,)), [-3], [3.5], [10]),
        (spaces.Box(-np.inf, np.inf, (1,), np.int64), [-3], [0], [3]),
        (spaces.Box(-np.finfo(np.float32).max, np.finfo(np.float32).max, (1,)), [-3], [0], [3]),
    ],
)
def test_actions_of_the_environment(
    space: spaces.Space, lowest: Any, middle: Any, highest: Any
) -> None:
    ours = np.arange(3) if isinstance(space, spaces.Discrete) else np.array([[-1], [0], [1]])
    if isinstance(space, spaces.Box):
        ours = np.repeat(ours, action_dimensions(space) or 0, axis=1).astype(np.float32)
    its = decode_actions(space, ours)
    np.testing.assert_array_equal(its, [lowest, middle, highest])
    assert all(space.contains(action) for action in its)
    np.testing.assert_array_equal(decode_actions(space, jnp.asarray(ours)), its)
    if isinstance(space, spaces.Box):
        again = from_json(json.loads(json.dumps(to_json(space))))
        np.testing.assert_array_equal(decode_actions(again, ours), its)


BAD = {
    "negative": ("discrete", -1, r"observation: not in Discrete\(5\)"),
    "too large": ("discrete", [0, 5], r"observation: not in Discrete\(5\)"),
    "below the start": ("discrete from -2", -3, r"not in Discrete\(4, start=-2\)"),
    "above the start": ("discrete from -2", 2, r"not in Discrete\(4, start=-2\)"),
    "a fraction": ("discrete", 0.5, r"observation: not in Discrete\(5\)"),
    "NaN for an index": ("discrete", np.nan, "observation: not all of it is finite"),
    "a column of indices": ("discrete", [[1], [2]], r"shape \(2, 1\), expected \(\)"),
    "one of many too large": ("multi-discrete", [2, 0, 4], "observation: not in MultiDiscrete"),
    "one of many too small": ("multi-discrete from 2, -1", [1, 0], "not in MultiDiscrete"),
    "NaN": ("box", [0, 0, np.nan], "observation: not all of it is finite"),
    "no room in float32": ("box", [0, 0, 1e39], "not all of it is finite in float32"),
    "no room in a part": ("dict", {"a": np.full((2, 2), -1e39), "b": 1}, "not all of it is finite"),
    "infinity in a batch": ("box", [[0, 0, 0], [0, np.inf, 0]], "observation: not all of it is"),
    "too short": ("box", [0.0, 1.0], r"shape \(2,\), expected \(3,\), or \(B, 3\) for a batch"),
    "a number for a vector": ("box", 0.0, r"observation: shape \(\), expected \(3,\)"),
    "too many dimensions": ("box", np.zeros((1, 1, 3)), r"observation: shape \(1, 1, 3\)"),
    "a word": ("box", "left", "observation: <U4 is no number"),
    "nothing": ("box", None, "observation: object is no number"),
    "NaN in a part": ("dict", {"a": np.full((2, 2), np.nan), "b": 1}, "not all of it is finite"),
    "a part out of range": ("dict", {"a": np.zeros((2, 2)), "b": 0}, "not in Discrete"),
    "a part of another shape": ("dict", {"a": np.zeros(2), "b": 1}, r"observation: shape \(2,\)"),
    "a part is missing": ("dict", {"a": np.zeros((2, 2))}, "observation: .*b"),
    "a tuple too short": ("tuple", (1, 2), "observation: "),
    "parts of unequal number": (
        "dict",
        {"a": np.zeros((3, 2, 2)), "b": [1, 2]},
        "observation: ",
    ),
    "one part a batch, one not": ("dict", {"a": np.zeros((3, 2, 2)), "b": 1}, "observation: "),
    "an array for a dict": ("dict", np.zeros(7), "observation: "),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_observations_are_named(name: str) -> None:
    space, observation, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        as_batch(SPACES[space], observation)
