"""Exponential tilting, the common core of the KL and the Sinkhorn step.

Rows q_eta ~ p exp(eta A) with eta = 1 / beta. Their mean KL from p grows with eta,
d KL / d eta = eta E Var_q(A), so that the eta of a given radius is the root of a monotone function.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.trust_region.problem import Array

MAX_ITERATIONS = 128
# Below this, exp(x) - 1 - x is summed as a series, lest its digits cancel.
SMALL_EXPONENT = 0.25


class Moments(NamedTuple):
    """Of q_eta in each row, (...), for values c centred under p."""

    log_normaliser: Array
    """log E_p[exp(eta c)]."""
    gain: Array
    """eta E_q[c]."""
    variance: Array
    """eta^2 Var_q[c]."""
    divergence: Array
    """KL(q || p)."""


class Optimum(NamedTuple):
    """The tilt that uses up a radius, and both sides of its certificate."""

    rows: Array
    """q, (..., N)."""
    temperature: Array
    """1 / eta, a scalar; zero in the greedy limit, infinite for a radius of zero."""
    divergence: Array
    """E KL(q || p), a scalar."""
    gain: Array
    """E E_q[A] - E E_p[A], a scalar."""
    dual_gain: Array
    """The dual at the temperature, less E E_p[A], a scalar."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Tilt:
    """The family q_eta of rows (..., N), each with its prior p and its weight."""

    values: Array
    """A centred under p, in units of `scale`, (..., N); zero off the support."""
    scale: Array
    """A scalar that brings the values into [-1, 1]."""
    prior: Array
    """p, (..., N)."""
    log_prior: Array
    """log p, (..., N); -inf off the support. It stays finite where Sinkhorn's p underflows."""
    weights: Array
    """(...); sums to one."""
    highest: Array
    """The largest value on the support of each row, (...)."""
    below_best: Array
    """Values counted from the highest of the row, (..., N); zero off the support."""

    @classmethod
    def of(cls, advantages: Array, prior: Array, log_prior: Array, weights: Array) -> "Tilt":
        """Centre the advantages: the tilt is blind to a shift, and centred sums don't cancel."""
        support = log_prior > -jnp.inf
        best = jnp.max(jnp.where(support, advantages, -jnp.inf), axis=-1, keepdims=True)
        below_best = jnp.where(support, advantages - best, 0)
        mean = jnp.sum(prior * below_best, axis=-1, keepdims=True)
        values = jnp.where(support, below_best - mean, 0)
        counted = jnp.where((weights > 0)[..., None], jnp.abs(values), 0)
        scale = jax.lax.stop_gradient(jnp.max(counted))
        scale = jnp.where(scale > 0, scale, 1)
        return cls(
            values / scale,
            scale,
            prior,
            log_prior,
            weights,
            -mean[..., 0] / scale,
            below_best / scale,
        )

    @property
    def support(self) -> Array:
        """(..., N), True where p > 0."""
        return self.log_prior > -jnp.inf

    def mean(self, rows: Array) -> Array:
        """The weighted mean over the rows, a scalar; a row of weight zero may overflow."""
        return jnp.sum(jnp.where(self.weights > 0, self.weights * rows, 0))

    def moments(self, eta: Array, precise: Array | bool = True) -> Moments:
        """The moments at one eta (in units of 1 / scale).

        Log-sum-exp is good to rounding in absolute terms. Where `precise`, rows whose exponents
        are in range use a form that is good to rounding in relative terms, however small eta is.
        """

        def row_by_row(eta: Array) -> Moments:
            in_range = eta * self.highest <= largest_exponent(self.values.dtype)
            near, far = self._near_moments(eta), self._far_moments(eta)
            return Moments(*(jnp.where(in_range, *pair) for pair in zip(near, far, strict=True)))

        return jax.lax.cond(precise, row_by_row, self._far_moments, eta)

    def _near_moments(self, eta: Array) -> Moments:
        """Z = 1 + E_p[exp(x) - 1 - x], x = eta c: terms >= 0, which keep their digits as x -> 0."""
        limit = largest_exponent(self.values.dtype)
        x = jnp.clip(eta * self.values, -largest_eta(self.values.dtype), limit)
        e = jnp.exp(x)
        expm1, second_order = exponential_remainders(x, e)
        excess = jnp.sum(self.prior * second_order, axis=-1)
        first = jnp.sum(self.prior * expm1 * x, axis=-1) / (1 + excess)
        second = jnp.sum(self.prior * e * x * x, axis=-1) / (1 + excess)
        log_normaliser = jnp.log1p(excess)
        return Moments(log_normaliser, first, second - first * first, first - log_normaliser)

    def _far_moments(self, eta: Array) -> Moments:
        """Log-sum-exp, with x counted from the best value of the row."""
        # exp is zero long before the limit, which keeps 0 * inf out of the sums.
        x = jnp.maximum(eta * self.below_best, -largest_eta(self.values.dtype))
        exponent = self.log_prior + x
        top = jnp.max(exponent, axis=-1)
        e = jnp.exp(exponent - top[..., None])
        total = jnp.sum(e, axis=-1)
        first = jnp.sum(e * x, axis=-1) / total
        second = jnp.sum(e * x * x, axis=-1) / total
        log_normaliser = top + jnp.log(total)
        best = eta * self.highest
        return Moments(
            log_normaliser + best, first + best, second - first * first, first - log_normaliser
        )

    def dual_gain(self, temperature: Array, radius: Array) -> Array:
        """T (delta + E log E_p[exp(c / T)]), a scalar: at any T > 0 no less than the best gain."""
        moments = self.moments(self.scale / temperature)
        return temperature * (radius + self.mean(moments.log_normaliser))

    def greedy_divergence(self) -> Array:
        """E[-log p(best actions)], the mean KL of the greedy limit, a scalar."""
        best = jnp.where(self.below_best == 0, self.log_prior, -jnp.inf)
        return self.mean(-jax.nn.logsumexp(best, axis=-1))

    def solve(self, radius: Array) -> Optimum:
        """The largest gain with a mean KL of at most `radius`."""
        greedy = radius >= self.greedy_divergence()
        return self._optimum(optimal_eta(self, radius, greedy), radius, greedy)

    def step(self, temperature: Array, radius: Array) -> Optimum:
        """The tilt at a given temperature, wherever that leads; the certificate is of `radius`."""
        eta = jnp.minimum(self.scale / temperature, largest_eta(self.values.dtype))
        return self._optimum(eta, radius, jnp.asarray(False))

    def _optimum(self, eta: Array, radius: Array, greedy: Array) -> Optimum:
        moving = eta > 0
        eta_or_one = jnp.where(moving, eta, 1)
        moments = self.moments(eta_or_one, is_small(radius))
        unit = jnp.where(moving, self.scale / eta_or_one, 0)
        dual_gain = unit * (jnp.where(greedy, 0, radius) + self.mean(moments.log_normaliser))
        return Optimum(
            rows=jax.nn.softmax(self.log_prior + eta * self.below_best),
            temperature=jnp.where(greedy, 0, jnp.where(moving, unit, jnp.inf)),
            divergence=jnp.where(moving, jnp.maximum(self.mean(moments.divergence), 0), 0),
            gain=unit * self.mean(moments.gain),
            dual_gain=jnp.where(greedy, self.scale * self.mean(self.highest), dual_gain),
        )


