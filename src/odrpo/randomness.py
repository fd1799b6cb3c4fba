"""Random numbers, as JAX draws them, but faster on a CPU."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from odrpo.envs.env import Array


def drawn(how: Callable, key: jax.Array, shape: tuple[int, ...]) -> Array:
    """What `how` of jax.random draws, in this shape.

    The numbers are the same as without the detour, but where a shape has several dimensions XLA
    takes ten times as long to compile them and twice as long to draw them.
    """
    return how(key, (math.prod(shape),)).reshape(shape)


def permutation(key: jax.Array, size: int) -> Array:
    """The numbers below `size` in random order; several times faster here than JAX's own.

    Random bits are sorted with the number in the lowest ones, so that one array is sorted, not two.
    """
    digits = max(1, (size - 1).bit_length())
    high = jax.random.bits(key, (size,)) >> digits << digits
    return jnp.sort(high | jnp.arange(size, dtype=jnp.uint32)) & (2**digits - 1)
