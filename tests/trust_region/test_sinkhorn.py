"""The Sinkhorn step against two brute-force solves, and its Wasserstein limit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odrpo
from tests.trust_region import oracles
from tests.trust_region.certificates import check_certificate
from tests.trust_region.problems import Case, cases, random_case

SMALL_SHAPES = [(1, 2), (3, 3)]


@settings(max_examples=100)
@given(cases(SMALL_SHAPES), st.sampled_from([1.0, 10.0, 300.0]), st.booleans())
def test_optimum_matches_the_printed_dual(case: Case, strength: float, random: bool) -> None:
    cost = case.random_cost() if random else 1 - np.eye(case.policy.shape[1])
    solution = odrpo.solve(**case.arguments, metric=odrpo.Sinkhorn(cost, strength))
    check_certificate(case, solution, 1e-8)
    optimum = oracles.sinkhorn_objective(case, cost, strength)
    assert abs(solution.objective - optimum) <= 1e-8 * case.scale
    assert solution.distance <= case.radius * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("seed", range(6))
def test_optimum_matches_a_cone_program(seed: int) -> None:
    case = random_case(seed, states=3, actions=3)
    cost = case.random_cost()
    solution = odrpo.solve(**case.arguments, metric=odrpo.Sinkhorn(cost, 20.0))
    optimum = oracles.sinkhorn_primal(case, cost, 20.0)
    assert solution.objective == pytest.approx(optimum, abs=1e-7)


@pytest.mark.slow
@settings(max_examples=100)
@given(cases())
def test_single_precision(case: Case) -> None:
    single = case.in_single_precision()
    exact = odrpo.solve(**single.in_double_precision().arguments, metric="sinkhorn")
    solution = odrpo.solve(**single.arguments, metric="sinkhorn")
    assert solution.policy.dtype == np.float32
    check_certificate(single, solution, 1e-4)
    assert abs(solution.objective - exact.objective) <= 1e-4 * case.scale
    assert solution.distance <= case.radius * (1 + 1e-4) + 1e-6


@pytest.mark.parametrize("kind", ["0/1", "random"])
def test_converges_to_wasserstein(kind: str) -> None:
    case = random_case(5, states=6, actions=4)
    cost = None if kind == "0/1" else case.random_cost()
    limit = odrpo.solve(**case.arguments, metric=odrpo.Wasserstein(cost))
    excess = []
    for strength in [10.0, 100.0, 1e3, 1e4]:
        solution = odrpo.solve(**case.arguments, metric=odrpo.Sinkhorn(cost, strength))
        excess.append(solution.objective - limit.objective)
        # The ball holds Wasserstein's, and is at most 2 log(N) / strength wider.
        assert 0 <= excess[-1] <= limit.beta * 2 * np.log(4) / strength
    assert excess == sorted(excess, reverse=True)
    np.testing.assert_allclose(solution.policy, limit.policy, atol=0.01)


def test_policy_is_the_closed_form_at_beta() -> None:
    case = random_case(7)
    case.weights[0] = 0
    cost, strength = case.random_cost(), 30.0
    solution = odrpo.solve(**case.arguments, metric=odrpo.Sinkhorn(cost, strength))
    logits = strength * (case.advantages[:, None, :] / solution.beta - cost[None])
    shares = np.exp(logits - logits.max(axis=2, keepdims=True))
    shares /= shares.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(
        solution.policy, (case.policy[:, :, None] * shares).sum(axis=1), rtol=1e-10
    )
