"""Rollouts on the host: against episodes stepped by hand, and against the device."""

from collections.abc import Callable
from functools import cache
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space, create_empty_array
from gymnasium.wrappers import TimeLimit

from odrpo.envs import CartPole, FiniteMDP, TableEnv
from odrpo.envs.checks import EnvError
from odrpo.envs.classic import Motion
from odrpo.envs.finite import Progress
from odrpo.rollout import device
from odrpo.rollout.batch import Batch
from odrpo.rollout.host import Act, HostWalkers

MODES = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)
FIELDS = (
    "observation",
    "action",
    "reward",
    "next_observation",
    "terminated",
    "truncated",
    "time",
    "episode_return",
)
PLACES = 12
# Episodes of 1, 2, 3 and 4 steps that come to their end, and some that are cut off.
AHEAD = np.array([2, 0, 2, 2, 2, 2, 1, 2, 2, 1, 2, 1])
Said = Callable[[int, str], bool]


class Ring(gymnasium.Env):
    """Places in a circle; 0 ends an episode, and 11 ends it when the time is over as well.

    Each episode begins one place further on than the last one. An action goes 1, 3 or 5 places
    ahead; which of them are allowed depends on the place, and whether that is said on `said`.
    """

    LIMIT = 4

    def __init__(
        self,
        first: int = 1,
        observation_space: gymnasium.Space | None = None,
        actions: spaces.Discrete | None = None,
        said: Said | None = None,
    ) -> None:
        self.observation_space = observation_space or spaces.Discrete(PLACES)
        self.action_space = actions or spaces.Discrete(3)
        self.next_start, self.said = first, said

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.place, self.steps = self.next_start, 0
        self.next_start = self.next_start % (PLACES - 2) + 1
        return self.look(), self.info("reset")

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        assert action in self.action_space
        number = int(action - self.action_space.start)
        assert self.said is None or allowed(self.place)[number]
        reward = self.place / 2 + number
        self.place = (self.place + 1 + 2 * number) % PLACES
        self.steps += 1
        late = self.steps >= self.LIMIT
        terminated = self.place == 0 or (late and self.place == 11)
        return self.look(), reward, terminated, late, self.info("end" if late else "step")

    def look(self) -> Any:
        half, third = np.float32(self.place / 2), np.float32(self.place / 3)
        if isinstance(self.observation_space, spaces.Dict):
            return {"place": self.place - 3, "parts": (np.array([half, third]), self.place % 2)}
        if isinstance(self.observation_space, spaces.Box):
            return np.array([[half], [third]])
        return self.place + int(self.observation_space.start)

    def info(self, moment: str) -> dict:
        if self.said is None or not self.said(self.place, moment):
            return {}
        return {"action_mask": allowed(self.place).astype(np.int8)}


def allowed(place: int) -> np.ndarray:
    """What the ring allows; nothing where an episode ends."""
    return np.array([place % 3 != 0, place % 2 == 0, place % 4 != 2]) & (place != 0)


def choices(places: Any) -> np.ndarray:
    """What is left to a policy, (B, A): where nothing is allowed it does not matter."""
    rows = np.stack([allowed(place) for place in places])
    return rows | ~rows.any(axis=1, keepdims=True)


OBSERVATIONS: dict[str, gymnasium.Space] = {
    "index": spaces.Discrete(PLACES),
    "index from 5": spaces.Discrete(PLACES, start=5),
    "vector": spaces.Box(-20, 20, (2, 1)),
    "dict": spaces.Dict(
        place=spaces.Discrete(PLACES, start=-3),
        parts=spaces.Tuple((spaces.Box(-20, 20, (2,)), spaces.Discrete(2))),
    ),
}


def place_of(observation: np.ndarray) -> np.ndarray:
    """The place that an encoded observation tells of, (B,)."""
    if observation.ndim == 1:
        return observation
    if observation.shape[1] == 2:
        return np.rint(observation[:, 0] * 2).astype(int)
    return observation[:, :PLACES].argmax(axis=1)


