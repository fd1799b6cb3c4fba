"""Updates that are refused: the policy stays, and the reason is told."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import odrpo
from odrpo.envs import CartPole, Step
from odrpo.envs.replayable import EnvError
from tests.faults import NETWORK

STATES = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)


def small(**settings: Any) -> odrpo.ODRPO:
    return odrpo.ODRPO("CartPole-v1", **(NETWORK | settings))


def test_one_that_goes_too_far_is_refused_and_the_run_goes_on() -> None:
    model = small(policy_rate=0.3, farthest=1.0)
    before = model.probabilities(STATES)
    with pytest.warns(RuntimeWarning, match=r"was refused \(the fitted policy is farther"):
        model.learn(32)
    np.testing.assert_array_equal(model.probabilities(STATES), before)
    row = model.records.updates[-1]
    assert row["refused"] == 2
    assert row["projected_distance"] > row["radius"]
    assert (model.records.refused, model.num_timesteps) == (1, 32)
    free = small(policy_rate=0.3, farthest=1e9).learn(32)
    assert free.records.refused == 0
    assert (free.probabilities(STATES) != before).any()


def test_what_a_model_has_counted_stays() -> None:
    model = odrpo.ODRPO("CliffWalking-v1", num_envs=2, num_steps=8).learn(16)
    broken = jax.tree.map(lambda x: jnp.nan * x, model.learner.normaliser)
    model.state = model.state._replace(learner=model.learner._replace(normaliser=broken))
    counted = [np.asarray(x).copy() for x in jax.tree.leaves(model.learner.critic)]
    policy = model.probabilities(np.arange(48))
    with pytest.warns(RuntimeWarning, match="its result is not finite"):
        model.learn(16)
    np.testing.assert_array_equal(model.probabilities(np.arange(48)), policy)
    after = jax.tree.leaves(model.learner.critic)
    assert any((np.asarray(x) != y).any() for x, y in zip(after, counted, strict=True))


def test_seeds_beside_each_other_are_refused_one_by_one() -> None:
    models = [small(seed=0), small(seed=1)]
    broken = jax.tree.map(lambda x: jnp.nan * x, models[1].learner.normaliser)
    state = models[1].state
    models[1].state = state._replace(learner=state.learner._replace(normaliser=broken))
    with pytest.warns(RuntimeWarning, match="seed 1: the update after"):
        odrpo.train(models, 64)
    assert [model.records.refused for model in models] == [0, 2]


@jax.tree_util.register_static
@dataclass(frozen=True)
class Spoiled(CartPole):
    """On the device; late in an episode it pays, or shows, what is no number."""

    what: str = "reward"

    def step(self, key: jax.Array, motion: Any, action: Any) -> Step:
        step = super().step(key, motion, action)
        late = jnp.where(motion.steps == 12, jnp.nan, 0)
        return step._replace(**{self.what: getattr(step, self.what) + late})


@pytest.mark.parametrize("what", ["reward", "observation"])
@pytest.mark.parametrize("critic", ["network", "replay"])
def test_an_environment_on_the_device_is_named_and_nothing_is_taken(what: str, critic: str) -> None:
    settings = NETWORK | {"num_steps": 6, "minibatch": 4, "critic": critic}
    if critic == "replay":
        settings |= {"warm_up": 12}
    model = odrpo.ODRPO(Spoiled(what=what), **settings)
    with pytest.raises(EnvError, match=r"env: Spoiled gave .* not finite, in the update after 24 "):
        model.learn(240)
    assert model.num_timesteps == 24
    assert np.isfinite(model.probabilities(STATES)).all()
