"""Returns of what was done, (T, B): the targets of a critic, and advantages once V is taken off.

Each bootstraps with the value of the true next observation where an episode was cut off or the
batch ends, and with nothing where it terminated.
"""

import jax
import jax.numpy as jnp

from odrpo.envs.env import Array
from odrpo.rollout.batch import Batch


def monte_carlo(batch: Batch, next_value: Array, discount: Array) -> Array:
    """G_t = sum_k gamma^k r_(t+k) to the end of the episode, (T, B)."""
    return lambda_returns(batch, next_value, discount, jnp.ones_like(discount))


def lambda_returns(batch: Batch, next_value: Array, discount: Array, trace: Array) -> Array:
    """GAE's returns (Schulman et al. 2016): less V_t they are its advantages, (T, B).

    G_t = r_t + gamma ((1 - lambda) V_(t+1) + lambda G_(t+1)); lambda = 0 is one-step TD.
    """

    def step(following: Array, row: tuple[Array, ...]) -> tuple[Array, Array]:
        reward, value, terminated, on = row
        mixed = jnp.where(on, (1 - trace) * value + trace * following, value)
        result = reward + discount * jnp.where(terminated, 0, mixed)
        return result, result

    rows = (batch.reward, next_value, batch.terminated, _goes_on(batch))
    _, returns = jax.lax.scan(step, jnp.zeros_like(next_value[0]), rows, reverse=True)
    return returns


def n_step_returns(batch: Batch, next_value: Array, discount: Array, n: int) -> Array:
    """G_t:t+n = sum_(k<n) gamma^k r_(t+k) + gamma^n V_(t+n) (paper: multi-step TD), (T, B)."""
    on = _goes_on(batch)

    def look_further(_: int, returns: Array) -> Array:
        beyond = jnp.where(on, jnp.roll(returns, -1, axis=0), next_value)
        return batch.reward + discount * jnp.where(batch.terminated, 0, beyond)

    one_step = batch.reward + discount * jnp.where(batch.terminated, 0, next_value)
    return jax.lax.fori_loop(1, n, look_further, one_step)


def _goes_on(batch: Batch) -> Array:
    """Where the next row of the batch belongs to the same episode, (T, B)."""
    return (~batch.done).at[-1].set(False)
