"""The cheapest way to carry one distribution to another, for costs without a closed form."""

import jax
import jax.numpy as jnp

from odrpo.trust_region.problem import Array

STAGES = 12
SWEEPS = 40
"""Sinkhorn's iterations in each stage; the strength doubles from stage to stage."""


def transport_plan(cost: Array, source: Array, target: Array, strength: Array) -> Array:
    """argmin_Q <Q, d> - H(Q) / lambda with the marginals `source` and `target`, (..., N, N).

    Sinkhorn's iteration on potentials, lambda growing to its value; what is left of the error is
    mended so that the marginals are right, and the cost of the plan an upper bound.

    Args:
        cost: d, (..., N, N).
        source: (..., N), what is carried away.
        target: (..., N), what arrives.
        strength: lambda, a scalar.
    """
    log_source, log_target = _log(source), _log(target)

    def stage(potentials: tuple[Array, Array], strength: Array) -> tuple[tuple, None]:
        def sweep(_: int, potentials: tuple[Array, Array]) -> tuple[Array, Array]:
            _, g = potentials
            f = (
                log_source - jax.nn.logsumexp(strength * (g[..., None, :] - cost), axis=-1)
            ) / strength
            g = (
                log_target - jax.nn.logsumexp(strength * (f[..., :, None] - cost), axis=-2)
            ) / strength
            return f, g

        return jax.lax.fori_loop(0, SWEEPS, sweep, potentials), None

    strengths = strength * 2.0 ** jnp.arange(1 - STAGES, 1, dtype=source.dtype)
    zero = jnp.zeros_like(source)
    (f, g), _ = jax.lax.scan(stage, (zero, zero), strengths)
    plan = jnp.exp(strength * (f[..., :, None] + g[..., None, :] - cost))
    return _with_marginals(plan, source, target)


def _log(probability: Array) -> Array:
    """Of nothing, so little that it does not count, lest infinities meet."""
    return jnp.log(jnp.maximum(probability, jnp.finfo(probability.dtype).tiny))


def _with_marginals(plan: Array, source: Array, target: Array) -> Array:
    """Scale down what is too much, then spread what is missing (Altschuler et al. 2017)."""
    tiny = jnp.finfo(plan.dtype).tiny
    plan = plan * jnp.minimum(source / jnp.maximum(plan.sum(-1), tiny), 1)[..., :, None]
    plan = plan * jnp.minimum(target / jnp.maximum(plan.sum(-2), tiny), 1)[..., None, :]
    left, wanted = source - plan.sum(-1), target - plan.sum(-2)
    left, wanted = jnp.maximum(left, 0), jnp.maximum(wanted, 0)
    total = jnp.maximum(left.sum(-1), tiny)[..., None, None]
    return plan + left[..., :, None] * wanted[..., None, :] / total
