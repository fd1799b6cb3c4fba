"""Learning results: every task, metric and kind of settings over several seeds.

Into results/learning; each is recorded when it is done, and what has a record is not run again.
With continuous actions, which take an hour a seed, each seed is recorded on its own, and one that
was stopped goes on from what it left in runs/learning. `--only` picks some, `--table` makes the
table from the records that there are.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import tyro

from odrpo.config import Config
from odrpo.curves import plot_curves
from odrpo.experiments import (
    Record,
    add_seeds,
    check_settings,
    find_record,
    has_seed,
    read_records,
    run_task,
    write_record,
)
from odrpo.model import ODRPO
from odrpo.presets import TASKS, of_metric

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
CONTINUOUS = {
    "LunarLanderContinuous-v3": ("kl", "wasserstein"),
    "InvertedPendulum-v5": ("kl",),
    "Reacher-v5": ("kl", "wasserstein"),
    "HalfCheetah-v5": ("kl", "wasserstein"),
    "Hopper-v5": ("kl",),
    "Walker2d-v5": ("kl",),
    "Ant-v5": ("kl",),
}
ELSEWHERE = {
    "Pendulum-v1": ("default", 15_000),
    "MountainCarContinuous-v0": ("tuned", 30_000),
    "Swimmer-v5": ("default", 100_000),
    "Pusher-v5": ("default", 100_000),
    "BipedalWalker-v3": ("default", 200_000),
}
"""Continuous actions beyond the paper: kind and timesteps; one metric."""
FIRST_SEEDS = {
    "Ant-v5": 22,
    "HalfCheetah-v5": 30,
    "HalfCheetah-v5-tuned-wasserstein": 33,
    "Hopper-v5": 47,
    "LunarLanderContinuous-v3": 30,
    "LunarLanderContinuous-v3-tuned-wasserstein": 33,
}
"""Of continuous actions, where it is not 20: those before were looked at in choosing settings."""
RUNS = Path(__file__).parent.parent / "runs" / "learning"


@dataclass(frozen=True)
class Options:
    """What to run, and where to."""

    only: str = ""
    """Run what has this in its name, such as Taxi, paper or CartPole-v1-tuned-kl."""
    first_seed: int | None = None
    """Seeds from this one on; else 0, of continuous actions 20 or 30."""
    seeds: int | None = None
    """How many; else ten, of continuous actions three."""
    folder: Path = FOLDER
    """Where records go."""
    table: bool = False
    """Only make the table."""


def main(options: Options) -> None:
    """Run what has no record yet, then make the table."""
    for env, kind, metric in jobs():
        if options.table or options.only not in f"{env}-{kind}-{metric}":
            continue
        if env in CONTINUOUS or env in ELSEWHERE:
            first = FIRST_SEEDS.get(f"{env}-{kind}-{metric}", FIRST_SEEDS.get(env, 20))
            for seed in seeds_of(options, first, 3):
                run_alone(env, kind, metric, seed, options.folder)
        else:
            run_together(env, kind, metric, options)
    text = table(read_records(options.folder))
    options.folder.with_suffix(".md").write_text(text)
    draw(read_records(options.folder), options.folder.with_suffix(".png"))
    print(text)


def seeds_of(options: Options, first: int, count: int) -> range:
    """Those asked for, or so many."""
    first = first if options.first_seed is None else options.first_seed
    return range(first, first + (options.seeds or count))


def run_together(env: str, kind: str, metric: str, options: Options) -> None:
    """All seeds of what has no record yet."""
    name = f"{env}-{kind}-{metric}"
    if (options.folder / f"{name}.json").exists():
        return
    seeds = seeds_of(options, 0, 10)
    evaluated = 1000 if env == "Taxi-v4" else 100
    preset, timesteps = (
        ("tuned", LONGER[env]) if kind == "longer" else (kind, WITHOUT_PRESET.get(env))
    )
    record, _ = run_task(env, metric, seeds, preset, timesteps, evaluation_episodes=evaluated)
    write_record(replace(record, kind=kind), options.folder)
    print(f"{name}: {summary(record)}  ({record.wall_clock:.0f} s)", flush=True)


def run_alone(env: str, kind: str, metric: str, seed: int, folder: Path) -> None:
    """One seed, unless it is in the record; others may be running meanwhile."""
    if has_seed(folder, env, kind, metric, seed):
        return
    _, timesteps = ELSEWHERE.get(env, (kind, None))
    known = find_record(folder, env, kind, metric)
    if known is not None:  # before hours are spent on what could not be put beside it
        preset: Any = kind
        settings = ODRPO(env, metric, preset=preset).config.to_json()
        check_settings(known, settings, timesteps or TASKS[env].timesteps)
    record, _ = run_task(env, metric, [seed], kind, timesteps, evaluation_episodes=30, folder=RUNS)
    record = add_seeds(record, folder)
    print(f"{env}-{kind}-{metric}: {summary(record)}", flush=True)


def draw(records: list[Record], path: Path) -> None:
    """The learning curves of the paper's tasks, every seed, beside what the paper reports."""
    envs = [env for env in TASKS if any(record.env == env for record in records)]
    columns = 5
    rows = -(-len(envs) // columns)
    size = (4.6 * columns, 4 * rows)
    figure, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for axes in grid.flat[len(envs) :]:
        axes.set_axis_off()
    for axes, env in zip(grid.flat, envs, strict=False):
        task = TASKS[env]
        runs = {
            f"ODRPO-{record.metric}": [
                (np.array(seed.curve)[:, 0], np.array(seed.curve)[:, 1]) for seed in record.seeds
            ]
            for record in records
            if (record.env, record.kind) == (env, "tuned")
        }
        best = max(task.returns["kl"], task.returns.get("wasserstein", -np.inf))
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
    every = []
    for env, task in TASKS.items():
        if env in CONTINUOUS:
            every += [(env, "tuned", metric) for metric in CONTINUOUS[env]]
            continue
        kinds = ["tuned", *(["longer"] if env in LONGER else [])]
        kinds += [*(["model-free"] if task.model_free else []), "paper"]
        every += [(env, kind, metric) for kind in kinds for metric in METRICS]
    every += [(env, "default", metric) for env in WITHOUT_PRESET for metric in METRICS]
    return every + [(env, kind, METRICS[0]) for env, (kind, _) in ELSEWHERE.items()]


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
        "the lowest to the highest. Settings were tuned on seeds from 100 on; reported are seeds",
        f"from 0 on, with continuous actions from 20 on, {exceptions()},",
        "since those between were seen in tuning. Made by `make results` from `results/learning/`.",
        "",
    ]
    for env in [*TASKS, *WITHOUT_PRESET, *ELSEWHERE]:
        own = [record for record in records if record.env == env]
        own.sort(key=lambda record: (KINDS.index(record.kind), record.metric))
        if own:
            lines += [*section(env, own), ""]
    return "\n".join(lines)


