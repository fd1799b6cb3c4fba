"""Whatever is called an environment becomes one; NChain-v0 and TableEnv are what they say."""

import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from odrpo.envs import Acrobot, CartPole, FiniteMDP, TableEnv, make, nchain

WALK = FiniteMDP([[0, 1], [0, 2], [2, 2]], [[0, 0], [0, 1], [0, 0]], 0, [0, 0, 1], 9)
TABLES = ["Taxi-v4", "FrozenLake-v1", "CliffWalking-v1", "NChain-v0"]


def first_end(env: VectorEnv) -> int:
    """How many steps an episode takes in which nothing but the limit ends it."""
    env.reset(seed=0)
    actions = np.zeros(env.num_envs, int)
    for count in range(1, 2000):
        _, _, terminated, truncated, _ = env.step(actions)
        assert not terminated.any()
        if truncated.all():
            return count
    raise AssertionError("no end")


def test_ids_written_for_the_device() -> None:
    assert make("CartPole-v1", 3) == CartPole()
    assert make("Acrobot-v1", 3, "device") == Acrobot()


@pytest.mark.parametrize("name", TABLES)
def test_ids_with_a_table_run_on_the_device(name: str) -> None:
    found = make(name, 3)
    assert isinstance(found, FiniteMDP)
    env = gymnasium.make(name)
    assert found.max_steps == env.spec.max_episode_steps
    np.testing.assert_allclose(found.start, env.unwrapped.initial_state_distrib, atol=1e-12)
    for s, row in env.unwrapped.P.items():
        for a, outcomes in row.items():
            columns = [column[s, a, : len(outcomes)] for column in found.outcomes]
            np.testing.assert_allclose(np.stack(columns, axis=1), np.array(outcomes, float))
            assert found.outcomes.probability[s, a].sum() == pytest.approx(1)


@pytest.mark.parametrize("name", ["MountainCar-v0", "Blackjack-v1"])
def test_other_ids_run_on_the_host(name: str) -> None:
    found = make(name, 3)
    assert isinstance(found, SyncVectorEnv)
    assert [env.spec.id for env in found.envs] == [name] * 3
    assert found.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP


