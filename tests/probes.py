"""Probe environments: each isolates one thing that can go wrong, and has a known answer."""

from odrpo import FiniteMDP

END = 2
"""The last state of each probe, where an episode ends."""


def reward_by_action() -> FiniteMDP:
    """One step, and only action 1 pays: advantages have the right sign."""
    return FiniteMDP([[END, END]] * 3, [[0.0, 1.0]] * 3, 0, [0, 0, 1])


def reward_by_state_and_action() -> FiniteMDP:
    """One step from one of two states, and the action that pays is another in each."""
    return FiniteMDP([[END, END]] * 3, [[0, 1], [1, 0], [0, 0]], [0.5, 0.5, 0], [0, 0, 1])


def delayed_reward() -> FiniteMDP:
    """What pays at the second step was decided at the first: values travel back in time."""
    return FiniteMDP([[1, 3], [2, 2], [2, 2], [2, 2]], [0, 1, 0, 0], 0, [0, 0, 1, 0])


def endless_reward() -> FiniteMDP:
    """A reward of one for ever, cut off after four steps: truncation is no end."""
    return FiniteMDP([[0, 0]], [1.0], 0, max_steps=4)


def ending_reward() -> FiniteMDP:
    """Staying pays one and may go on, ending pays two: good only if ends and cuts are told apart.

    With a discount of 0.9 staying for ever is worth 10; cut off at four steps as if that were the
    end, it would be worth less than 3.5, and near the cut ending would look better.
    """
    return FiniteMDP([[0, 1], [1, 1]], [[1.0, 2.0], [0, 0]], 0, [0, 1], max_steps=4)
