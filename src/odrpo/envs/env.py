"""What an environment on the device is: pure functions of a key and a state."""

from typing import Any, NamedTuple, Protocol

import gymnasium
import jax

Array = Any


class Step(NamedTuple):
    """What one step leads to; the end of an episode and its cutting off are kept apart."""

    state: Any
    observation: Array
    reward: Array
    terminated: Array
    """The episode came to its end: nothing follows, the value beyond it is zero."""
    truncated: Array
    """The episode was cut off at its step limit: the value beyond it is that of the state."""


class Env(Protocol):
    """An environment that runs under jit and vmap, one episode at a time."""

    @property
    def observation_space(self) -> gymnasium.Space:
        """What is seen."""
        ...

    @property
    def action_space(self) -> gymnasium.Space:
        """What can be done."""
        ...

    def reset(self, key: jax.Array) -> tuple[Any, Array]:
        """Begin an episode: its state and first observation."""
        ...

    def step(self, key: jax.Array, state: Any, action: Array) -> Step:
        """Take an action; what follows the end of an episode has no meaning until `reset`."""
        ...
