"""Environments that misbehave: who, when and what is named; what was learned before stays."""

import os
import signal
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import odrpo
from odrpo.envs.replayable import EnvError
from tests.faults import NETWORK

FAULTS = {
    "nan reward": r"Faulty paid a reward of nan around step 5 of an episode",
    "infinite reward": r"Faulty paid a reward of inf around step 5",
    "nan observation": r"Faulty gave an observation of \[nan.*\] around step 5",
    "long observation": r"the step of Faulty failed around step 5 of an episode.*\(ValueError",
    "no observation": r"the step of Faulty failed around step 5",
    "text for a reward": r"the step of Faulty failed around step 5.*ValueError",
    "exception": r"the step of Faulty failed around step 5 of an episode .*\(RuntimeError: boom\)",
}


class Faulty(gymnasium.Env):
    """Something is wrong at the fifth step of an episode, from a number of steps on, for a time."""

    observation_space = spaces.Box(-1, 1, (2,))
    action_space = spaces.Discrete(2)
    begins, ends, total = 100, 10**9, 0

    def __init__(self, fault: str) -> None:
        self.fault, self.steps = fault, 0

    def reset(self, **options: Any) -> tuple[np.ndarray, dict]:
        super().reset(**options)
        self.steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: int) -> tuple[Any, Any, bool, bool, dict]:
        self.steps += 1
        Faulty.total += 1
        seen: Any = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        reward: Any = float(action)
        if self.steps == 5 and self.begins <= Faulty.total < self.ends:
            if self.fault == "exception":
                raise RuntimeError("boom")
            reward = {
                "nan reward": np.nan,
                "infinite reward": np.inf,
                "text for a reward": "much",
            }.get(self.fault, reward)
            seen = {
                "nan observation": np.full(2, np.nan, np.float32),
                "long observation": np.zeros(3, np.float32),
                "no observation": None,
            }.get(self.fault, seen)
        return seen, reward, False, self.steps == 8, {}


@pytest.fixture(autouse=True)
def _from_the_beginning() -> None:
    Faulty.total, Faulty.ends = 0, 10**9


def faulty(fault: str, **settings: Any) -> odrpo.ODRPO:
    return odrpo.ODRPO(lambda: Faulty(fault), **(NETWORK | settings))


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_named_and_the_last_update_is_saved(fault: str, tmp_path: Path) -> None:
    model = faulty(fault)
    with pytest.raises(EnvError, match=rf"env: {FAULTS[fault]}.*this was after 96 timesteps"):
        model.learn(1000, run_dir=tmp_path)
    assert model.num_timesteps == 96
    assert odrpo.ODRPO.load(tmp_path).num_timesteps == 96


def test_after_it_is_mended_training_goes_on_where_it_was(tmp_path: Path) -> None:
    model = faulty("exception")
    with pytest.raises(EnvError):
        model.learn(320, run_dir=tmp_path)
    Faulty.ends = 0
    again = odrpo.ODRPO.load(tmp_path, env=lambda: Faulty("none")).learn(320 - 96)
    never = faulty("none").learn(320)
    states = np.linspace(-1, 1, 10, dtype=np.float32).reshape(5, 2)
    np.testing.assert_array_equal(again.probabilities(states), never.probabilities(states))


@pytest.mark.parametrize("fault", ["nan reward", "exception"])
def test_where_it_is_asked_for_it_is_made_anew_and_counted(fault: str, tmp_path: Path) -> None:
    Faulty.ends = 140
    model = faulty(fault, on_env_error="restart")
    with pytest.warns(UserWarning, match="the environments are made anew"):
        model.learn(320, run_dir=tmp_path)
    assert model.num_timesteps == 320
    assert 0 < model.records.env_restarts <= 10
    assert odrpo.ODRPO.load(tmp_path).records.env_restarts == model.records.env_restarts
    assert model.records.updates[-1]["env_restarts"] == model.records.env_restarts


def test_one_that_always_fails_ends_the_training() -> None:
    model = faulty("exception", on_env_error="restart")
    with (
        pytest.warns(UserWarning, match="the environments are made anew"),
        pytest.raises(EnvError, match=r"boom.*and 10 times in a row"),
    ):
        model.learn(1000)
    assert model.num_timesteps == 96


def test_on_the_device_nothing_can_be_made_anew() -> None:
    with pytest.raises(ValueError, match="on_env_error: this environment runs on the device"):
        odrpo.ODRPO("CartPole-v1", on_env_error="restart")


