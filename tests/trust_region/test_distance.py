"""Distances of policies, and steps at a beta that is given."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import odrpo
from odrpo.trust_region import METRICS, Problem

RANDOM = np.random.default_rng(5)
OLD = RANDOM.dirichlet(np.ones(4), 6)
NEW = RANDOM.dirichlet(np.ones(4), 6)
OLD[0], NEW[1] = np.eye(4)[0], np.eye(4)[2]
WEIGHTS = RANDOM.random(6)
COST = np.abs(np.subtract.outer([0.0, 1, 3, 4], [0.0, 1, 3, 4]))


def transport_by_linear_programming(cost: np.ndarray) -> float:
    """The least cost of carrying each row of OLD to that of NEW, with HiGHS."""
    ones, eye = np.ones(4), np.eye(4)
    marginals = np.concatenate([np.kron(eye, ones), np.kron(ones, eye)])
    costs = [
        linprog(cost.ravel(), A_eq=marginals[:-1], b_eq=np.concatenate([p, q])[:-1]).fun
        for p, q in zip(OLD, NEW, strict=True)
    ]
    return float(WEIGHTS @ costs / WEIGHTS.sum())


def test_kl_is_infinite_where_nothing_was() -> None:
    assert odrpo.distance(NEW, OLD, "kl", WEIGHTS) == np.inf
    rows = slice(2, None)  # no zeros there
    terms = NEW[rows] * np.log(NEW[rows] / OLD[rows])
    expected = WEIGHTS[rows] @ terms.sum(axis=1) / WEIGHTS[rows].sum()
    assert odrpo.distance(NEW[rows], OLD[rows], "kl", WEIGHTS[rows]) == pytest.approx(expected)


@pytest.mark.parametrize(("cost", "tolerance"), [(None, 1e-9), (COST, 4e-3)])
def test_wasserstein_is_the_least_cost_of_transport(cost: Any, tolerance: float) -> None:
    exact = transport_by_linear_programming(1 - np.eye(4) if cost is None else cost)
    found = odrpo.distance(NEW, OLD, odrpo.Wasserstein(cost), WEIGHTS)
    assert exact - 1e-9 <= found <= exact + tolerance


@pytest.mark.parametrize("strength", [2.0, 20.0, 300.0])
@pytest.mark.parametrize("cost", [None, COST])
def test_an_exact_sinkhorn_step_is_as_far_as_it_says(cost: Any, strength: float) -> None:
    metric = odrpo.Sinkhorn(cost, strength)
    advantages = RANDOM.normal(size=OLD.shape)
    step = odrpo.solve(advantages, OLD, 0.3, metric, WEIGHTS)
    found = odrpo.distance(step.policy, OLD, metric, WEIGHTS)
    assert found == pytest.approx(step.distance, abs=4e-3)


@pytest.mark.parametrize("name", ["kl", "sinkhorn"])
def test_the_step_at_the_optimal_beta_is_the_exact_one(name: str) -> None:
    problem = Problem.create(RANDOM.normal(size=(6, 4)).astype(np.float32), OLD, 0.05)
    metric = METRICS[name]()
    exact = metric.solve(problem)
    step = metric.step(problem, exact.beta)
    np.testing.assert_allclose(step.policy, exact.policy, atol=1e-5)
    np.testing.assert_allclose(step.distance, exact.distance, rtol=1e-3)
    assert abs(step.gap) < 1e-4


def test_a_wasserstein_step_leaves_what_is_tied() -> None:
    problem = Problem.create(RANDOM.normal(size=(6, 4)).astype(np.float32), OLD, 0.05)
    metric = odrpo.Wasserstein()
    exact = metric.solve(problem)
    above, below = (metric.step(problem, exact.beta * factor) for factor in (1.001, 0.999))
    assert above.distance <= exact.distance <= below.distance
    assert above.gain <= exact.gain <= below.gain
    # Beside beta* the certificate is still one, if not of an optimum.
    assert above.gap >= -1e-6


@pytest.mark.parametrize(
    ("new", "old", "message"),
    [
        ([[0.5, 0.6]], [[0.5, 0.5]], r"new\[0\] = .* does not sum to one"),
        ([[0.5, 0.5]], [[0.5, 0.6]], r"old\[0\] = .* does not sum to one"),
        ([[0.5, 0.5, 0]], [[0.5, 0.5]], r"new: shape \(1, 3\), expected \(1, 2\), as old has it"),
        ([0.5, 0.5], [0.5, 0.5], r"old: shape \(2,\)"),
    ],
)
def test_what_is_no_policy_is_refused(new: Any, old: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        odrpo.distance(new, old)
