"""The Gaussian policy against distributions that are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest, norm

from odrpo.policies import GaussianPolicy, Support

POLICY = GaussianPolicy(
    features=1,
    dimensions=2,
    hidden=(32,),
    candidates=16,
    candidate_noise=None,
    epochs=1500,
    minibatch=64,
    subset=None,
)
SEEN = jnp.zeros((64, 1))


def projected(actions: jax.Array, target: jax.Array) -> tuple:
    """A policy before and after it was fitted to weighted actions at every state."""
    old = POLICY.init(jax.random.key(0))
    support = Support(SEEN, jnp.full(target.shape, 1 / target.shape[1]), actions)
    weights = jnp.full(len(SEEN), 1 / len(SEEN))
    new = POLICY.project(old, support, target, weights, jax.random.key(1), jnp.asarray(3e-3))
    return old, new, support


def test_it_begins_as_wide_as_the_uniform_distribution() -> None:
    many = jnp.zeros((4000, 1))
    actions = np.asarray(POLICY.act(POLICY.init(jax.random.key(0)), many, jax.random.key(1), None))
    assert abs(actions.mean()) < 0.05
    assert 0.45 < actions.std() < 0.58
    assert np.abs(actions).max() <= 1


def test_it_is_fitted_to_the_mean_and_the_spread_of_what_has_weight() -> None:
    rng = np.random.default_rng(0)
    actions = jnp.asarray(rng.normal([0.3, -0.2], [0.1, 0.2], (64, 16, 2)), jnp.float32)
    weight = jnp.asarray(rng.random((64, 16)), jnp.float32)
    target = weight / weight.sum(axis=1, keepdims=True)
    _, new, _ = projected(actions, target)
    flat, share = np.asarray(actions).reshape(-1, 2), np.asarray(target).reshape(-1) / 64
    mean = share @ flat
    spread = np.sqrt(share @ (flat - mean) ** 2)
    drawn = np.asarray(POLICY.act(new, jnp.zeros((4000, 1)), jax.random.key(2), None))
    np.testing.assert_allclose(POLICY.best(new, SEEN, None)[0], mean, atol=0.02)
    for k in range(2):
        assert kstest(drawn[:, k], norm(mean[k], spread[k]).cdf).statistic < 0.05


def test_its_density_is_that_of_a_gaussian() -> None:
    params = POLICY.init(jax.random.key(0))
    actions = jnp.asarray(np.random.default_rng(0).uniform(-1, 1, (64, 3, 2)), jnp.float32)
    mean, log_deviation = POLICY._bells(params.layers, SEEN)
    known = norm(mean[:, None], np.exp(log_deviation)[:, None]).logpdf(actions).sum(axis=2)
    density = POLICY._density(params.layers, SEEN, actions)
    np.testing.assert_allclose(density, known, rtol=1e-4, atol=1e-4)


def test_on_its_support_it_moves_towards_what_has_weight() -> None:
    rng = np.random.default_rng(0)
    actions = jnp.asarray(rng.uniform(-1, 1, (64, 16, 2)), jnp.float32)
    target = jax.nn.softmax(5 * actions[:, :, 0], axis=1)
    old, new, support = projected(actions, target)
    np.testing.assert_allclose(POLICY.on_support(old, old, support), 1 / 16, rtol=1e-5)
    after = POLICY.on_support(new, old, support)
    assert float(jnp.sum(after * actions[:, :, 0], axis=1).mean()) > 0.2
    entropies = [float(POLICY.entropy(p, support, after).mean()) for p in (old, new)]
    assert entropies[1] < entropies[0]


@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_the_ends_of_the_noise_make_actions_too(tau: float) -> None:
    params = POLICY.init(jax.random.key(0))
    made = POLICY.generate(params, SEEN, jnp.full((64, 2), tau))
    assert np.isfinite(made).all()
    assert np.abs(made).max() <= 1
