"""What a rollout brings home, whatever it ran on."""

from dataclasses import dataclass

import jax

from odrpo.envs.env import Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Batch:
    """T steps of B environments side by side, (T, B, ...) each.

    Attributes:
        observation: What was seen.
        action: What was done.
        reward: What it paid.
        next_observation: What it led to; at the end of an episode its last observation, not the
            first of the next one.
        terminated: The episode came to its end: the value beyond is zero.
        truncated: The episode was cut off: the value beyond is that of next_observation.
        time: Steps since the episode began, for the discount of the visits.
        episode_return: Rewards of the episode up to and with this step, undiscounted; that of the
            whole episode where `done`.
        valid: False where the environment stood still: nothing was done, nothing counts.
        mask: True where an action is allowed, (T, B, A); None: all are.
        next_mask: The same at next_observation.
    """

    observation: Array
    action: Array
    reward: Array
    next_observation: Array
    terminated: Array
    truncated: Array
    time: Array
    episode_return: Array
    valid: Array
    mask: Array | None = None
    next_mask: Array | None = None

    @property
    def done(self) -> Array:
        """Where an episode is over, one way or the other, (T, B)."""
        return self.terminated | self.truncated
