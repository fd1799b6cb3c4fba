"""Other ways to solve the same problems: linear programming, high precision, a conic solver."""

import cvxpy as cp
import mpmath
import numpy as np
from scipy import optimize, sparse

from tests.trust_region.problems import Case


def wasserstein_objective(case: Case, cost: np.ndarray) -> float:
    """The optimum of the transport linear program by HiGHS, over the cells that can hold mass."""
    states, actions = case.policy.shape
    cost = np.broadcast_to(cost, (states, actions, actions))
    weights = case.weights / case.weights.sum()
    state, source, target = np.nonzero(
        (case.policy > 0)[:, :, None] & case.mask[:, None, :] & (weights > 0)[:, None, None]
    )
    mass = (weights[:, None] * case.policy)[state, source]
    row = state * actions + source
    rows, row = np.unique(row, return_inverse=True)
    unit = case.scale or 1.0
    found = optimize.linprog(
        -mass * case.advantages[state, target] / unit,
        A_ub=(mass * cost[state, source, target] / case.radius)[None, :],
        b_ub=[1.0],
        A_eq=sparse.coo_matrix((np.ones(row.size), (row, np.arange(row.size)))).tocsc(),
        b_eq=np.ones(rows.size),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0, found.message
    return -found.fun * unit


def kl_objective(case: Case) -> float:
    """The optimum of the KL problem by bisection in 60 digits."""
    with mpmath.workdps(60):
        rows = _mp_rows(case)
        radius = mpmath.mpf(case.radius)

        def tilted(eta: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
            objective = divergence = mpmath.mpf(0)
            for weight, pairs in rows:
                best = max(a for a, _ in pairs)
                masses = [p * mpmath.exp(eta * (a - best)) for a, p in pairs]
                total = mpmath.fsum(masses)
                mean = (
                    mpmath.fsum(m * (a - best) for m, (a, _) in zip(masses, pairs, strict=True))
                    / total
                )
                objective += weight * (best + mean)
                divergence += weight * (eta * mean - mpmath.log(total))
            return objective, divergence

        unit = mpmath.mpf(case.scale or 1.0)
        lower, upper = mpmath.mpf("1e-9") / unit, mpmath.mpf("1e40") / unit
        if tilted(upper)[1] <= radius:
            return float(tilted(upper)[0])
        for _ in range(220):
            middle = mpmath.sqrt(lower * upper)
            if tilted(middle)[1] < radius:
                lower = middle
            else:
                upper = middle
        return float(tilted(lower)[0])


def kl_distance(case: Case, policy: np.ndarray) -> float:
    """E_rho KL(policy || pi) of a policy in float64, summed in 60 digits."""
    with mpmath.workdps(60):
        weights = [mpmath.mpf(w) for w in case.weights]
        total = mpmath.mpf(0)
        for weight, new, old in zip(weights, policy, case.policy, strict=True):
            new_sum, old_sum = (mpmath.fsum(mpmath.mpf(x) for x in row) for row in (new, old))
            for q, p in zip(new, old, strict=True):
                if q > 0:
                    share = mpmath.mpf(q) / new_sum
                    total += weight * share * mpmath.log(share / (mpmath.mpf(p) / old_sum))
        return float(total / mpmath.fsum(weights))


def sinkhorn_objective(case: Case, cost: np.ndarray, strength: float) -> float:
    """The least value of the printed Sinkhorn dual, by golden sections in 40 digits."""
    with mpmath.workdps(40):
        rows = _mp_rows(case, keep_zeros=True)
        cost = np.broadcast_to(cost, (*case.policy.shape, case.policy.shape[1]))
        strength = mpmath.mpf(strength)

        def dual(beta: mpmath.mpf) -> mpmath.mpf:
            value = beta * mpmath.mpf(case.radius)
            for state, (weight, pairs) in zip(_counted(case), rows, strict=True):
                for source, (_, p) in enumerate(pairs):
                    if p == 0:
                        continue
                    exponents = [
                        strength * (a / beta - mpmath.mpf(cost[state, source, target]))
                        for target, (a, _) in enumerate(pairs)
                        if case.mask[state, target]
                    ]
                    top = max(exponents)
                    log_sum = top + mpmath.log(mpmath.fsum(mpmath.exp(x - top) for x in exponents))
                    value += weight * p * beta / strength * (log_sum - mpmath.log(p))
            return value

        unit = mpmath.mpf(case.scale or 1.0)
        lower, upper = mpmath.log(unit) - 60, mpmath.log(unit) + 60
        golden = (mpmath.sqrt(5) - 1) / 2
        left, right = upper - golden * (upper - lower), lower + golden * (upper - lower)
        at_left, at_right = dual(mpmath.exp(left)), dual(mpmath.exp(right))
        for _ in range(75):
            if at_left < at_right:
                upper, right, at_right = right, left, at_left
                left = upper - golden * (upper - lower)
                at_left = dual(mpmath.exp(left))
            else:
                lower, left, at_left = left, right, at_right
                right = lower + golden * (upper - lower)
                at_right = dual(mpmath.exp(right))
        return float(min(at_left, at_right))


def sinkhorn_primal(case: Case, cost: np.ndarray, strength: float) -> float:
    """The primal Sinkhorn problem over joint plans, as a cone program by Clarabel."""
    states, actions = case.policy.shape
    cost = np.broadcast_to(cost, (states, actions, actions))
    weights = case.weights / case.weights.sum()
    plans = [cp.Variable((actions, actions), nonneg=True) for _ in range(states)]
    gain = sum(weights[s] * cp.sum(plans[s] @ case.advantages[s]) for s in range(states))
    distance = sum(
        weights[s] * (cp.sum(cp.multiply(cost[s], plans[s])) - cp.sum(cp.entr(plans[s])) / strength)
        for s in range(states)
    )
    constraints = [cp.sum(plans[s], axis=1) == case.policy[s] for s in range(states)]
    problem = cp.Problem(cp.Maximize(gain), [distance <= case.radius, *constraints])
    return float(problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_feas=1e-10))


def _counted(case: Case) -> np.ndarray:
    return np.nonzero(case.weights > 0)[0]


def _mp_rows(case: Case, keep_zeros: bool = False) -> list:
    """Weight and (advantage, probability) pairs of every state that counts."""
    total = mpmath.fsum(mpmath.mpf(w) for w in case.weights)
    rows = []
    for state in _counted(case):
        probabilities = [mpmath.mpf(p) for p in case.policy[state]]
        row_sum = mpmath.fsum(probabilities)
        pairs = [
            (mpmath.mpf(a), p / row_sum)
            for a, p in zip(case.advantages[state], probabilities, strict=True)
            if keep_zeros or p > 0
        ]
        rows.append((mpmath.mpf(case.weights[state]) / total, pairs))
    return rows
