"""A dueling network, fitted to the returns of the current policy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.critics.critic import Samples
from odrpo.envs.env import Array
from odrpo.networks import Layers, adam, apply_layers, fit, init_layers


class Network(NamedTuple):
    """Layers, where their optimiser stands, and the scale of the values that they speak of."""

    layers: Layers
    optimiser: Any
    mean: Array
    spread: Array
    """Mean and standard deviation of the targets, running: the network sees them normalised."""
    fits: Array
    """How many times it was fitted."""


@dataclass(frozen=True)
class NetworkCritic:
    """Q(s,a) = V(s) + U(s,a) - E_pi[U(s,.)], so that V is the value of the policy (dueling)."""

    features: int
    actions: int
    action_values: bool
    """Whether actions have values of their own, or all that of the state."""
    hidden: tuple[int, ...]
    epochs: int
    minibatch: int
    spread_rate: float = 0.1

    def init(self, key: jax.Array) -> Network:
        """Values near zero."""
        outputs = 1 + self.actions if self.action_values else 1
        layers = init_layers(key, (self.features, *self.hidden, outputs), 0.01)
        zero = jnp.zeros(())
        return Network(layers, adam.init(layers), zero, zero + 1, jnp.zeros((), jnp.int32))

    def values(self, params: Network, observation: Array, policy: Array) -> Array:
        """(N, features) to (N, A)."""
        return params.mean + params.spread * self._normalised(params.layers, observation, policy)

    def fit(
        self,
        params: Network,
        samples: Samples,
        policy: Callable[[Array], Array],
        discount: Array,
        key: jax.Array,
        rate: Array,
    ) -> Network:
        """Minimise the squared error of Q(s, a) to the targets."""
        valid = samples.valid.astype(samples.target.dtype)
        params = self._rescale(params, samples.target, valid)
        target = (samples.target - params.mean) / params.spread
        data = (samples.observation, samples.policy, samples.action, target, valid)

        def loss(layers: Layers, data: tuple) -> Array:
            observation, policy, action, target, valid = data
            values = self._normalised(layers, observation, policy)
            taken = action[:, None] == jnp.arange(self.actions)[None, :]
            chosen = jnp.sum(jnp.where(taken, values, 0), axis=1)
            return jnp.mean(valid * (chosen - target) ** 2) / 2

        layers, optimiser = fit(
            loss, params.layers, params.optimiser, data, key, rate, self.epochs, self.minibatch
        )
        return params._replace(layers=layers, optimiser=optimiser)

    def _normalised(self, layers: Layers, observation: Array, policy: Array) -> Array:
        outputs = apply_layers(layers, observation)
        value, better = outputs[:, :1], outputs[:, 1:]
        if not self.action_values:
            return jnp.broadcast_to(value, policy.shape)
        return value + better - jnp.sum(policy * better, axis=1, keepdims=True)

    def _rescale(self, params: Network, target: Array, valid: Array) -> Network:
        """Follow the scale of the targets, with the values kept as they are (PopArt)."""
        share = jnp.maximum(self.spread_rate, 1 / (1 + params.fits).astype(target.dtype))
        weight = valid / jnp.maximum(jnp.sum(valid), 1)
        mean = params.mean + share * (jnp.sum(weight * target) - params.mean)
        variance = jnp.sum(weight * (target - mean) ** 2)
        variance = params.spread**2 + share * (variance - params.spread**2)
        spread = jnp.maximum(jnp.sqrt(variance), 1e-4)
        *below, (weights, bias) = params.layers
        ratio = params.spread / spread
        # U has no offset of its own: only V carries the mean.
        is_value = jnp.arange(bias.shape[0]) == 0
        bias = ratio * bias + jnp.where(is_value, (params.mean - mean) / spread, 0)
        layers = [*below, (ratio * weights, bias)]
        return Network(layers, params.optimiser, mean, spread, params.fits + 1)
