"""Learning curves: every seed thin, their mean bold."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import EngFormatter

from odrpo.records import WINDOW, Episode

COLOURS = ("#00798c", "#d1495b", "#edae49", "#66a182", "#2e4057")
POINTS = 300

Curve = tuple[np.ndarray, np.ndarray]
"""Timesteps and returns."""
Runs = Mapping[str, Sequence[Curve]]
"""By label, the curve of each seed."""


def draw_curves(
    runs: Runs, path: Path, title: str, references: Mapping[str, float] | None = None
) -> None:
    """Draw returns against timesteps into a file; references are lines across, as an optimum."""
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for (label, seeds), colour in zip(runs.items(), COLOURS, strict=False):
        curves = [curve for curve in seeds if len(curve[0])]
        for timesteps, returns in curves:
            axes.plot(timesteps, returns, color=colour, lw=0.7, alpha=0.4)
        if len(curves) > 1:
            grid = np.linspace(max(t[0] for t, _ in curves), min(t[-1] for t, _ in curves), POINTS)
            mean = np.mean([np.interp(grid, *curve) for curve in curves], axis=0)
            axes.plot(grid, mean, color=colour, lw=2.2, label=label or None)
        elif curves:
            axes.plot(*curves[0], color=colour, lw=1.8, label=label or None)
    for (name, value), style in zip((references or {}).items(), ("--", ":", "-."), strict=False):
        axes.axhline(value, color="grey", ls=style, lw=1.2, label=f"{name} {value:g}")
    axes.set_title(title)
    axes.set_xlabel("timesteps")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_ylabel(f"return, mean of {WINDOW} episodes")
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def smoothed(episodes: Sequence[Episode]) -> Curve:
    """Timesteps and mean returns of the last 20 episodes (fewer at the beginning)."""
    timesteps = np.array([episode.timesteps for episode in episodes], float)
    total = np.cumsum([0.0, *(episode.episode_return for episode in episodes)])
    ends = np.arange(1, len(episodes) + 1)
    begins = np.maximum(ends - WINDOW, 0)
    return timesteps, (total[ends] - total[begins]) / (ends - begins)
