"""What every solution must satisfy, whatever the metric."""

import numpy as np

from odrpo import Solution
from tests.trust_region.problems import Case


def check_certificate(case: Case, solution: Solution, tolerance: float) -> None:
    """Feasible rows, a radius that is kept, a gap that is nothing, numbers that agree."""
    policy = solution.policy
    assert np.isfinite(policy).all()
    assert (policy >= 0).all()
    assert (policy[~case.mask] == 0).all()
    np.testing.assert_allclose(policy.sum(axis=1), 1, atol=4 * np.finfo(policy.dtype).eps)

    weights = case.weights / case.weights.sum()
    advantages = np.where(case.mask, case.advantages, 0)
    unit = case.scale
    objective = weights @ (policy * advantages).sum(axis=1)
    before = weights @ (case.policy * advantages).sum(axis=1)
    assert abs(solution.objective - objective) <= tolerance * unit
    assert abs(solution.gain - (objective - before)) <= tolerance * unit
    assert abs(solution.gap - (solution.dual - solution.objective)) <= tolerance * unit
    rounding = 100 * np.finfo(policy.dtype).eps * unit
    assert -rounding <= solution.gap <= tolerance * unit
    assert solution.beta >= 0
