"""The generative policy against distributions that are known."""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest, wasserstein_distance, wasserstein_distance_nd

from odrpo.networks import descend
from odrpo.policies import GenerativePolicy, Support
from odrpo.policies.generative import Network, held_uniform, interpolate, quantiles

POLICY = GenerativePolicy(
    features=1,
    dimensions=2,
    hidden=(64, 64),
    levels=16,
    head=32,
    candidates=16,
    candidate_noise=0.0,
    epochs=1,
    minibatch=64,
    subset=None,
)
NOWHERE = jnp.zeros((32, 1))


def two_modes(key: jax.Array, count: int) -> jax.Array:
    """Three in ten at (0.6, -0.5), the others at (-0.6, 0.5)."""
    side_key, noise_key = jax.random.split(key)
    side = jnp.where(jax.random.bernoulli(side_key, 0.3, (count, 1)), 1.0, -1.0)
    return side * jnp.array([[0.6, -0.5]]) + 0.05 * jax.random.normal(noise_key, (count, 2))


def correlated(key: jax.Array, count: int) -> jax.Array:
    """A narrow ridge along the diagonal."""
    along_key, noise_key = jax.random.split(key)
    along = jax.random.uniform(along_key, (count, 1), minval=-0.7, maxval=0.7)
    return along + 0.05 * jax.random.normal(noise_key, (count, 2))


def fitted(target: Callable[[jax.Array, int], jax.Array], steps: int = 2000) -> np.ndarray:
    """Draws from a policy that was fitted to draws from the target."""
    params = POLICY.init(jax.random.key(0))

    @jax.jit
    def step(carry: tuple, number: jax.Array) -> tuple:
        key = jax.random.fold_in(jax.random.key(1), number)
        actions = target(key, 32 * 16).reshape(32, 16, 2)
        even = jnp.full((32, 16), 1 / 16)
        rate = 2e-3 * (1 - number.astype(jnp.float32) / steps)
        *carry, _ = descend(
            lambda generator: (POLICY.loss(generator, NOWHERE, actions, even), None), *carry, rate
        )
        return tuple(carry), None

    (generator, _), _ = jax.lax.scan(step, tuple(params), jnp.arange(steps))
    tau = jax.random.uniform(jax.random.key(2), (1, 5000, 2))
    return np.asarray(POLICY.sample(generator, NOWHERE[:1], tau)[0])


def test_two_modes_are_kept_apart() -> None:
    drawn, true = fitted(two_modes), np.asarray(two_modes(jax.random.key(3), 5000))
    assert np.mean(np.abs(drawn[:, 0]) < 0.4) < 0.05
    assert np.mean(drawn[:, 0] > 0) == pytest.approx(0.3, abs=0.02)
    # The second dimension follows the first: hardly any draw has the sign of the wrong mode.
    assert np.mean(drawn[:, 0] * drawn[:, 1] > 0) < 0.03
    for dimension in range(2):
        assert wasserstein_distance(drawn[:, dimension], true[:, dimension]) < 0.02


@pytest.mark.slow
def test_dimensions_that_belong_together_stay_together() -> None:
    drawn, true = fitted(correlated), np.asarray(correlated(jax.random.key(3), 5000))
    assert np.corrcoef(drawn.T)[0, 1] > 0.97
    assert wasserstein_distance_nd(drawn[:300], true[:300]) < 0.12


def test_it_begins_uniform() -> None:
    policy = replace(POLICY, levels=32)
    params = policy.init(jax.random.key(0))
    at = policy.at(params, NOWHERE, jax.random.key(1))
    assert at.actions is not None
    drawn = np.asarray(at.actions).reshape(-1, 2)
    assert np.abs(drawn).max() <= 1
    for dimension in range(2):
        assert wasserstein_distance(drawn[:, dimension], np.linspace(-1, 1, 1000)) < 0.08
    # The density of the uniform distribution on a square of side 2 is 1/4.
    density = policy.log_density(params, at)
    np.testing.assert_allclose(np.mean(density), np.log(1 / 4), atol=0.08)


