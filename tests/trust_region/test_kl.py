"""The KL step against a solve in 60 digits, and its limits."""

import numpy as np
import pytest
from hypothesis import given, settings

import odrpo
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
    exact = odrpo.solve(**case.arguments)
    single = odrpo.solve(
        case.advantages.astype(np.float32),
        case.policy.astype(np.float32),
        case.radius,
        weights=case.weights,
        mask=case.mask,
    )
    check_certificate(case, single, 1e-4)
    assert abs(single.objective - exact.objective) <= 1e-4 * case.scale
    assert single.distance <= case.radius * (1 + 1e-4)


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
