"""A tour in two minutes: ODRPO on three of the paper's tasks, beside its numbers and the optima.

Run it with `make run`; the learning curves go to out/.
"""

import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import odrpo
from odrpo.curves import draw_curves, smoothed
from odrpo.experiments.published import LAST_TENTH
from odrpo.presets import TASKS

SEEDS = {"CliffWalking-v1": 5, "Taxi-v4": 3, "CartPole-v1": 5}
NAMES = {"kl": "KL", "wasserstein": "Wasserstein"}
OUT = Path("out")

console = Console()
table = Table(
    title="ODRPO: mean return of the last tenth of the training episodes",
    caption="within the paper's budget; greedy: the final policy, evaluated without exploration",
    pad_edge=False,  # or it would not fit into 80 columns
)
table.add_column("task", no_wrap=True)
table.add_column("", no_wrap=True)
for column in ("mean", "every seed", "greedy", "paper", "optimum"):
    table.add_column(column, justify="right")


def listed(values: list[float]) -> str:
    """All of them, or one where all are the same."""
    texts = [f"{value:.1f}" for value in values]
    return f"all {texts[0]}" if len(set(texts)) == 1 else " ".join(texts)


began = time.perf_counter()

for env, count in SEEDS.items():
    task = TASKS[env]
    paper = {metric: LAST_TENTH[env][f"odrpo-{metric}"].mean for metric in NAMES}
    budget = f"{task.episodes} episodes" if task.episodes else f"{task.timesteps // 1000}k steps"
    curves = {}
    for metric, name in NAMES.items():
        console.print(f"training ODRPO with {name} on {env}, {count} seeds, {budget} ...")
        models = [odrpo.ODRPO(env, metric, seed=seed) for seed in range(count)]
        most = task.episodes or np.inf
        odrpo.train(models, task.timesteps, lambda model, row, most=most: row["episodes"] < most)
        limit = None if task.episodes else task.timesteps
        finals = [model.records.final_return(task.episodes, limit) for model in models]
        greedy = [float(odrpo.evaluate(model, model.env, 100).mean()) for model in models]
        table.add_row(
            env if metric == "kl" else budget,
            name,
            f"[bold]{np.mean(finals):.1f}[/]",
            listed(finals),
            f"{np.mean(greedy):.1f}",
            f"{paper[metric]:g}",
            f"{task.optimum:g}",
            end_section=metric == "wasserstein",
        )
        curves[f"ODRPO, {name}"] = [smoothed(model.records.episodes) for model in models]
    lines = {"optimum": task.optimum or 0.0}
    lines |= {f"paper, {name}": paper[metric] for metric, name in NAMES.items()}
    draw_curves(curves, OUT / f"{env}.png", env, lines)

console.print(table)
console.print(f"{time.perf_counter() - began:.0f} s; learning curves are in {OUT}/")
