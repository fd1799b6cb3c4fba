"""Finite MDPs: exact values against known optima and simulation, steps against Gymnasium."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import odrpo
from odrpo.envs import nchain
from odrpo.envs.finite import Progress


def random_mdp(seed: int, max_steps: int | None = 12) -> odrpo.FiniteMDP:
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.full(5, 0.3), (5, 3))
    terminal = np.array([False, False, False, False, True])
    return odrpo.FiniteMDP(
        transitions, rng.normal(size=(5, 3, 5)), rng.dirichlet(np.ones(5)), terminal, max_steps
    )


def simulate(mdp: odrpo.FiniteMDP, policy: np.ndarray, episodes: int, seed: int) -> np.ndarray:
    """Undiscounted returns of whole episodes on the device."""

    def episode(key):
        reset_key, walk_key = jax.random.split(key)
        progress, _ = mdp.reset(reset_key)

        def step(carry, key):
            progress, over = carry
            action_key, step_key = jax.random.split(key)
            logits = jnp.log(jnp.asarray(policy, jnp.float32))[progress.state]
            action = jax.random.categorical(action_key, logits)
            step = mdp.step(step_key, progress, action)
            reward = jnp.where(over, 0.0, step.reward.astype(jnp.float32))
            return (step.state, over | step.terminated | step.truncated), reward

        keys = jax.random.split(walk_key, mdp.max_steps + 3)
        _, rewards = jax.lax.scan(step, (progress, jnp.asarray(False)), keys)
        return jnp.sum(rewards)

    return np.asarray(jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(seed), episodes)))


@pytest.mark.parametrize("seed", range(3))
def test_exact_return_matches_simulation(seed: int) -> None:
    mdp = random_mdp(seed)
    policy = np.random.default_rng(seed).dirichlet(np.ones(3), 5)
    returns = simulate(mdp, policy, 20_000, seed)
    error = returns.std() / np.sqrt(len(returns))
    assert abs(returns.mean() - mdp.expected_return(policy)) < 4 * error


@pytest.mark.parametrize("seed", range(3))
def test_optimal_values_solve_bellmans_equation(seed: int) -> None:
    mdp = random_mdp(seed, max_steps=None)
    q = mdp.optimal_action_values(0.9)
    best = np.eye(3)[q.argmax(axis=1)]
    np.testing.assert_allclose(mdp.action_values(best, 0.9), q, atol=1e-12)
    outcomes = mdp.outcomes
    beyond = np.where(outcomes.terminates, 0, q.max(axis=1)[outcomes.next_state])
    backed_up = (outcomes.probability * (outcomes.reward + 0.9 * beyond)).sum(axis=2)
    np.testing.assert_allclose(backed_up, q, atol=1e-12)
    for trial in range(20):
        policy = np.random.default_rng(trial).dirichlet(np.ones(3), 5)
        assert mdp.expected_return(policy, 0.9) <= mdp.optimal_return(0.9) + 1e-12


def test_known_optima() -> None:
    taxi = odrpo.FiniteMDP.from_gymnasium("Taxi-v4")
    assert taxi.optimal_return() == pytest.approx(7.93, abs=0.005)
    cliff = odrpo.FiniteMDP.from_gymnasium("CliffWalking-v1", max_steps=200)
    assert cliff.optimal_return() == pytest.approx(-13)
    chain = nchain()
    assert chain.optimal_return() == pytest.approx(3665.8, abs=0.05)
    assert chain.expected_return(np.tile([1.0, 0.0], (5, 1))) == pytest.approx(3663.7, abs=0.05)
    assert chain.expected_return(np.tile([0.0, 1.0], (5, 1))) == pytest.approx(1603, abs=0.5)


@pytest.mark.parametrize("name", ["Taxi-v4", "CliffWalking-v1"])
def test_steps_equal_gymnasium(name: str) -> None:
    """Both are deterministic: the same state and action must lead to the same everything."""
    env = gymnasium.make(name)
    mdp = odrpo.FiniteMDP.from_gymnasium(env, max_steps=10_000)
    step = jax.jit(mdp.step)
    state, _ = env.reset(seed=0)
    progress, steps, key = (
        Progress(jnp.asarray(state, jnp.int32), jnp.asarray(0)),
        0,
        jax.random.key(0),
    )
    rng = np.random.default_rng(0)
    for _ in range(2000):
        action = int(rng.integers(env.action_space.n))
        expected, reward, terminated, truncated, _ = env.step(action)
        found = step(key, progress, action)
        assert (int(found.observation), float(found.reward)) == (expected, reward)
        assert bool(found.terminated) == terminated
        progress, steps = found.state, steps + 1
        if terminated or truncated:
            state, _ = env.reset()
            progress = Progress(jnp.asarray(state, jnp.int32), jnp.asarray(0))


def test_outcomes_come_with_their_probabilities() -> None:
    lake = odrpo.FiniteMDP.from_gymnasium("FrozenLake-v1")
    progress = Progress(jnp.asarray(14, jnp.int32), jnp.asarray(0))
    keys = jax.random.split(jax.random.key(0), 30_000)
    steps = jax.jit(jax.vmap(lambda key: lake.step(key, progress, 2)))(keys)
    counts = np.bincount(np.asarray(steps.observation), minlength=16) / len(keys)
    np.testing.assert_allclose(counts[[10, 14, 15]], 1 / 3, atol=0.012)
    np.testing.assert_array_equal(steps.terminated, steps.observation == 15)
    np.testing.assert_array_equal(steps.reward, (steps.observation == 15).astype(np.float32))


def test_the_limit_truncates_and_the_end_terminates() -> None:
    walk = odrpo.FiniteMDP([[1, 0], [1, 1]], [0.0, 0.0], 0, [False, True], max_steps=3)
    progress, _ = walk.reset(jax.random.key(0))
    for count in range(1, 4):
        step = walk.step(jax.random.key(count), progress, 1)
        assert (bool(step.terminated), bool(step.truncated)) == (False, count == 3)
        last, progress = progress, step.state
    step = walk.step(jax.random.key(9), last, 0)
    assert (bool(step.terminated), bool(step.truncated)) == (True, False)


def test_an_impossible_outcome_is_never_drawn() -> None:
    transitions = np.zeros((3, 1, 3))
    transitions[:, 0, 1] = 1.0
    mdp = odrpo.FiniteMDP(transitions, np.zeros(3), [0.0, 0.5, 0.5])
    keys = jax.random.split(jax.random.key(1), 10_000)
    starts = jax.vmap(lambda key: mdp.reset(key)[1])(keys)
    assert set(np.unique(starts)) == {1, 2}


GOOD = {"transitions": [[0, 1], [1, 0]], "rewards": [[0, 1], [0, 0]], "start": 0}
BAD = {
    "next state": ({"transitions": [[0, 2], [1, 0]]}, "next state 2, but there are 2 states"),
    "fractional state": ({"transitions": [[0, 0.5], [1, 0]]}, "must be next states, whole numbers"),
    "shape": ({"transitions": np.ones((2, 2, 3)) / 3}, r"transitions: shape \(2, 2, 3\)"),
    "no distribution": (
        {"transitions": np.full((2, 2, 2), 0.4)},
        r"transitions\[0, 0\] is no distribution \(it sums to 0.8\)",
    ),
    "rewards": ({"rewards": np.zeros((3, 2))}, r"rewards: shape \(3, 2\), expected \(2,\)"),
    "reward NaN": ({"rewards": [[0, np.nan], [0, 0]]}, "rewards: not all are finite"),
    "start": ({"start": [0.5, 0.6]}, "start: expected a state's index or a distribution"),
    "start index": ({"start": 2}, "start: expected a state's index"),
    "terminal": ({"terminal": [True]}, r"terminal: shape \(1,\), expected \(2,\)"),
    "terminal states": ({"terminal": [0, 2]}, "terminal: use True or False for each state"),
    "limit": ({"max_steps": 0}, "max_steps: 0; use a whole number > 0"),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_tables_are_named(name: str) -> None:
    change, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        odrpo.FiniteMDP(**GOOD | change)


BAD_POLICIES = {
    "shape": ([[0.5, 0.5]], r"policy: shape \(1, 2\), expected \(2, 2\), states x actions"),
    "one action a state": ([0, 1], r"policy: shape \(2,\), expected \(2, 2\)"),
    "sum": ([[0.5, 0.5], [0.5, 0.6]], r"policy\[1\] is no distribution \(it sums to 1\.1\)"),
    "negative": ([[1.5, -0.5], [0, 1]], r"policy\[0\] is no distribution"),
    "NaN": ([[1, 0], [np.nan, 1]], r"policy\[1\] is no distribution \(it sums to nan\)"),
}


@pytest.mark.parametrize("name", sorted(BAD_POLICIES))
def test_bad_policies_are_named(name: str) -> None:
    policy, message = BAD_POLICIES[name]
    for limit in (5, None):
        mdp = odrpo.FiniteMDP(**GOOD, max_steps=limit)
        with pytest.raises(ValueError, match=message):
            mdp.expected_return(policy, 0.5)
        with pytest.raises(ValueError, match=message):
            mdp.action_values(policy, 0.5)


def test_an_env_without_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no table P"):
        odrpo.FiniteMDP.from_gymnasium("CartPole-v1")


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (
            gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda r: -r),
            "env: FrozenLakeEnv is wrapped in TransformReward, which is not in its table P; pass",
        ),
        (gymnasium.make("Taxi-v4", fickle_passenger=True), "env: TaxiEnv has a fickle passenger"),
    ],
)
def test_what_a_table_does_not_tell_is_refused(env: gymnasium.Env, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        odrpo.FiniteMDP.from_gymnasium(env)


def test_an_endless_return_needs_a_discount() -> None:
    endless = odrpo.FiniteMDP(**GOOD)
    with pytest.raises(ValueError, match=r"discount: 1\.0; without a step limit"):
        endless.optimal_return()
    assert endless.optimal_return(0.5) > 0


@pytest.mark.parametrize("discount", [2.0, -1, np.nan])
def test_what_is_no_discount_is_refused(discount: float) -> None:
    policy = np.full((2, 2), 0.5)
    for limit in (5, None):
        mdp = odrpo.FiniteMDP(**GOOD, max_steps=limit)
        for values in (
            lambda mdp: mdp.expected_return(policy, discount),
            lambda mdp: mdp.optimal_return(discount),
            lambda mdp: mdp.action_values(policy, discount),
            lambda mdp: mdp.optimal_action_values(discount),
        ):
            with pytest.raises(ValueError, match=f"discount: {discount}; use a number in"):
                values(mdp)


def test_values_without_discount_need_an_end() -> None:
    rng = np.random.default_rng(0)
    always = rng.dirichlet(np.ones(4), (4, 2))  # of rows that sum to one but for rounding
    policy = np.full((4, 2), 0.5)
    endless = odrpo.FiniteMDP(always, np.ones(4), 0, max_steps=9)
    with pytest.raises(ValueError, match=r"discount: 1\.0; this policy does not come to an end"):
        endless.action_values(policy, 1.0)
    # Away from the end, or towards it.
    walk = odrpo.FiniteMDP([[0, 1], [0, 2], [2, 2]], [-1, -1, 0], 0, [False, False, True])
    towards = np.eye(2)[[1, 1, 1]]
    np.testing.assert_allclose(walk.action_values(towards, 1.0), [[-3, -2], [-3, -1], [0, 0]])
    with pytest.raises(ValueError, match="does not come to an end from every state"):
        walk.action_values(np.eye(2)[[0, 1, 1]], 1)
