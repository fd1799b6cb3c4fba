"""Q of the policy on the empirical model of all transitions seen (model-based)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.critics.critic import Samples
from odrpo.envs.env import Array
from odrpo.policies import Support

# Each update goes on from the values of the last one.
MAX_SWEEPS = 30
TOLERANCE = 1e-4


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
    initial: float | None
    """The value of what was never tried, an optimistic one makes the policy try it; None: the
    largest value of what was tried, and no less than zero."""
    initial_weight: float
    """How many visits the initial value counts for."""
    optimism: float
    """By how many standard errors of the next state's value an action is overrated."""

    def init(self, key: jax.Array) -> Counts:
        """Nothing seen."""
        pairs = (self.states, self.actions)
        zeros = jnp.zeros(pairs)
        initial = 0.0 if self.initial is None else self.initial
        q = jnp.full(pairs, initial, jnp.float32)
        return Counts(jnp.zeros((*pairs, self.states)), zeros, zeros, q)

    def values(self, params: Counts, at: Support) -> Array:
        """Rows of Q, (S, A)."""
        return params.q[at.observation]

    def fit(
        self,
        params: Counts,
        samples: Samples,
        policy: Callable[[Array], Array],
        discount: Array,
        key: jax.Array,
        rate: Array,
    ) -> Counts:
        """Count the samples, then solve Q = R + gamma P E_pi[Q] by sweeps from the last V."""
        place = (samples.at.observation, samples.action)
        went_on = (samples.valid & ~samples.terminated).astype(params.q.dtype)
        valid = samples.valid.astype(params.q.dtype)
        successors = params.successors.at[(*place, samples.next_observation)].add(went_on)
        visits = params.visits.at[place].add(valid)
        reward = params.reward.at[place].add(valid * samples.reward)
        # A float counts to 2^24 and then stands still: before that, all of a pair's counts halve.
        keep = jnp.where(visits > 2.0**22, 0.5, 1.0)
        successors, visits, reward = successors * keep[:, :, None], visits * keep, reward * keep

        table = policy(jnp.arange(self.states))
        value = jnp.sum(table * params.q, axis=1)
        immediate, going_on = self._backup(params, successors, visits, reward, value, discount)
        # The model under the policy is formed once; then a sweep is small.
        matrix = jnp.einsum("sa,sat->st", table * going_on, successors)
        constant = jnp.sum(table * immediate, axis=1)

        # No policy is worth more than the best reward for ever; optimism must not feed on itself.
        mean_reward = jnp.where(visits > 0, reward / jnp.maximum(visits, 1), 0)
        lasting = 1 / jnp.maximum(1 - discount, 1e-3)
        initial = 0.0 if self.initial is None else self.initial
        most = jnp.maximum(lasting * jnp.max(mean_reward, initial=0.0), initial)
        least = jnp.minimum(lasting * jnp.min(mean_reward, initial=0.0), initial)

        def sweep(state: tuple) -> tuple:
            count, value, _ = state
            new = jnp.clip(constant + matrix @ value, least, most)
            return count + 1, new, jnp.max(jnp.abs(new - value))

        def unfinished(state: tuple) -> Array:
            count, value, change = state
            return (change > TOLERANCE * (1 + jnp.max(jnp.abs(value)))) & (count < MAX_SWEEPS)

        first = sweep((jnp.zeros((), jnp.int32), value, jnp.zeros(())))
        _, value, _ = jax.lax.while_loop(unfinished, sweep, first)
        return Counts(successors, visits, reward, immediate + going_on * (successors @ value))

    def _backup(
        self,
        params: Counts,
        successors: Array,
        visits: Array,
        reward: Array,
        value: Array,
        discount: Array,
    ) -> tuple[Array, Array]:
        """c and d of Q = c + d sum_s' successors V, (S, A) each."""
        unseen: Any = self.initial
        if unseen is None:
            unseen = jnp.maximum(jnp.max(jnp.where(params.visits > 0, params.q, 0)), 0)
        first, second = jnp.moveaxis(successors @ jnp.stack([value, value**2], axis=1), -1, 0)
        share = 1 / jnp.maximum(visits, 1)
        variance = jnp.maximum(share * second - (share * first) ** 2, 0)
        weight = visits + self.initial_weight
        each = 1 / jnp.where(weight > 0, weight, 1)
        mean = jnp.where(weight > 0, each * (reward + self.initial_weight * unseen), unseen)
        bonus = self.optimism * discount * jnp.sqrt(share * variance)
        return mean + bonus, discount * each
