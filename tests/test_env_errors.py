"""Environments that misbehave: who, when and what is named; what was learned before stays."""

import os
import re
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import odrpo
from odrpo import training
from odrpo.envs.replayable import EnvError
from tests.faults import NETWORK

FAULTS = {
    "nan reward": "Faulty paid a reward of nan",
    "infinite reward": "Faulty paid a reward of inf",
    "huge reward": r"Faulty paid a reward of 1e\+300",
    "text for a reward": "Faulty gave a reward of '1', which is no number",
    "complex reward": r"Faulty gave a reward of 1j, which is no number",
    "two rewards": r"Faulty gave a reward of shape \(2,\), expected one number",
    "nan observation": r"Faulty gave an observation of \[nan nan\] .*is finite in float32\)",
    "long observation": r"Faulty gave an observation of \[0. 0. 0.\] .*\(3,\), expected \(2,\)\)",
    "no observation": r"Faulty gave an observation of None \(.*object is no number.*\)",
    "complex observation": r"Faulty gave an observation of .*complex128 is no number.*\)",
    "three terminated": r"Faulty gave a terminated of shape \(3,\), expected one number",
    "terminated of None": "Faulty gave a terminated of None, which is no number",
    "terminated of nan": "Faulty gave a terminated of nan",
    "text for truncated": "Faulty gave a truncated of 'no', which is no number",
    "list of infos": r"Faulty gave \[\] for an info, which is no dict",
    "exception": "the step of Faulty failed",
}
GIVEN: dict[str, dict[str, Any]] = {
    "nan reward": {"reward": np.nan},
    "infinite reward": {"reward": np.inf},
    "huge reward": {"reward": 1e300},
    "text for a reward": {"reward": "1"},
    "complex reward": {"reward": 1j},
    "two rewards": {"reward": np.zeros(2)},
    "nan observation": {"seen": np.full(2, np.nan, np.float32)},
    "long observation": {"seen": np.zeros(3, np.float32)},
    "no observation": {"seen": None},
    "complex observation": {"seen": np.zeros(2, complex)},
    "three terminated": {"terminated": np.zeros(3, bool)},
    "terminated of None": {"terminated": None},
    "terminated of nan": {"terminated": np.nan},
    "text for truncated": {"truncated": "no"},
    "list of infos": {"info": []},
}


class Faulty(gymnasium.Env):
    """Something is wrong at the fifth step of an episode, from a number of steps on, for a time."""

    observation_space = spaces.Box(-1, 1, (2,))
    action_space = spaces.Discrete(2)
    begins, ends, total, length = 100, 10**9, 0, 8

    def __init__(self, fault: str) -> None:
        self.fault, self.steps = fault, 0

    def reset(self, **options: Any) -> tuple[np.ndarray, dict]:
        super().reset(**options)
        self.steps = 0
        if self.fault == "exception in reset" and self.begins <= Faulty.total < self.ends:
            raise RuntimeError("boom")
        return np.zeros(2, np.float32), {}

    def step(self, action: int) -> tuple:
        self.steps += 1
        Faulty.total += 1
        seen: Any = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        given = {"seen": seen, "reward": float(action), "terminated": False}
        given |= {"truncated": self.steps == self.length, "info": {}}
        if self.steps == 5 and self.begins <= Faulty.total < self.ends:
            if self.fault == "exception":
                raise RuntimeError("boom")
            given |= GIVEN.get(self.fault, {})
        return tuple(given.values())


@pytest.fixture(autouse=True)
def _from_the_beginning() -> None:
    Faulty.total, Faulty.ends = 0, 10**9


def faulty(fault: str, **settings: Any) -> odrpo.ODRPO:
    return odrpo.ODRPO(lambda: Faulty(fault), **(NETWORK | settings))


@pytest.mark.parametrize("fault", FAULTS)
def test_it_is_named_and_the_last_update_is_saved(fault: str, tmp_path: Path) -> None:
    model = faulty(fault)
    when = "at step 5 of an episode of environment 0.*this was after 96 timesteps"
    with pytest.raises(EnvError, match=rf"env: {FAULTS[fault]} {when}") as caught:
        model.learn(1000, run_dir=tmp_path)
    assert caught.value.__cause__ is not None
    assert model.num_timesteps == 96
    assert odrpo.ODRPO.load(tmp_path).num_timesteps == 96


def test_it_is_not_taken_for_the_one_whose_episode_is_the_longest() -> None:
    class Long(Faulty):
        length = 1000

    made: list[gymnasium.Env] = []

    def maker() -> gymnasium.Env:  # one to look at, and two to train on
        made.append(Faulty("exception") if len(made) == 2 else Long("none"))
        return made[-1]

    where = r"at step 5 of an episode of environment 1 \(RuntimeError: boom\)"
    with pytest.raises(EnvError, match=f"env: the step of Faulty failed {where}") as caught:
        odrpo.ODRPO(maker, **NETWORK).learn(1000)
    assert isinstance(caught.value.__cause__.__cause__, RuntimeError)


