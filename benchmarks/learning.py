"""Learning results: every task, metric and kind of settings over ten seeds, into results/learning.

Each is recorded when it is done; what has a record is not run again. `--only` picks some, `--table`
makes the table from the records that there are.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import tyro

from odrpo.curves import plot_curves
from odrpo.experiments import Record, read_records, run_task, write_record
from odrpo.presets import TASKS

FOLDER = Path(__file__).parent.parent / "results" / "learning"
METRICS = ("kl", "wasserstein")
KINDS = ("tuned", "longer", "model-free", "paper", "default")
LONGER = {"CartPole-v1": 100_000}
"""Timesteps beyond a budget of episodes: the same settings, and what the final policy is worth."""
WITHOUT_PRESET = {
    "FrozenLake-v1": 500_000,
    "FrozenLake8x8-v1": 500_000,
    "LunarLander-v3": 500_000,
    "MountainCar-v0": 100_000,
    "Blackjack-v1": 100_000,
}


@dataclass(frozen=True)
class Options:
    """What to run, and where to."""

    only: str = ""
    """Run what has this in its name, such as Taxi, paper or CartPole-v1-tuned-kl."""
    first_seed: int = 0
    """Ten seeds from this one on. Settings were tuned on seeds from 100 on."""
    seeds: int = 10
    """How many."""
    folder: Path = FOLDER
    """Where records go."""
    table: bool = False
    """Only make the table."""


def main(options: Options) -> None:
    """Run what has no record yet, then make the table."""
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    for env, kind, metric in jobs():
        name = f"{env}-{kind}-{metric}"
        if options.table or options.only not in name or (options.folder / f"{name}.json").exists():
            continue
        began = time.perf_counter()
        evaluated = 1000 if env == "Taxi-v4" else 100
        preset, timesteps = (
            ("tuned", LONGER[env]) if kind == "longer" else (kind, WITHOUT_PRESET.get(env))
        )
        record, _ = run_task(env, metric, seeds, preset, timesteps, evaluation_episodes=evaluated)
        record = replace(record, kind=kind)
        write_record(record, options.folder)
        print(f"{name}: {summary(record)}  ({time.perf_counter() - began:.0f} s)", flush=True)
    text = table(read_records(options.folder))
    options.folder.with_suffix(".md").write_text(text)
    draw(read_records(options.folder), options.folder.with_suffix(".png"))
    print(text)


def draw(records: list[Record], path: Path) -> None:
    """The learning curves of the paper's tasks, every seed, beside what the paper reports."""
    figure, row = plt.subplots(1, len(TASKS), figsize=(4.6 * len(TASKS), 4), layout="constrained")
    for axes, (env, task) in zip(row, TASKS.items(), strict=True):
        runs = {
            f"ODRPO-{record.metric}": [
                (np.array(seed.curve)[:, 0], np.array(seed.curve)[:, 1]) for seed in record.seeds
            ]
            for record in records
            if (record.env, record.kind) == (env, "tuned")
        }
        best = max(task.returns["kl"], task.returns["wasserstein"])
        lines = {"paper's best ODRPO": best}
        if task.optimum is not None:
            lines["optimum"] = task.optimum
        plot_curves(axes, runs, env, lines)
        if env == "Taxi-v4":
            axes.set_xlim(0, 60_000)
            axes.set_ylim(-400, 30)
        if env == "CliffWalking-v1":
            axes.set_xlim(0, 8_000)
            axes.set_ylim(-300, 5)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def jobs() -> list[tuple[str, str, str]]:
    """Every environment, kind and metric."""
    found = []
    for env, task in TASKS.items():
        kinds = ["tuned", *(["longer"] if env in LONGER else [])]
        kinds += [*(["model-free"] if task.model_free else []), "paper"]
        found += [(env, kind, metric) for kind in kinds for metric in METRICS]
    return found + [(env, "default", metric) for env in WITHOUT_PRESET for metric in METRICS]


def summary(record: Record) -> str:
    """Mean and seeds, in one line."""
    finals = [seed.final_return for seed in record.seeds]
    greedy = [seed.greedy_return for seed in record.seeds]
    return (
        f"last tenth {np.mean(finals):.2f} {np.round(finals, 2).tolist()}, "
        f"greedy {np.mean(greedy):.2f} {np.round(greedy, 2).tolist()}"
    )


def table(records: list[Record]) -> str:
    """All records in Markdown, every seed shown."""
    lines = [
        "# Learning results",
        "",
        "Mean return over the last tenth of the training episodes within the budget (the policy",
        "that explores), then the greedy policy evaluated at the end. Every seed is shown, from",
        "the lowest to the highest. Seeds 0-9; settings were tuned on seeds from 100 on.",
        "Made by `make results` from `results/learning/`.",
        "",
    ]
    for env in [*TASKS, *WITHOUT_PRESET]:
        own = [record for record in records if record.env == env]
        own.sort(key=lambda record: (KINDS.index(record.kind), record.metric))
        if own:
            lines += [*section(env, own), ""]
    return "\n".join(lines)


def section(env: str, records: list[Record]) -> list[str]:
    """One environment."""
    task, first = TASKS.get(env), records[0]
    budget = f"{first.episodes} episodes" if first.episodes else f"{first.timesteps:,} steps"
    facts = [f"budget {budget}"]
    if first.max_steps:
        facts.append(f"step limit {first.max_steps}")
    if task is not None:
        if task.optimum is not None:
            facts.append(f"optimum {task.optimum:g}")
        facts.append("paper: " + ", ".join(f"{k} {v:g}" for k, v in task.returns.items()))
    lines = [f"## {env}", "", "; ".join(facts) + ".", ""]
    lines += ["| settings | metric | last tenth | seeds | greedy | seeds | timesteps | s a seed |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    return lines + [row(record) for record in records]


def row(record: Record) -> str:
    """One record."""
    finals = [seed.final_return for seed in record.seeds]
    greedy = [seed.greedy_return for seed in record.seeds]
    cells = [
        described(record),
        record.metric,
        f"**{np.mean(finals):.4g}**",
        listed(finals),
        f"**{np.mean(greedy):.4g}**",
        listed(greedy),
        reached(record),
        f"{record.wall_clock / len(record.seeds):.1f}",
    ]
    delivered = [seed.success for seed in record.seeds if seed.success is not None]
    if delivered:
        cells[5] += f"; delivered {100 * min(delivered):.4g} % or more"
    return "| " + " | ".join(cells) + " |"


def described(record: Record) -> str:
    """Which settings, and whether they use a model."""
    if record.kind == "longer":
        return f"tuned, {record.timesteps:,} steps"
    return record.kind + (" (model-based)" if record.config["critic"] == "model" else "")


def listed(values: list[float]) -> str:
    """All of them in order, or one where all are the same."""
    texts = [f"{value:.4g}" for value in sorted(values)]
    return f"all {texts[0]}" if len(set(texts)) == 1 else " ".join(texts)


def reached(record: Record) -> str:
    """The median over the seeds of the timesteps to the threshold or to the optimum."""
    task = TASKS.get(record.env)
    if task is None:
        return ""
    if task.threshold is not None:
        steps = [seed.reached for seed in record.seeds]
        goal = f"{task.threshold:g}"
    else:
        steps = [seed.optimum_reached for seed in record.seeds]
        goal = "optimum"
    median = np.median([np.inf if value is None else value for value in steps])
    missed = sum(value is None for value in steps)
    text = f"{goal} after {median:,.0f}" if np.isfinite(median) else f"{goal} never"
    return text + (f" ({missed} seeds never)" if missed else "")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
