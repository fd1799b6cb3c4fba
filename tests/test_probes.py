"""Every estimator, policy and critic on probes with known answers."""

import itertools
from typing import Any

import numpy as np
import pytest

import odrpo
from odrpo.learner import critic_of, features
from odrpo.policies import Support
from tests import probes

TABLE = {"policy": "table", "critic": "table", "critic_rate": 0.2}
MODEL = {"policy": "table", "critic": "model", "initial_weight": 0.0, "optimism": 0.0}
NETWORK = {"policy": "network", "critic": "network", "hidden": (16,), "critic_rate": 1e-2}
COMMON = {"preset": "default", "radius": 0.05, "discount": 0.9, "num_envs": 8, "num_steps": 8}
COMMON |= {"smoothing": 0.0, "final_fraction": 1.0}


def learned(env: odrpo.FiniteMDP, metric: str = "kl", updates: int = 60, **settings: Any) -> Any:
    model = odrpo.ODRPO(env, metric, **(COMMON | settings))
    return model.learn(updates * model.config.num_envs * model.config.num_steps)


@pytest.mark.parametrize("kind", [TABLE, MODEL, NETWORK], ids=["table", "model", "network"])
@pytest.mark.parametrize("metric", ["kl", pytest.param("wasserstein", marks=pytest.mark.slow)])
def test_the_action_that_pays_is_found_in_each_state(kind: dict, metric: str) -> None:
    model = learned(probes.reward_by_state_and_action(), metric, **kind)
    policy = model.probabilities(np.array([0, 1]))
    assert policy[0, 1] > 0.95
    assert policy[1, 0] > 0.95


SOME = {("critic", "lambda"), ("doubly_robust", "n_step"), ("taken", "monte_carlo")}
ESTIMATORS = [
    pytest.param(*pair, marks=() if pair in SOME else pytest.mark.slow)
    for pair in itertools.product(
        ("critic", "doubly_robust", "taken", "balanced"), ("lambda", "n_step", "monte_carlo")
    )
]


@pytest.mark.parametrize(("advantages", "returns"), ESTIMATORS)
def test_every_estimator_sends_a_reward_back_in_time(advantages: str, returns: str) -> None:
    settings = TABLE | {"returns": returns, "advantages": advantages}
    model = learned(probes.delayed_reward(), **settings)
    assert model.probabilities(0)[0] > 0.95


@pytest.mark.parametrize(
    "advantages",
    [
        "taken",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("doubly_robust", "balanced")),
    ],
)
def test_networks_learn_from_what_was_taken(advantages: str) -> None:
    model = learned(probes.reward_by_action(), **(NETWORK | {"advantages": advantages}))
    assert model.probabilities(0)[1] > 0.95


@pytest.mark.parametrize(
    "kind",
    [pytest.param(TABLE, id="table"), pytest.param(NETWORK, id="network", marks=pytest.mark.slow)],
)
def test_the_value_beyond_a_time_limit_counts(kind: dict) -> None:
    settings = {"trace": 0.9} if kind["policy"] == "table" else {}
    model = learned(probes.endless_reward(), updates=150, **kind, **settings)
    critic = critic_of(model.config, model.sizes)
    x = features(model.config, model.sizes, model.learner, np.zeros(1, int))
    policy = model.probabilities(np.zeros(1, int))
    values = np.asarray(critic.values(model.learner.critic, Support(x, policy)))
    np.testing.assert_allclose((policy * values).sum(), 10, rtol=0.05)


@pytest.mark.parametrize(
    "kind",
    [
        # A table that begins at zero would settle on the end before it knows what staying is worth.
        pytest.param(TABLE | {"trace": 0.9, "initial_value": 10.0}, id="table"),
        pytest.param(MODEL, id="model"),
        pytest.param(NETWORK, id="network", marks=pytest.mark.slow),
    ],
)
def test_an_end_and_a_cut_are_told_apart(kind: dict) -> None:
    model = learned(probes.ending_reward(), updates=200, **kind)
    assert model.probabilities(0)[0] > 0.95


def test_the_model_is_the_truth_where_nothing_is_random() -> None:
    env = probes.delayed_reward()
    model = learned(env, updates=20, **MODEL)
    policy = model.probabilities(np.arange(4))
    q = np.asarray(model.learner.critic.q)
    # Q is that of the policy before the last update; by then it has all but settled.
    np.testing.assert_allclose(q[:2], env.action_values(policy, 0.9)[:2], atol=0.02)
