"""Networks for the values of states and for what actions add, fitted to returns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.critics.critic import Samples
from odrpo.critics.unit import rescaled, spread, unit
from odrpo.envs.env import Array
from odrpo.networks import Layers, adam, apply_layers, first_layer, fit, init_layers
from odrpo.policies import Support


class Recent(NamedTuple):
    """The samples of the last W batches of B, (W, B, ...) each."""

    at: Support
    action: Array
    target: Array
    valid: Array


class Network(NamedTuple):
    """Layers, where their optimiser stands, and what else goes from update to update."""

    layers: tuple[Layers, ...]
    """Those of V, and those of U where actions have values of their own."""
    optimiser: Any
    scale: Array
    """The networks see values in this unit; zero until a reward is seen."""
    fits: Array
    """How many times it was fitted."""
    recent: Recent


@dataclass(frozen=True)
class NetworkCritic:
    """Q(s,a) = V(s) + U(s,a) - E_pi[U(s,.)], so that V is the value of the policy (dueling).

    V and U are networks of their own: actions differ by far less than states do, and where both
    share their layers, those serve V.
    """

    features: int
    actions: int
    """How many there are at a state; of a continuum, how many are drawn."""
    dimensions: int | None
    """Those of an action of a continuum."""
    action_values: bool
    """Whether actions have values of their own, or all that of the state."""
    hidden: tuple[int, ...]
    epochs: int
    minibatch: int
    batch: int
    """Samples in a batch."""
    window: int
    """The fit is to the last so many batches."""
    scale_rate: float = 0.01

    def init(self, key: jax.Array) -> Network:
        """Values near zero."""
        ends = [(self.features, 1)]
        if self.action_values:
            inputs = self.features + (self.dimensions or 0)
            ends.append((inputs, self.actions if self.dimensions is None else 1))
        layers = tuple(
            init_layers(key, (first, *self.hidden, last), 0.01)
            for key, (first, last) in zip(jax.random.split(key, len(ends)), ends, strict=True)
        )
        rows = (self.window, self.batch)
        drawn = None
        if self.dimensions is not None:
            drawn = jnp.zeros((*rows, self.actions, self.dimensions))
        at = Support(jnp.zeros((*rows, self.features)), jnp.zeros((*rows, self.actions)), drawn)
        recent = Recent(
            at,
            jnp.zeros(rows, jnp.int32),
            jnp.zeros(rows),
            jnp.zeros(rows),
        )
        fits = jnp.zeros((), jnp.int32)
        return Network(layers, adam.init(layers), jnp.zeros(()), fits, recent)

    def values(self, params: Network, at: Support) -> Array:
        """(S, N)."""
        return unit(params.scale) * self._normalised(params.layers, at)

    def state_values(self, params: Network, observation: Array) -> Array:
        """V, (S,): what `values` come to on average, whatever the policy does."""
        return unit(params.scale) * apply_layers(params.layers[0], observation)[:, 0]

    def fit(
        self,
        params: Network,
        samples: Samples,
        policy: Callable[[Array], Array],
        discount: Array,
        key: jax.Array,
        rate: Array,
    ) -> Network:
        """Minimise the squared error of Q(s, a) to the targets of the last batches."""
        valid = samples.valid.astype(samples.target.dtype)
        params = self._rescale(params, samples.reward, valid, discount)
        newest = Recent(samples.at, samples.action, samples.target, valid)
        place = params.fits % self.window
        recent = jax.tree.map(lambda old, new: old.at[place].set(new), params.recent, newest)
        data = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), recent)

        def loss(layers: tuple[Layers, ...], data: Recent) -> Array:
            values = self._normalised(layers, data.at)
            taken = data.action[:, None] == jnp.arange(self.actions)[None, :]
            chosen = jnp.sum(jnp.where(taken, values, 0), axis=1)
            return jnp.mean(data.valid * (chosen - data.target / unit(params.scale)) ** 2) / 2

        layers, optimiser = fit(
            loss, params.layers, params.optimiser, data, key, rate, self.epochs, self.minibatch
        )
        return Network(layers, optimiser, params.scale, params.fits + 1, recent)

    def _normalised(self, layers: tuple[Layers, ...], at: Support) -> Array:
        value = apply_layers(layers[0], at.observation)
        if not self.action_values:
            return jnp.broadcast_to(value, at.policy.shape)
        if at.actions is None:
            better = apply_layers(layers[1], at.observation)
        else:
            first, *rest = layers[1]
            hidden = jnp.tanh(first_layer(first, at.observation, at.actions))
            better = apply_layers(rest, hidden).reshape(at.policy.shape)
        return value + better - jnp.sum(at.policy * better, axis=1, keepdims=True)

    def _rescale(self, params: Network, reward: Array, valid: Array, discount: Array) -> Network:
        """Follow the size of the rewards, with the values kept as they are.

        The scale of the returns themselves would not do: where they are all alike, before a first
        success or after the last failure, the networks would see nothing but their noise.
        """
        share = jnp.maximum(self.scale_rate, 1 / (1 + params.fits).astype(params.scale.dtype))
        weight = valid / jnp.maximum(jnp.sum(valid), 1)
        variance = spread(jnp.sum(weight * reward**2), discount) ** 2
        scale = jnp.sqrt(params.scale**2 + share * (variance - params.scale**2))
        layers = tuple(rescaled(params.layers, params.scale, scale))
        return params._replace(layers=layers, scale=scale)
