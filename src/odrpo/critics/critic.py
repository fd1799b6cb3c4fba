"""What every critic offers: values of all actions, fitted to samples of the current policy."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax

from odrpo.envs.env import Array


class Samples(NamedTuple):
    """N steps with what a critic learns from, (N, ...) each."""

    observation: Array
    action: Array
    policy: Array
    """pi at the observation, (N, A)."""
    target: Array
    """The return of the action, estimated from the rollout."""
    reward: Array
    next_observation: Array
    terminated: Array
    valid: Array
    """False where nothing was done: such a step counts for nothing."""


class Critic(Protocol):
    """Estimates Q of the policy that collected the samples."""

    def init(self, key: jax.Array) -> Any:
        """Parameters."""
        ...

    def values(self, params: Any, observation: Array, policy: Array) -> Array:
        """Q, (N, A), with E_pi[Q] the value of the state under `policy`, (N, A)."""
        ...

    def fit(
        self,
        params: Any,
        samples: Samples,
        policy: Callable[[Array], Array],
        discount: Array,
        key: jax.Array,
        rate: Array,
    ) -> Any:
        """Parameters after what the samples tell; `policy` gives pi at any observation."""
        ...
