"""States and actions as what they lead to: an embedding learned from transitions."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.envs.env import Array
from odrpo.networks import Layers, adam, apply_layers, descend, first_layer, init_layers


class Encoders(NamedTuple):
    """Of states, and of actions at an embedded state."""

    state: Layers
    action: Layers


class Embedding(NamedTuple):
    """The encoders, their slow copies, which policy and critic see through, and the optimiser."""

    encoders: Encoders
    slow: Encoders
    optimiser: Any


@dataclass(frozen=True)
class Embedder:
    """z(s) and z(s, a) of size Z, fitted to z(s, a) = z(s') (SALE: Fujimoto et al. 2023).

    How an environment moves can be learned from every transition, also where there is no reward.
    """

    features: int
    dimensions: int
    hidden: tuple[int, ...]
    size: int
    """Z."""

    def init(self, key: jax.Array) -> Embedding:
        """Random ones."""
        state_key, action_key = jax.random.split(key)
        encoders = Encoders(
            init_layers(state_key, (self.features, *self.hidden, self.size), 1.0),
            init_layers(action_key, (self.size + self.dimensions, *self.hidden, self.size), 1.0),
        )
        return Embedding(encoders, encoders, adam.init(encoders))

    def states(self, encoders: Encoders, seen: Array) -> Array:
        """z(s), (S, features) to (S, Z), of mean size one: else the least of all would be zero."""
        z = apply_layers(encoders.state, seen, jax.nn.elu)
        return z / jnp.maximum(jnp.mean(jnp.abs(z), axis=1, keepdims=True), 1e-6)

    def actions(self, encoders: Encoders, embedded: Array, actions: Array) -> Array:
        """z(s, a) of N actions a state, (S, Z) and (S, N, D) to (S, N, Z)."""
        first, *rest = encoders.action
        hidden = jax.nn.elu(first_layer(first, embedded, actions))
        return apply_layers(rest, hidden, jax.nn.elu).reshape(*actions.shape[:2], self.size)

    def step(
        self,
        params: Embedding,
        seen: Array,
        action: Array,
        successor: Array,
        rate: Array,
        polyak: Array,
    ) -> Embedding:
        """One gradient step on transitions, (S, features), (S, D), (S, features)."""
        goal = self.states(params.encoders, successor)

        def loss(encoders: Encoders) -> tuple[Array, None]:
            expected = self.actions(encoders, self.states(encoders, seen), action[:, None])[:, 0]
            return jnp.sum(jnp.mean((expected - goal) ** 2, axis=1)), None

        encoders, optimiser, _ = descend(loss, params.encoders, params.optimiser, rate)
        slow = jax.tree.map(lambda old, new: old + polyak * (new - old), params.slow, encoders)
        return Embedding(encoders, slow, optimiser)
