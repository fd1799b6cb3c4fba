"""A policy that is a table: the exact step is taken as it is."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from odrpo.envs.env import Array
from odrpo.policies.discrete import DiscretePolicy
from odrpo.policies.support import Support

# What a tilt has brought down to zero it can't bring up again, whatever comes to light later: no
# action gets less than this.
FLOOR = 1e-8


@dataclass(frozen=True)
class TabularPolicy(DiscretePolicy):
    """One row of probabilities a state; the parameters are the table, (S, A)."""

    states: int
    actions: int

    def init(self, key: jax.Array) -> Array:
        """The uniform policy."""
        return jnp.full((self.states, self.actions), 1 / self.actions, jnp.float32)

    def probabilities(self, params: Array, observation: Array) -> Array:
        """Rows of the table."""
        return params[observation]

    def support(self, params: Array, at: Support) -> Support:
        """All states: samples at the same state are one row of the problem."""
        return Support(jnp.arange(self.states), params, rows=at.observation)

    def project(
        self,
        params: Array,
        support: Support,
        target: Array,
        weights: Array,
        key: jax.Array,
        rate: Array,
    ) -> Array:
        """The target itself, but for FLOOR."""
        floored = jnp.maximum(target, FLOOR)
        return floored / jnp.sum(floored, axis=1, keepdims=True)
