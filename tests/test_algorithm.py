"""One update: its certificate, its options, and what it leaves alone."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import odrpo
from odrpo import algorithm
from odrpo.exact_step import at_some_states, explained_variance, faded
from odrpo.learner import Sizes, act
from odrpo.policies import Support
from odrpo.rollout import Batch
from odrpo.trust_region import Problem
from odrpo.updates import compiled_update, compiled_updates

SMALL = {"num_envs": 4, "num_steps": 16, "hidden": (16,), "policy_epochs": 2, "critic_epochs": 2}


def rows(model: odrpo.ODRPO, name: str) -> np.ndarray:
    return np.array([row[name] for row in model.records.updates])


@pytest.mark.parametrize(
    ("env", "metric"),
    [
        ("CartPole-v1", "kl"),
        ("CliffWalking-v1", "wasserstein"),
        ("CliffWalking-v1", "sinkhorn"),
        pytest.param("CartPole-v1", "wasserstein", marks=pytest.mark.slow),
        pytest.param("CartPole-v1", "sinkhorn", marks=pytest.mark.slow),
        pytest.param("CliffWalking-v1", "kl", marks=pytest.mark.slow),
    ],
)
def test_every_update_has_a_certificate(env: str, metric: str) -> None:
    model = odrpo.ODRPO(env, metric, num_envs=4, num_steps=16).learn(20 * 64)
    gain, gap, radius = rows(model, "gain"), rows(model, "gap"), rows(model, "radius")
    assert np.abs(gap).max() <= 1e-5 * (1 + np.abs(gain).max() + rows(model, "beta").max())
    assert (rows(model, "distance") <= radius * (1 + 1e-4) + 1e-6).all()
    assert (gain >= -1e-5).all()
    moved = rows(model, "beta") > 0
    assert (rows(model, "distance")[moved] >= 0.99 * radius[moved]).all()


def test_ties_in_one_place_fall_short_of_the_radius_or_break_it() -> None:
    used = {}
    for ties in ("split", "stay", "move"):
        model = odrpo.ODRPO("CartPole-v1", "wasserstein", ties=ties, **SMALL).learn(64)
        row = model.records.updates[0]  # all three are at the same first policy and advantages
        used[ties] = row["distance"] / row["radius"], row["gain"]
    assert used["split"][0] == pytest.approx(1, rel=1e-4)
    assert used["stay"][0] < 1 < used["move"][0]
    assert used["stay"][1] < used["split"][1] < used["move"][1]


def test_a_table_takes_the_exact_step() -> None:
    model = odrpo.ODRPO("CliffWalking-v1", "wasserstein").learn(2000)
    for name in ("distance", "gain"):
        exact, taken = rows(model, name), rows(model, f"projected_{name}")
        np.testing.assert_allclose(taken, exact, rtol=1e-3, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize(
    "loss", ["cross_entropy", pytest.param("squared_error", marks=pytest.mark.slow)]
)
def test_the_projection_comes_close_to_the_exact_step(loss: str) -> None:
    settings = {"projection": loss, "policy_epochs": 200, "policy_rate": 3e-3, "smoothing": 0.0}
    model = odrpo.ODRPO("CartPole-v1", **settings).learn(5 * 256)
    assert (rows(model, "projected_gain") > 0.8 * rows(model, "gain")).all()
    np.testing.assert_allclose(rows(model, "projected_distance"), rows(model, "radius"), rtol=0.3)


def test_a_subset_of_the_states_is_fitted_to() -> None:
    few = odrpo.ODRPO("CartPole-v1", projection_states=4, **SMALL).learn(64)
    full = odrpo.ODRPO("CartPole-v1", **SMALL).learn(64)
    # With 4 of 64 states there is one gradient step an epoch: the networks come out different.
    first = few.learner.policy.layers[0][0] - full.learner.policy.layers[0][0]
    assert jnp.abs(first).max() > 0
    assert rows(few, "gain") == pytest.approx(rows(full, "gain"))


def test_beta_is_held_after_some_updates() -> None:
    model = odrpo.ODRPO("CliffWalking-v1", beta="hold", beta_solves=3, beta_noise=0.01)
    beta = rows(model.learn(12 * 256), "beta")
    np.testing.assert_allclose(beta[3:], beta[:3].mean(), rtol=0.05)
    assert len(set(beta[3:])) > 1
    assert not np.allclose(beta[:3], beta[:3].mean(), rtol=0.01)


def test_beta_decays() -> None:
    model = odrpo.ODRPO("CliffWalking-v1", "wasserstein", beta="decay", beta_solves=2)
    beta = rows(model.learn(8 * 256), "beta")
    numbers = np.arange(3, 9)
    np.testing.assert_allclose(beta[2:], beta[:2].mean() * np.sqrt(2 / numbers), rtol=1e-4)


def test_radius_and_rates_fall_to_a_fraction() -> None:
    model = odrpo.ODRPO("CliffWalking-v1", radius=0.1, final_fraction=0.2, horizon=1024)
    radius = rows(model.learn(6 * 256), "radius")
    np.testing.assert_allclose(radius, [0.1, 0.08, 0.06, 0.04, 0.02, 0.02], rtol=1e-5)


def test_visits_count_as_the_setting_says() -> None:
    """Three visits of one episode at times 0, 1, 2, and one at time 0 of another."""
    time = np.array([[0, 0], [1, 1], [2, 2]], np.int32)
    zeros = np.zeros(time.shape, np.float32)
    batch = Batch(
        observation=np.array([[0, 1], [0, 1], [0, 1]], np.int32),
        action=np.zeros_like(time),
        reward=zeros,
        next_observation=np.zeros_like(time),
        terminated=zeros.astype(bool),
        truncated=zeros.astype(bool),
        time=time,
        episode_return=zeros,
        valid=np.array([[True, True], [True, False], [True, False]]),
    )
    sizes = Sizes(2, 2, 2)
    key = jax.random.key(0)

    def entropy_and_radius(visitation: str) -> tuple[float, float]:
        settings: dict[str, Any] = {"policy": "table", "critic": "table", "discount": 0.5}
        settings["smoothing"] = 0.0
        config = odrpo.Config.create(
            visitation=visitation, radius=0.1, complete_episodes=True, **settings
        )
        learner = algorithm.init(config, sizes, None, key).learner
        # At state 0 the policy is uniform, at state 1 it is certain: the entropy tells the weights.
        learner = learner._replace(policy=jnp.array([[0.5, 0.5], [1.0, 0.0]]))
        _, info = algorithm.improve(config, sizes, learner, batch, key, jnp.asarray(0.0))
        return float(info.entropy) / np.log(2), float(info.radius)

    assert entropy_and_radius("undiscounted") == pytest.approx((3 / 4, 0.1))
    assert entropy_and_radius("discounted") == pytest.approx((1.75 / 2.75, 0.1))
    # Two episodes began: the mass of an episode is 2.75 / 2.
    assert entropy_and_radius("unnormalised") == pytest.approx((1.75 / 2.75, 0.1 / 1.375))


def test_nothing_is_compiled_twice() -> None:
    shape = {"num_envs": 4, "num_steps": 16}
    for env, settings in (("CartPole-v1", SMALL), ("CliffWalking-v1", shape)):
        odrpo.ODRPO(env, **settings).learn(3 * 64)
        before = compiled_update._cache_size()
        odrpo.ODRPO(env, seed=1, radius=0.02, discount=0.95, **settings).learn(3 * 64)
        assert compiled_update._cache_size() == before
    models = [odrpo.ODRPO("CartPole-v1", seed=seed, **SMALL) for seed in range(2)]
    odrpo.train(models, 3 * 64)
    before = compiled_updates._cache_size()
    odrpo.train(models, 3 * 64)
    assert compiled_updates._cache_size() == before


@pytest.mark.parametrize("critic", ["table", "model"])
def test_forbidden_actions_are_never_taken_nor_moved_to(critic: str) -> None:
    """At state 0 only actions 0 and 2 are allowed; state 1 is never visited."""
    settings: dict[str, Any] = {"policy": "table", "critic": critic, "initial_value": 9.0}
    config = odrpo.Config.create(radius=0.1, num_envs=1, num_steps=8, **settings)
    sizes = Sizes(2, 2, 3)
    learner = algorithm.init(config, sizes, None, jax.random.key(0)).learner
    mask = np.broadcast_to(np.array([True, False, True]), (64, 3))
    places = np.zeros(64, np.int32)
    actions = np.asarray(act(config, sizes, learner, jax.random.key(1), places, mask))
    assert set(actions) == {0, 2}

    row = (8, 1)
    batch = Batch(
        observation=np.zeros(row, np.int32),
        action=actions[:8].reshape(row),
        reward=np.where(actions[:8] == 2, 1.0, 0.0).astype(np.float32).reshape(row),
        next_observation=np.zeros(row, np.int32),
        terminated=np.ones(row, bool),
        truncated=np.zeros(row, bool),
        time=np.zeros(row, np.int32),
        episode_return=np.zeros(row, np.float32),
        valid=np.ones(row, bool),
        mask=mask[:8, None],
        next_mask=mask[:8, None],
    )
    learner, _ = algorithm.improve(config, sizes, learner, batch, jax.random.key(2), jnp.zeros(()))
    policy = np.asarray(learner.policy)
    assert policy[0, 1] < 1e-7
    assert policy[0, 2] > 0.5
    np.testing.assert_allclose(policy[1], 1 / 3, rtol=1e-6)


def test_explained_variance() -> None:
    target = jnp.array([1.0, 2.0, 3.0, 100.0])
    weights = jnp.array([1.0, 1.0, 1.0, 0.0])
    assert explained_variance(target, target, weights) == 1
    assert explained_variance(target, jnp.zeros(4), weights) == 0
    assert explained_variance(jnp.ones(4), target, weights) == 0


def test_what_must_fade_fades_together() -> None:
    config = odrpo.Config.create(
        radius=0.5,
        smoothing=0.2,
        policy_rate=0.1,
        critic_rate=0.1,
        candidate_ascent=0.2,
        pessimism=0.2,
        final_fraction=0.1,
    )
    candidates = ("candidate_noise", "candidate_ascent")
    names = ("radius", "smoothing", "policy_rate", "critic_rate", *candidates)
    for progress, left in ((0.0, 1.0), (0.5, 0.55), (1.0, 0.1), (3.0, 0.1)):
        now = faded(config, jnp.float32(progress))
        for name in names:
            np.testing.assert_allclose(getattr(now, name), left * getattr(config, name), rtol=1e-5)
        np.testing.assert_allclose(now.pessimism, 1 - left * 0.8, rtol=1e-5)
        assert now.discount == config.discount
    of_a_table = odrpo.Config.create(policy="table", critic="table", critic_rate=0.5)
    assert faded(of_a_table, jnp.float32(1)).critic_rate == 0.5


def test_a_policy_of_continuous_actions_is_compared_at_some_states() -> None:
    count = 1024
    numbers = jnp.arange(count, dtype=jnp.float32)[:, None]
    support = Support(numbers, jnp.full((count, 3), 1 / 3), jnp.zeros((count, 3, 2)))
    # Every second sample is a reset, and it is those that the stride meets.
    weights = jnp.arange(count) % 2
    problem = Problem.create(numbers * jnp.ones((1, 3)), support.policy, 0.1, weights)
    some, posed = at_some_states(support, problem)
    np.testing.assert_array_equal(some.observation[:, 0], np.arange(0, count, 32))
    np.testing.assert_array_equal(posed.advantages[:, 0], some.observation[:, 0])
    np.testing.assert_allclose(posed.weights, 1 / 32, rtol=1e-6)
    few, _ = at_some_states(
        jax.tree.map(lambda x: x[:3], support),
        Problem.create(jnp.zeros((3, 3)), support.policy[:3], 0.1),
    )
    assert len(few.policy) == 3