class Lost(gymnasium.Env):
    """Says that it is in a state that there is not."""

    observation_space = spaces.Discrete(3)
    action_space = spaces.Discrete(2)

    def reset(self, **options: Any) -> tuple[int, dict]:
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict]:
        return 3, 0.0, False, False, {}


def test_a_state_that_there_is_not_is_named() -> None:
    with pytest.raises(EnvError, match="Lost gave an observation of 3 around step 1"):
        odrpo.ODRPO(Lost, num_envs=1).learn(64)


def test_one_that_never_does_the_same_twice_begins_anew(tmp_path: Path) -> None:
    class Fickle(Faulty):
        def reset(self, **options: Any) -> tuple[np.ndarray, dict]:
            super().reset(**options)
            return np.random.default_rng().uniform(-1, 1, 2).astype(np.float32), {}

    odrpo.ODRPO(lambda: Fickle("none"), **NETWORK).learn(64, run_dir=tmp_path)
    again = odrpo.ODRPO.load(tmp_path, env=lambda: Fickle("none"))
    with pytest.warns(UserWarning, match="does not do the same twice"):
        again.learn(64, run_dir=tmp_path)
    assert again.num_timesteps == 128


def test_an_episode_that_never_ends_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odrpo.rollout.host.ENDLESS", 50)

    class Endless(Faulty):
        def step(self, action: int) -> tuple[Any, Any, bool, bool, dict]:
            return *super().step(action)[:3], False, {}

    with pytest.warns(RuntimeWarning, match=r"Endless is around step 51 .*max_steps sets a limit"):
        odrpo.ODRPO(lambda: Endless("none"), **NETWORK).learn(128)


def test_a_worker_that_dies_is_told() -> None:
    makers = [lambda: gymnasium.make("CartPole-v1")] * 2
    env = gymnasium.vector.AsyncVectorEnv(makers, context="spawn")  # JAX has threads: no fork
    model = odrpo.ODRPO(env, **{k: v for k, v in NETWORK.items() if k != "num_envs"}).learn(32)
    before = model.num_timesteps
    os.kill(env.processes[1].pid, signal.SIGKILL)
    with pytest.raises(EnvError, match=r"the step of AsyncVectorEnv failed around step .*Error"):
        model.learn(64)
    assert model.num_timesteps == before
    with warnings.catch_warnings(action="ignore"):  # it may be told that a step is pending
        env.close(terminate=True)


def test_one_that_fails_on_the_way_back_is_named_and_made_anew(tmp_path: Path) -> None:
    settings = NETWORK | {"num_steps": 15, "on_env_error": "restart"}
    odrpo.ODRPO(lambda: Faulty("none"), **settings).learn(60, run_dir=tmp_path)
    Faulty.total, Faulty.ends = 100, 110
    again = odrpo.ODRPO.load(tmp_path, env=lambda: Faulty("exception"))
    with pytest.warns(UserWarning, match=r"return to an episode of Faulty failed.*made anew"):
        again.learn(60, run_dir=tmp_path)
    assert again.records.env_restarts > 0


def test_an_evaluation_that_fails_leaves_training_as_it_was() -> None:
    def trained(evaluates: bool) -> np.ndarray:
        env = Faulty("exception")
        model = odrpo.ODRPO(env, **(NETWORK | {"num_envs": 1, "num_steps": 13})).learn(26)
        if evaluates:
            Faulty.total, Faulty.ends = 100, 10**9
            with pytest.raises(EnvError):
                odrpo.evaluate(model, env, 5)
        Faulty.ends = 0
        return model.learn(26).probabilities(np.zeros((1, 2), np.float32))

    np.testing.assert_array_equal(trained(True), trained(False))


def test_what_an_environment_makes_of_its_action_does_not_matter(tmp_path: Path) -> None:
    class Careless(gymnasium.ActionWrapper):
        def action(self, action: np.ndarray) -> np.ndarray:
            action *= 0.5
            return action

    def made() -> gymnasium.Env:
        return Careless(gymnasium.make("Pendulum-v1"))

    settings = {"hidden": (8,), "num_envs": 1, "num_steps": 16, "critic": "network"}
    model = odrpo.ODRPO(made, **settings)
    model.learn(48, run_dir=tmp_path)
    odrpo.ODRPO.load(tmp_path, env=made).learn(16)  # a warning would be an error here
