"""Several networks for Q, fitted to one-step targets of transitions from replay."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.critics.unit import rescaled, spread, unit
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
from odrpo.policies import Support


class Transitions(NamedTuple):
    """Steps that any policy took, a row each."""

    observation: Array
    action: Array
    reward: Array
    """Of one step, or the discounted sum of several."""
    next_observation: Array
    discount: Array
    """What the value at the next observation counts for; zero where the episode terminated."""
    successor: Array
    """The observation one step later, where the next one may be several."""


class Ensemble(NamedTuple):
    """E networks, their slow copies, and what else goes from step to step."""

    layers: Layers
    """(E, in, out) and (E, out) each."""
    slow: Layers
    optimiser: Any
    scale: Array
    """The networks see values in this unit; zero until a reward is seen."""


@dataclass(frozen=True)
class EnsembleCritic:
    """Q is the mean of E networks; what they are fitted to lies between it and the least of them.

    The least keeps errors from feeding themselves (Fujimoto et al. 2018). Actions are not compared
    by it, for it is low wherever little is known, and what was never tried would never be. Layer
    norm: Hiraoka et al. 2022.
    """

    features: int
    actions: int | None
    """Of finitely many actions every one has an output; others are inputs."""
    dimensions: int | None
    hidden: tuple[int, ...]
    members: int
    layer_norm: bool
    pessimism: Array
    """How far on the way from the mean to the least, 0 to 1."""
    embedding: int = 0
    """So many numbers stand behind those of a state, and as many behind those of an action."""

    def init(self, key: jax.Array) -> Ensemble:
        """Values near zero."""
        layers = jax.vmap(self._init_member)(jax.random.split(key, self.members))
        return Ensemble(layers, layers, adam.init(layers), jnp.zeros(()))

    def values(self, params: Ensemble, at: Support) -> Array:
        """Q of the support's actions, (S, N)."""
        return unit(params.scale) * jnp.mean(
            self._outputs(params.layers, at.observation, at.actions), axis=0
        )

    def step(
        self,
        params: Ensemble,
        seen: Array,
        following: Support,
        data: Transitions,
        rate: Array,
        polyak: Array,
    ) -> tuple[Ensemble, Array, Array]:
        """One gradient step of all members to the same targets; the slow copies follow.

        Args:
            params: Those before.
            seen: The observations of the transitions as networks take them, (S, features).
            following: What the policy would do next.
            data: The transitions.
            rate: Of learning.
            polyak: The share of the way that the slow copies go.

        Returns:
            Parameters, the targets, and what was known of them before, (S,) each.
        """
        outputs = self._outputs(params.slow, following.observation, following.actions)
        mean, least = jnp.mean(outputs, axis=0), jnp.min(outputs, axis=0)
        q = mean + self.pessimism * (least - mean)
        value = jnp.sum(following.policy * q, axis=1)
        scale = unit(params.scale)
        target = data.reward / scale + data.discount * value

        def loss(layers: Layers) -> tuple[Array, Array]:
            known = self._taken(layers, seen, data.action)
            # A sum: a mean would leave gradients too small for Adam's floor.
            return jnp.sum((known - target[None]) ** 2), known

        layers, optimiser, known = descend(loss, params.layers, params.optimiser, rate)
        slow = jax.tree.map(lambda old, new: old + polyak * (new - old), params.slow, layers)
        after = Ensemble(layers, slow, optimiser, params.scale)
        return after, scale * target, scale * jnp.mean(known, axis=0)

    def rescale(self, params: Ensemble, mean_square: Array, discount: Array) -> Ensemble:
        """Take about the spread of a discounted sum of rewards for the unit; values are kept."""
        scale = spread(mean_square, discount)
        layers, slow = rescaled((params.layers, params.slow), params.scale, scale)
        return params._replace(layers=layers, slow=slow, scale=scale)

    def renew(self, params: Ensemble, due: Array) -> Ensemble:
        """The slow copies as the networks are now, where that is due."""
        slow = jax.tree.map(lambda new, old: jnp.where(due, new, old), params.layers, params.slow)
        return params._replace(slow=slow)

    def _init_member(self, key: jax.Array) -> Layers:
        inputs, outputs = self.features + (self.dimensions or 0), self.actions or 1
        if not self.embedding:
            return init_layers(key, (inputs, *self.hidden, outputs), 0.01)
        own = init_layers(jax.random.fold_in(key, 1), (inputs, self.hidden[0]), 1.0)
        beside = self.hidden[0] + 2 * self.embedding
        return own + init_layers(key, (beside, *self.hidden, outputs), 0.01)

    def _taken(self, layers: Layers, seen: Array, action: Array) -> Array:
        """Of the actions taken alone, (E, S)."""
        if self.dimensions is not None:
            return self._outputs(layers, seen, action[:, None])[:, :, 0]
        taken = action[:, None] == jnp.arange(self.actions)[None]
        return jnp.sum(jnp.where(taken[None], self._outputs(layers, seen, None), 0), axis=2)

    def _outputs(self, layers: Layers, seen: Array, actions: Array | None) -> Array:
        """(E, S, N) in units of the scale."""
        # One by one: a batch of matrix products takes longer than as many of them.
        members = (jax.tree.map(lambda x, k=k: x[k], layers) for k in range(self.members))
        return jnp.stack([self._output(member, seen, actions) for member in members])

    def _output(self, layers: Layers, seen: Array, actions: Array | None) -> Array:
        """Of one member, (S, N)."""
        first, *rest = layers
        if actions is None:
            x = apply_layers([first], seen)
        elif self.embedding:
            x = self._beside_embedding(first, rest.pop(0), seen, actions)
        else:
            x = first_layer(first, seen, actions)
        for layer in rest:
            if self.layer_norm:
                x = x - jnp.mean(x, axis=-1, keepdims=True)
                x = x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)
            x = apply_layers([layer], jax.nn.relu(x))
        return x.reshape(len(seen), -1)

    def _beside_embedding(self, own: Any, first: Any, seen: Array, actions: Array) -> Array:
        """States and actions have a layer of their own, or they would drown in the embedding."""
        state, z = jnp.split(seen, [self.features], axis=1)
        action, led_to = jnp.split(actions, [self.dimensions or 0], axis=2)
        raw = of_mean_size_one(first_layer(own, state, action))
        raw = raw.reshape(*actions.shape[:2], -1)
        return first_layer(first, z, jnp.concatenate([raw, led_to], axis=2))