@jax.custom_jvp
def optimal_eta(tilt: Tilt, radius: Array, greedy: Array) -> Array:
    """The root of E KL(q_eta || p) = radius: Newton on logarithms, held in a bracket.

    log KL against log eta is nearly a line (of slope two for a small radius), so that a few steps
    do; a step that leaves the bracket or does not shrink is replaced by bisection. Where `greedy`,
    an eta so large that the tilt is at its limit.
    """
    info = jnp.finfo(tilt.values.dtype)
    epsilon, tiny = float(info.eps), float(info.tiny)
    largest = jnp.asarray(largest_eta(info.dtype), info.dtype)
    searching = ~greedy & (radius > 0)
    target = jnp.where(searching, radius, 1)
    precise = is_small(target)
    # The divergence is known up to the rounding of its terms, or of itself where it is precise. The
    # search aims as far inside the ball, so that rounding does not lead out of it.
    largest_term = 1 - jnp.min(jnp.where(tilt.support, tilt.log_prior, 0))
    tolerance = 8 * epsilon * (1 + jnp.where(precise, 0, largest_term / target))
    tolerance = jnp.minimum(tolerance, 0.01)
    target = target * (1 - 2 * tolerance)
    lower = jnp.log(2 * target) / 2 - 1e-3  # Hoeffding: KL <= eta^2 / 2 for values in [-1, 1]
    upper = jnp.log(largest)
    prior_variance = tilt.mean(jnp.sum(tilt.prior * tilt.values**2, axis=-1))
    start = jnp.clip(jnp.log(2 * target / prior_variance) / 2, lower, upper)

    def step(state: tuple) -> tuple:
        count, u, lower, upper, last_move, _ = state
        moments = tilt.moments(jnp.exp(u), precise)
        divergence = jnp.maximum(tilt.mean(moments.divergence), tiny)
        excess = jnp.log(divergence / target)
        lower = jnp.where(excess < 0, u, lower)
        upper = jnp.where(excess < 0, upper, u)
        newton = u - excess * divergence / tilt.mean(moments.variance)
        found = jnp.abs(excess) <= tolerance
        narrow = upper - lower <= 2 * epsilon * jnp.maximum(jnp.abs(u), 1)
        inside = (newton > lower) & (newton < upper)
        trusted = inside & (jnp.abs(newton - u) <= 0.5 * last_move)
        following = jnp.where(trusted, newton, (lower + upper) / 2)
        following = jnp.where(found, u, jnp.where(narrow, lower, following))
        return count + 1, following, lower, upper, jnp.abs(following - u), found | narrow

    def unfinished(state: tuple) -> Array:
        count, *_, finished = state
        return ~finished & (count < MAX_ITERATIONS)

    first = (jnp.asarray(0), start, lower, upper, upper - lower, ~searching)
    _, u, *_ = jax.lax.while_loop(unfinished, step, first)
    return jnp.where(greedy, largest, jnp.where(searching, jnp.exp(u), 0))