class Doubled(gymnasium.wrappers.TransformReward):
    """Its lake pays twice as much as the table says."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env, lambda reward: 2 * float(reward))


@pytest.mark.parametrize(
    "entry_point",
    [
        lambda: gymnasium.make("Taxi-v4", fickle_passenger=True).unwrapped,
        lambda: Doubled(gymnasium.make("FrozenLake-v1")),
    ],
)
def test_ids_that_do_more_than_their_table_says_run_on_the_host(
    entry_point: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = EnvSpec("More-v0", entry_point)
    monkeypatch.setitem(gymnasium.registry, "More-v0", spec)
    assert isinstance(make("More-v0", 2), SyncVectorEnv)
    with pytest.raises(ValueError, match="env: it runs on the host only"):
        make("More-v0", 2, "device")


@pytest.mark.parametrize("name", ["CartPole-v1", "NChain-v0"])
def test_the_host_can_be_asked_for(name: str) -> None:
    found = make(name, 2, "host")
    assert isinstance(found, SyncVectorEnv)
    assert [env.spec.id for env in found.envs] == [name] * 2


def test_a_single_environment_stays_one() -> None:
    env = gymnasium.make("CartPole-v1")
    found = make(env, 5)
    assert isinstance(found, SyncVectorEnv)
    assert len(found.envs) == 1
    assert found.envs[0].env is env


def test_a_vector_environment_and_tables_are_taken_as_they_are() -> None:
    vector = gymnasium.make_vec("CartPole-v1", 3, vectorization_mode="sync")
    assert make(vector, 5) is vector
    assert make(vector, 5, "host") is vector
    assert make(WALK, 5) is WALK
    assert make(WALK, 5, "device") is WALK
    assert make(lambda: vector, 5) is vector
    assert make(lambda: WALK, 5) is WALK


def test_a_function_is_called_once_for_each() -> None:
    made = []

    def maker() -> gymnasium.Env:
        made.append(TableEnv(WALK))
        return made[-1]

    found = make(maker, 4)
    assert isinstance(found, SyncVectorEnv)
    assert len(made) == 4
    assert all(env.env is expected for env, expected in zip(found.envs, made, strict=True))


def test_a_step_limit_on_the_device() -> None:
    assert make("CartPole-v1", 1, max_steps=7) == CartPole(7)
    assert make("Acrobot-v1", 1, max_steps=7) == Acrobot(7)
    assert make("CliffWalking-v1", 1).max_steps is None
    assert make("CliffWalking-v1", 1, max_steps=7).max_steps == 7
    assert make("NChain-v0", 1, max_steps=7).max_steps == 7


@pytest.mark.parametrize("name", ["MountainCar-v0", "NChain-v0"])
def test_a_step_limit_on_the_host(name: str) -> None:
    assert first_end(make(name, 2, "host", max_steps=7)) == 7


def test_a_step_limit_for_what_a_function_makes() -> None:
    makers: list[Callable[[], Any]] = [
        lambda: gymnasium.make("MountainCar-v0"),
        lambda: TableEnv(nchain(max_steps=None)),
    ]
    for maker in makers:
        assert first_end(make(maker, 2, max_steps=7)) == 7


class Switches(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.MultiBinary(3)


class Words(gymnasium.Env):
    observation_space = gymnasium.spaces.Text(5)
    action_space = gymnasium.spaces.Discrete(2)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [("LunarLander-v3", "Box2D", "box2d"), ("HalfCheetah-v5", "mujoco", "mujoco")],
)
def test_a_missing_package_comes_with_the_line_that_installs_it(
    name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for loaded in [loaded for loaded in sys.modules if f"gymnasium.envs.{extra}" in loaded]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ValueError, match=rf"env: {name} needs packages.*odrpo\[{extra}\]"):
        make(name, 1)


@pytest.mark.filterwarnings("ignore:.*out of date")
def test_an_id_that_has_moved_away_is_told_so() -> None:
    with pytest.raises(ValueError, match=r"env: .*gymnasium-robotics"):
        make("Hopper-v2", 1)


REFUSED = {
    "unknown id": (("Nowhere-v0", 1), "env: .*Nowhere.* doesn't exist"),
    "unknown id on the device": (("Nowhere-v0", 1, "device"), "env: .*Nowhere.* doesn't exist"),
    "unknown version": (("CartPole-v9", 1), "env: .*v9"),
    "unknown namespace": (("nowhere/CartPole-v1", 1), "env: .*nowhere"),
    "no id": (("not an id!", 1), "env: "),
    "other actions": ((Switches(), 1), "env: its action space is MultiBinary.*Discrete actions"),
    "observations": ((Words(), 1), "env: its observation space is Text.*odrpo takes Discrete"),
    "a number": ((3, 1), "env: 3 is no environment; use an id"),
    "nothing": ((None, 1), "env: None is no environment; use an id"),
    "a function of nothing": ((lambda: None, 1), "env: None is no environment; use an id"),
    "a function that names one": ((lambda: "CartPole-v1", 1), "env: 'CartPole-v1' is no environ"),
    "device id": (("MountainCar-v0", 1, "device"), "env: it runs on the host only"),
    "device env": ((TableEnv(WALK), 1, "device"), "env: it runs on the host only"),
    "device function": ((lambda: TableEnv(WALK), 1, "device"), "env: it runs on the host only"),
    "host table": ((WALK, 1, "host"), "env: .* runs on the device only; leave backend at 'auto'"),
    "host CartPole": ((CartPole(), 1, "host"), "env: CartPole.* runs on the device only"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_environment_for_odrpo_is_refused(name: str) -> None:
    arguments, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        make(*arguments)


@pytest.mark.parametrize(
    "maker",
    [
        lambda limit: make("CartPole-v1", 1, max_steps=limit),
        lambda limit: make("CartPole-v1", 1, "host", limit),
        lambda limit: make("Taxi-v4", 1, max_steps=limit),
        lambda limit: make(gymnasium.make("CartPole-v1"), 1, max_steps=limit),
        lambda limit: make(lambda: gymnasium.make("CartPole-v1"), 1, max_steps=limit),
        lambda limit: nchain(max_steps=limit),
        CartPole,
        Acrobot,
    ],
)
@pytest.mark.parametrize("limit", [0, -1, 2.5])
def test_a_limit_that_leaves_no_step_is_refused(maker: Any, limit: float) -> None:
    with pytest.raises(ValueError, match=f"max_steps: {limit}; use a whole number > 0"):
        maker(limit)


def test_another_backend_is_refused() -> None:
    with pytest.raises(ValueError, match='backend: \'gpu\'; use one of "auto", "device", "host"'):
        make("CartPole-v1", 1, "gpu")  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", ["auto", "host"])
def test_a_deprecated_id_is_refused_and_its_successor_named(backend: str) -> None:
    with (
        pytest.warns(DeprecationWarning, match="out of date"),
        pytest.raises(ValueError, match=r"env: .*deprecated.*CliffWalking-v1"),
    ):
        make("CliffWalking-v0", 1, backend)


def dense(mdp: FiniteMDP) -> tuple[np.ndarray, np.ndarray]:
    """Transitions and mean rewards, (S, A, S) and (S, A)."""
    outcomes = mdp.outcomes
    states, actions, _ = outcomes.probability.shape
    transitions = np.zeros((states, actions, states))
    for s, a, k in np.ndindex(outcomes.probability.shape):
        transitions[s, a, outcomes.next_state[s, a, k]] += outcomes.probability[s, a, k]
    return transitions, (outcomes.probability * outcomes.reward).sum(axis=2)


def test_nchain_is_the_chain_of_the_paper() -> None:
    """Dearden et al. (1998), figure 1: five states, slip 0.2, rewards 2 and 10."""
    transitions, rewards = dense(nchain())
    for state in range(5):
        ahead = min(state + 1, 4)
        for action, forward in ((0, 0.8), (1, 0.2)):
            expected = np.zeros(5)
            expected[0] += 1 - forward
            expected[ahead] += forward
            np.testing.assert_allclose(transitions[state, action], expected, atol=1e-12)
            pay = (1 - forward) * 2 + forward * (10 if state == 4 else 0)
            assert rewards[state, action] == pytest.approx(pay)


def test_nchain_is_a_gymnasium_environment() -> None:
    check_env(gymnasium.make("NChain-v0").unwrapped)


def test_nchain_steps_as_often_as_its_tables_say() -> None:
    env = gymnasium.make("NChain-v0").unwrapped
    env.reset(seed=0)
    transitions, rewards = dense(nchain())
    count = 2000
    for s, a in np.ndindex(5, 2):
        hits, paid = np.zeros(5), np.zeros(count)
        for trial in range(count):
            env.state = s
            following, paid[trial], terminated, truncated, _ = env.step(a)
            assert not terminated
            assert not truncated
            hits[following] += 1
        p = transitions[s, a]
        assert (np.abs(hits / count - p) <= 4 * np.sqrt(p * (1 - p) / count)).all()
        assert abs(paid.mean() - rewards[s, a]) <= 4 * paid.std() / np.sqrt(count)


def test_nchain_is_cut_off_after_1000_steps() -> None:
    assert first_end(make("NChain-v0", 2, "host")) == 1000
    assert make("NChain-v0", 2).max_steps == nchain().max_steps == 1000


def test_nchain_takes_its_settings_from_gymnasium() -> None:
    env = gymnasium.make("NChain-v0", states=7, slip=0.1, small=3.0, large=20.0)
    found = FiniteMDP.from_gymnasium(env)
    expected = nchain(7, 0.1, 3.0, 20.0)
    for mine, its in zip(dense(found), dense(expected), strict=True):
        np.testing.assert_allclose(mine, its, atol=1e-12)
    assert found.max_steps == 1000


def some_mdp(max_steps: int | None = None) -> FiniteMDP:
    rng = np.random.default_rng(0)
    transitions = rng.dirichlet(np.full(5, 0.3), (5, 3))
    transitions[0, 0] = np.eye(5)[4]  # a pair with fewer outcomes than the others
    rewards = rng.normal(size=(5, 3, 5))
    return FiniteMDP(transitions, rewards, rng.dirichlet(np.ones(5)), np.arange(5) == 4, max_steps)


def test_a_table_env_gives_back_the_tables() -> None:
    mdp = some_mdp()
    env = TableEnv(mdp)
    found = FiniteMDP.from_gymnasium(env)
    assert TableEnv(found).P == env.P
    np.testing.assert_allclose(found.start, mdp.start)
    for mine, its in zip(dense(found), dense(mdp), strict=True):
        np.testing.assert_allclose(mine, its, atol=1e-12)
    real = found.outcomes.probability > 0
    np.testing.assert_array_equal(
        found.outcomes.terminates[real], found.outcomes.next_state[real] == 4
    )
    assert found.optimal_return(0.9) == pytest.approx(mdp.optimal_return(0.9))


def test_a_table_env_gives_back_the_step_limit() -> None:
    assert FiniteMDP.from_gymnasium(TableEnv(some_mdp(max_steps=12))).max_steps == 12


def test_a_table_env_cuts_off_at_its_limit_what_has_not_ended() -> None:
    assert first_end(make(lambda: TableEnv(nchain(max_steps=12)), 2)) == 12
    env = TableEnv(FiniteMDP([[1, 0], [1, 1]], [0.0, 3.0], 0, [False, True], max_steps=2))
    for last_action, ends in ((0, (True, False)), (1, (False, True))):
        env.reset(seed=0)
        assert env.step(1)[2:4] == (False, False)
        assert env.step(last_action)[2:4] == ends


def test_a_table_env_is_a_gymnasium_environment() -> None:
    check_env(TableEnv(some_mdp(max_steps=12)), skip_render_check=True)


def test_episodes_of_a_table_env_have_the_exact_return() -> None:
    mdp = some_mdp(max_steps=12)
    env, returns = TableEnv(mdp), np.zeros(4000)
    env.reset(seed=1)
    actions = np.random.default_rng(2)
    for episode in range(len(returns)):
        env.reset()
        over = False
        while not over:
            _, reward, terminated, truncated, _ = env.step(actions.integers(3))
            returns[episode] += reward
            over = terminated or truncated
    expected = mdp.expected_return(np.full((5, 3), 1 / 3))
    assert abs(returns.mean() - expected) < 4 * returns.std() / np.sqrt(len(returns))