def test_a_reset_that_fails_is_told() -> None:
    where = r"at the beginning of an episode of environment 0 \(RuntimeError: boom\)"
    with pytest.raises(EnvError, match=f"env: the reset of Faulty failed {where}"):
        faulty("exception in reset").learn(1000)


def test_where_nobody_knows_which_one_failed_none_is_named() -> None:
    makers = [lambda: Faulty("exception"), lambda: Faulty("none")]
    settings = {k: v for k, v in NETWORK.items() if k != "num_envs"}
    model = odrpo.ODRPO(gymnasium.vector.SyncVectorEnv(makers), **settings)
    with pytest.raises(EnvError, match=r"env: the step of Faulty failed \(RuntimeError: boom\);"):
        model.learn(1000)


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


def test_one_that_always_fails_ends_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odrpo.updates.PAUSE", 0)
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

    action_space = spaces.Discrete(2)

    def __init__(self, space: gymnasium.Space, state: Any) -> None:
        self.observation_space, self.state = space, state

    def reset(self, **options: Any) -> tuple[Any, dict]:
        return self.observation_space.sample(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict]:
        return self.state, 0.0, False, False, {}


@pytest.mark.parametrize(
    ("space", "state"),
    [
        (spaces.Discrete(3), 3),
        (spaces.Discrete(3), -1),
        (spaces.Discrete(3), 2**32),
        (spaces.MultiDiscrete([2, 3]), np.array([0, -1])),
        (spaces.MultiBinary(2), np.array([0, 256])),
        (spaces.Dict(a=spaces.Discrete(3)), {"a": 3}),
        (spaces.Dict(a=spaces.Discrete(3)), {"b": 0}),
        (spaces.Box(0, 255, (1,), np.uint8), np.array([300])),
    ],
    ids=str,
)
def test_a_state_that_there_is_not_is_named(space: gymnasium.Space, state: Any) -> None:
    model = odrpo.ODRPO(lambda: Lost(space, state), num_envs=1)
    shown = re.escape(str(state))
    with pytest.raises(EnvError, match=f"Lost gave an observation of {shown} .* at step 1 of"):
        model.learn(64)


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


class Endless(Faulty):
    length = 10**9


@pytest.fixture
def _fifty_are_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odrpo.rollout.host.ENDLESS", 50)


@pytest.mark.usefixtures("_fifty_are_endless")
def test_an_episode_that_never_ends_ends_the_training(tmp_path: Path) -> None:
    model = odrpo.ODRPO(lambda: Endless("none"), **NETWORK)
    where = r"it has taken 50 steps in an episode of environment 0; .*max_steps=.*after 96"
    with pytest.raises(EnvError, match=f"env: Endless does not end: {where}"):
        model.learn(1000, run_dir=tmp_path)
    assert odrpo.ODRPO.load(tmp_path).num_timesteps == model.num_timesteps == 96


@pytest.mark.usefixtures("_fifty_are_endless")
def test_an_episode_that_never_ends_may_be_left_for_a_new_one() -> None:
    model = odrpo.ODRPO(lambda: Endless("none"), on_env_error="restart", **NETWORK)
    with pytest.warns(UserWarning, match="does not end.*the environments are made anew"):
        model.learn(320)
    assert model.num_timesteps == 320
    assert model.records.env_restarts == 3


@pytest.mark.usefixtures("_fifty_are_endless")
def test_with_a_limit_a_task_may_go_on_for_ever() -> None:
    model = odrpo.ODRPO(lambda: Endless("none"), max_steps=50, **NETWORK).learn(320)
    assert {episode.length for episode in model.records.episodes} == {50}


@pytest.mark.usefixtures("_fifty_are_endless")
def test_an_evaluation_has_a_limit_of_its_own() -> None:
    model = faulty("none")
    with pytest.warns(RuntimeWarning, match="did not end within 70 steps"):
        odrpo.evaluate(model, lambda: Endless("none"), 2, max_steps=70)


@pytest.mark.usefixtures("_fifty_are_endless")
@pytest.mark.parametrize("critic", ["table", "replay"])
def test_an_episode_on_the_device_that_never_ends_ends_the_training(
    critic: str, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"num_envs": 2, "num_steps": 16, "critic": critic}
    if critic == "replay":
        settings |= {"policy": "network", "hidden": (8,), "warm_up": 32, "minibatch": 4}
    stay = [[0, 0]], [1.0], 0
    model = odrpo.ODRPO(odrpo.FiniteMDP(*stay), **settings)
    with pytest.raises(EnvError, match=r"env: FiniteMDP does not end.*in the update after 96 time"):
        model.learn(1000, run_dir=tmp_path)
    assert model.num_timesteps == 96
    limited = odrpo.ODRPO(odrpo.FiniteMDP(*stay, max_steps=50), **settings).learn(320)
    assert {episode.length for episode in limited.records.episodes} == {50}


