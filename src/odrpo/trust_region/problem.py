"""The records of a trust-region step: what is solved and what comes out."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp

# A jax.Array inside the solvers; a NumPy array where the public edge hands one back.
Array = Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Problem:
    """Maximise E_rho E_pi'[A] over every pi' with E_rho d(pi', pi) <= delta (paper: odrpo_problem).

    Build it with `Problem.create`, which brings the inputs to the form that the solvers rely on.
    """

    advantages: Array
    """A, (S, N); zero where an action is forbidden."""
    policy: Array
    """pi, (S, N); each row sums to one and is zero where an action is forbidden."""
    radius: Array
    """delta, a scalar >= 0."""
    weights: Array
    """rho, (S,); sums to one."""
    allowed: Array
    """(S, N), True where an action may get probability."""

    @classmethod
    def create(
        cls,
        advantages: Array,
        policy: Array,
        radius: Array,
        weights: Array | None = None,
        mask: Array | None = None,
    ) -> "Problem":
        """Normalise rows and weights and blank out forbidden actions; nothing is checked here."""
        advantages = jnp.asarray(advantages)
        if not jnp.issubdtype(advantages.dtype, jnp.floating):
            advantages = advantages.astype(float)
        dtype = advantages.dtype
        policy = jnp.asarray(policy, dtype)
        states = advantages.shape[0]
        weights = jnp.ones(states, dtype) if weights is None else jnp.asarray(weights, dtype)
        allowed = (
            jnp.ones(advantages.shape, bool) if mask is None else jnp.asarray(mask).astype(bool)
        )
        policy = jnp.where(allowed, policy, 0)
        # The solvers look for ties. Without the barrier XLA may compute a number twice, once with
        # a fused multiply-add, and the best action would differ from itself.
        advantages, policy = jax.lax.optimization_barrier(
            (
                jnp.where(allowed, advantages, 0),
                policy / jnp.sum(policy, axis=1, keepdims=True),
            )
        )
        return cls(
            advantages=advantages,
            policy=policy,
            radius=jnp.asarray(radius, dtype),
            weights=weights / jnp.sum(weights),
            allowed=allowed,
        )

    @property
    def baseline(self) -> Array:
        """E_rho E_pi[A], a scalar: the objective of not moving at all."""
        return jnp.vdot(self.weights, jnp.sum(self.policy * self.advantages, axis=1))


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Solution:
    """The optimal policy and its certificate: none in the ball is better by more than `gap`.

    Attributes:
        policy: pi'*, (S, N).
        beta: The minimiser of the dual: what one more unit of radius would buy of the objective.
        objective: E_rho E_pi'[A].
        distance: E_rho d(pi', pi); equal to the radius unless beta is zero.
        dual: The dual at beta, an upper bound on the objective of every policy in the ball.
        gap: dual - objective; NaN where the input was no valid problem and could not be checked.
        gain: objective - E_rho E_pi[A].
    """

    policy: Array
    beta: Array
    objective: Array
    distance: Array
    dual: Array
    gap: Array
    gain: Array

    @classmethod
    def certify(
        cls,
        problem: Problem,
        policy: Array,
        beta: Array,
        distance: Array,
        gain: Array,
        dual_gain: Array,
    ) -> "Solution":
        """Put primal and dual side by side; both come as gains, so that the gap loses no digits."""
        baseline = problem.baseline
        # Under jit no value can be refused, so that what is no problem must not look solved.
        valid = (problem.radius >= 0) & jnp.all(problem.weights >= 0) & jnp.isfinite(baseline)
        doubt = jnp.where(valid, 0, jnp.nan)
        return cls(
            policy=policy,
            beta=beta,
            objective=baseline + gain,
            distance=distance,
            dual=baseline + dual_gain,
            gap=dual_gain - gain + doubt,
            gain=gain + doubt,
        )


class Metric(Protocol):
    """A trust region: how far a policy is from another, and the exact step inside the ball."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def solve(self, problem: Problem) -> Solution:
        """The optimum, on arrays or tracers."""
        ...

    def step(self, problem: Problem, beta: Array) -> Solution:
        """The policy of the same form at a given beta > 0, which may leave the ball."""
        ...

    def dual(self, problem: Problem, beta: Array) -> Array:
        """The dual function at one beta > 0, a scalar."""
        ...

    def distance(self, new: Array, old: Array, weights: Array) -> Array:
        """E_rho d(new, old) for policies (S, N) and weights (S,) that sum to one, a scalar."""
        ...