def by_place(number: int, observation: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    """A choice that depends on the place, and on nothing else but what is allowed."""
    place = place_of(observation)
    if mask is None:
        return AHEAD[place]
    wish = np.stack([place, place + 1, place + 2], axis=1) % 3
    return np.array([next(a for a in row if ok[a]) for row, ok in zip(wish, mask, strict=True)])


def walkers_on(makers: list[Callable[[], gymnasium.Env]], mode: AutoresetMode) -> HostWalkers:
    return HostWalkers(SyncVectorEnv(makers, autoreset_mode=mode))


def rings(mode: AutoresetMode, count: int = 3, **options: Any) -> HostWalkers:
    return walkers_on([lambda k=k: Ring(2 + 3 * k, **options) for k in range(count)], mode)


def by_hand(env: gymnasium.Env, act: Act, steps: int) -> dict[str, np.ndarray]:
    """The transitions of one environment, stepped and flattened by Gymnasium's own means."""
    space = env.observation_space

    def seen(observation: Any) -> np.ndarray:
        if isinstance(space, spaces.Discrete):
            return np.asarray(observation - space.start)
        return spaces.utils.flatten(space, observation).astype(np.float32)

    rows: list[tuple] = []
    observation, info = env.reset()
    time, total = 0, 0.0
    while len(rows) < steps:
        mask = info.get("action_mask")
        mask = None if mask is None else mask[None].astype(bool)
        action = int(act(0, seen(observation)[None], mask)[0])
        following, reward, terminated, truncated, info = env.step(action + env.action_space.start)
        total += reward
        cut = truncated and not terminated
        rows.append(
            (seen(observation), action, reward, seen(following), terminated, cut, time, total)
        )
        observation, time = following, time + 1
        if terminated or truncated:
            observation, info = env.reset()
            time, total = 0, 0.0
    return {
        name: np.stack(column) for name, column in zip(FIELDS, zip(*rows, strict=True), strict=True)
    }


def valid_part(batch: Batch, k: int) -> dict[str, np.ndarray]:
    chosen = np.asarray(batch.valid)[:, k]
    return {name: np.asarray(getattr(batch, name))[:, k][chosen] for name in FIELDS}


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


@MODES
@pytest.mark.parametrize("name", OBSERVATIONS)
def test_every_mode_gives_the_episodes_stepped_by_hand(name: str, mode: AutoresetMode) -> None:
    walkers = rings(mode, observation_space=OBSERVATIONS[name])
    batch = walkers.collect(by_place, 60)
    standing_still = ~batch.valid
    assert standing_still.any() == (mode == AutoresetMode.NEXT_STEP)
    assert not (batch.done & standing_still).any()
    assert not batch.reward[standing_still].any()
    for k in range(3):
        found = valid_part(batch, k)
        expected = by_hand(Ring(2 + 3 * k, OBSERVATIONS[name]), by_place, len(found["reward"]))
        assert_same(found, expected)
        assert found["terminated"].any()
        assert found["truncated"].any()
        late = found["time"] == Ring.LIMIT - 1
        assert (found["terminated"] & late).any()


@MODES
def test_a_rollout_goes_on_where_the_last_one_stopped(mode: AutoresetMode) -> None:
    whole = rings(mode).collect(by_place, 41)
    walkers = rings(mode)
    parts = [walkers.collect(by_place, steps) for steps in (1, 7, 13, 20)]
    joined = jax.tree.map(lambda *columns: np.concatenate(columns), *parts)
    jax.tree.map(np.testing.assert_array_equal, joined, whole)


@MODES
def test_whole_episodes_are_those_stepped_by_hand(mode: AutoresetMode) -> None:
    steps = Ring.LIMIT + 2
    walkers = rings(mode)
    walkers.collect(by_place, 2)
    starts = [env.next_start for env in walkers.env.envs]
    batch = walkers.collect_episodes(by_place, steps)
    lengths = batch.valid.sum(axis=0)
    assert batch.valid.shape == (steps, 3)
    assert len(set(lengths)) > 1
    for k in range(3):
        length = lengths[k]
        assert batch.valid[:length, k].all()
        assert batch.done[:, k].tolist() == [step == length - 1 for step in range(steps)]
        assert_same(valid_part(batch, k), by_hand(Ring(starts[k]), by_place, length))


@MODES
def test_whole_episodes_are_cut_off_where_the_batch_ends(mode: AutoresetMode) -> None:
    walkers = rings(mode)
    starts = [env.next_start for env in walkers.env.envs]
    batch = walkers.collect_episodes(by_place, 2)
    assert batch.valid.sum(axis=0).tolist() == [2, 2, 1]
    for k in range(3):
        length = batch.valid[:, k].sum()
        assert batch.done[:, k].tolist() == [step == length - 1 for step in range(2)]
        expected = by_hand(Ring(starts[k]), by_place, length)
        expected["truncated"][-1] = not expected["terminated"][-1]
        assert_same(valid_part(batch, k), expected)


def said_at(name: str) -> Said:
    return {
        "always": lambda place, moment: True,
        "at some places": lambda place, moment: place % 5 > 1,
        "not at the beginning": lambda place, moment: moment != "reset",
        "not at the limit": lambda place, moment: moment != "end",
    }[name]


@MODES
@pytest.mark.parametrize(
    "when", ["always", "at some places", "not at the beginning", "not at the limit"]
)
@pytest.mark.parametrize("count", [1, 3])
def test_masks_are_those_of_the_place_or_allow_all(
    count: int, when: str, mode: AutoresetMode
) -> None:
    """The ring fails where what is not allowed is done, be it said or not."""
    said = said_at(when)
    walkers = rings(mode, count, said=said)

    def act(number: int, observation: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
        choice = by_place(number, observation, choices(observation))
        assert mask is None or mask[np.arange(count), choice].all()
        return choice

    batch = walkers.collect(act, 40)
    moments = {
        "mask": np.where(batch.time == 0, "reset", "step"),
        "next_mask": np.where(batch.time == Ring.LIMIT - 1, "end", "step"),
    }
    assert batch.truncated.any()
    places = {"mask": batch.observation, "next_mask": batch.next_observation}
    for name, moment in moments.items():
        found = getattr(batch, name)
        assert found is not None, name
        for t, k in np.argwhere(batch.valid):
            place = places[name][t, k]
            told = said(place, moment[t, k])
            expected = choices([place])[0] if told else np.ones(3, bool)
            np.testing.assert_array_equal(found[t, k], expected, err_msg=f"{name}[{t}, {k}]")


@MODES
def test_no_masks_are_none(mode: AutoresetMode) -> None:
    batch = rings(mode).collect(by_place, 20)
    assert batch.mask is None
    assert batch.next_mask is None


@MODES
def test_taxis_masks_are_its_own(mode: AutoresetMode) -> None:
    makers = [lambda: gymnasium.make("Taxi-v4", max_episode_steps=9)] * 3
    walkers = HostWalkers(SyncVectorEnv(makers, autoreset_mode=mode), seed=4)
    rng = np.random.default_rng(0)

    def act(number: int, observation: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
        return np.array([rng.choice(np.flatnonzero(row)) for row in mask])

    batch = walkers.collect(act, 60)
    taxi = gymnasium.make("Taxi-v4").unwrapped
    assert batch.truncated.sum() > 10
    assert not batch.mask.all()
    for t, k in np.argwhere(batch.valid):
        for name in ("", "next_"):
            state = getattr(batch, f"{name}observation")[t, k]
            found = getattr(batch, f"{name}mask")[t, k]
            np.testing.assert_array_equal(found, taxi.action_mask(state).astype(bool))
        assert batch.mask[t, k, batch.action[t, k]]


@MODES
def test_actions_are_counted_from_zero_and_taken_from_the_start(mode: AutoresetMode) -> None:
    found, expected = (
        rings(mode, actions=spaces.Discrete(3, start=start)).collect(by_place, 30)
        for start in (-1, 0)
    )
    jax.tree.map(np.testing.assert_array_equal, found, expected)
    assert set(np.unique(found.action)) == {0, 1, 2}


def test_a_seed_is_handed_to_gymnasium() -> None:
    env = gymnasium.make_vec("CartPole-v1", 3, vectorization_mode="sync")
    expected, _ = env.reset(seed=5)
    np.testing.assert_array_equal(HostWalkers(env, seed=5).observation, expected)


class Broken(Ring):
    """A ring of vectors with a fault at a moment."""

    def __init__(self, fault: str, moment: str, value: float) -> None:
        super().__init__(1, OBSERVATIONS["vector"])
        self.fault, self.moment, self.value, self.resets = fault, moment, value, 0

    def reset(self, **options: Any) -> tuple[Any, dict]:
        observation, info = super().reset(**options)
        self.resets += 1
        now = "first reset" if self.resets == 1 else "later reset"
        return self.spoil(observation, "observation", now), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        observation, reward, terminated, truncated, info = super().step(action)
        now = "end" if terminated or truncated else f"step {self.steps}"
        reward = self.spoil(reward, "reward", now)
        return self.spoil(observation, "observation", now), reward, terminated, truncated, info

    def spoil(self, value: Any, fault: str, moment: str) -> Any:
        return value * self.value if (fault, moment) == (self.fault, self.moment) else value


@MODES
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("moment", ["step 2", "end"])
def test_a_reward_that_is_not_finite_is_refused(
    moment: str, value: float, mode: AutoresetMode
) -> None:
    makers = [
        lambda: Ring(1, OBSERVATIONS["vector"]),
        lambda: Broken("reward", moment, value),
    ]
    walkers = walkers_on(makers, mode)
    with pytest.raises(
        ValueError, match=f"env: Broken paid a reward of {value} .* of environment 1"
    ):
        walkers.collect(lambda number, observation, mask: np.zeros(2, int), 20)


@MODES
@pytest.mark.parametrize("moment", ["first reset", "step 2", "end", "later reset"])
def test_an_observation_that_is_not_finite_is_refused(moment: str, mode: AutoresetMode) -> None:
    makers = [
        lambda: Ring(1, OBSERVATIONS["vector"]),
        lambda: Broken("observation", moment, np.nan),
    ]
    message = "env: Broken gave an observation of .*nan(.|\n)* of environment 1"
    with pytest.raises(ValueError, match=message):
        walkers_on(makers, mode).collect(lambda number, observation, mask: np.zeros(2, int), 20)


class Masked(Ring):
    """A ring of one place after another with a mask that is wrong at a moment."""

    def __init__(self, moment: str, mask: Any) -> None:
        super().__init__(1)
        self.moment, self.wrong, self.resets = moment, mask, 0

    def info(self, moment: str) -> dict:
        self.resets += moment == "reset"
        now = moment if moment != "reset" else f"reset {self.resets}"
        return {"action_mask": self.wrong if now == self.moment else np.ones(3, np.int8)}


def first_action(number: int, observation: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    return np.zeros(len(observation), int)


@MODES
@pytest.mark.parametrize("moment", ["reset 1", "step", "reset 2"])
def test_a_mask_that_allows_nothing_ends_no_episode(moment: str, mode: AutoresetMode) -> None:
    with pytest.raises(
        ValueError, match=r'env: Masked gave an info\["action_mask"\] that forbids all'
    ):
        walkers_on([lambda: Masked(moment, np.zeros(3, np.int8))], mode).collect(first_action, 20)


@MODES
def test_at_an_end_a_mask_may_allow_nothing(mode: AutoresetMode) -> None:
    walkers = walkers_on([lambda: Masked("end", np.zeros(3, np.int8))] * 2, mode)
    batch = walkers.collect(first_action, 20)
    assert batch.done.any()
    assert batch.next_mask is not None
    assert batch.next_mask.all()


@MODES
@pytest.mark.parametrize("mask", [np.ones(2), np.ones(1), np.ones((1, 3)), 1], ids=str)
def test_a_mask_of_another_shape_is_named(mask: Any, mode: AutoresetMode) -> None:
    shape = str(np.shape(mask)).replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ValueError, match=rf'"action_mask"\] of shape {shape}, expected \(3,\)'):
        walkers_on([lambda: Masked("reset 1", mask)], mode)


class Foreign(VectorEnv):
    """Two environments that nobody has seen before; what a step gives is given."""

    num_envs = 2
    single_action_space = spaces.Discrete(3)
    action_space = spaces.MultiDiscrete([3, 3])

    def __init__(self, space: gymnasium.Space | None = None, **given: Any) -> None:
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space = space or spaces.Box(-1, 1, (2, 3))
        self.observation_space = batch_space(self.single_observation_space, 2)
        self.given = given

    def reset(self, **options: Any) -> tuple[Any, dict]:
        return create_empty_array(self.single_observation_space, 2), {}

    def step(self, actions: Any) -> tuple:
        nowhere = {"terminated": np.zeros(2, bool), "truncated": np.zeros(2, bool)}
        usual = {"observation": self.reset()[0], "reward": np.zeros(2), **nowhere, "infos": {}}
        return tuple((usual | self.given).values())


SECOND = np.array([False, True])
FOREIGN: dict[str, tuple[dict[str, Any], str]] = {
    "one terminated": ({"terminated": True}, r"a terminated of shape \(\), expected \(2,\)"),
    "truncated of one": ({"truncated": [True]}, r"a truncated of shape \(1,\), expected \(2,\)"),
    "nan terminated": ({"terminated": [0, np.nan]}, "gave a terminated of nan .*environment 1;"),
    "no terminated": ({"terminated": [None, False]}, "a terminated of .*, which is no number"),
    "one reward": ({"reward": 1.0}, r"a reward of shape \(\), expected \(2,\)"),
    "nan reward": ({"reward": [0, np.nan]}, "paid a reward of nan .*environment 1;"),
    "complex reward": ({"reward": np.zeros(2, complex)}, "a reward of .*, which is no number"),
    "text for rewards": ({"reward": np.array(["1", "2"])}, "a reward of .*, which is no number"),
    "list of infos": ({"infos": [{}, {}]}, "for an info, which is no dict"),
    "masks of one": ({"infos": {"action_mask": np.ones((1, 3))}}, r"failed \(IndexError"),
    "no final_obs": ({"terminated": SECOND}, r'without infos\["final_obs"\].*environment 1;'),
    "final_obs of None": (
        {"truncated": SECOND, "infos": {"final_obs": [np.zeros((2, 3)), None]}},
        r'without infos\["final_obs"\].*environment 1;',
    ),
    "flat observation": (
        {"observation": np.zeros((2, 6))},
        r"shape \(2, 6\), expected \(B, 2, 3\)",
    ),
    "complex observation": ({"observation": np.zeros((2, 2, 3), complex)}, "complex128 is no numb"),
    "text for observations": ({"observation": np.full((2, 2, 3), "1")}, "is no number"),
    "three observations": ({"observation": np.zeros((3, 2, 3))}, "gave 3 observations, expected 2"),
    "state beyond int32": (
        {"space": spaces.Discrete(3), "observation": np.array([0, 2**32])},
        "gave an observation of 4294967296, .*environment 1;",
    ),
    "state of -1": (
        {"space": spaces.Discrete(3, start=-1), "observation": np.array([0, -2])},
        "gave an observation of -2, .*environment 1;",
    ),
    "one state of several is -1": (
        {"space": spaces.MultiDiscrete([2, 3]), "observation": np.array([[0, -1], [0, 0]])},
        r"gave an observation of \[ 0 -1\], .*environment 0;",
    ),
    "a part of -1": (
        {"space": spaces.Dict(a=spaces.Discrete(3)), "observation": {"a": np.array([0, -1])}},
        r"gave an observation of \{'a': .*-1.*\}, .*environment 1;",
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_other_vector_environments_give_is_looked_at(name: str) -> None:
    given, message = FOREIGN[name]
    walkers = HostWalkers(Foreign(**given))
    with pytest.raises(EnvError, match=f"env: .*Foreign.*{message}"):
        walkers.step(first_action, 0)


def test_what_other_vector_environments_give_may_be_plain() -> None:
    final = {"final_obs": [None, np.ones((2, 3))]}
    env = Foreign(reward=[1, 2], terminated=[0, 0], truncated=[0.0, 1.0], infos=final)
    row = HostWalkers(env).step(first_action, 0)
    assert row["truncated"].tolist() == [False, True]
    assert row["reward"].tolist() == [1, 2]
    assert row["next_observation"].tolist() == [[0] * 6, [1] * 6]


# The device: the same tables, the same motions.

CHOICE = np.array([1, 0, 2, 1, 0, 2, 1, 2], np.int32)
STEPS, EPISODE_STEPS = 40, 5
STARTS = [0, 3, 5]


def maze(max_steps: int, start: int = 0) -> FiniteMDP:
    """Eight states, three actions, nothing at random; 7 is the end."""
    rng = np.random.default_rng(5)
    transitions, rewards = rng.integers(0, 8, (8, 3)), rng.integers(-9, 9, (8, 3)) / 4
    for state, following in enumerate([1, 2, 3, 4, 5, 6, 7, 7]):
        transitions[state, CHOICE[state]] = following
    return FiniteMDP(transitions, rewards, start, np.arange(8) == 7, max_steps)


def choose(key: jax.Array, observation: jax.Array, since: tuple) -> jax.Array:
    return jnp.asarray(CHOICE)[observation]


def choose_on_host(number: int, observation: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    return CHOICE[observation]


collect = jax.jit(device.collect, static_argnums=(1, 4))


@cache
def maze_on_device(max_steps: int) -> Batch:
    states = jnp.asarray(STARTS, jnp.int32)
    zeros = jnp.zeros(len(STARTS), jnp.int32)
    walkers = device.Walkers(Progress(states, zeros), states, zeros, jnp.zeros(len(STARTS)))
    return collect(maze(max_steps), choose, walkers, jax.random.key(0), STEPS)[1]


@jax.jit
def episodes_on_device(env: FiniteMDP, key: jax.Array) -> Batch:
    walkers = device.start(env, key, 2)
    return device.collect_episodes(env, choose, walkers, key, EPISODE_STEPS)[1]


def maze_on_host(max_steps: int, mode: AutoresetMode) -> HostWalkers:
    walkers = walkers_on([lambda: TableEnv(maze(max_steps))] * len(STARTS), mode)
    for env, start in zip(walkers.env.envs, STARTS, strict=True):
        env.unwrapped.state = start
    walkers.observation = np.array(STARTS, np.int32)
    return walkers


@MODES
@pytest.mark.parametrize("max_steps", [5, 100])
def test_host_and_device_walk_alike_through_tables(max_steps: int, mode: AutoresetMode) -> None:
    """With 5 steps those who begin at 3 and 5 reach the end once, and then all are cut off."""
    expected = maze_on_device(max_steps)
    assert bool(expected.truncated.any()) == (max_steps == 5)
    assert bool(expected.terminated.any())
    batch = maze_on_host(max_steps, mode).collect(choose_on_host, STEPS)
    for k in range(len(STARTS)):
        found = valid_part(batch, k)
        whole = valid_part(expected, k)
        assert_same(found, {name: whole[name][: len(found[name])] for name in FIELDS})
        for name in FIELDS:
            assert found[name].dtype == whole[name].dtype, name
    if mode != AutoresetMode.NEXT_STEP:
        jax.tree.map(np.testing.assert_array_equal, batch, expected)


@pytest.mark.parametrize(
    ("max_steps", "start", "length"),
    [(3, 0, 3), (100, 3, 4), (100, 2, 5), (100, 0, 5)],
    ids=["late", "end", "end with the batch", "cut"],
)
def test_host_and_device_play_the_same_whole_episodes(
    max_steps: int, start: int, length: int
) -> None:
    env = maze(max_steps, start)
    expected = episodes_on_device(env, jax.random.key(0))
    assert np.asarray(expected.valid).sum(axis=0).tolist() == [length] * 2
    assert bool(expected.terminated.any()) == (start > 0)
    for mode in AutoresetMode:
        walkers = walkers_on([lambda: TableEnv(env)] * 2, mode)
        walkers.collect(choose_on_host, 3)
        batch = walkers.collect_episodes(choose_on_host, EPISODE_STEPS)
        for name in ("valid", "terminated", "truncated"):
            np.testing.assert_array_equal(
                getattr(batch, name), getattr(expected, name), err_msg=name
            )
        for k in range(2):
            assert_same(valid_part(batch, k), valid_part(expected, k))


def test_host_and_device_balance_alike() -> None:
    """Until the first end: where the next episode begins is a matter of chance."""
    limit, count = 40, 4
    starts = np.array(
        [[0.01, 0, 0.02, 0], [0, 0.3, -0.05, 0.1], [0, 0, 0.2, 1.0], [2.35, 1.0, 0, 0]], np.float32
    )
    zeros = jnp.zeros(count, jnp.int32)
    motion = Motion(jnp.asarray(starts), zeros)
    walkers = device.Walkers(motion, motion.state, zeros, jnp.zeros(count))

    def push(key: Any, x: Any, mask: Any = None) -> Any:
        return (x[:, 2] + x[:, 3] > 0).astype(np.int32)

    _, expected = collect(CartPole(limit), push, walkers, jax.random.key(0), limit)
    makers = [lambda: gymnasium.make("CartPole-v1", max_episode_steps=limit)] * count
    host = walkers_on(makers, AutoresetMode.SAME_STEP)
    for env, start in zip(host.env.envs, starts, strict=True):
        env.unwrapped.state = start.astype(float)
    host.observation = starts
    batch = host.collect(push, limit)
    lengths = np.asarray(expected.done).argmax(axis=0) + 1
    assert np.asarray(expected.truncated[-1]).tolist() == [True, True, False, False]
    assert (lengths[2:] < 20).all()
    for k, length in enumerate(lengths):
        for name in FIELDS:
            found, known = (np.asarray(getattr(b, name))[:length, k] for b in (batch, expected))
            np.testing.assert_allclose(found, known, atol=1e-4, err_msg=name)


def test_gymnasiums_own_time_limit_truncates_but_does_not_terminate() -> None:
    env = SyncVectorEnv([lambda: TimeLimit(TableEnv(maze(100)), 3)])
    batch = HostWalkers(env).collect(choose_on_host, 8)
    assert batch.truncated[:, 0].tolist() == [False, False, True, False] * 2
    assert not batch.terminated.any()
    assert batch.next_observation[[2, 6], 0].tolist() == [3, 3]
