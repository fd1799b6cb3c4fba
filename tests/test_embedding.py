"""The embedding: what it predicts, and that policy and critic learn through it."""

from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import odrpo
from odrpo.critics import Transitions
from odrpo.embedding import PERIOD, Embedder, Embedding
from odrpo.learner import as_row, embedder_of, features
from odrpo.off_policy import embedded
from odrpo.policies import Support
from tests import probes
from tests.test_continuous import SMALL

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


def test_what_was_done_is_seen_as_it_is_now_and_what_follows_as_it_was() -> None:
    model = odrpo.ODRPO(probes.Aim, **(SMALL | {"embedding": 16}))
    config, sizes = model.config, model.sizes
    embedder = embedder_of(config, sizes)
    now, before = (embedder.init(jax.random.key(k)).encoders for k in range(2))
    embedding = model.learner.embedding._replace(fixed=now, earlier=before)
    learner = model.learner._replace(embedding=embedding)
    seen, beyond = jax.random.normal(jax.random.key(2), (2, 5, sizes.features))
    action, following = jnp.full((5, 2), 0.1), jnp.full((5, 3, 2), 0.2)
    data = Transitions(seen, action, jnp.zeros(5), beyond, jnp.ones(5), beyond)
    x = features(config, sizes, learner, seen)
    support = Support(features(config, sizes, learner, beyond), jnp.ones((5, 3)) / 3, following)
    data, support = embedded(config, sizes, learner, x, support, data)

    def through(encoders: Any, seen: jax.Array, actions: jax.Array) -> tuple:
        row = as_row(config, sizes, learner, seen)
        z = embedder.states(encoders, row)
        led_to = embedder.actions(encoders, z, actions)
        return (
            jnp.concatenate([row, z], axis=1),
            jnp.concatenate([actions, led_to], axis=2),
        )

    same(x, through(now, seen, action[:, None])[0])
    same(data.action, through(now, seen, action[:, None])[1][:, 0])
    same((support.observation, support.actions), through(before, beyond, following))


@pytest.mark.parametrize("n_step", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_what_pays_later_is_found_through_it(n_step: int) -> None:
    model = odrpo.ODRPO(probes.Later, **(SMALL | {"embedding": 16, "n_step": n_step}))
    before = jax.tree.leaves(model.learner.embedding)
    model.learn(4000)
    aims = np.linspace(-0.8, 0.8, 50)
    seen = np.stack([np.zeros(50), aims], axis=1).astype(np.float32)
    assert np.abs(model.predict(seen, deterministic=True)[0][:, 0] - aims).mean() < 0.1
    after = jax.tree.leaves(model.learner.embedding)
    assert all((a != b).any() for a, b in zip(before, after, strict=True))


class Doors(gymnasium.Env):
    """Three places seen by their numbers; at each another push pays."""

    observation_space = gymnasium.spaces.Discrete(3)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(3))
        return self.place, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        return self.place, -float((action[0] - (self.place - 1) / 2) ** 2), True, False, {}


def test_places_may_be_seen_by_their_numbers() -> None:
    model = odrpo.ODRPO(Doors, **(SMALL | {"embedding": 8})).learn(1500)
    actions = [model.predict(place, deterministic=True)[0][0] for place in range(3)]
    np.testing.assert_allclose(actions, [-0.5, 0, 0.5], atol=0.2)


def test_one_that_diverges_is_not_taken() -> None:
    model = odrpo.ODRPO(probes.Aim, **(SMALL | {"embedding": 8, "num_steps": 8})).learn(128)
    broken = jax.tree.map(lambda x: jnp.nan * x, model.learner.embedding.encoders)
    embedding = model.learner.embedding._replace(encoders=broken)
    model.state = model.state._replace(learner=model.learner._replace(embedding=embedding))
    with pytest.warns(RuntimeWarning, match="was refused"):
        model.learn(8)


def test_it_is_for_continuous_actions_from_replay() -> None:
    with pytest.raises(ValueError, match="embedding: it does nothing with critic='network'"):
        odrpo.ODRPO("Pendulum-v1", critic="network", embedding=16)
    with pytest.raises(ValueError, match=r"embedding: it is for continuous actions \(Box\)"):
        odrpo.ODRPO("CartPole-v1", critic="replay", embedding=16)
    with pytest.raises(ValueError, match=r"polyak: it does nothing with embedding=16; .*=0"):
        odrpo.ODRPO("Pendulum-v1", embedding=16, polyak=0.01)
