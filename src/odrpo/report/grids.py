"""Pictures of policies on finite states: the best move over the value of each state."""

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from odrpo.envs.finite import FiniteMDP
from odrpo.model import ODRPO
from odrpo.report.picture import Picture, name_of, png_of

COMPASS = {"up": (0, -1), "right": (1, 0), "down": (0, 1), "left": (-1, 0)}
CLIFF = ("up", "right", "down", "left")
LAKE = ("left", "down", "right", "up")
TAXI = ("down", "up", "right", "left")
"""What the first actions of these environments do."""
PLACES = ("red", "green", "yellow", "blue")
COLOURS = "Colours are the discounted value of each state, from yellow (least) to blue (greatest)."


def _of_table(model: ODRPO) -> tuple[np.ndarray, np.ndarray]:
    """The policy at every state, and its exact values, discounted."""
    mdp: FiniteMDP = model.env
    policy = model.probabilities(np.arange(mdp.observation_space.n))
    q = mdp.action_values(policy, min(model.config.discount, 0.99))
    return policy, (policy * q).sum(axis=1)


def _cliff(model: ODRPO) -> Picture:
    policy, values = _of_table(model)
    figure, axes = plt.subplots(figsize=(9, 3.2), layout="constrained")
    grid = values.reshape(4, 12).copy()
    grid[3, 1:] = np.nan  # the cliff and the goal, where nobody stands
    _heat(axes, grid, figure)
    for state in range(37):
        _arrow(axes, state % 12, state // 12, policy[state], CLIFF)
    axes.text(5.5, 3, "cliff", ha="center", va="center", color="grey")
    axes.text(11, 3, "goal", ha="center", va="center")
    caption = f"The most probable move, the darker the more certain. {COLOURS}"
    return Picture(name_of(model), caption, png_of(figure))


def _taxi(model: ODRPO) -> Picture:
    """Where the passenger waits at each place, and where they ride to it."""
    policy, values = _of_table(model)
    figure, rows = plt.subplots(2, 4, figsize=(11, 5.6), layout="constrained")
    for place, name in enumerate(PLACES):
        away = (place + 1) % 4
        for axes, passenger, goal, title in (
            (rows[0, place], place, away, f"to the passenger at {name}"),
            (rows[1, place], 4, place, f"with the passenger to {name}"),
        ):
            states = np.arange(25) * 20 + passenger * 4 + goal
            _heat(axes, values[states].reshape(5, 5), None)
            for k, state in enumerate(states):
                if policy[state].argmax() < 4:
                    _arrow(axes, k % 5, k // 5, policy[state], TAXI)
                else:
                    axes.plot(k % 5, k // 5, "o", color="black", ms=7)
            axes.set_title(title, fontsize=9)
    caption = (
        "The most probable move at every place, the darker the more certain; a dot is a pick-up or "
        f"a drop-off. {COLOURS}"
    )
    return Picture(name_of(model), caption, png_of(figure))


def _chain(model: ODRPO) -> Picture:
    policy, values = _of_table(model)
    figure, axes = plt.subplots(figsize=(6, 1.6), layout="constrained")
    _heat(axes, values[None], figure)
    for state, row in enumerate(policy):
        axes.text(state, 0, f"forward {row[0]:.2f}", ha="center", va="center", fontsize=9)
    caption = f"The probability of going forward. {COLOURS}"
    return Picture(name_of(model), caption, png_of(figure))


def _lake(model: ODRPO) -> Picture:
    policy, values = _of_table(model)
    side = round(len(values) ** 0.5)
    figure, axes = plt.subplots(figsize=(4.6, 4), layout="constrained")
    _heat(axes, values.reshape(side, side), figure)
    for state, row in enumerate(policy):
        _arrow(axes, state % side, state // side, row, LAKE)
    caption = f"The most probable push, the darker the more certain. {COLOURS}"
    return Picture(name_of(model), caption, png_of(figure))


GRIDS: dict[str, Callable[[ODRPO], Picture]] = {
    "CliffWalking-v1": _cliff,
    "Taxi-v4": _taxi,
    "NChain-v0": _chain,
    "FrozenLake-v1": _lake,
    "FrozenLake8x8-v1": _lake,
}


def _heat(axes: Axes, values: np.ndarray, figure: Figure | None) -> None:
    image = axes.imshow(values, cmap="YlGnBu", alpha=0.6)
    axes.set_xticks([])
    axes.set_yticks([])
    if figure is not None:
        figure.colorbar(image, ax=axes, label="value", shrink=0.8)


def _arrow(axes: Axes, x: int, y: int, row: np.ndarray, moves: tuple[str, ...]) -> None:
    best = int(row.argmax())
    dx, dy = COMPASS[moves[best]]
    head = {"head_width": 0.16, "length_includes_head": True, "color": "black"}
    alpha = float(0.2 + 0.8 * row[best])
    axes.arrow(x - 0.3 * dx, y - 0.3 * dy, 0.6 * dx, 0.6 * dy, alpha=alpha, **head)
