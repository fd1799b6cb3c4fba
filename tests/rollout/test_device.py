"""Rollouts on the device: what a batch says at the borders of episodes."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from odrpo.envs import CartPole, FiniteMDP
from odrpo.rollout import device


def corridor(max_steps: int | None) -> FiniteMDP:
    """Four places in a row, the last of them the end; forward (1) pays the number of the place."""
    forward = np.array([1, 2, 3, 3])
    transitions = np.stack([np.arange(4), forward], axis=1)
    rewards = np.stack([np.zeros(4), np.arange(4)], axis=1)
    return FiniteMDP(transitions, rewards, 0, [False, False, False, True], max_steps)


def always(action: int):
    return lambda key, observation, number: jnp.full(observation.shape[0], action, jnp.int32)


def at_random(key, observation, number):
    return jax.random.bernoulli(key, 0.5, observation.shape[:1]).astype(jnp.int32)


def column(batch: device.Batch, name: str) -> list:
    return np.asarray(getattr(batch, name))[:, 0].tolist()


def test_an_episode_that_ends() -> None:
    env = corridor(max_steps=10)
    walkers = device.start(env, jax.random.key(0), 2)
    walkers, batch = device.collect(env, always(1), walkers, jax.random.key(1), 5)
    assert column(batch, "observation") == [0, 1, 2, 0, 1]
    assert column(batch, "next_observation") == [1, 2, 3, 1, 2]
    assert column(batch, "reward") == [0, 1, 2, 0, 1]
    assert column(batch, "terminated") == [False, False, True, False, False]
    assert column(batch, "truncated") == [False] * 5
    assert column(batch, "time") == [0, 1, 2, 0, 1]
    assert column(batch, "episode_return") == [0, 1, 3, 0, 1]
    assert (walkers.observation.tolist(), walkers.time.tolist()) == ([2, 2], [2, 2])


def test_an_episode_that_is_cut_off() -> None:
    env = corridor(max_steps=2)
    walkers = device.start(env, jax.random.key(0), 1)
    _, batch = device.collect(env, always(1), walkers, jax.random.key(1), 5)
    assert column(batch, "observation") == [0, 1, 0, 1, 0]
    assert column(batch, "next_observation") == [1, 2, 1, 2, 1]
    assert column(batch, "terminated") == [False] * 5
    assert column(batch, "truncated") == [False, True, False, True, False]
    assert column(batch, "done") == column(batch, "truncated")


def test_a_rollout_goes_on_where_the_last_one_stopped() -> None:
    env = corridor(max_steps=7)
    walkers = device.start(env, jax.random.key(0), 3)
    _, whole = device.collect(env, always(1), walkers, jax.random.key(1), 9)
    parts = []
    for steps in (4, 5):
        walkers, part = device.collect(env, always(1), walkers, jax.random.key(2), steps)
        parts.append(part)
    joined = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), *parts)
    jax.tree.map(np.testing.assert_array_equal, joined, whole)


def test_the_same_key_gives_the_same_batch_and_vmap_takes_seeds() -> None:
    env = CartPole()

    def run(key):
        start_key, walk_key = jax.random.split(key)
        return device.collect(env, at_random, device.start(env, start_key, 4), walk_key, 50)[1]

    keys = jax.random.split(jax.random.key(0), 3)
    many = jax.jit(jax.vmap(run))(keys)
    for index in range(3):
        alone = jax.jit(run)(keys[index])
        jax.tree.map(
            lambda a, b, i=index: np.testing.assert_allclose(a[i], b, atol=1e-6), many, alone
        )
    assert not np.array_equal(many.action[0], many.action[1])


@pytest.mark.parametrize("seed", range(3))
def test_returns_and_lengths_equal_gymnasiums(seed: int) -> None:
    """Each episode is played again in Gymnasium from its own first observation."""
    env, copy = CartPole(), gymnasium.make("CartPole-v1")

    walkers = device.start(env, jax.random.key(seed), 2)
    _, batch = jax.jit(lambda w, k: device.collect(env, at_random, w, k, 300))(
        walkers, jax.random.key(seed + 10)
    )
    begins = np.argwhere(np.asarray(batch.time[:, 0]) == 0)[:, 0]
    ends = np.argwhere(np.asarray(batch.done[:, 0]))[:, 0]
    assert len(ends) > 0
    for begin, end in zip(begins, ends, strict=False):
        copy.reset()
        copy.unwrapped.state = np.asarray(batch.observation[begin, 0], float)
        total = 0.0
        for step in range(begin, end + 1):
            observation, reward, terminated, _, _ = copy.step(int(batch.action[step, 0]))
            total += reward
            np.testing.assert_allclose(batch.next_observation[step, 0], observation, atol=1e-3)
            assert bool(batch.terminated[step, 0]) == (terminated and step == end)
        assert float(batch.episode_return[end, 0]) == total == end - begin + 1
