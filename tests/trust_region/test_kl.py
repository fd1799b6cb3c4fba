"""The KL step against a solve in 60 digits, and its limits."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings

import odrpo
from odrpo.trust_region.tilt import exponential_remainders
from tests.trust_region import oracles
from tests.trust_region.certificates import check_certificate
from tests.trust_region.problems import Case, cases, random_case


@settings(max_examples=250)
@given(cases())
def test_optimum_matches_high_precision(case: Case) -> None:
    solution = odrpo.solve(**case.arguments)
    check_certificate(case, solution, 1e-8)
    assert abs(solution.objective - oracles.kl_objective(case)) <= 1e-8 * case.scale
    assert solution.distance <= case.radius * (1 + 1e-9)
    measured = oracles.kl_distance(case, solution.policy)
    # A policy stored in float64 can't show a smaller difference than its own rounding.
    assert measured <= case.radius * (1 + 1e-9) + 1e-15
    assert measured == pytest.approx(solution.distance, rel=1e-8, abs=1e-15)


@settings(max_examples=100)
@given(cases())
def test_radius_binds_unless_beta_is_zero(case: Case) -> None:
    solution = odrpo.solve(**case.arguments)
    if solution.beta > 0:
        assert solution.distance == pytest.approx(case.radius, rel=1e-9)


@settings(max_examples=100)
@given(cases())
def test_single_precision(case: Case) -> None:
    single = case.in_single_precision()
    exact = odrpo.solve(**single.in_double_precision().arguments, metric="kl")
    solution = odrpo.solve(**single.arguments, metric="kl")
    assert solution.policy.dtype == np.float32
    check_certificate(single, solution, 1e-4)
    assert abs(solution.objective - exact.objective) <= 1e-4 * case.scale
    assert solution.distance <= case.radius * (1 + 1e-4)


@pytest.mark.parametrize("short", [1e-7, 3e-8, -1e-7])
@pytest.mark.parametrize("small", [1e-4, 1e-6, 1e-8])
def test_a_plateau_between_two_scales(short: float, small: float) -> None:
    """Where one state is all but greedy and the other has not begun to move, KL(eta) is flat."""
    radius = np.log(2) / 2 * (1 - short)
    advantages, policy = np.array([[0.0, 1.0], [0.0, small]]), np.full((2, 2), 0.5)
    solution = odrpo.solve(advantages, policy, radius)
    assert solution.distance == pytest.approx(radius, rel=1e-12)
    assert solution.distance <= radius
    assert 0 <= solution.gap <= 1e-14
    single = odrpo.solve(advantages.astype("f4"), policy.astype("f4"), radius)
    assert single.distance == pytest.approx(radius, rel=1e-4)
    assert abs(single.gap) <= 1e-5


@pytest.mark.parametrize("probability", [1e-9, 1e-60, 1e-200])
def test_a_tiny_probability_and_a_tiny_radius(probability: float) -> None:
    policy = np.array([[1 - probability, probability]])
    case = Case(np.array([[0.0, 1.0]]), policy, 1e-12, np.ones(1), np.ones((1, 2), bool))
    solution = odrpo.solve(**case.arguments)
    assert solution.distance == pytest.approx(1e-12, rel=1e-9)
    assert abs(solution.objective - oracles.kl_objective(case)) <= 1e-20


def test_remainders_of_the_exponential() -> None:
    x = np.concatenate([-np.geomspace(1e-12, 30, 200), np.geomspace(1e-12, 30, 200)])
    with jax.enable_x64(True):
        expm1, second = exponential_remainders(jnp.asarray(x), jnp.exp(jnp.asarray(x)))
    with mpmath.workdps(60):
        exact = [mpmath.expm1(mpmath.mpf(value)) for value in x]
        np.testing.assert_allclose(expm1, np.array(exact, float), rtol=1e-13)
        exact = [e - mpmath.mpf(value) for e, value in zip(exact, x, strict=True)]
        np.testing.assert_allclose(second, np.array(exact, float), rtol=1e-13)


def test_a_state_that_does_not_count_may_be_of_any_size() -> None:
    advantages = np.array([[0, 1e-12], [0, 1e12]], "f4")
    solution = odrpo.solve(advantages, np.full((2, 2), 0.5, "f4"), 0.1, weights=[1, 0])
    assert solution.distance == pytest.approx(0.1, rel=1e-4)
    np.testing.assert_array_equal(solution.policy[1], [0, 1])


def test_policy_is_the_closed_form_at_beta() -> None:
    case = random_case(0)
    case.weights[1] = 0  # the state follows the same form
    solution = odrpo.solve(**case.arguments)
    tilted = case.policy * np.exp(case.advantages / solution.beta)
    np.testing.assert_allclose(
        solution.policy, tilted / tilted.sum(axis=1, keepdims=True), rtol=1e-12
    )


def test_a_ball_that_holds_the_greedy_policy() -> None:
    policy = np.array([[0.2, 0.3, 0.5], [0.25, 0.25, 0.5]])
    advantages = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    needed = -(np.log(0.5) + np.log(0.5)) / 2
    solution = odrpo.solve(advantages, policy, needed)
    assert solution.beta == 0
    np.testing.assert_allclose(solution.policy, [[0.4, 0.6, 0], [0, 0, 1]], atol=1e-15)
    assert solution.distance == pytest.approx(needed)
    assert odrpo.solve(advantages, policy, 0.99 * needed).beta > 0


@pytest.mark.parametrize("radius", [1e-8, 0.1, 1e3])
def test_constant_advantages_move_nothing(radius: float) -> None:
    policy = np.array([[0.2, 0.8], [1.0, 0.0]])
    solution = odrpo.solve(np.full((2, 2), 3.7), policy, radius)
    np.testing.assert_array_equal(solution.policy, policy)
    assert (solution.beta, solution.distance, solution.gap) == (0, 0, 0)


def test_zero_and_infinite_radius() -> None:
    case = random_case(1)
    nothing = odrpo.solve(case.advantages, case.policy, 0.0)
    np.testing.assert_allclose(nothing.policy, case.policy, rtol=1e-15)
    assert (nothing.beta, nothing.distance, nothing.gain) == (np.inf, 0, 0)
    greedy = odrpo.solve(case.advantages, case.policy, np.inf)
    np.testing.assert_array_equal(greedy.policy.argmax(axis=1), case.advantages.argmax(axis=1))
    assert greedy.policy.max(axis=1).min() == 1
    assert (greedy.beta, greedy.gap) == (0, pytest.approx(0, abs=1e-15))


def test_an_action_of_probability_zero_stays_dead() -> None:
    solution = odrpo.solve([[0.0, 9.0, 1.0]], [[0.5, 0.0, 0.5]], 10.0)
    np.testing.assert_array_equal(solution.policy, [[0, 0, 1]])
