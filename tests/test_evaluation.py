"""Evaluation: right returns, the same for the same seed, and an end to it."""

from typing import Any

import gymnasium
import numpy as np
import pytest

import odrpo
from odrpo.envs import TableEnv


def walk(max_steps: int | None) -> odrpo.FiniteMDP:
    """Four states in a row; action 1 goes on and pays 1, action 0 stays and pays 0.25."""
    forward = np.array([[0, 1], [1, 2], [2, 3], [3, 3]])
    return odrpo.FiniteMDP(forward, [[0.25, 1]] * 4, 0, [0, 0, 0, 1], max_steps)


def bold(model: odrpo.ODRPO, action: int) -> odrpo.ODRPO:
    """With a policy that nearly always takes one action."""
    policy = np.full((4, 2), 0.001, np.float32)
    policy[:, action] = 0.999
    learner = model.learner._replace(policy=policy)
    model.state = model.state._replace(learner=learner)
    return model


class Always:
    """A policy of another library."""

    def __init__(self, action: int) -> None:
        self.action = action

    def predict(self, observation: Any, deterministic: bool = False) -> tuple[np.ndarray, None]:
        return np.full(len(observation), self.action), None


@pytest.mark.parametrize("host", [True, False])
@pytest.mark.parametrize(("action", "expected"), [(1, 3.0), (0, 2.5)])
def test_returns_are_those_of_the_policy(host: bool, action: int, expected: float) -> None:
    mdp = walk(max_steps=10)
    model = bold(odrpo.ODRPO(mdp), action)
    env: Any = (lambda: TableEnv(mdp)) if host else mdp
    np.testing.assert_allclose(odrpo.evaluate(model, env, episodes=7), np.full(7, expected))


@pytest.mark.parametrize("host", [True, False])
def test_evaluation_ends_where_the_environment_does_not(host: bool) -> None:
    mdp = walk(max_steps=None)
    model = bold(odrpo.ODRPO(mdp), 0)
    env: Any = (lambda: TableEnv(mdp)) if host else mdp
    with pytest.warns(RuntimeWarning, match="5 of 5 episodes did not end within 40 steps"):
        returns = odrpo.evaluate(model, env, episodes=5, max_steps=40)
    np.testing.assert_allclose(returns, 10)


class Pays(gymnasium.Env):
    """One step that pays what is done."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        return np.zeros(1, np.float32), float(action[0]), True, False, {}


class AlwaysFar(Always):
    def predict(self, observation: Any, deterministic: bool = False) -> tuple[np.ndarray, None]:
        return np.full((len(observation), 1), self.action, float), None


def test_the_actions_of_another_library_are_taken_as_they_are() -> None:
    np.testing.assert_array_equal(odrpo.evaluate(AlwaysFar(50), Pays, episodes=3), 50)


def test_a_file_is_no_model() -> None:
    with pytest.raises(ValueError, match=r"model: 'model.odrpo' has no predict; .*ODRPO\.load"):
        odrpo.evaluate("model.odrpo", walk(5))


def test_a_policy_that_gets_lost_on_the_cliff_comes_to_an_end() -> None:
    model = odrpo.ODRPO("CliffWalking-v1")
    with pytest.warns(RuntimeWarning, match="did not end within 10000 steps"):
        odrpo.evaluate(model, "CliffWalking-v1", episodes=2)


@pytest.mark.parametrize("host", [True, False])
def test_draws_agree_with_the_exact_return(host: bool) -> None:
    mdp = walk(max_steps=10)
    model = odrpo.ODRPO(mdp)
    env: Any = (lambda: TableEnv(mdp)) if host else mdp
    returns = odrpo.evaluate(model, env, episodes=2000, seed=1, deterministic=False)
    assert returns.mean() == pytest.approx(
        mdp.expected_return(np.full((4, 2), 0.5)), abs=4 * returns.std() / 2000**0.5
    )
    again = odrpo.evaluate(model, env, episodes=2000, seed=1, deterministic=False)
    np.testing.assert_array_equal(returns, again)


def test_models_of_other_libraries_can_be_evaluated() -> None:
    env = gymnasium.make_vec("CartPole-v1", num_envs=3)
    returns = odrpo.evaluate(Always(1), env, episodes=10)
    assert returns.shape == (10,)
    assert 8 <= returns.mean() <= 11


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="episodes: 0; use a whole number > 0"):
        odrpo.evaluate(Always(0), "CartPole-v1", episodes=0)
    with pytest.raises(ValueError, match="max_steps: 0; use a whole number > 0"):
        odrpo.evaluate(Always(0), "CartPole-v1", max_steps=0)
