"""What a critic offers: values of all actions, fitted to samples of the current policy.

One that is fitted to transitions from replay offers a step in place of a fit: see `ensemble`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax

from odrpo.envs.env import Array
from odrpo.policies import Support


class Samples(NamedTuple):
    """Steps with what a critic learns from, a row each."""

    at: Support
    """Where they were taken, and what could be done there."""
    action: Array
    """Which of the support's actions was, by its number."""
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

    def values(self, params: Any, at: Support) -> Array:
        """Q of the support's actions, (S, N), with E_pi[Q] the value of the state."""
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
