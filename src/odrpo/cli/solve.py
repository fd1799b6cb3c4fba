"""`odrpo solve`: one trust-region step from a file."""

from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from odrpo.arguments import whole
from odrpo.checkpoint import plain
from odrpo.cli.options import MetricName, optional
from odrpo.problem_files import ProblemFile, check_writable, read_problem, write_solution
from odrpo.trust_region import Solution, solve


def solve_file(
    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")],
    metric: Annotated[MetricName | None, optional("kl|wasserstein|sinkhorn")] = None,
    radius: Annotated[float | None, optional("NUMBER")] = None,
    out: Annotated[Path | None, optional("FILE")] = None,
    figures: Annotated[Path | None, optional("FOLDER")] = None,
    top: int = 8,
) -> None:
    """Solve one trust-region problem exactly and show the step with its certificate.

    FILE is an .npz or .json file, or a folder of .csv files. It holds advantages and policy (states
    x actions), radius, and if need be weights, mask, cost, strength, metric, and the names of
    states and actions.

    Example: odrpo solve examples/machine_repair.json --metric kl --radius 0.05 --out policy.csv

    Args:
        file: The problem to solve.
        metric: The trust region; else the one that FILE names; else kl.
        radius: How far the policy may move; else the radius in FILE.
        out: Write the new policy (.csv, .npy) or the whole solution (.npz, .json) here.
        figures: Draw dual.png and policies.png, which compare the three metrics, into this folder.
        top: How many of the states that move most are listed.
    """
    top = whole("top", top)
    if out is not None:
        check_writable(out)
    problem = read_problem(file, radius)
    chosen = metric or problem.metric
    solution = solve(**problem.arguments(), metric=problem.build_metric(chosen))
    console = Console()
    console.print(_summary(file, problem, chosen, solution))
    if top > 0:
        console.print(_movers(problem, solution, top))
    for name in problem.unused_by(chosen):
        console.print(f"note: {chosen} does not use the {name} in {_shown(file.name)}")
    if out is not None:
        write_solution(out, solution)
        console.print(f"wrote {escape(str(out))}")
    if figures is not None:
        from odrpo.figures import draw_problem  # matplotlib is slow to import

        for path in draw_problem(problem, figures):
            console.print(f"drew {escape(str(path))}")


def _summary(file: Path, problem: ProblemFile, metric: str, solution: Solution) -> Table:
    states, actions = solution.policy.shape
    title = f"{file.name}: {states} states x {actions} actions, {metric}"
    table = Table(title=_shown(title), min_width=64, show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    radius = float(problem.arrays["radius"])
    used = f", {100 * solution.distance / radius:.4g} % used" if 0 < radius < np.inf else ""
    table.add_row("distance", f"{solution.distance:.6g}", f"of a radius of {radius:g}{used}")
    table.add_row("objective", f"{solution.objective:.6g}", "expected advantage of the new policy")
    table.add_row("gain", f"{solution.gain:.6g}", "that, less what the old policy has")
    table.add_row("beta*", f"{solution.beta:.6g}", "what one more unit of radius would buy")
    table.add_row("gap", f"{max(solution.gap, 0):.1e}", "no policy in the ball is better by more")
    return table


def _movers(problem: ProblemFile, solution: Solution, top: int) -> Table:
    old = np.asarray(problem.arrays["policy"], float)
    weights = np.asarray(problem.arrays.get("weights", np.ones(len(old))), float)
    moved = np.abs(solution.policy - old).sum(axis=1) / 2
    movers = [int(s) for s in np.argsort(-moved, kind="stable")[:top] if moved[s] > 1e-9]
    still = int((moved <= 1e-9).sum())
    caption = f"{still} of {len(old)} states do not move" if still else None
    table = Table(title="the states that move most", caption=caption, min_width=64)
    for column in ("state", "weight", "moved", "most from", "most to"):
        table.add_column(column, justify="right" if column in ("weight", "moved") else "left")
    for state in movers:
        change = solution.policy[state] - old[state]
        ends = [
            f"{_shown(problem.label('actions', index))} {old[state, index]:.3f} -> "
            f"{solution.policy[state, index]:.3f}"
            for index in (int(change.argmin()), int(change.argmax()))
        ]
        weight = f"{weights[state] / weights.sum():.3f}"
        table.add_row(_shown(problem.label("states", state)), weight, f"{moved[state]:.3f}", *ends)
    return table


def _shown(text: str) -> str:
    """What comes from a file: neither the table nor the terminal obeys it."""
    return escape(plain(text))
