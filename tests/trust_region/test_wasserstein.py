"""The Wasserstein step against HiGHS, and the split of ties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odrpo
from tests.trust_region import oracles
from tests.trust_region.certificates import check_certificate
from tests.trust_region.problems import Case, cases, random_case

COSTS = {
    "0/1": lambda case: None,
    "0/1 as a matrix": lambda case: 1 - np.eye(case.policy.shape[1]),
    "line": Case.line_cost,
    "random metric": Case.random_cost,
    "one per state": Case.cost_per_state,
}


@settings(max_examples=500)
@given(cases(), st.sampled_from(sorted(COSTS)))
def test_optimum_matches_linear_program(case: Case, kind: str) -> None:
    cost = COSTS[kind](case)
    solution = odrpo.solve(**case.arguments, metric=odrpo.Wasserstein(cost))
    check_certificate(case, solution, 1e-8)
    matrix = 1 - np.eye(case.policy.shape[1]) if cost is None else cost
    optimum = oracles.wasserstein_objective(case, matrix)
    assert abs(solution.objective - optimum) <= 1e-8 * case.scale
    assert solution.distance <= case.radius * (1 + 1e-9)
    if solution.beta > 0:
        assert solution.distance == pytest.approx(case.radius, rel=1e-9)


@settings(max_examples=100)
@given(cases())
def test_distance_is_the_total_variation(case: Case) -> None:
    solution = odrpo.solve(**case.arguments, metric="wasserstein")
    weights = case.weights / case.weights.sum()
    variation = weights @ np.abs(solution.policy - case.policy).sum(axis=1) / 2
    assert variation == pytest.approx(solution.distance, rel=1e-8, abs=1e-15)


@settings(max_examples=100)
@given(cases(), st.sampled_from(sorted(COSTS)))
def test_single_precision(case: Case, kind: str) -> None:
    single = case.in_single_precision()
    cost = COSTS[kind](case)
    exact = odrpo.solve(**single.in_double_precision().arguments, metric=odrpo.Wasserstein(cost))
    solution = odrpo.solve(**single.arguments, metric=odrpo.Wasserstein(cost))
    assert solution.policy.dtype == np.float32
    check_certificate(single, solution, 1e-4)
    assert abs(solution.objective - exact.objective) <= 1e-4 * case.scale
    assert solution.distance <= case.radius * (1 + 1e-4)


def test_tied_mass_is_split() -> None:
    """By hand: gaps 2 (mass 0.25), 1 (mass 0.1 + 0.15), 0.5; a radius of 0.3 ends in the tie."""
    advantages = np.array([[1.0, 0.0, -1.0], [0.5, 0.0, -0.5]])
    policy = np.array([[0.3, 0.2, 0.5], [0.4, 0.3, 0.3]])
    solution = odrpo.solve(advantages, policy, 0.3, "wasserstein")
    assert solution.beta == pytest.approx(1)
    assert solution.distance == pytest.approx(0.3)
    # A fifth of each of the tied actions moves.
    expected = [[0.3 + 0.5 + 0.04, 0.16, 0], [0.4 + 0.06, 0.3, 0.24]]
    np.testing.assert_allclose(solution.policy, expected, atol=1e-15)
    assert solution.gain == pytest.approx(0.25 * 2 + 0.05 * 1)


def test_states_of_weight_zero_follow_the_same_price() -> None:
    case = random_case(3, states=5, radius=0.1)
    case.weights[:2] = 0
    solution = odrpo.solve(**case.arguments, metric="wasserstein")
    gap = case.advantages.max(axis=1, keepdims=True) - case.advantages
    moved = np.where(gap > solution.beta, case.policy, 0)
    expected = case.policy - moved
    expected[np.arange(5), case.advantages.argmax(axis=1)] += moved.sum(axis=1)
    np.testing.assert_allclose(solution.policy[:2], expected[:2], atol=1e-15)


def test_beta_is_exact_however_small_the_masses_at_the_tie() -> None:
    advantages = np.array([[1e3, 0.0]] + [[1.0, 0.5 - 0.01 * i] for i in range(5)])
    policy = np.array([[0.0, 1.0]] + [[0.5, 0.5]] * 5)
    weights = np.array([1.0] + [1e-12] * 5)
    radius = (1 + 0.9 * 2.5e-12) / (1 + 5e-12)  # ends inside the smallest gap, 0.5
    solution = odrpo.solve(advantages, policy, radius, "wasserstein", weights=weights)
    assert solution.beta == pytest.approx(0.5, rel=1e-12)


def test_a_dead_action_can_be_revived() -> None:
    solution = odrpo.solve([[0.0, 9.0, 1.0]], [[0.5, 0.0, 0.5]], 0.25, "wasserstein")
    np.testing.assert_allclose(solution.policy, [[0.25, 0.25, 0.5]])


def test_beta_zero_takes_the_nearest_of_the_best() -> None:
    cost = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    solution = odrpo.solve(
        [[1.0, 0.0, 1.0, 1.0]], [[0.0, 0.0, 0.0, 1.0]], 5.0, odrpo.Wasserstein(cost)
    )
    np.testing.assert_array_equal(solution.policy, [[0, 0, 0, 1]])
    assert (solution.beta, solution.distance) == (0, 0)


def test_targets_as_good_and_as_near_share_alike() -> None:
    cost = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    for metric in (odrpo.Wasserstein(cost), odrpo.Wasserstein()):
        step = odrpo.solve([[1.0, 0.0, 1.0]], [[0.0, 1.0, 0.0]], 0.5, metric)
        np.testing.assert_allclose(step.policy, [[0.25, 0.5, 0.25]])


def test_a_cost_may_depend_on_the_direction() -> None:
    """Up costs 1, down 3: of the two that leave, the one whose way up is cheap goes."""
    cost = np.array([[0.0, 1.0], [3.0, 0.0]])
    step = odrpo.solve([[0.0, 1.0], [1.0, 0.0]], np.full((2, 2), 0.5), 0.1, odrpo.Wasserstein(cost))
    np.testing.assert_allclose(step.policy, [[0.3, 0.7], [0.5, 0.5]])


def test_samples_of_continuous_actions_are_rows() -> None:
    """K actions a state, each of probability 1/K, with their distances as the cost."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (8, 16, 2))
    cost = np.abs(actions[:, :, None] - actions[:, None]).mean(axis=-1)
    advantages = -(actions**2).sum(axis=-1)
    policy = np.full((8, 16), 1 / 16)
    solution = odrpo.solve(advantages, policy, 0.1, odrpo.Wasserstein(cost))
    case = Case(advantages, policy, 0.1, np.ones(8), np.ones((8, 16), bool))
    assert solution.objective == pytest.approx(oracles.wasserstein_objective(case, cost), rel=1e-8)
    assert solution.distance == pytest.approx(0.1)


@pytest.mark.parametrize("radius", [1e-6, 1e-3, 0.1, 0.7])
def test_many_pairs(radius: float) -> None:
    """A hundred thousand gaps: exact against the knapsack done by sorting."""
    rng = np.random.default_rng(1)
    advantages = rng.standard_cauchy((20000, 5))
    policy = rng.dirichlet(np.ones(5), 20000)
    solution = odrpo.solve(advantages, policy, radius, "wasserstein")
    gap = (advantages.max(axis=1, keepdims=True) - advantages).ravel()
    order = np.argsort(-gap)
    mass = policy.ravel()[order] / 20000
    taken = np.clip(radius - (np.cumsum(mass) - mass), 0, mass)
    assert solution.gain == pytest.approx(taken @ gap[order], rel=1e-10)
    assert solution.distance == pytest.approx(min(radius, mass[gap[order] > 0].sum()), rel=1e-10)
    assert solution.gap <= 1e-10 * solution.gain
