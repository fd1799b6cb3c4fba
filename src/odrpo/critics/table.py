"""A table of values, moved towards the returns seen (model-free)."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from odrpo.critics.critic import Samples
from odrpo.envs.env import Array
from odrpo.policies import Support


@dataclass(frozen=True)
class TableCritic:
    """Q, (S, A), or V, (S, 1); the parameters are the table."""

    states: int
    actions: int
    action_values: bool
    """Whether actions have values of their own, or all that of the state."""
    initial: float | None
    """What there is at first, everywhere; an optimistic value makes the policy try things."""

    def init(self, key: jax.Array) -> Array:
        """The same value everywhere."""
        initial = 0.0 if self.initial is None else self.initial
        shape = (self.states, self.actions if self.action_values else 1)
        return jnp.full(shape, initial, jnp.float32)

    def values(self, params: Array, at: Support) -> Array:
        """Rows of the table, (S, A)."""
        return jnp.broadcast_to(params[at.observation], at.policy.shape)

    def fit(
        self,
        params: Array,
        samples: Samples,
        policy: Callable[[Array], Array],
        discount: Array,
        key: jax.Array,
        rate: Array,
    ) -> Array:
        """Move each entry that was visited a share `rate` of the way to its mean target."""
        action = samples.action if self.action_values else jnp.zeros_like(samples.action)
        place = (samples.at.observation, action)
        visits = samples.valid.astype(params.dtype)
        count = jnp.zeros_like(params).at[place].add(visits)
        total = jnp.zeros_like(params).at[place].add(visits * samples.target)
        mean = total / jnp.maximum(count, 1)
        return jnp.where(count > 0, params + rate * (mean - params), params)
