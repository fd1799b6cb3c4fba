"""The usual policy for continuous actions, to compare with: a bell for each component."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.envs.env import Array
from odrpo.networks import Layers, adam, apply_layers, fit, init_layers, some_rows
from odrpo.policies.support import Support, candidates
from odrpo.randomness import drawn

FIRST_DEVIATION = 0.58
"""That of the uniform distribution on [-1, 1]."""
NARROWEST, WIDEST = -5.0, 1.0
"""Bounds of the logarithm of a standard deviation."""


class Bells(NamedTuple):
    """Layers to a mean and a log deviation of each component, and where their optimiser stands."""

    layers: Layers
    optimiser: Any


@dataclass(frozen=True)
class GaussianPolicy:
    """a = clip(mean(s) + deviation(s) z), z normal: one mode, components independent given s."""

    features: int
    dimensions: int
    hidden: tuple[int, ...]
    candidates: int
    candidate_noise: Array | None
    epochs: int
    minibatch: int
    subset: int | None

    def init(self, key: jax.Array) -> Bells:
        """Mean zero, and as wide as the uniform distribution, or nearly so."""
        layers = init_layers(key, (self.features, *self.hidden, 2 * self.dimensions), 0.01)
        return Bells(layers, adam.init(layers))

    def act(self, params: Bells, observation: Array, key: jax.Array, mask: None) -> Array:
        """Actions drawn, (S, D)."""
        tau = drawn(jax.random.uniform, key, (len(observation), self.dimensions))
        return self.generate(params, observation, tau)

    def best(self, params: Bells, observation: Array, mask: None) -> Array:
        """The mean, (S, D)."""
        return jnp.clip(self._bells(params.layers, observation)[0], -1, 1)

    def generate(self, params: Bells, observation: Array, tau: Array) -> Array:
        """What noise (S, D) between 0 and 1 makes, (S, D)."""
        mean, log_deviation = self._bells(params.layers, observation)
        z = jax.scipy.special.ndtri(jnp.clip(tau, 1e-6, 1 - 1e-6))
        return jnp.clip(mean + jnp.exp(log_deviation) * z, -1, 1)

    def at(self, params: Bells, observation: Array, key: jax.Array) -> Support:
        """Candidates drawn at each observation, as probable as each other."""
        own_key, noise_key = jax.random.split(key)
        shape = (len(observation), self.candidates, self.dimensions)
        mean, log_deviation = self._bells(params.layers, observation)
        z = drawn(jax.random.normal, own_key, shape)
        actions = jnp.clip(mean[:, None] + jnp.exp(log_deviation)[:, None] * z, -1, 1)
        return candidates(observation, actions, self.candidate_noise, noise_key)

    def support(self, params: Bells, at: Support) -> Support:
        """Every sample is a state of its own."""
        return at

    def project(
        self,
        params: Bells,
        support: Support,
        target: Array,
        weights: Array,
        key: jax.Array,
        rate: Array,
    ) -> Bells:
        """Maximum likelihood of the support's actions, each as probable as the target has it."""
        subset_key, fit_key = jax.random.split(key)
        size = target.shape[0]
        data = (support.observation, support.actions, weights[:, None] * size * target)

        def loss(layers: Layers, data: tuple) -> Array:
            observation, actions, weight = data
            return -jnp.sum(weight * self._density(layers, observation, actions)) / len(weight)

        data = some_rows(subset_key, data, self.subset)
        return Bells(*fit(loss, *params, data, fit_key, rate, self.epochs, self.minibatch))

    def on_support(self, params: Bells, old: Bells, support: Support) -> Array:
        """The old probabilities of the support's actions times how much denser it is there now."""
        new, before = (
            self._density(own.layers, support.observation, support.actions) for own in (params, old)
        )
        return jax.nn.softmax(new - before + jnp.log(support.policy), axis=1)

    def entropy(self, params: Bells, support: Support, policy: Array) -> Array:
        """Of the bells, (S,): what is clipped is not counted."""
        _, log_deviation = self._bells(params.layers, support.observation)
        return jnp.sum(log_deviation + 0.5 * jnp.log(2 * jnp.pi * jnp.e), axis=1)

    def _density(self, layers: Layers, observation: Array, actions: Any) -> Array:
        """The logarithm of it at actions (S, N, D), (S, N)."""
        mean, log_deviation = (part[:, None] for part in self._bells(layers, observation))
        z = (actions - mean) * jnp.exp(-log_deviation)
        return -jnp.sum(z**2 / 2 + log_deviation + 0.5 * jnp.log(2 * jnp.pi), axis=2)

    def _bells(self, layers: Layers, observation: Array) -> tuple[Array, Array]:
        """Means and log deviations, (S, D) each."""
        out = apply_layers(layers, observation, jax.nn.relu)
        mean, log_deviation = jnp.split(out, 2, axis=1)
        return mean, jnp.clip(log_deviation + jnp.log(FIRST_DEVIATION), NARROWEST, WIDEST)
