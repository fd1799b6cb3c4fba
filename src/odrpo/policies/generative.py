"""A policy that generates actions from noise: any distribution, several modes included."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.envs.env import Array
from odrpo.networks import (
    Layers,
    adam,
    apply_layers,
    fit,
    init_layers,
    of_mean_size_one,
    some_rows,
)
from odrpo.policies.support import Support, candidates
from odrpo.randomness import drawn

BLUR = 1.0
"""Where densities are compared, a quantile is a bell so many steps of even ones wide."""


class Generator(NamedTuple):
    """A trunk for the state, and a small head for each of D action dimensions."""

    trunk: Layers
    state: Array
    """From the trunk to the heads, (D, H, W)."""
    previous: Array
    """From the dimensions before to the heads, (D, D, W); what is not before is not used."""
    bias: Array
    """(D, W)."""
    out: Array
    """(D, W, M)."""
    out_bias: Array
    """(D, M)."""


class Network(NamedTuple):
    """The generator, and where its optimiser stands."""

    generator: Generator
    optimiser: Any


@dataclass(frozen=True)
class GenerativePolicy:
    """a = f(s, tau), tau uniform: dimension d is a quantile function given s and the ones before.

    The quantile function is given by its values at M levels, each an output of its own. Nothing
    forces them to be in order: a running sum would, but then no level moves without all the others,
    and mass that has lost its weight is left behind.
    """

    features: int
    dimensions: int
    hidden: tuple[int, ...]
    levels: int
    """M."""
    head: int
    """Units of the hidden layer of a dimension."""
    candidates: int
    """Actions drawn at each state of the support."""
    candidate_noise: Array | None
    """Standard deviation of what is added to them, so that they reach beyond the policy."""
    epochs: int
    minibatch: int
    subset: int | None
    """The fit uses so many states, drawn anew at each update; None: all."""
    embedding: int = 0
    """So many numbers stand behind the features of a state."""

    def init(self, key: jax.Array) -> Network:
        """Uniform on [-1, 1] in every dimension, or nearly so."""
        trunk_key, state_key, previous_key, out_key = jax.random.split(key, 4)
        count, width, head = self.dimensions, self.hidden[-1], self.head
        generator = Generator(
            self._init_trunk(trunk_key),
            drawn(jax.random.normal, state_key, (count, width, head)) / width**0.5,
            drawn(jax.random.normal, previous_key, (count, count, head)) / count**0.5,
            jnp.zeros((count, head)),
            0.01 * drawn(jax.random.normal, out_key, (count, head, self.levels)) / head**0.5,
            jnp.zeros((count, self.levels)),
        )
        return Network(generator, adam.init(generator))

    def act(self, params: Network, observation: Array, key: jax.Array, mask: None) -> Array:
        """Actions drawn, (S, D)."""
        tau = drawn(jax.random.uniform, key, (len(observation), self.dimensions))
        return self.generate(params, observation, tau)

    def best(self, params: Network, observation: Array, mask: None) -> Array:
        """The median of each dimension given those before, (S, D)."""
        return self.generate(
            params, observation, jnp.full((len(observation), self.dimensions), 0.5)
        )

    def generate(self, params: Network, observation: Array, tau: Array) -> Array:
        """What noise (S, D) between 0 and 1 makes, (S, D)."""
        return self.sample(params.generator, observation, tau[:, None])[:, 0]

    def at(self, params: Network, observation: Array, key: jax.Array) -> Support:
        """Candidates drawn at each observation, as probable as each other."""
        tau_key, noise_key = jax.random.split(key)
        shape = (len(observation), self.candidates, self.dimensions)
        tau = drawn(jax.random.uniform, tau_key, shape)
        actions = self.sample(params.generator, observation, tau)
        return candidates(observation, actions, self.candidate_noise, noise_key)

    def support(self, params: Network, at: Support) -> Support:
        """Every sample is a state of its own."""
        return at

    def project(
        self,
        params: Network,
        support: Support,
        target: Array,
        weights: Array,
        key: jax.Array,
        rate: Array,
    ) -> Network:
        """Quantile regression to the support's actions, each as probable as the target has it."""
        subset_key, fit_key = jax.random.split(key)
        size = target.shape[0]
        data = (support.observation, support.actions, weights[:, None] * size * target)

        def loss(generator: Generator, data: tuple) -> Array:
            return self.loss(generator, *data)

        data = some_rows(subset_key, data, self.subset)
        return Network(*fit(loss, *params, data, fit_key, rate, self.epochs, self.minibatch))

    def on_support(self, params: Network, old: Network, support: Support) -> Array:
        """The old probabilities of the support's actions times how much denser it is there now."""
        ratio = self.log_density(params, support) - self.log_density(old, support)
        return jax.nn.softmax(ratio + jnp.log(support.policy), axis=1)

    def entropy(self, params: Network, support: Support, policy: Array) -> Array:
        """-E log density of each state, (S,), with `policy` what is on the support."""
        return -jnp.sum(policy * self.log_density(params, support), axis=1)

    def sample(self, generator: Generator, observation: Array, tau: Array) -> Array:
        """f(s, tau), one dimension after the other: (S, F) and (S, N, D) to (S, N, D)."""
        states = self._states(generator, observation)

        def next_dimension(actions: Array, part: tuple) -> tuple[Array, None]:
            number, state, previous, out, out_bias, tau = part
            hidden = jax.nn.relu(state[:, None] + actions @ previous)
            value = interpolate(quantiles(hidden @ out + out_bias[None, None]), tau)
            return actions.at[:, :, number].set(value), None

        parts = (
            jnp.arange(self.dimensions),
            states,
            generator.previous,
            generator.out,
            generator.out_bias,
            jnp.moveaxis(tau, 2, 0),
        )
        # What is not chosen yet is zero, so that it needs no mask.
        return jax.lax.scan(next_dimension, jnp.zeros_like(tau), parts)[0]

    def loss(
        self, generator: Generator, observation: Array, actions: Array, weight: Array
    ) -> Array:
        """Pinball loss to weighted actions, (S, N, D) and (S, N): least at their quantiles."""
        above = _by_dimension(actions) - self._quantiles_given(generator, observation, actions)
        level = (jnp.arange(0.5, self.levels) / self.levels)[None, None]
        pinball = jnp.maximum(level * above, (level - 1) * above)
        # Each level in units of its noise. Without that nothing pulls the lowest and the highest
        # quantiles away from actions that have lost their weight.
        pinball = pinball / jnp.sqrt(level * (1 - level))
        # A sum over levels and dimensions: a mean would leave gradients too small for Adam's floor.
        return jnp.sum(weight.reshape(1, -1, 1) * pinball) / len(observation)

    def log_density(self, params: Network, support: Support) -> Array:
        """At the support's actions, (S, N), of the policy a little blurred."""
        values = self._quantiles_given(params.generator, support.observation, support.actions)
        width = BLUR * 2 / self.levels
        apart = (jnp.clip(values, -1, 1) - _by_dimension(support.actions)) / width
        bells = jax.nn.logsumexp(-(apart**2) / 2, axis=-1)
        density = jnp.sum(bells - jnp.log(self.levels * width * jnp.sqrt(2 * jnp.pi)), axis=0)
        return density.reshape(support.policy.shape)

    def _quantiles_given(self, generator: Generator, observation: Array, actions: Any) -> Array:
        """Those of all dimensions at once, each given the true ones before it, (D, S N, M)."""
        states, count, _ = actions.shape
        earlier = jnp.tril(jnp.ones((self.dimensions,) * 2, actions.dtype), -1)[:, :, None]
        previous = actions.reshape(1, states * count, -1) @ (generator.previous * earlier)
        state = jnp.repeat(self._states(generator, observation), count, axis=1)
        hidden = jax.nn.relu(state + previous)
        return quantiles(hidden @ generator.out + generator.out_bias[:, None])

    def _init_trunk(self, key: jax.Array) -> Layers:
        if not self.embedding:
            return init_layers(key, (self.features, *self.hidden), 2**0.5)
        # The state has a layer of its own, or it would drown in the embedding.
        own = init_layers(jax.random.fold_in(key, 1), (self.features, self.hidden[0]), 1.0)
        return own + init_layers(key, (self.hidden[0] + self.embedding, *self.hidden), 2**0.5)

    def _states(self, generator: Generator, observation: Array) -> Array:
        """What the heads see of the states, (D, S, W)."""
        layers = generator.trunk
        if self.embedding:
            own, *layers = layers
            state, z = jnp.split(observation, [self.features], axis=1)
            raw = of_mean_size_one(apply_layers([own], state))
            observation = jnp.concatenate([raw, z], axis=1)
        trunk = jax.nn.relu(apply_layers(layers, observation, jax.nn.relu))
        return trunk[None] @ generator.state + generator.bias[:, None]


