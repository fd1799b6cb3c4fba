"""A tour in two minutes: ODRPO on three of the paper's tasks, beside its numbers and the optima.

Run it with `make run`; the learning curves go to out/.
"""

import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from odrpo.curves import draw_curves, smoothed
from odrpo.experiments import run_task
from odrpo.presets import TASKS

SEEDS = {"CliffWalking-v1": 5, "Taxi-v4": 3, "CartPole-v1": 5}
NAMES = {"kl": "ODRPO-KL", "wasserstein": "ODRPO-Wasserstein"}
OUT = Path("out")

console = Console()
table = Table(
    title="mean return over the last tenth of the training episodes, within the paper's budget",
    caption="every seed is shown; greedy: the final policy without exploration, evaluated",
)
for column in ("task", "budget", "", "ours", "seeds", "greedy", "paper", "optimum", "seconds"):
    table.add_column(column)

for env, count in SEEDS.items():
    task = TASKS[env]
    budget = f"{task.episodes} episodes" if task.episodes else f"{task.timesteps // 1000}k steps"
    curves = {}
    for metric, name in NAMES.items():
        console.print(f"training {name} on {env}, {count} seeds, {budget} ...")
        began = time.perf_counter()
        record, models = run_task(env, metric, range(count))
        finals = [seed.final_return for seed in record.seeds]
        greedy = [seed.greedy_return for seed in record.seeds]
        table.add_row(
            env,
            budget,
            name,
            f"[bold]{np.mean(finals):.1f}[/]",
            " ".join(f"{value:.1f}" for value in finals),
            f"{np.mean(greedy):.1f}",
            f"{task.returns[metric]:g}",
            f"{task.optimum:g}",
            f"{time.perf_counter() - began:.0f}",
            end_section=metric == "wasserstein",
        )
        curves[name] = [smoothed(model.records.episodes) for model in models]
    lines = {"optimum": task.optimum or 0.0} | {
        f"paper, {NAMES[metric]}": task.returns[metric] for metric in NAMES
    }
    draw_curves(curves, OUT / f"{env}.png", env, lines)

console.print(table)
console.print(f"learning curves: {', '.join(str(OUT / f'{env}.png') for env in SEEDS)}")