@optimal_eta.defjvp
def _optimal_eta_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """Implicit differentiation of E KL(q_eta || p) = radius."""
    tilt, radius, greedy = primals
    tilt_dot, radius_dot, _ = tangents
    eta = optimal_eta(tilt, radius, greedy)
    searching = ~greedy & (eta > 0)
    safe = jnp.where(searching, eta, 1)

    def divergence(values: Array, log_prior: Array, weights: Array) -> Array:
        exponent = log_prior + safe * values
        gain = safe * jnp.sum(jax.nn.softmax(exponent) * values, axis=-1)
        return jnp.sum(weights * (gain - jax.nn.logsumexp(exponent, axis=-1)))

    moving = (tilt.values, tilt.log_prior, tilt.weights)
    moving_dot = (tilt_dot.values, tilt_dot.log_prior, tilt_dot.weights)
    _, divergence_dot = jax.jvp(divergence, moving, moving_dot)
    slope = tilt.mean(tilt.moments(safe).variance) / safe
    eta_dot = (radius_dot - divergence_dot) / jnp.where(searching & (slope > 0), slope, 1)
    return eta, jnp.where(searching, eta_dot, 0)


def log_probability(policy: Array) -> Array:
    """log pi, -inf where pi is zero, with no NaN in its gradient."""
    positive = policy > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, policy, 1)), -jnp.inf)


def largest_exponent(dtype: Any) -> float:
    """An exponent up to which exp, times a few more factors, does not overflow."""
    return 0.9 * math.log(float(jnp.finfo(dtype).max))


def largest_eta(dtype: Any) -> float:
    """Beyond this the tilt of values in [-1, 1] is at its limit; its square does not overflow."""
    return 1e-3 * float(jnp.finfo(dtype).max) ** 0.5


def is_small(radius: Array) -> Array:
    """Whether a KL of this size must be summed with care: rounding is not small against it."""
    return radius < 2000 * float(jnp.finfo(radius.dtype).eps) ** 0.5


def exponential_remainders(x: Array, exp_x: Array) -> tuple[Array, Array]:
    """exp(x) - 1 and exp(x) - 1 - x, each to full relative accuracy."""
    small = jnp.abs(x) < SMALL_EXPONENT
    y = jnp.where(small, x, 0)
    series = jnp.ones_like(y)
    for k in range(13, 2, -1):
        series = 1 + y * (1 / k) * series
    second_order = jnp.where(small, y * y / 2 * series, exp_x - 1 - x)
    return jnp.where(small, y + second_order, exp_x - 1), second_order