def test_an_episode_of_a_seed_that_was_stopped_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two seeds in one program the first is stopped; its environments run on, unseen."""
    checked: list[tuple[int, int]] = []
    monkeypatch.setattr(
        training,
        "check_ends",
        lambda model, time: checked.append((model.seed, model.num_timesteps)),
    )
    models = [odrpo.ODRPO("CartPole-v1", seed=seed, **NETWORK) for seed in range(2)]
    odrpo.train(models, 96, callback=lambda model, row: model.seed == 1)
    assert checked == [(0, 0), (1, 0), (1, 32), (1, 64)]


class TooLong(BaseException):
    """Nobody takes it for something that an environment did."""


@pytest.fixture
def _two_minutes() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def with_workers() -> gymnasium.vector.AsyncVectorEnv:
    makers = [lambda: gymnasium.make("CartPole-v1")] * 2
    return gymnasium.vector.AsyncVectorEnv(makers, context="spawn")  # JAX has threads: no fork


WITHOUT_COUNT = {k: v for k, v in NETWORK.items() if k != "num_envs"}


@pytest.mark.usefixtures("_two_minutes")
def test_a_worker_that_dies_is_told() -> None:
    env = with_workers()
    model = odrpo.ODRPO(env, **WITHOUT_COUNT).learn(32)
    before = model.num_timesteps
    os.kill(env.processes[1].pid, signal.SIGKILL)
    with pytest.raises(EnvError, match=r"the step of AsyncVectorEnv failed \(.*Error.*\);"):
        model.learn(64)
    assert model.num_timesteps == before
    with warnings.catch_warnings(action="ignore"):  # it may be told that a step is pending
        env.close(terminate=True)


@pytest.mark.filterwarnings("default:.*Calling .close. while waiting")  # which would then hang
@pytest.mark.usefixtures("_two_minutes")
def test_workers_are_made_anew_when_one_dies() -> None:
    made: list[gymnasium.vector.AsyncVectorEnv] = []

    def maker() -> gymnasium.vector.AsyncVectorEnv:
        made.append(with_workers())
        return made[-1]

    def kill_one(model: odrpo.ODRPO, row: dict[str, float]) -> None:
        if len(made) < 4:  # first one, then the other
            os.kill(made[-1].processes[len(made) - 2].pid, signal.SIGKILL)

    model = odrpo.ODRPO(maker, on_env_error="restart", **WITHOUT_COUNT)
    assert [env.closed for env in made] == [True, False]
    with pytest.warns(UserWarning, match="AsyncVectorEnv failed .*the environments are made anew"):
        model.learn(160, callback=kill_one)
    assert model.num_timesteps >= 160
    assert model.records.env_restarts == 2
    assert [env.closed for env in made] == [True, True, True, False]
    assert not any(process.is_alive() for env in made[:3] for process in env.processes)
    made[-1].close()


def test_what_was_made_to_look_at_is_closed_unless_it_is_used() -> None:
    class Closed(Faulty):
        closed = False

        def close(self) -> None:
            self.closed = True

    made: list[Closed] = []

    def maker() -> Closed:
        made.append(Closed("none"))
        return made[-1]

    odrpo.ODRPO(maker, **NETWORK)
    assert [env.closed for env in made] == [True, False, False]
    odrpo.ODRPO(lambda: made[-1], **(NETWORK | {"num_envs": 1}))
    odrpo.ODRPO(made[-1], **(NETWORK | {"num_envs": 1}))
    assert not made[-1].closed


def refusing(count: int) -> Callable[[], gymnasium.Env]:
    """A maker that refuses so many times, once it has made what training begins with."""
    left = iter([False] * 3 + [True] * count)

    def maker() -> gymnasium.Env:
        if next(left, False):
            raise ConnectionError("no simulator")
        return Faulty("exception")

    return maker


def test_a_maker_that_fails_for_a_while_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("odrpo.updates.time.sleep", slept.append)
    Faulty.ends = 110
    model = odrpo.ODRPO(refusing(3), on_env_error="restart", **NETWORK)
    with pytest.warns(UserWarning, match="the environments are made anew") as told:
        model.learn(320)
    assert sum("gave no new environment (Connection" in str(one.message) for one in told) == 3
    assert model.num_timesteps == 320
    assert model.records.env_restarts == 4
    assert slept == [0.1, 0.2, 0.4]


def test_a_maker_that_always_fails_ends_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odrpo.updates.PAUSE", 0)
    model = odrpo.ODRPO(refusing(1000), on_env_error="restart", **NETWORK)
    with (
        pytest.warns(UserWarning, match="the environments are made anew"),
        pytest.raises(EnvError, match=r"no simulator\).*and 10 times in a row"),
    ):
        model.learn(320)
    assert model.num_timesteps == 96
    assert model.records.env_restarts == 10


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
