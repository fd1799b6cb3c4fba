"""A network with a softmax: the exact step is a target that it is fitted to."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.envs.env import Array
from odrpo.networks import Layers, adam, apply_layers, fit, init_layers, some_rows
from odrpo.policies.discrete import DiscretePolicy
from odrpo.policies.support import Support


class Network(NamedTuple):
    """Layers, and where their optimiser stands."""

    layers: Layers
    optimiser: Any


@dataclass(frozen=True)
class CategoricalPolicy(DiscretePolicy):
    """pi(a|s) = softmax of the network's outputs at s."""

    features: int
    actions: int
    hidden: tuple[int, ...]
    loss: Literal["cross_entropy", "squared_error"]
    epochs: int
    minibatch: int
    subset: int | None
    """The fit uses so many states, drawn anew at each update; None: all."""

    def init(self, key: jax.Array) -> Network:
        """Nearly uniform: the last layer is small."""
        layers = init_layers(key, (self.features, *self.hidden, self.actions), 0.01)
        return Network(layers, adam.init(layers))

    def probabilities(self, params: Network, observation: Array) -> Array:
        """(N, features) to (N, A); never quite zero, so that a KL step can bring it back."""
        policy = jax.nn.softmax(apply_layers(params.layers, observation))
        return jnp.maximum(policy, jnp.finfo(policy.dtype).tiny)

    def project(
        self,
        params: Network,
        support: Support,
        target: Array,
        weights: Array,
        key: jax.Array,
        rate: Array,
    ) -> Network:
        """Minimise E_rho of the loss to the target, which is held fixed.

        Cross-entropy -sum_a pi'(a|s) log pi_theta(a|s), or sum_a (pi' - pi_theta)^2 (paper: the
        neural update).
        """
        subset_key, fit_key = jax.random.split(key)
        size = target.shape[0]
        data = some_rows(subset_key, (support.observation, target, weights), self.subset)

        def loss(layers: Layers, data: tuple) -> Array:
            observation, target, weights = data
            log_policy = jax.nn.log_softmax(apply_layers(layers, observation))
            if self.loss == "cross_entropy":
                each = -jnp.sum(target * log_policy, axis=1)
            else:
                each = jnp.sum((target - jnp.exp(log_policy)) ** 2, axis=1)
            # The weights sum to one over all samples: times their number, one each on average.
            return jnp.mean(weights * each) * size

        return Network(
            *fit(loss, *params, data, fit_key, rate, self.epochs, self.minibatch),
        )
