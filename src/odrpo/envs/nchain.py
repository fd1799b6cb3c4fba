"""The chain of Dearden et al. (1998), NChain-v0 in earlier versions of Gym."""

import gymnasium
import numpy as np

from odrpo.envs.finite import FiniteMDP
from odrpo.envs.tables import TableEnv


def nchain(
    states: int = 5,
    slip: float = 0.2,
    small: float = 2.0,
    large: float = 10.0,
    max_steps: int | None = 1000,
) -> FiniteMDP:
    """Go forward (action 0) to the far end and its large reward, or back (1) for a small one.

    With probability `slip` the other action is carried out. Going back leads to the first state and
    pays `small`; going forward pays nothing but at the end, where it stays and pays `large`.

    >>> round(nchain().optimal_return(), 1)
    3665.8
    """
    forward = np.minimum(np.arange(states) + 1, states - 1)
    transitions = np.zeros((states, 2, states))
    rewards = np.zeros((states, 2, states))
    for action, probability in ((0, 1 - slip), (1, slip)):
        transitions[np.arange(states), action, forward] += probability
        transitions[:, action, 0] += 1 - probability
    rewards[:, :, 0] = small
    rewards[-1, :, -1] = large
    return FiniteMDP(transitions, rewards, start=0, max_steps=max_steps)


def register() -> None:
    """Make NChain-v0 known to Gymnasium, which has dropped it."""
    if "NChain-v0" not in gymnasium.registry:
        gymnasium.register(
            "NChain-v0",
            entry_point=lambda **options: TableEnv(nchain(**options, max_steps=None)),
            max_episode_steps=1000,
        )
