"""States and actions as what they lead to: an embedding learned from transitions."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.envs.env import Array
from odrpo.networks import (
    Layers,
    adam,
    apply_layers,
    descend,
    first_layer,
    init_layers,
    of_mean_size_one,
)

PERIOD = 256
"""Updates for which policy and critic see through the same encoders."""


class Encoders(NamedTuple):
    """Of states, and of actions at an embedded state."""

    state: Layers
    action: Layers


class Embedding(NamedTuple):
    """The encoders in training, and two earlier ones that stay what they are for a while."""

    encoders: Encoders
    fixed: Encoders
    """What policy and critic see through."""
    earlier: Encoders
    """What they saw through before, as the critic's slow copies still do."""
    optimiser: Any
    age: Array
    """Updates since they were renewed."""

    @property
    def due(self) -> Array:
        """Whether it is time to renew them."""
        return self.age >= PERIOD

    def renewed(self) -> "Embedding":
        """With the present encoders for the fixed ones, where that is due."""

        def pick(new: Encoders, old: Encoders) -> Encoders:
            return jax.tree.map(lambda a, b: jnp.where(self.due, a, b), new, old)

        return self._replace(
            fixed=pick(self.encoders, self.fixed),
            earlier=pick(self.fixed, self.earlier),
            age=jnp.where(self.due, 0, self.age),
        )


@dataclass(frozen=True)
class Embedder:
    """z(s) and z(s, a) of size Z, fitted to z(s, a) = z(s') (SALE: Fujimoto et al. 2023).

    How an environment moves can be learned from every transition, whatever the policy is worth.
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
        age = jnp.zeros((), jnp.int32)
        return Embedding(encoders, encoders, encoders, adam.init(encoders), age)

    def states(self, encoders: Encoders, seen: Array) -> Array:
        """z(s), (S, features) to (S, Z), of mean size one, or zero would fit perfectly."""
        return of_mean_size_one(apply_layers(encoders.state, seen, jax.nn.elu))

    def actions(self, encoders: Encoders, z: Array, actions: Array) -> Array:
        """z(s, a) of N actions a state, (S, Z) and (S, N, D) to (S, N, Z)."""
        first, *rest = encoders.action
        hidden = jax.nn.elu(first_layer(first, z, actions))
        return apply_layers(rest, hidden, jax.nn.elu).reshape(*actions.shape[:2], self.size)

    def step(
        self, params: Embedding, seen: Array, action: Array, successor: Array, rate: Array
    ) -> Embedding:
        """One gradient step on transitions, (S, features), (S, D), (S, features)."""
        goal = self.states(params.encoders, successor)

        def loss(encoders: Encoders) -> tuple[Array, None]:
            expected = self.actions(encoders, self.states(encoders, seen), action[:, None])[:, 0]
            return jnp.sum(jnp.mean((expected - goal) ** 2, axis=1)), None

        encoders, optimiser, _ = descend(loss, params.encoders, params.optimiser, rate)
        return params._replace(encoders=encoders, optimiser=optimiser, age=params.age + 1)
