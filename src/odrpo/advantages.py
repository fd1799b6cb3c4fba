"""Returns of what was done, (T, B), and from them advantages of every action, (S, A).

Returns bootstrap with the value of the true next observation where an episode was cut off or the
batch ends, and with nothing where it terminated.
"""

import jax
import jax.numpy as jnp

from odrpo.config import Config
from odrpo.critics import Samples
from odrpo.envs.env import Array
from odrpo.policies import Support
from odrpo.rollout.batch import Batch


def estimate_returns(config: Config, batch: Batch, next_value: Array) -> Array:
    """The return of each action taken, as the config has it, (T, B)."""
    discount = jnp.asarray(config.discount)
    if config.returns == "monte_carlo":
        return monte_carlo(batch, next_value, discount)
    if config.returns == "n_step":
        return n_step_returns(batch, next_value, discount, config.n_step)
    return lambda_returns(batch, next_value, discount, jnp.asarray(config.trace))


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
    return (~jnp.asarray(batch.done)).at[-1].set(False)


def on_support(config: Config, support: Support, q: Array, samples: Samples) -> Array:
    """Advantages of all actions at the states of the support, (S, N).

    Args:
        config: `advantages` names the way.
        support: The states, and which of them each sample is at.
        q: What the critic takes the actions to be worth, (S, N).
        samples: What was done and returned.
    """
    policy = support.policy
    value = jnp.sum(policy * q, axis=1, keepdims=True)
    if config.advantages == "critic":
        return q - value

    taken = samples.action[:, None] == jnp.arange(policy.shape[1])[None, :]
    taken = jnp.where(samples.valid[:, None], taken, False)
    rows = jnp.arange(len(samples.action)) if support.rows is None else support.rows
    if config.advantages == "doubly_robust":
        weight = jnp.minimum(1 / jnp.maximum(samples.at.policy, 1e-30), config.correction_limit)
        correction = jnp.where(taken, weight * (samples.target[:, None] - q[rows]), 0)
        return q - value + support.mean(correction, samples.valid)

    surprise = (samples.target - value[rows, 0])[:, None]
    if config.advantages == "taken":
        return support.mean(jnp.where(taken, surprise, 0), taken)
    pi_taken = jnp.sum(jnp.where(taken, samples.at.policy, 0), axis=1, keepdims=True)
    others = -surprise * pi_taken / jnp.maximum(1 - pi_taken, 1e-6)
    balanced = jnp.where(taken, surprise, others)
    return support.mean(jnp.where(samples.valid[:, None], balanced, 0), samples.valid)