def exceptions() -> str:
    """Where reported seeds begin later."""
    return " and ".join(f"of {env} from {first}" for env, first in FIRST_SEEDS.items())


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
        f"**{shown(np.mean(finals))}**",
        listed(finals),
        f"**{shown(np.mean(greedy))}**",
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
    if record.kind == "tuned" and not is_present(record):
        return "tuned, by an earlier version"
    return record.kind + (" (model-based)" if record.config["critic"] == "model" else "")


def is_present(record: Record) -> bool:
    """Whether it has the settings that the preset of its task has now, and no others."""
    defaults = Config().to_json()
    task, known = TASKS.get(record.env), defaults | record.config
    preset = {} if task is None else of_metric(task.tuned, record.metric)
    return set(record.config) <= set(defaults) and all(
        known[name] == (list(value) if isinstance(value, tuple) else value)
        for name, value in preset.items()
    )


def shown(value: Any) -> str:
    """Four digits, or all before the point."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def listed(values: list[float]) -> str:
    """All of them in order, or one where all are the same."""
    texts = [shown(value) for value in sorted(values)]
    same = len(texts) > 1 and len(set(texts)) == 1
    return f"all {texts[0]}" if same else " ".join(texts)


def reached(record: Record) -> str:
    """The median over the seeds of the timesteps to the threshold or to the optimum."""
    task = TASKS.get(record.env)
    if task is None or (task.threshold is None and task.optimum is None):
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
