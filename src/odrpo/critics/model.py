"""Q of the policy on the empirical model of all transitions seen (model-based)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from odrpo.critics.critic import Samples
from odrpo.envs.env import Array

MAX_SWEEPS = 1000
TOLERANCE = 1e-5


class Counts(NamedTuple):
    """What was seen since the beginning, and what it amounts to under the current policy."""

    successors: Array
    """How often (s, a) led on to s', (S, A, S)."""
    visits: Array
    """How often a was done at s, (S, A); the visits beyond the successors ended the episode."""
    reward: Array
    """The sum of the rewards of (s, a), (S, A)."""
    q: Array
    """(S, A)."""


@dataclass(frozen=True)
class ModelCritic:
    """Certainty equivalence: the frequencies seen are taken for the truth."""

    states: int
    actions: int
    initial: float
    """The value of what was never tried; an optimistic one makes the policy try it."""

    def init(self, key: jax.Array) -> Counts:
        """Nothing seen."""
        pairs = (self.states, self.actions)
        zeros = jnp.zeros(pairs)
        return Counts(
            jnp.zeros((*pairs, self.states)),
            zeros,
            zeros,
            jnp.full(pairs, self.initial, jnp.float32),
        )

    def values(self, params: Counts, observation: Array, policy: Array) -> Array:
        """Rows of Q, (N,) to (N, A)."""
        return params.q[observation]

    def fit(
        self,
        params: Counts,
        samples: Samples,
        policy: Callable[[Array], Array],
        discount: Array,
        key: jax.Array,
        rate: Array,
    ) -> Counts:
        """Count the samples, then solve Q = R + gamma P E_pi[Q] by sweeps from the last Q."""
        place = (samples.observation, samples.action)
        went_on = (samples.valid & ~samples.terminated).astype(params.q.dtype)
        valid = samples.valid.astype(params.q.dtype)
        successors = params.successors.at[(*place, samples.next_observation)].add(went_on)
        visits = params.visits.at[place].add(valid)
        reward = params.reward.at[place].add(valid * samples.reward)

        seen = visits > 0
        each = 1 / jnp.maximum(visits, 1)
        table = policy(jnp.arange(self.states))

        def sweep(state: tuple) -> tuple:
            count, q, _ = state
            value = jnp.sum(table * q, axis=1)
            backed_up = each * (reward + discount * (successors @ value))
            new = jnp.where(seen, backed_up, self.initial)
            return count + 1, new, jnp.max(jnp.abs(new - q))

        def unfinished(state: tuple) -> Array:
            count, q, change = state
            return (change > TOLERANCE * (1 + jnp.max(jnp.abs(q)))) & (count < MAX_SWEEPS)

        first = sweep((jnp.zeros((), jnp.int32), params.q, jnp.asarray(0.0)))
        _, q, _ = jax.lax.while_loop(unfinished, sweep, first)
        return Counts(successors, visits, reward, q)
