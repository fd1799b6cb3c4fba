"""Observations as networks take them: normalised by what was seen so far."""

from typing import NamedTuple

import jax.numpy as jnp

from odrpo.envs.env import Array


class Normaliser(NamedTuple):
    """Mean and variance of all observations seen, (features,) each, and how many there were."""

    count: Array
    mean: Array
    variance: Array

    @classmethod
    def init(cls, features: int) -> "Normaliser":
        """Nothing seen yet."""
        return cls(jnp.zeros(()), jnp.zeros(features), jnp.ones(features))

    def apply(self, observation: Array) -> Array:
        """(N, features) with mean zero and variance one, within ten deviations."""
        scaled = (observation - self.mean[None, :]) / jnp.sqrt(self.variance + 1e-8)[None, :]
        return jnp.clip(scaled, -10, 10)

    def update(self, observation: Array, valid: Array) -> "Normaliser":
        """Take in N more, weighted by `valid`, (N,)."""
        added = jnp.sum(valid)
        share = valid[:, None] / jnp.maximum(added, 1)
        mean = jnp.sum(share * observation, axis=0)
        variance = jnp.sum(share * (observation - mean[None, :]) ** 2, axis=0)
        count = self.count + added
        part = added / jnp.maximum(count, 1)
        apart = mean - self.mean
        mixed = (1 - part) * self.variance + part * variance + part * (1 - part) * apart**2
        return Normaliser(
            # A count beyond what a float can hold must not stand still at odd moments.
            jnp.minimum(count, 1e7),
            self.mean + part * apart,
            jnp.where(count > added, mixed, variance),
        )
