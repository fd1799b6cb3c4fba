"""The Wasserstein trust region: probability is carried from worse actions to better ones."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp

from odrpo.trust_region.problem import Array, Problem, Solution
from odrpo.trust_region.transport import transport_plan

MAX_ITERATIONS = 256


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Wasserstein:
    """Mean Wasserstein distance: E_rho W(pi', pi) <= delta for a cost d between actions."""

    cost: Array | None = None
    """(N, N) or (S, N, N), cost[..., i, j] of moving from i to j; None is the 0/1 distance."""

    def solve(self, problem: Problem) -> Solution:
        """pi'(j|s) = sum_i pi(i|s) Q_ij (paper: discrete_wass_optimal), with ties at beta* split.

        At beta* two plans are optimal, one short of the radius and one beyond it. The paper takes
        one of them; the mixture that uses the radius up is the optimum of the linear program.
        """
        transport = self._transport(problem)
        near_price, far_price = find_chord(*jax.lax.stop_gradient((transport, problem.radius)))
        near, far = transport.plan(near_price), transport.plan(far_price)

        mass = transport.mass
        near_distance, near_gain = near.totals(mass)
        extra_distance = jnp.sum(mass * (far.distance - near.distance))
        extra_gain = jnp.sum(mass * (far.gain - near.gain))
        split = extra_distance > 0
        per_extra = 1 / jnp.where(split, extra_distance, 1)
        share = jnp.where(split, jnp.clip((problem.radius - near_distance) * per_extra, 0, 1), 0)
        beta = jnp.where(split, extra_gain * per_extra, near_price)

        # A state of weight zero has no say in the chord: its plan is that of beta* itself.
        counted = (problem.weights > 0)[:, None]
        near_price = jnp.where(counted, near_price, beta)
        far_price = jnp.where(counted, far_price, beta)
        return Solution.certify(
            problem,
            policy=transport.carry(problem.policy, near_price, far_price, share),
            beta=beta,
            distance=near_distance + share * extra_distance,
            gain=near_gain + share * extra_gain,
            dual_gain=dual_gain(transport, beta, problem.radius),
        )

    def step(self, problem: Problem, beta: Array) -> Solution:
        """The plan of a given beta > 0, where what is tied stays; it may leave the ball."""
        transport = self._transport(problem)
        distance, gain = transport.plan(beta).totals(transport.mass)
        return Solution.certify(
            problem,
            policy=transport.carry(problem.policy, beta, beta, jnp.zeros_like(beta)),
            beta=beta,
            distance=distance,
            gain=gain,
            dual_gain=dual_gain(transport, beta, problem.radius),
        )

    def dual(self, problem: Problem, beta: Array) -> Array:
        """beta delta + E_rho sum_i pi_i max_j(A_j - beta d_ij) (paper: wass_trco_dual)."""
        return problem.baseline + dual_gain(self._transport(problem), beta, problem.radius)

    def distance(self, new: Array, old: Array, weights: Array) -> Array:
        """E_rho W(new, old), a scalar: half of the absolute change for the 0/1 distance.

        With a cost it is that of a plan within a thousandth of the largest cost from the best one.
        """
        if self.cost is None:
            return weights @ jnp.sum(jnp.abs(new - old), axis=1) / 2
        cost = jnp.broadcast_to(jnp.asarray(self.cost, new.dtype), (*new.shape, new.shape[1]))
        strength = 1e4 / jnp.maximum(jnp.max(cost), jnp.finfo(new.dtype).tiny)
        plan = transport_plan(cost, old, new, strength)
        return weights @ jnp.sum(plan * cost, axis=(1, 2))

    def _transport(self, problem: Problem) -> "Transport":
        if self.cost is None:
            return UnitTransport.of(problem)
        return CostTransport.of(problem, self.cost)


class Plan(NamedTuple):
    """What every action of every state gains by its best targets, and how far they are, (S, N)."""

    gain: Array
    """A(s, target) - A(s, i)."""
    distance: Array
    """d(i, target)."""

    def totals(self, mass: Array) -> tuple[Array, Array]:
        """Distance and gain of the whole plan, two scalars."""
        return jnp.sum(mass * self.distance), jnp.sum(mass * self.gain)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class UnitTransport:
    """With the 0/1 distance an action either stays or goes to the best one."""

    mass: Array
    """rho pi, (S, N)."""
    gap: Array
    """A(s, best) - A(s, i), (S, N)."""
    allowed: Array
    """(S, N), True where an action may get mass."""

    @classmethod
    def of(cls, problem: Problem) -> "UnitTransport":
        """Measure every action against the best one of its state."""
        advantages = jnp.where(problem.allowed, problem.advantages, -jnp.inf)
        gap = jnp.max(advantages, axis=1, keepdims=True) - problem.advantages
        return cls(problem.weights[:, None] * problem.policy, gap, problem.allowed)

    def plan(self, beta: Array) -> Plan:
        """What each action does at a price, a scalar or (S, 1); on a tie it stays."""
        moves = self.gap > beta
        return Plan(jnp.where(moves, self.gap, 0), jnp.where(moves, jnp.ones_like(self.gap), 0))

    def carry(self, policy: Array, near: Array, far: Array, share: Array) -> Array:
        """The policy after the plan at price `near` mixed with a share of that at `far`, (S, N).

        What arrives is shared alike by the best actions of the state.
        """
        leaving = jnp.where(self.gap > near, 1, jnp.where(self.gap > far, share, 0))
        arriving = jnp.sum(leaving * policy, axis=1, keepdims=True)
        best = (self.gap == 0) & self.allowed
        arriving = arriving / jnp.sum(best, axis=1, keepdims=True).astype(policy.dtype)
        return jnp.where(best, policy + arriving, (1 - leaving) * policy)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class CostTransport:
    """With any cost the target of i maximises A_j - beta d_ij."""

    mass: Array
    """rho pi, (S, N)."""
    advantages: Array
    """(S, N), -inf where forbidden."""
    cost: Array
    """(S, N, N), cost[s, j, i] of moving to j from i."""
    tolerance: Array
    """(S, 1): scores this close are a tie; their rounding is about as large."""

    @classmethod
    def of(cls, problem: Problem, cost: Array) -> "CostTransport":
        """Close the forbidden actions."""
        states, actions = problem.advantages.shape
        largest = jnp.max(jnp.abs(problem.advantages), axis=1, keepdims=True)
        unsound = 0 * jnp.max(cost)  # NaN where a cost is: `least` would lose sight of it
        return cls(
            problem.weights[:, None] * problem.policy,
            jnp.where(problem.allowed, problem.advantages, -jnp.inf),
            jnp.broadcast_to(jnp.swapaxes(cost, -1, -2), (states, actions, actions)),
            8 * float(jnp.finfo(largest.dtype).eps) * jax.lax.stop_gradient(largest + unsound),
        )

    def plan(self, beta: Array) -> Plan:
        """What each action does at a price, a scalar or (S, 1); of several targets the nearest."""
        highest, candidates = self._candidates(beta)
        distance = least(candidates)
        price = jnp.where(jnp.isfinite(beta), beta, 0)
        gain = highest - self.advantages + price * distance
        occupied = self.mass > 0  # a forbidden action may have nowhere to go
        return Plan(jnp.where(occupied, gain, 0), jnp.where(occupied, distance, 0))

    def carry(self, policy: Array, near: Array, far: Array, share: Array) -> Array:
        """The policy after the plan at price `near` mixed with a share of that at `far`, (S, N).

        What leaves an action is shared alike by its targets where several are as good and as near.
        """

        def arriving(beta: Array, leaving: Array) -> Array:
            _, candidates = self._candidates(beta)
            targets = candidates == least(candidates)[:, None]
            # A forbidden action, which has nothing to leave, may seem to have none by rounding.
            count = jnp.maximum(jnp.sum(targets.astype(policy.dtype), axis=1), 1)
            return jnp.sum(jnp.where(targets, (leaving / count)[:, None], 0), axis=2)

        return arriving(near, (1 - share) * policy) + arriving(far, share * policy)

    def _candidates(self, beta: Array) -> tuple[Array, Array]:
        """max_j (A_j - beta d_ij), (S, N), and d_ij where j attains it, else inf, (S, N, N)."""
        beta = jnp.broadcast_to(beta, (self.mass.shape[0], 1))[:, :, None]
        finite = jnp.isfinite(beta)
        score = self.advantages[:, :, None] - jnp.where(finite, beta, 0) * self.cost
        # At an infinite price only what is free can move.
        score = jnp.where(finite | (self.cost == 0), score, -jnp.inf)
        highest = -least(-score)
        tied = score >= (highest - self.tolerance)[:, None]
        return highest, jnp.where(tied, self.cost, jnp.inf)


def least(values: Array) -> Array:
    """The least of the targets of each action, (S, N, N) to (S, N).

    As `jnp.min`, but that looks out for NaN, which on a CPU keeps it from taking several at once.
    """
    infinite = jnp.asarray(jnp.inf, values.dtype)
    return jax.lax.reduce(values, infinite, lambda x, y: jnp.where(x <= y, x, y), (1,))


Transport = UnitTransport | CostTransport


def dual_gain(transport: Transport, beta: Array, radius: Array) -> Array:
    """beta delta + sum_si mass max_j(gain - beta d): at any beta no less than the best gain."""
    distance, gain = transport.plan(beta).totals(transport.mass)
    priced_radius = jnp.where(beta > 0, beta * jnp.where(beta > 0, radius, 0), 0)
    return priced_radius + gain - beta * distance


class Point(NamedTuple):
    """A plan as a point in the plane of distance and gain, with the price it is optimal for."""

    beta: Array
    distance: Array
    gain: Array


def find_chord(transport: Transport, radius: Array) -> tuple[Array, Array]:
    """The prices of two plans, one within the radius and one beyond it, both optimal at beta*.

    Both are zero where the greedy plan is within the radius.
    """
    info = jnp.finfo(transport.mass.dtype)
    infinite, zero = jnp.asarray(jnp.inf, info.dtype), jnp.asarray(0, info.dtype)
    near, far = shrink_chord(transport, radius, infinite, zero)

    def look_closer() -> tuple[Array, Array]:
        near_distance = transport.plan(near.beta).distance
        settled = near_distance == transport.plan(far.beta).distance
        spent = jnp.sum(jnp.where(settled, transport.mass * near_distance, 0))
        rest = replace(transport, mass=jnp.where(settled, 0, transport.mass))
        ends = shrink_chord(rest, radius - spent, near.beta, far.beta)
        return ends[0].beta, ends[1].beta

    # Small masses drown in sums over all pairs; then once more, over those still in question alone.
    drowned = far.distance - near.distance < float(info.eps) ** 0.5 * far.distance
    return jax.lax.cond(drowned, look_closer, lambda: (near.beta, far.beta))


def shrink_chord(
    transport: Transport, radius: Array, near_price: Array, far_price: Array
) -> tuple[Point, Point]:
    """Shrink a chord between two plans until it is a face of the hull of all plans.

    Plans are points (distance, gain); the optimum lies where their upper concave hull meets the
    radius. The slope of the chord between a plan within the radius and one beyond it is a price;
    the best plan at that price lies above the chord and replaces an end, or the chord is a face.
    Every plan is a vertex, so that this ends after finitely many steps: typically log2 of the
    number of pairs, each one pass over the data.
    """

    def best_at(beta: Array) -> Point:
        return Point(beta, *transport.plan(beta).totals(transport.mass))

    def shrink(state: tuple) -> tuple:
        count, near, far, _ = state
        middle = best_at((far.gain - near.gain) / (far.distance - near.distance))
        between = (near.distance < middle.distance) & (middle.distance < far.distance)
        within = middle.distance <= radius
        near = choose(between & within, middle, near)
        far = choose(between & ~within, middle, far)
        return count + 1, near, far, ~between

    def unfinished(state: tuple) -> Array:
        count, *_, finished = state
        return ~finished & (count < MAX_ITERATIONS)

    near, far = best_at(near_price), best_at(far_price)
    unbound = far.distance <= radius
    near = choose(unbound, far, near)
    _, near, far, _ = jax.lax.while_loop(unfinished, shrink, (0, near, far, unbound))
    return near, far


def choose(condition: Array, this: Point, other: Point) -> Point:
    """`this` where the condition holds, else `other`."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), this, other)
