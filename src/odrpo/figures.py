"""Pictures of one trust-region problem: its duals, and the policy before and after."""

from pathlib import Path

import jax
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from odrpo.problem_files import ProblemFile
from odrpo.trust_region import Metric, Problem, Solution, paper, solve
from odrpo.trust_region.checks import METRICS

TITLES = {"kl": "KL", "wasserstein": "Wasserstein", "sinkhorn": "Sinkhorn"}
EXACT, PAPER, CURVE = "#d1495b", "#edae49", "#00798c"
MOST_STATES = 12


def draw_problem(problem: ProblemFile, folder: Path) -> list[Path]:
    """Draw dual.png and policies.png into a folder; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    metrics = {name: problem.build_metric(name) for name in METRICS}
    solutions = {
        name: solve(**problem.arguments(), metric=metric) for name, metric in metrics.items()
    }
    drawings = {
        "dual.png": draw_duals(problem, metrics, solutions),
        "policies.png": draw_policies(problem, solutions),
    }
    for name, figure in drawings.items():
        figure.savefig(folder / name, dpi=150)
        plt.close(figure)
    return [folder / name for name in drawings]


def draw_duals(
    problem: ProblemFile, metrics: dict[str, Metric], solutions: dict[str, Solution]
) -> Figure:
    """The duals with their exact minimisers, and where the paper's searches end."""
    figure, row = plt.subplots(1, 3, figsize=(15, 4.2), layout="constrained")
    with jax.enable_x64(True):
        arrays = Problem.create(**problem.arguments())
        for axes, name in zip(row, metrics, strict=True):
            _draw_dual(axes, arrays, metrics[name], solutions[name])
            axes.set_title(f"{TITLES[name]}: the dual in its one variable")
    # The paper's searches know neither masks nor costs.
    if "mask" not in problem.arrays:
        tables = paper.Tables.of(**problem.arguments())
        _mark_search(row[0], "basin hopping", paper.basin_hopping(tables))
        if "cost" not in problem.arrays:
            _mark_search(row[1], "two-phase search", paper.two_phase(tables))
            if solutions["wasserstein"].beta > 0:
                _note_plans(row[1], tables, solutions["wasserstein"])
    for axes in row:
        axes.legend(loc="upper center", frameon=False)
    return figure


def draw_policies(problem: ProblemFile, solutions: dict[str, Solution]) -> Figure:
    """The policy before and after each step, as tables of colour; the states that move most."""
    before = np.asarray(problem.arrays["policy"], float)
    moved = sum(np.abs(solution.policy - before).sum(axis=1) for solution in solutions.values())
    shown = np.sort(np.argsort(-moved, kind="stable")[:MOST_STATES])
    panels = {"before": before} | {TITLES[name]: s.policy for name, s in solutions.items()}
    height = 1.6 + 0.36 * len(shown)
    figure, row = plt.subplots(1, 4, figsize=(12, height), layout="constrained", sharey=True)
    for axes, (title, policy) in zip(row, panels.items(), strict=True):
        _draw_policy(axes, policy[shown])
        axes.set_title(title)
        axes.set_xticks(range(policy.shape[1]))
        names = [problem.label("actions", index) for index in range(policy.shape[1])]
        axes.set_xticklabels(names, rotation=30 if max(map(len, names)) > 2 else 0)
    row[0].set_yticks(range(len(shown)))
    row[0].set_yticklabels([problem.label("states", int(state)) for state in shown])
    row[0].set_ylabel("state" if len(shown) == len(before) else "state (those that move most)")
    radius = float(problem.arrays["radius"])
    figure.suptitle(f"One exact step of radius {radius:g}, measured in each metric's own way")
    return figure


def _draw_dual(axes: Axes, problem: Problem, metric: Metric, solution: Solution) -> None:
    scale = float(np.ptp(problem.advantages)) or 1.0
    centre = float(solution.beta) if 0 < solution.beta < np.inf else 0.1 * scale
    betas = np.linspace(0.15 * centre if solution.beta > 0 else 1e-3 * centre, 2.5 * centre, 300)
    dual = jax.jit(metric.dual)
    axes.plot(betas, [float(dual(problem, beta)) for beta in betas], color=CURVE)
    label = f"exact: beta* = {solution.beta:.4g}, gap {max(solution.gap, 0):.0e}"
    axes.plot(solution.beta, solution.dual, "o", color=EXACT, ms=9, label=label, zorder=3)
    axes.set_xlabel("beta")
    axes.set_ylabel("upper bound on the objective")
    axes.spines[["top", "right"]].set_visible(False)


def _mark_search(axes: Axes, name: str, found: paper.Search) -> None:
    label = f"{name} (paper): beta = {found.beta:.4g}"
    axes.plot(found.beta, found.dual, "X", color=PAPER, ms=14, label=label, zorder=2)


def _note_plans(axes: Axes, problem: paper.Tables, solution: Solution) -> None:
    """What the paper's plan does at beta*, where mass is tied."""
    beta = float(problem.gaps.ravel()[np.abs(problem.gaps - solution.beta).argmin()])
    lines = [f"split tie (exact): distance {solution.distance:.3g}, gain {solution.gain:.3g}"]
    for tie_moves in (False, True):
        change = paper.transport_policy(problem, beta, tie_moves) - problem.policy
        distance = problem.weights @ np.abs(change).sum(axis=1) / 2
        gain = problem.weights @ (change * problem.advantages).sum(axis=1)
        name = "tie moves" if tie_moves else "tie stays"
        lines.append(f"{name} (paper): distance {distance:.3g}, gain {gain:.3g}")
    text = "\n".join([f"mass tied at beta*, radius {problem.radius:.3g}", *lines])
    axes.text(0.45, 0.79, text, transform=axes.transAxes, ha="center", va="top", fontsize=8)


def _draw_policy(axes: Axes, policy: np.ndarray) -> None:
    axes.imshow(policy, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    if policy.size > 300:
        return
    for (state, action), probability in np.ndenumerate(policy):
        colour = "white" if probability > 0.6 else "black"
        text = axes.text(action, state, f"{probability:.2f}", ha="center", va="center", fontsize=8)
        text.set_color(colour)
