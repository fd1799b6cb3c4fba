"""The Sinkhorn trust region: Wasserstein with an entropy that makes the transport smooth."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from odrpo.trust_region.problem import Array, Problem, Solution
from odrpo.trust_region.tilt import Optimum, Tilt, log_probability
from odrpo.trust_region.transport import transport_plan


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Sinkhorn:
    """Mean Sinkhorn divergence: E_rho min_Q [<Q, d> - H(Q) / lambda] <= delta.

    Q runs over the joint distributions with marginals pi and pi', H is Shannon's entropy (Song et
    al. 2023). The ball holds the Wasserstein ball of the same radius and shrinks to it as lambda
    grows: the two distances differ by at most 2 log(N) / lambda.
    """

    cost: Array | None = None
    """(N, N) or (S, N, N), cost[..., i, j] of moving from i to j; None is the 0/1 distance."""
    strength: Array = 300.0
    """lambda > 0."""

    def solve(self, problem: Problem) -> Solution:
        """pi'(j|s) = sum_i pi(i|s) softmax_j[(lambda/beta*) A(s,j) - lambda d_ij].

        This is a KL step taken from each action i apart: its prior is softmax_j(-lambda d_ij), its
        temperature beta / lambda, and the radius is lambda times what the entropy leaves of delta.
        """
        tilt, least, shift = self._tilt(problem)
        best = tilt.solve(self.strength * (problem.radius - least))
        return self._certify(problem, best, least, shift)

    def step(self, problem: Problem, beta: Array) -> Solution:
        """The policy of the same form at a given beta > 0, which may leave the ball."""
        tilt, least, shift = self._tilt(problem)
        radius = self.strength * (problem.radius - least)
        return self._certify(problem, tilt.step(beta / self.strength, radius), least, shift)

    def _certify(self, problem: Problem, best: Optimum, least: Array, shift: Array) -> Solution:
        return Solution.certify(
            problem,
            policy=jnp.sum(problem.policy[:, :, None] * best.rows, axis=1),
            beta=self.strength * best.temperature,
            distance=least + best.divergence / self.strength,
            gain=best.gain + shift,
            dual_gain=best.dual_gain + shift,
        )

    def distance(self, new: Array, old: Array, weights: Array) -> Array:
        """E_rho min_Q [<Q, d> - H(Q) / lambda], a scalar, from Sinkhorn's iteration."""
        cost = self._cost(new)
        plan = transport_plan(cost, old, new, jnp.asarray(self.strength, new.dtype))
        entropic = plan * cost + jax.scipy.special.xlogy(plan, plan) / self.strength
        return weights @ jnp.sum(entropic, axis=(1, 2))

    def dual(self, problem: Problem, beta: Array) -> Array:
        """beta (delta + E_rho[H(pi)]/lambda) + (beta/lambda) E_rho sum_i pi_i log_i.

        Here log_i = log sum_j exp(lambda (A_j/beta - d_ij)); a scalar.
        """
        tilt, least, shift = self._tilt(problem)
        radius = self.strength * (problem.radius - least)
        return problem.baseline + shift + tilt.dual_gain(beta / self.strength, radius)

    def _cost(self, policy: Array) -> Array:
        """d for every state, (S, N, N)."""
        actions = policy.shape[1]
        cost = 1 - jnp.eye(actions, dtype=policy.dtype) if self.cost is None else self.cost
        return jnp.broadcast_to(cost, (*policy.shape, actions))

    def _tilt(self, problem: Problem) -> tuple[Tilt, Array, Array]:
        """The KL problem behind it, the least divergence there is, and the gain at that point."""
        cost = self._cost(problem.policy)
        kernel = jnp.where(problem.allowed[:, None, :], -self.strength * cost, -jnp.inf)
        log_total = jax.nn.logsumexp(kernel, axis=2, keepdims=True)
        mass = problem.weights[:, None] * problem.policy
        advantages = jnp.broadcast_to(problem.advantages[:, None, :], cost.shape)
        log_prior = kernel - log_total
        prior = jnp.exp(log_prior)
        tilt = Tilt.of(advantages, prior, log_prior, mass)

        log_policy = jnp.where(mass > 0, log_probability(problem.policy), 0)
        entropy = -jnp.sum(mass * log_policy)
        least = -(entropy + jnp.sum(mass * log_total[:, :, 0])) / self.strength
        blurred = jnp.sum(prior * advantages, axis=2)
        return tilt, least, jnp.sum(mass * (blurred - problem.advantages))
