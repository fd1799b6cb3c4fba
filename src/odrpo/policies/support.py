"""What every policy offers to the trust-region step: states, and finitely many actions at each."""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from odrpo.envs.env import Array
from odrpo.randomness import drawn


class Support(NamedTuple):
    """S states with N actions each; and which of the states each sample belongs to."""

    observation: Array
    """(S, ...)."""
    policy: Array
    """How probable the actions are, (S, N); each row sums to one."""
    actions: Array | None = None
    """(S, N, D) where they were drawn from a continuum; None: all there are, by their numbers."""
    rows: Array | None = None
    """A row of the support for each sample; None: sample n is row n."""

    def total(self, samples: Array) -> Array:
        """The sum over the samples of each state, (samples, ...) to (S, ...)."""
        if self.rows is None:
            return samples
        return jax.ops.segment_sum(samples, self.rows, self.observation.shape[0])

    def mean(self, samples: Array, counted: Array) -> Array:
        """The mean over the samples that count, (samples, ...), of each state; zero if none do."""
        counted = counted.reshape(len(counted), -1).astype(samples.dtype)
        return self.total(samples) / jnp.maximum(self.total(counted), 1)

    def masked(self, mask: Array | None) -> "Support":
        """Without the actions that are not allowed, (S, N)."""
        return self._replace(policy=masked(self.policy, mask))


def candidates(observation: Array, actions: Array, noise: Any, key: jax.Array) -> Support:
    """Actions drawn at each observation, (S, N, D), as probable as each other, noise added.

    It is a standard deviation, so that they reach beyond the policy; None: none.
    """
    if noise is not None:
        actions = jnp.clip(actions + noise * drawn(jax.random.normal, key, actions.shape), -1, 1)
    return Support(observation, jnp.full(actions.shape[:2], 1 / actions.shape[1]), actions)


def masked(policy: Array, mask: Array | None) -> Array:
    """Probabilities without those of the actions that are not allowed, (S, N)."""
    if mask is None:
        return policy
    kept = jnp.where(mask, policy + 1e-30, 0)
    return kept / jnp.sum(kept, axis=1, keepdims=True)


class Policy(Protocol):
    """A distribution over actions at each observation."""

    def init(self, key: jax.Array) -> Any:
        """Parameters of a policy that is uniform, or nearly so."""
        ...

    def act(self, params: Any, observation: Array, key: jax.Array, mask: Array | None) -> Array:
        """Actions drawn from the policy, one an observation."""
        ...

    def best(self, params: Any, observation: Array, mask: Array | None) -> Array:
        """The actions to take where nothing is to be explored."""
        ...

    def at(self, params: Any, observation: Array, key: jax.Array) -> Support:
        """A row for each observation, (S, ...)."""
        ...

    def support(self, params: Any, at: Support) -> Support:
        """The rows of the trust-region problem for samples that are `at` these observations."""
        ...

    def project(
        self,
        params: Any,
        support: Support,
        target: Array,
        weights: Array,
        key: jax.Array,
        rate: Array,
    ) -> Any:
        """Parameters whose policy comes close to the target on the support, (S, N)."""
        ...

    def on_support(self, params: Any, old: Any, support: Support) -> Array:
        """What a policy that was moved from `old` amounts to on the support's actions, (S, N)."""
        ...

    def entropy(self, params: Any, support: Support, policy: Array) -> Array:
        """Of each state, (S,), with `policy` what is on the support, (S, N)."""
        ...