def test_quantiles_are_those_of_the_weighted_actions() -> None:
    """Of one dimension, at levels that lie well within the share of an action."""
    policy = GenerativePolicy(1, 1, (32,), 9, 32, 3, 0.0, 1, 64, None)
    where, actions = jnp.zeros((1, 1)), jnp.array([[[-0.5], [0.0], [0.8]]])
    weights = jnp.array([[0.45, 0.35, 0.2]])

    def step(carry: tuple, share: jax.Array) -> tuple:
        *carry, _ = descend(
            lambda g: (policy.loss(g, where, actions, weights), None), *carry, 5e-3 * share
        )
        return tuple(carry), None

    first = tuple(policy.init(jax.random.key(0)))
    (generator, _), _ = jax.jit(lambda c, x: jax.lax.scan(step, c, x))(
        first, jnp.linspace(1, 0, 1000)
    )
    tau = jnp.array([0.1, 0.4, 0.5, 0.7, 0.9]).reshape(1, 5, 1)
    drawn = policy.sample(generator, where, tau)[0, :, 0]
    np.testing.assert_allclose(drawn, [-0.5, -0.5, 0, 0, 0.8], atol=0.06)


def test_the_best_action_is_the_median() -> None:
    params = POLICY.init(jax.random.key(5))
    half = POLICY.sample(params.generator, NOWHERE, jnp.full((32, 1, 2), 0.5))
    np.testing.assert_array_equal(POLICY.best(params, NOWHERE, None), half[:, 0])


def test_a_projection_moves_probability_to_where_the_target_has_it() -> None:
    params = POLICY.init(jax.random.key(0))
    at = POLICY.at(params, NOWHERE, jax.random.key(1))
    assert at.actions is not None
    right = (at.actions[:, :, 0] > 0).astype(jnp.float32)
    target = right / jnp.sum(right, axis=1, keepdims=True)

    def step(moved: Network, key: jax.Array) -> tuple:
        weights = jnp.full(32, 1 / 32)
        return POLICY.project(moved, at, target, weights, key, jnp.asarray(3e-3)), None

    keys = jax.random.split(jax.random.key(2), 300)
    moved, _ = jax.jit(lambda p: jax.lax.scan(step, p, keys))(params)
    after = POLICY.on_support(moved, params, at)
    np.testing.assert_allclose(np.sum(after, axis=1), 1, rtol=1e-5)
    assert np.mean(np.sum(after * right, axis=1)) > 0.8
    drawn = POLICY.at(moved, NOWHERE, jax.random.key(3)).actions
    assert np.mean(drawn[:, :, 0] > 0) > 0.93
    before, now = (POLICY.entropy(p, at, q) for p, q in ((params, at.policy), (moved, after)))
    assert np.mean(now) < np.mean(before)


def test_on_support_gives_the_old_probabilities_to_a_policy_that_did_not_move() -> None:
    params = POLICY.init(jax.random.key(0))
    at: Support = POLICY.at(params, NOWHERE, jax.random.key(1))
    np.testing.assert_allclose(POLICY.on_support(params, params, at), at.policy, rtol=1e-5)


def test_interpolation_goes_through_the_levels() -> None:
    values = jnp.linspace(-1, 1, 8) ** 3
    levels = jnp.arange(0.5, 8) / 8
    at_levels = interpolate(jnp.broadcast_to(values, (8, 8)), levels)
    np.testing.assert_allclose(at_levels, values, rtol=1e-6)
    drawn = interpolate(jnp.broadcast_to(values, (1001, 8)), jnp.linspace(0, 1, 1001))
    assert (np.diff(drawn) >= -1e-6).all()


def test_a_network_that_says_nothing_is_uniform() -> None:
    np.testing.assert_allclose(quantiles(jnp.zeros(4)), [-0.75, -0.25, 0.25, 0.75], rtol=1e-6)


def test_held_noise_is_uniform_and_like_what_was_just_before() -> None:
    def noise(octaves: int) -> np.ndarray:
        keys = jax.random.split(jax.random.key(0), 500)
        drawn = jax.vmap(
            lambda key: jax.vmap(lambda n: held_uniform(key, n, (), octaves))(jnp.arange(64))
        )(keys)
        return np.asarray(drawn)

    def correlation(drawn: np.ndarray, apart: int) -> float:
        return np.corrcoef(drawn[:, 0], drawn[:, apart])[0, 1]

    held, fresh = noise(6), noise(1)
    for drawn in (held, fresh):
        assert kstest(drawn[:, 5], "uniform").pvalue > 1e-3
    # Number 1 shares five of six parts with number 0, number 4 three, number 63 none.
    for apart, shared in ((1, 5), (4, 3), (63, 0)):
        np.testing.assert_allclose(correlation(held, apart), shared / 6, atol=0.15)
        assert abs(correlation(fresh, apart)) < 0.15
