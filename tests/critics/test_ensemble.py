"""The critic of several networks: what they are fitted to, and how actions are compared."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from odrpo.critics import EnsembleCritic, Transitions
from odrpo.critics.ensemble import Ensemble
from odrpo.policies import Support

CRITIC = EnsembleCritic(
    features=3,
    actions=None,
    dimensions=2,
    hidden=(8, 8),
    members=3,
    layer_norm=True,
    pessimism=jnp.float32(1),
)


def random_params(key: jax.Array) -> Ensemble:
    """Three that disagree, in a unit of their own."""
    params = CRITIC.init(key)
    layers, slow = (
        jax.tree.map(lambda x, own=own: x + jax.random.normal(own, x.shape), params.layers)
        for own in jax.random.split(key)
    )
    return params._replace(layers=layers, slow=slow, scale=jnp.float32(7))


def by_each(params: Ensemble, at: Support) -> np.ndarray:
    """What each of the networks says, (E, S, N)."""
    alone = replace(CRITIC, members=1)

    def member(k: int) -> np.ndarray:
        layers = jax.tree.map(lambda x: x[k : k + 1], params.layers)
        return np.asarray(alone.values(params._replace(layers=layers), at))

    return np.stack([member(k) for k in range(CRITIC.members)])


def some_actions(key: jax.Array, count: int) -> Support:
    observation, actions = jax.random.normal(key, (5, 3)), jax.random.normal(key, (5, count, 2))
    return Support(observation, jnp.full((5, count), 1 / count), actions)


def test_actions_are_compared_by_the_mean() -> None:
    params, at = random_params(jax.random.key(0)), some_actions(jax.random.key(1), 4)
    each = by_each(params, at)
    assert np.ptp(each, axis=0).min() > 0.1
    np.testing.assert_allclose(CRITIC.values(params, at), each.mean(axis=0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("pessimism", [0.0, 0.3, 1.0])
def test_targets_lie_between_the_mean_and_the_least(pessimism: float) -> None:
    params, following = random_params(jax.random.key(0)), some_actions(jax.random.key(1), 2)
    reward, discount = jnp.arange(5.0), jnp.array([0.9, 0.9, 0.0, 0.5, 0.9])
    data = Transitions(
        following.observation,
        following.actions[:, 0],
        reward,
        following.observation,
        discount,
        following.observation,
    )
    critic = replace(CRITIC, pessimism=jnp.float32(pessimism))
    after, target, known = critic.step(
        params, following.observation, following, data, jnp.float32(1e-3), jnp.float32(0.01)
    )
    each = by_each(params._replace(layers=params.slow), following)
    value = (1 - pessimism) * each.mean(axis=0) + pessimism * each.min(axis=0)
    np.testing.assert_allclose(target, reward + discount * value.mean(axis=1), rtol=1e-4, atol=1e-3)
    now = by_each(params, following).mean(axis=0)[:, 0]
    np.testing.assert_allclose(known, now, rtol=1e-4, atol=1e-3)
    for slow, before, new in zip(
        *map(jax.tree.leaves, (after.slow, params.slow, after.layers)), strict=True
    ):
        np.testing.assert_allclose(slow, 0.99 * before + 0.01 * new, rtol=1e-4, atol=1e-6)


def test_another_unit_changes_no_value() -> None:
    params, at = random_params(jax.random.key(0)), some_actions(jax.random.key(1), 4)
    after = CRITIC.rescale(params, jnp.float32(9), jnp.float32(0.99))
    assert after.scale == pytest.approx(30)
    for mine, its in (
        (after, params),
        (after._replace(layers=after.slow), params._replace(layers=params.slow)),
    ):
        np.testing.assert_allclose(CRITIC.values(mine, at), CRITIC.values(its, at), rtol=1e-4)
