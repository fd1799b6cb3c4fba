"""Values in a unit of about their own size: far from one, a network learns little."""

from collections.abc import Sequence

import jax.numpy as jnp

from odrpo.envs.env import Array
from odrpo.networks import Layers


def unit(scale: Array) -> Array:
    """The scale; one as long as no reward was seen, which is a scale of zero."""
    return jnp.where(scale > 0, scale, 1)


def spread(mean_square: Array, discount: Array) -> Array:
    """About how far a discounted sum of independent rewards spreads, from their mean square."""
    return jnp.sqrt(mean_square / jnp.maximum(1 - discount, 1e-3))


def rescaled(networks: Sequence[Layers], before: Array, after: Array) -> list[Layers]:
    """The networks with values kept where their scale becomes another (as PopArt does).

    But what was said before any reward was seen is not made more of than it is: it is noise.
    """
    ratio = unit(before) / unit(after)
    ratio = jnp.where(before > 0, ratio, jnp.minimum(ratio, 1))
    return [[*below, (ratio * weights, ratio * bias)] for *below, (weights, bias) in networks]
