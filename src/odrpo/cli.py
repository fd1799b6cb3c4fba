"""The command line: `odrpo COMMAND --help` tells what each does."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from odrpo.problem_files import ProblemFile, read_problem, write_solution
from odrpo.trust_region import Solution, solve

app = tyro.extras.SubcommandApp()


@app.command(name="solve")
def solve_file(
    file: Annotated[Path, tyro.conf.Positional],
    metric: Literal["kl", "wasserstein", "sinkhorn"] | None = None,
    radius: float | None = None,
    out: Path | None = None,
    figures: Path | None = None,
    top: int = 8,
) -> None:
    """Solve one trust-region problem exactly and show the step with its certificate.

    Args:
        file: The problem: an .npz or .json file, or a folder of .csv files, with the names
            advantages (states x actions), policy, radius, and if need be weights, mask, cost,
            strength, metric, and labels: states, actions.
        metric: The trust region; the file's, or kl, where not given.
        radius: How far the policy may move; the file's where not given.
        out: Write the new policy here (.csv, .npy) or the whole solution (.npz, .json).
        figures: Draw dual.png and policies.png into this folder.
        top: How many of the states that move most are listed.
    """
    problem = read_problem(file, radius)
    chosen = metric or problem.metric
    solution = solve(**problem.arguments(), metric=problem.build_metric(chosen))
    console = Console()
    console.print(_summary(file, problem, chosen, solution))
    if top > 0:
        console.print(_movers(problem, solution, top))
    if out is not None:
        write_solution(out, solution)
        console.print(f"wrote {escape(str(out))}")
    if figures is not None:
        from odrpo.figures import draw_problem  # matplotlib is slow to import

        for path in draw_problem(problem, figures):
            console.print(f"drew {escape(str(path))}")


def main() -> None:
    """Run the command line; what the user can mend is said in one line."""
    try:
        app.cli(prog="odrpo", description="Exact trust-region policy optimisation.")
    except ValueError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", highlight=False)
        sys.exit(2)


def _summary(file: Path, problem: ProblemFile, metric: str, solution: Solution) -> Table:
    states, actions = solution.policy.shape
    title = f"{file.name}: {states} states x {actions} actions, {metric}"
    table = Table(title=escape(title), min_width=56, show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column()
    radius = float(problem.arrays["radius"])
    used = f"{100 * solution.distance / radius:.4g} % of the radius" if radius > 0 else ""
    table.add_row("beta*", f"{solution.beta:.6g}", "gain per unit of radius")
    table.add_row("distance", f"{solution.distance:.6g}", used)
    table.add_row("gain", f"{solution.gain:.6g}", "expected advantage won")
    table.add_row("objective", f"{solution.objective:.6g}", "expected advantage")
    table.add_row("gap", f"{solution.gap:.1e}", "at most this far from the best step")
    return table


def _movers(problem: ProblemFile, solution: Solution, top: int) -> Table:
    old = np.asarray(problem.arrays["policy"], float)
    moved = np.abs(solution.policy - old).sum(axis=1) / 2
    table = Table(title="the states that move most", min_width=56)
    for column in ("state", "moved", "from", "to"):
        table.add_column(column, justify="right" if column == "moved" else "left")
    for state in np.argsort(-moved, kind="stable")[:top]:
        change = solution.policy[state] - old[state]
        ends = [
            f"{escape(problem.label('actions', index))} {old[state, index]:.3f} -> "
            f"{solution.policy[state, index]:.3f}"
            for index in (int(change.argmin()), int(change.argmax()))
        ]
        if moved[state] == 0:
            ends = ["", ""]
        table.add_row(escape(problem.label("states", int(state))), f"{moved[state]:.4f}", *ends)
    return table
