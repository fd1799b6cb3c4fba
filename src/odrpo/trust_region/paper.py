"""The paper's own searches for beta*, kept for comparison; `odrpo.solve` needs none of them.

Both duals are convex in their one variable, so that no global search is called for. What each
function here falls short of is said in its docstring and shown in tests/trust_region/test_paper.py.
"""

from typing import NamedTuple

import numpy as np
from scipy import optimize

from odrpo.trust_region.problem import Problem


class Search(NamedTuple):
    """Where a search ended."""

    beta: float
    dual: float


class _Arrays(NamedTuple):
    advantages: np.ndarray
    policy: np.ndarray
    weights: np.ndarray
    radius: float

    @classmethod
    def of(cls, problem: Problem) -> "_Arrays":
        if not np.all(problem.allowed):
            raise ValueError("problem: the paper's searches know no mask; use odrpo.solve")
        advantages, policy, weights = map(
            np.asarray, (problem.advantages, problem.policy, problem.weights)
        )
        return cls(advantages, policy, weights, float(problem.radius))


def kl_dual(problem: Problem, beta: float) -> float:
    """beta delta + E_rho beta log E_pi[exp(A/beta)] (paper: kl_trco_dual)."""
    return _kl_dual(_Arrays.of(problem), beta)


def kl_dual_gradient(problem: Problem, beta: float) -> float:
    """Its derivative as the paper prints it, with e = exp(A/beta).

    delta + E_rho{log E_pi[e] - E_pi[e A] / (beta E_pi[e])}
    """
    return _kl_dual_gradient(_Arrays.of(problem), beta)


def basin_hopping(
    problem: Problem, start: float = 0.5, hops: int = 20, seed: int | None = 0
) -> Search:
    """Minimise the KL dual by SciPy's basin hopping with BFGS and the paper's gradient.

    The defaults are those of the authors' published code. It spends some hundred evaluations where
    a convex function of one variable needs a handful, and it stops where the gradient is below an
    absolute tolerance, not at a certificate: the gradient is delta - E KL, so that for a small
    radius every beta looks optimal, and what it returns may be wrong by any factor.
    """
    arrays = _Arrays.of(problem)

    def dual(beta: np.ndarray) -> float:
        return _kl_dual(arrays, beta[0]) if beta[0] > 0 else np.inf

    def gradient(beta: np.ndarray) -> np.ndarray:
        return np.array([_kl_dual_gradient(arrays, beta[0]) if beta[0] > 0 else 0.0])

    # Line searches step to beta <= 0, where the dual is infinite.
    with np.errstate(all="ignore"):
        found = optimize.basinhopping(
            dual,
            [start],
            niter=hops,
            rng=seed,
            minimizer_kwargs={"method": "BFGS", "jac": gradient},
        )
    return Search(float(found.x[0]), float(found.fun))


def wasserstein_dual(problem: Problem, beta: float) -> float:
    """beta delta + E_rho sum_i pi_i max_j (A_j - beta 1[i != j]) (paper: wass_trco_dual)."""
    arrays = _Arrays.of(problem)
    best = arrays.advantages.max(axis=1, keepdims=True)
    value = np.maximum(arrays.advantages, best - beta)
    return float(beta * arrays.radius + arrays.weights @ (arrays.policy * value).sum(axis=1))


def local_optimum(problem: Problem, start: float) -> float:
    """One application of the paper's proposition (prop_optimal_beta_wass) from `start`.

    It is the better end of the linear piece of the dual that holds `start`, no more: the optimum
    only if that piece touches it. Started at or above the largest gap it returns that gap, at which
    nothing moves.
    """
    arrays = _Arrays.of(problem)
    gaps = arrays.advantages.max(axis=1, keepdims=True) - arrays.advantages
    mass = arrays.weights[:, None] * arrays.policy
    moves = gaps > start
    if not moves.any():
        return float(gaps.max())
    if arrays.radius < mass[moves].sum():
        return float(gaps[moves].min())
    return float(gaps[~moves].max())


def two_phase(problem: Problem, starts: int = 20, steps: int = 100, seed: int | None = 0) -> Search:
    """Minimise the 0/1 Wasserstein dual: random starts, led on by the proposition while they move.

    It falls short where the dual has many pieces. From below, the proposition climbs one breakpoint
    a step; from above it stops at the first breakpoint it meets, because a breakpoint counts as
    part of the piece above it. So the end is beta* only if `steps` are many or a start is lucky.
    """
    arrays = _Arrays.of(problem)
    gaps = arrays.advantages.max(axis=1, keepdims=True) - arrays.advantages
    ends = []
    for beta in np.random.default_rng(seed).uniform(0, gaps.max(), starts):
        for _ in range(steps):
            previous, beta = beta, local_optimum(problem, beta)
            if beta == previous:
                break
        ends.append(Search(float(beta), wasserstein_dual(problem, beta)))
    return min(ends, key=lambda end: end.dual)


def transport_policy(problem: Problem, beta: float, tie_moves: bool = False) -> np.ndarray:
    """The paper's optimal policy (thm_optimal_policy_wass), all mass of i going to one j*, (S, N).

    At beta* there is always a tie unless beta* = 0. If tied mass stays, the policy is short of the
    optimum, often equal to the old one; if it moves, it leaves the trust region. The optimum
    splits it: see `odrpo.Wasserstein`.
    """
    arrays = _Arrays.of(problem)
    best = arrays.advantages.argmax(axis=1)
    gaps = arrays.advantages.max(axis=1, keepdims=True) - arrays.advantages
    moves = (gaps >= beta) if tie_moves else (gaps > beta)
    moved = np.where(moves, arrays.policy, 0)
    policy = arrays.policy - moved
    policy[np.arange(len(best)), best] += moved.sum(axis=1)
    return policy


def _kl_dual(arrays: _Arrays, beta: float) -> float:
    _, highest, normaliser, _ = _tilted(arrays, beta)
    return float(beta * (arrays.radius + arrays.weights @ (highest[:, 0] + np.log(normaliser))))


def _kl_dual_gradient(arrays: _Arrays, beta: float) -> float:
    exponent, highest, normaliser, tilted = _tilted(arrays, beta)
    mean = np.einsum("sn,sn->s", tilted, exponent) / normaliser
    return float(arrays.radius + arrays.weights @ (highest[:, 0] + np.log(normaliser) - mean))


def _tilted(arrays: _Arrays, beta: float) -> tuple[np.ndarray, ...]:
    """A / beta, its largest entry a row, and pi exp(A / beta), less that, summed and not."""
    exponent = arrays.advantages / beta
    highest = exponent.max(axis=1, keepdims=True)
    tilted = arrays.policy * np.exp(exponent - highest)
    return exponent, highest, np.einsum("sn->s", tilted), tilted
