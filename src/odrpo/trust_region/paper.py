"""The paper's own searches for beta*, kept for comparison; `odrpo.solve` needs none of them.

Both duals are convex in their one variable, so that no global search is called for. What each
function here falls short of is said in its docstring and shown in tests/trust_region/test_paper.py.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize


class Search(NamedTuple):
    """Where a search ended."""

    beta: float
    dual: float


class Tables(NamedTuple):
    """A problem in NumPy's float64; the paper's searches know no mask and no cost but 0/1."""

    advantages: np.ndarray
    """(S, N)."""
    policy: np.ndarray
    """(S, N)."""
    radius: float
    weights: np.ndarray
    """(S,), sums to one."""

    @classmethod
    def of(
        cls, advantages: Any, policy: Any, radius: float, weights: Any | None = None
    ) -> "Tables":
        """From what `odrpo.solve` takes."""
        advantages = np.asarray(advantages, float)
        weights = np.ones(len(advantages)) if weights is None else np.asarray(weights, float)
        return cls(advantages, np.asarray(policy, float), float(radius), weights / weights.sum())

    @property
    def gaps(self) -> np.ndarray:
        """max_j A_j - A_i, (S, N)."""
        return self.advantages.max(axis=1, keepdims=True) - self.advantages


def kl_dual(problem: Tables, beta: float) -> float:
    """beta delta + E_rho beta log E_pi[exp(A/beta)] (paper: kl_trco_dual)."""
    _, highest, normaliser, _ = _tilted(problem, beta)
    return float(beta * (problem.radius + problem.weights @ (highest[:, 0] + np.log(normaliser))))


def kl_dual_gradient(problem: Tables, beta: float) -> float:
    """Its derivative as the paper prints it, with e = exp(A/beta).

    delta + E_rho{log E_pi[e] - E_pi[e A] / (beta E_pi[e])}
    """
    exponent, highest, normaliser, tilted = _tilted(problem, beta)
    mean = np.einsum("sn,sn->s", tilted, exponent) / normaliser
    return float(problem.radius + problem.weights @ (highest[:, 0] + np.log(normaliser) - mean))


def basin_hopping(
    problem: Tables, start: float = 0.5, hops: int = 20, seed: int | None = 0
) -> Search:
    """Minimise the KL dual by SciPy's basin hopping with BFGS and the paper's gradient.

    The defaults are those of the authors' published code. It spends some hundred evaluations where
    a convex function of one variable needs a handful, and it stops where the gradient is below an
    absolute tolerance, not at a certificate: the gradient is delta - E KL, so that for a small
    radius every beta looks optimal, and what it returns may be wrong by any factor.
    """

    def dual(beta: np.ndarray) -> float:
        return kl_dual(problem, beta[0]) if beta[0] > 0 else np.inf

    def gradient(beta: np.ndarray) -> np.ndarray:
        return np.array([kl_dual_gradient(problem, beta[0]) if beta[0] > 0 else 0.0])

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


def wasserstein_dual(problem: Tables, beta: float) -> float:
    """beta delta + E_rho sum_i pi_i max_j (A_j - beta 1[i != j]) (paper: wass_trco_dual)."""
    best = problem.advantages.max(axis=1, keepdims=True)
    value = np.maximum(problem.advantages, best - beta)
    return float(beta * problem.radius + problem.weights @ (problem.policy * value).sum(axis=1))


def local_optimum(problem: Tables, start: float) -> float:
    """One application of the paper's proposition (prop_optimal_beta_wass) from `start`.

    It is the better end of the linear piece of the dual that holds `start`, no more: the optimum
    only if that piece touches it. Started at or above the largest gap it returns that gap, at which
    nothing moves.
    """
    gaps = problem.gaps
    mass = problem.weights[:, None] * problem.policy
    moves = gaps > start
    if not moves.any():
        return float(gaps.max())
    if problem.radius < mass[moves].sum():
        return float(gaps[moves].min())
    return float(gaps[~moves].max())


def two_phase(problem: Tables, starts: int = 20, steps: int = 100, seed: int | None = 0) -> Search:
    """Minimise the 0/1 Wasserstein dual: random starts, led on by the proposition while they move.

    It falls short where the dual has many pieces. From below, the proposition climbs one breakpoint
    a step; from above it stops at the first breakpoint it meets, because a breakpoint counts as
    part of the piece above it. So the end is beta* only if `steps` are many or a start is lucky.
    """
    gaps = problem.gaps
    ends = []
    for beta in np.random.default_rng(seed).uniform(0, gaps.max(), starts):
        for _ in range(steps):
            previous, beta = beta, local_optimum(problem, beta)
            if beta == previous:
                break
        ends.append(Search(float(beta), wasserstein_dual(problem, beta)))
    return min(ends, key=lambda end: end.dual)


def transport_policy(problem: Tables, beta: float, tie_moves: bool = False) -> np.ndarray:
    """The paper's optimal policy (thm_optimal_policy_wass), all mass of i going to one j*, (S, N).

    At beta* there is always a tie unless beta* = 0. If tied mass stays, the policy is short of the
    optimum, often equal to the old one; if it moves, it leaves the trust region. The optimum
    splits it: see `odrpo.Wasserstein`.
    """
    best = problem.advantages.argmax(axis=1)
    gaps = problem.gaps
    moves = (gaps >= beta) if tie_moves else (gaps > beta)
    moved = np.where(moves, problem.policy, 0)
    policy = problem.policy - moved
    policy[np.arange(len(best)), best] += moved.sum(axis=1)
    return policy


def _tilted(problem: Tables, beta: float) -> tuple[np.ndarray, ...]:
    """A / beta, its largest entry a row, and pi exp(A / beta), less that, summed and not."""
    exponent = problem.advantages / beta
    highest = exponent.max(axis=1, keepdims=True)
    tilted = problem.policy * np.exp(exponent - highest)
    return exponent, highest, np.einsum("sn->s", tilted), tilted