def _by_dimension(actions: Any) -> Array:
    """(S, N, D) to (D, S N, 1)."""
    return jnp.moveaxis(actions, 2, 0).reshape(actions.shape[2], -1, 1)


def quantiles(logits: Array) -> Array:
    """Values at the levels, (..., M): those of the uniform distribution on [-1, 1], moved."""
    count = logits.shape[-1]
    even = jnp.arange(0.5, count) * (2 / count) - 1
    # The factor lets a network that starts out small get from flat to narrow several times faster.
    return 4 * logits + jnp.expand_dims(even, tuple(range(logits.ndim - 1)))


def spread(values: Array) -> Array:
    """How far the share of each quantile reaches: to the nearer of its neighbours, (..., M).

    Over a gap between two modes nothing is spread, which a line between quantiles would.
    """
    apart = jnp.abs(jnp.diff(values, axis=-1))
    before = jnp.concatenate([apart[..., :1], apart], axis=-1)
    after = jnp.concatenate([apart, apart[..., -1:]], axis=-1)
    return jnp.minimum(before, after)


def interpolate(values: Array, tau: Array) -> Array:
    """The quantile function at tau: (..., M) at the levels (j + 1/2) / M and (...) to (...)."""
    count = values.shape[-1]
    level = jnp.clip((tau * count).astype(jnp.int32), 0, count - 1)
    beside = tau * count - level.astype(tau.dtype) - 0.5
    value = jnp.take_along_axis(values, level[..., None], axis=-1)[..., 0]
    reach = jnp.take_along_axis(spread(values), level[..., None], axis=-1)[..., 0]
    return jnp.clip(value + beside * reach, -1, 1)


def held_uniform(key: jax.Array, number: Array, shape: tuple[int, ...], octaves: int) -> Array:
    """Uniform noise, the more alike the closer two numbers are (pink, by Voss and McCartney).

    It is made of so many parts; one is new at every number, one at every second, every fourth...
    """

    def part(octave: Array) -> Array:
        own = jax.random.fold_in(jax.random.fold_in(key, octave), number >> octave)
        return drawn(jax.random.normal, own, shape)

    parts = jax.vmap(part)(jnp.arange(octaves))
    return jax.scipy.special.ndtr(jnp.sum(parts, axis=0) / octaves**0.5)
