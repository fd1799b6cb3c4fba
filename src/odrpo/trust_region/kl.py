"""The KL trust region: the policy is tilted by exp(A / beta)."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from odrpo.trust_region.problem import Array, Problem, Solution
from odrpo.trust_region.tilt import Optimum, Tilt, log_probability


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class KL:
    """Mean Kullback-Leibler divergence: E_rho KL(pi' || pi) <= delta."""

    def solve(self, problem: Problem) -> Solution:
        """pi'(a|s) = pi(a|s) exp(A(s,a)/beta*) / E_pi[exp(A/beta*)] (paper: continuous_KL_optimal).

        beta* = 0, where the ball holds the greedy policy, gives pi restricted to the best actions.
        """
        return self._certify(problem, self._tilt(problem).solve(problem.radius))

    def step(self, problem: Problem, beta: Array) -> Solution:
        """The policy of the same form at a given beta > 0, which may leave the ball."""
        return self._certify(problem, self._tilt(problem).step(beta, problem.radius))

    def distance(self, new: Array, old: Array, weights: Array) -> Array:
        """E_rho KL(new || old), a scalar."""
        terms = jax.scipy.special.rel_entr(new, old)
        return jnp.sum(jnp.where(weights > 0, weights * jnp.sum(terms, axis=1), 0))

    def dual(self, problem: Problem, beta: Array) -> Array:
        """beta delta + E_rho beta log E_pi[exp(A/beta)] (paper: kl_trco_dual), a scalar."""
        return problem.baseline + self._tilt(problem).dual_gain(beta, problem.radius)

    def _certify(self, problem: Problem, best: Optimum) -> Solution:
        return Solution.certify(
            problem, best.rows, best.temperature, best.divergence, best.gain, best.dual_gain
        )

    def _tilt(self, problem: Problem) -> Tilt:
        log_policy = log_probability(problem.policy)
        return Tilt.of(problem.advantages, problem.policy, log_policy, problem.weights)
