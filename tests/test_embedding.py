"""The embedding: what it predicts, and that policy and critic learn through it."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import odrpo
from odrpo.embedding import PERIOD, Embedder, Embedding
from tests import probes
from tests.test_continuous import SMALL, missed_by

EMBEDDER = Embedder(features=3, dimensions=2, hidden=(32,), size=16)
RATE = jnp.float32(3e-3)


def transitions(key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """A linear system: where one goes depends on where one is and on what one does."""
    seen = jax.random.normal(key, (64, 3))
    action = jax.random.uniform(jax.random.fold_in(key, 1), (64, 2), minval=-1, maxval=1)
    pushed = jnp.concatenate([action, jnp.sum(action, axis=1, keepdims=True)], axis=1)
    return seen, action, 0.5 * seen[:, ::-1] + pushed


def trained(steps: int) -> Embedding:
    step = jax.jit(lambda params, key: EMBEDDER.step(params, *transitions(key), RATE))
    params = EMBEDDER.init(jax.random.key(0))
    for key in jax.random.split(jax.random.key(1), steps):
        params = step(params, key)
    return params


def test_an_action_is_embedded_near_where_it_leads() -> None:
    seen, action, successor = transitions(jax.random.key(2))

    def unexplained(params: Embedding) -> float:
        """The error of the prediction beside that of the mean of all that follows."""
        z = EMBEDDER.states(params.encoders, seen)
        expected = EMBEDDER.actions(params.encoders, z, action[:, None])[:, 0]
        goal = EMBEDDER.states(params.encoders, successor)
        spread = jnp.mean((goal - jnp.mean(goal, axis=0, keepdims=True)) ** 2)
        assert spread > 0.05  # they have not become all the same
        return float(jnp.mean((expected - goal) ** 2) / spread)

    assert unexplained(trained(1)) > 0.9
    assert unexplained(trained(1000)) < 0.1


def test_states_have_mean_size_one() -> None:
    z = EMBEDDER.states(trained(3).encoders, 100 * transitions(jax.random.key(0))[0])
    np.testing.assert_allclose(jnp.mean(jnp.abs(z), axis=1), 1, rtol=1e-5)


def test_many_actions_of_a_state_are_embedded_as_each_alone() -> None:
    encoders = trained(3).encoders
    z = EMBEDDER.states(encoders, transitions(jax.random.key(0))[0])
    actions = jax.random.uniform(jax.random.key(3), (64, 5, 2))
    together = EMBEDDER.actions(encoders, z, actions)
    for k in range(5):
        alone = EMBEDDER.actions(encoders, z, actions[:, k : k + 1])[:, 0]
        np.testing.assert_allclose(together[:, k], alone, rtol=1e-4, atol=1e-5)


def test_what_is_seen_through_stays_for_a_while() -> None:
    """It is what was in training a period before; and what came before is kept once more."""
    first, params = EMBEDDER.init(jax.random.key(0)), trained(PERIOD)
    same(params.fixed, first.fixed)
    assert not trained(PERIOD - 1).due
    assert params.due
    once = params.renewed()
    assert not once.due
    same(once.fixed, params.encoders)
    same(once.earlier, first.fixed)
    same(once.renewed(), once)
    twice = once._replace(age=params.age).renewed()
    same(twice.earlier, params.encoders)


def same(one: Any, other: Any) -> None:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_slow_copies_are_renewed_together_with_what_they_see_through() -> None:
    """The values of the next states are those of a critic and of encoders of the same time."""
    model = odrpo.ODRPO(probes.Aim, **(SMALL | {"embedding": 16, "num_steps": 8})).learn(128)
    times = []
    for update in range(PERIOD // 4):
        before = model.learner
        after = model.learn(8).learner
        old, new = before.critic.slow[0][0], after.critic.slow[0][0]
        if (old == new).all():
            same(after.embedding.fixed, before.embedding.fixed)
            continue
        times.append(update)
        np.testing.assert_array_equal(new, before.critic.layers[0][0])
        same(after.embedding.fixed, before.embedding.encoders)
        same(after.embedding.earlier, before.embedding.fixed)
    assert np.diff(times).tolist() == [PERIOD // 8]


def test_a_run_goes_on_from_its_file_with_the_embedding_as_it_was(tmp_path: Path) -> None:
    """Beyond the next time that it is renewed."""
    one = odrpo.ODRPO(probes.Aim, **(SMALL | {"embedding": 16})).learn(288)
    one.save(tmp_path / "model.odrpo", replay=True)
    other = odrpo.ODRPO.load(tmp_path / "model.odrpo", env=probes.Aim)
    one.walkers = None  # there too the environments begin anew
    before = one.learner.embedding.fixed
    same(one.learn(PERIOD).learner, other.learn(PERIOD).learner)
    assert (one.learner.embedding.fixed.state[0][0] != before.state[0][0]).any()


@pytest.mark.parametrize("n_step", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_the_action_that_pays_is_found_through_it(n_step: int) -> None:
    model = odrpo.ODRPO(probes.Aim, **(SMALL | {"embedding": 16, "n_step": n_step}))
    before = jax.tree.leaves(model.learner.embedding)
    assert missed_by(model.learn(2500)) < 0.1
    after = jax.tree.leaves(model.learner.embedding)
    assert all((a != b).any() for a, b in zip(before, after, strict=True))


def test_it_is_for_continuous_actions_from_replay() -> None:
    with pytest.raises(ValueError, match="embedding: it does nothing with critic='network'"):
        odrpo.ODRPO("Pendulum-v1", critic="network", embedding=16)
    with pytest.raises(ValueError, match="embedding: it does nothing with policy='network'"):
        odrpo.ODRPO("CartPole-v1", critic="replay", embedding=16)
