"""The paper's searches: what they find, and where they fall short."""

import jax
import numpy as np
import pytest

import odrpo
from odrpo.trust_region import paper
from tests.trust_region.problems import Case, random_case


def random_problem(
    seed: int, radius: float = 0.01, states: int = 5, actions: int = 3
) -> tuple[Case, paper.Tables]:
    case = random_case(seed, states, actions, radius)
    return case, paper.Tables.of(case.advantages, case.policy, radius, case.weights)


@pytest.mark.parametrize("seed", range(5))
def test_printed_duals_and_gradient(seed: int) -> None:
    case, problem = random_problem(seed, radius=0.05)
    beta = 0.3 + seed
    step = 1e-6
    slope = (paper.kl_dual(problem, beta + step) - paper.kl_dual(problem, beta - step)) / (2 * step)
    assert paper.kl_dual_gradient(problem, beta) == pytest.approx(slope, rel=1e-6)
    with jax.enable_x64(True):
        exact = odrpo.Problem.create(**case.arguments)
        kl, wasserstein = (float(m.dual(exact, beta)) for m in (odrpo.KL(), odrpo.Wasserstein()))
    assert kl == pytest.approx(paper.kl_dual(problem, beta))
    assert wasserstein == pytest.approx(paper.wasserstein_dual(problem, beta))


@pytest.mark.parametrize("seed", range(5))
def test_basin_hopping_agrees_where_beta_is_about_one(seed: int) -> None:
    case, problem = random_problem(seed, radius=0.1)
    exact = odrpo.solve(**case.arguments)
    found = paper.basin_hopping(problem)
    assert found.beta == pytest.approx(exact.beta, rel=1e-3)
    assert exact.dual <= found.dual + 1e-12


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_basin_hopping_is_lost_when_the_radius_is_small(scale: float) -> None:
    case, _ = random_problem(0)
    advantages = case.advantages * scale
    exact = odrpo.solve(advantages, case.policy, 1e-6, weights=case.weights)
    found = paper.basin_hopping(paper.Tables.of(advantages, case.policy, 1e-6, case.weights))
    assert exact.gap <= 1e-8 * exact.gain
    assert found.dual - exact.dual > 0.1 * exact.gain


def test_one_application_of_the_proposition_is_not_the_optimum() -> None:
    case, problem = random_problem(0, states=20, radius=0.1)
    exact = odrpo.solve(**case.arguments, metric="wasserstein")
    largest = problem.gaps.max()
    assert paper.local_optimum(problem, 2 * largest) == largest > exact.beta
    assert paper.local_optimum(problem, 0.0) < exact.beta


def test_two_phase_search_falls_short_on_many_pieces() -> None:
    case, problem = random_problem(1, states=2000, radius=0.1)
    exact = odrpo.solve(**case.arguments, metric="wasserstein")
    found = paper.two_phase(problem)
    assert found.dual > exact.dual + 1e-9
    small_case, small = random_problem(1)
    assert paper.two_phase(small).beta == pytest.approx(
        odrpo.solve(**small_case.arguments, metric="wasserstein").beta
    )


def test_the_plan_without_a_split_moves_too_little_or_too_far() -> None:
    kept, broken = [], []
    for seed in range(100):
        case, problem = random_problem(seed)
        exact = odrpo.solve(**case.arguments, metric="wasserstein")
        weights = case.weights / case.weights.sum()
        beta = problem.gaps.ravel()[np.abs(problem.gaps - exact.beta).argmin()]
        stay = paper.transport_policy(problem, beta)
        move = paper.transport_policy(problem, beta, tie_moves=True)
        before = weights @ (case.policy * case.advantages).sum(axis=1)
        kept.append((weights @ (stay * case.advantages).sum(axis=1) - before) / exact.gain)
        broken.append(weights @ np.abs(move - case.policy).sum(axis=1) / 2 > case.radius)
    assert np.mean(kept) < 0.7
    assert all(broken)
