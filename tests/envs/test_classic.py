"""Classic control on the device against Gymnasium, from the same states with the same actions."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from odrpo.envs.classic import Acrobot, CartPole, Motion

ENVS = {"CartPole-v1": CartPole(), "Acrobot-v1": Acrobot()}


@pytest.mark.parametrize("name", ENVS)
def test_spaces_equal_gymnasium(name: str) -> None:
    env = gymnasium.make(name)
    assert ENVS[name].action_space == env.action_space
    np.testing.assert_allclose(ENVS[name].observation_space.high, env.observation_space.high)
    np.testing.assert_allclose(ENVS[name].observation_space.low, env.observation_space.low)


@pytest.mark.parametrize("name", ENVS)
def test_every_step_equals_gymnasium(name: str) -> None:
    """In float64, from the same states, over thousands of steps, ends and time limits included."""
    env = gymnasium.make(name)
    rng = np.random.default_rng(0)
    ended = cut = 0
    with jax.enable_x64(True):
        step = jax.jit(ENVS[name].step)
        key = jax.random.key(0)
        for seed in range(8 if name == "Acrobot-v1" else 60):
            env.reset(seed=seed)
            motion = Motion(jnp.asarray(env.unwrapped.state, float), jnp.asarray(0))
            while True:
                action = _action(name, rng, env, seed)
                expected, reward, terminated, truncated, _ = env.step(action)
                found = step(key, motion, jnp.asarray(action))
                np.testing.assert_allclose(found.observation, expected, atol=1e-6)
                np.testing.assert_allclose(found.state.state, env.unwrapped.state, atol=1e-12)
                assert float(found.reward) == reward
                assert bool(found.terminated) == terminated
                assert bool(found.truncated) == (truncated and not terminated)
                # From Gymnasium's own state: a pole that stands on end doubles any rounding.
                motion = Motion(jnp.asarray(env.unwrapped.state), found.state.steps)
                if terminated or truncated:
                    ended, cut = ended + terminated, cut + truncated
                    break
    assert ended > 0
    assert cut > 0


def _action(name: str, rng: np.random.Generator, env: gymnasium.Env, seed: int) -> int:
    """At random in most episodes; in the others what leads to the far end of an episode."""
    if seed % 2:
        return int(rng.integers(env.action_space.n))
    state = env.unwrapped.state
    if name == "CartPole-v1":
        return int(state[2] + 0.3 * state[3] + 0.02 * state[0] + 0.05 * state[1] > 0)
    return 2 if state[3] > 0 else 0


@pytest.mark.parametrize("name", ENVS)
def test_single_precision_follows_for_a_step(name: str) -> None:
    rng = np.random.default_rng(1)
    states = rng.uniform(-1, 1, (500, 4)) * [0.5, 2, 0.2, 2]
    actions = rng.integers(0, ENVS[name].action_space.n, 500)
    run = jax.vmap(lambda s, a: ENVS[name].step(jax.random.key(0), Motion(s, jnp.asarray(0)), a))
    single = run(jnp.asarray(states, jnp.float32), jnp.asarray(actions))
    with jax.enable_x64(True):
        double = run(jnp.asarray(states), jnp.asarray(actions))
    np.testing.assert_allclose(single.observation, double.observation, atol=2e-5)
    assert single.observation.dtype == jnp.float32


@pytest.mark.parametrize("name", ENVS)
def test_episodes_begin_as_gymnasiums_do(name: str) -> None:
    keys = jax.random.split(jax.random.key(0), 2000)
    motions, _ = jax.vmap(ENVS[name].reset)(keys)
    starts = np.array([gymnasium.make(name).reset(seed=seed)[0] for seed in range(200)])
    width = 0.05 if name == "CartPole-v1" else 0.1
    assert np.abs(motions.state).max() <= width
    np.testing.assert_allclose(motions.state.std(axis=0), width / np.sqrt(3), rtol=0.05)
    observed = jax.vmap(ENVS[name].reset)(keys)[1]
    assert observed.shape[1:] == starts.shape[1:]
    np.testing.assert_allclose(observed.std(axis=0), starts.std(axis=0), rtol=0.25)
