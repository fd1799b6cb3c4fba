"""What all policies with finitely many actions have in common: their probabilities tell all."""

from abc import ABC, abstractmethod
from typing import Any

import jax
import jax.numpy as jnp

from odrpo.envs.env import Array
from odrpo.policies.support import Support, masked
from odrpo.randomness import drawn


class DiscretePolicy(ABC):
    """A policy given by the probabilities of its A actions."""

    @abstractmethod
    def probabilities(self, params: Any, observation: Array) -> Array:
        """pi, (S, ...) to (S, A)."""

    def act(self, params: Any, observation: Array, key: jax.Array, mask: Array | None) -> Array:
        """Actions drawn, (S,)."""
        policy = masked(self.probabilities(params, observation), mask)
        noise = drawn(jax.random.gumbel, key, policy.shape)
        return jnp.argmax(jnp.log(policy) + noise, axis=-1).astype(jnp.int32)

    def best(self, params: Any, observation: Array, mask: Array | None) -> Array:
        """The most probable actions, (S,)."""
        policy = masked(self.probabilities(params, observation), mask)
        return jnp.argmax(policy, axis=1).astype(jnp.int32)

    def at(self, params: Any, observation: Array, key: jax.Array) -> Support:
        """All actions at each observation."""
        return Support(observation, self.probabilities(params, observation))

    def support(self, params: Any, at: Support) -> Support:
        """Every sample is a state of its own."""
        return at

    def on_support(self, params: Any, old: Any, support: Support) -> Array:
        """The probabilities of the support's actions, (S, A)."""
        return self.probabilities(params, support.observation)

    def entropy(self, params: Any, support: Support, policy: Array) -> Array:
        """Of each state, (S,), with `policy` what is on the support."""
        return -jnp.sum(jax.scipy.special.xlogy(policy, policy), axis=1)
