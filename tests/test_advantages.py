"""Returns against the sums written out, with ends, cuts and the border of the batch."""

import jax.numpy as jnp
import numpy as np
import pytest

from odrpo import advantages
from odrpo.rollout import Batch

STEPS, COUNT, DISCOUNT = 14, 3, 0.9


@pytest.fixture
def experience() -> tuple[Batch, np.ndarray]:
    rng = np.random.default_rng(0)
    terminated = rng.random((STEPS, COUNT)) < 0.15
    truncated = (rng.random((STEPS, COUNT)) < 0.15) & ~terminated
    zeros = jnp.zeros((STEPS, COUNT))
    batch = Batch(
        observation=zeros,
        action=zeros,
        reward=jnp.asarray(rng.normal(size=(STEPS, COUNT)), jnp.float32),
        next_observation=zeros,
        terminated=jnp.asarray(terminated),
        truncated=jnp.asarray(truncated),
        time=zeros,
        episode_return=zeros,
        valid=jnp.ones(zeros.shape, bool),
    )
    return batch, rng.normal(size=(STEPS, COUNT))


def written_out(batch: Batch, next_value: np.ndarray, start: int, column: int, n: int) -> float:
    """The n-step return, one reward after the other."""
    total, factor = 0.0, 1.0
    for step in range(start, min(start + n, STEPS)):
        total += factor * float(batch.reward[step, column])
        factor *= DISCOUNT
        if batch.terminated[step, column]:
            return total
        if batch.truncated[step, column]:
            break
    return total + factor * next_value[step, column]


@pytest.mark.parametrize("n", [1, 2, 5, 50])
def test_n_step_returns(experience, n: int) -> None:
    batch, next_value = experience
    found = advantages.n_step_returns(
        batch, jnp.asarray(next_value, jnp.float32), jnp.asarray(DISCOUNT, jnp.float32), n
    )
    expected = [
        [written_out(batch, next_value, step, column, n) for column in range(COUNT)]
        for step in range(STEPS)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_monte_carlo_is_the_longest_of_them(experience) -> None:
    batch, next_value = experience
    value, discount = jnp.asarray(next_value, jnp.float32), jnp.asarray(DISCOUNT, jnp.float32)
    found = advantages.monte_carlo(batch, value, discount)
    np.testing.assert_allclose(
        found, advantages.n_step_returns(batch, value, discount, STEPS), atol=1e-5
    )


@pytest.mark.parametrize("trace", [0.0, 0.7, 1.0])
def test_lambda_returns_mix_the_n_step_returns(experience, trace: float) -> None:
    """(1 - lambda) sum_n lambda^(n-1) G_t:t+n, the rest of the weight on the last of them."""
    batch, next_value = experience
    value, discount = jnp.asarray(next_value, jnp.float32), jnp.asarray(DISCOUNT, jnp.float32)
    found = advantages.lambda_returns(batch, value, discount, jnp.asarray(trace, jnp.float32))
    steps = [np.asarray(advantages.n_step_returns(batch, value, discount, n)) for n in range(1, 60)]
    weights = [(1 - trace) * trace**n for n in range(len(steps) - 1)]
    weights.append(1 - sum(weights))
    expected = sum(weight * returns for weight, returns in zip(weights, steps, strict=True))
    np.testing.assert_allclose(found, expected, atol=1e-5)
