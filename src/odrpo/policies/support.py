"""What every policy offers to the trust-region step: the states at which it can be moved."""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from odrpo.envs.env import Array


class Support(NamedTuple):
    """The S states of a trust-region problem, and which of them each of N samples belongs to."""

    observation: Array
    """(S, ...)."""
    rows: Array | None
    """(N,), a row of the support for each sample; None: sample n is row n."""

    def total(self, samples: Array) -> Array:
        """The sum over the samples of each state, (N, ...) to (S, ...)."""
        if self.rows is None:
            return samples
        return jax.ops.segment_sum(samples, self.rows, self.observation.shape[0])

    def mean(self, samples: Array, counted: Array) -> Array:
        """The mean over the samples that count, (N,) or (N, A), of each state; zero if none do."""
        counted = counted.reshape(len(counted), -1).astype(samples.dtype)
        return self.total(samples) / jnp.maximum(self.total(counted), 1)


class Policy(Protocol):
    """A distribution over A actions at each observation."""

    def init(self, key: jax.Array) -> Any:
        """Parameters of a policy that is uniform, or nearly so."""
        ...

    def probabilities(self, params: Any, observation: Array) -> Array:
        """pi, (N, ...) to (N, A)."""
        ...

    def support(self, observation: Array) -> Support:
        """The states of the trust-region problem for samples at these observations, (N, ...)."""
        ...

    def project(
        self, params: Any, support: Support, target: Array, weights: Array, key: Array, rate: Array
    ) -> Any:
        """Parameters whose policy comes close to the target, (S, A)."""
        ...
