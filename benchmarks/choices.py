"""What metric, radius, K, noise and returns do: each changed alone, on a short run of one task.

Into results/choices; every seed is recorded when it is done, and what has a record is not run
again. The seeds are none of those that results are reported on.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tyro

import odrpo
from odrpo.experiments import Record, add_seeds, has_seed, read_records, run_task

RESULTS = Path(__file__).parent.parent / "results"
SEEDS = range(200, 203)
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "preset": ("kl", {}),
    "radius-0.1": ("kl", {"radius": 0.1}),
    "radius-2": ("kl", {"radius": 2.0}),
    "K-4": ("kl", {"candidates": 4}),
    "K-64": ("kl", {"candidates": 64}),
    "candidate-noise-0": ("kl", {"candidate_noise": 0.0}),
    "candidate-noise-0.1": ("kl", {"candidate_noise": 0.1}),
    "candidate-noise-0.3": ("kl", {"candidate_noise": 0.3}),
    "candidate-ascent-0": ("kl", {"candidate_ascent": 0.0}),
    "candidate-ascent-0.1": ("kl", {"candidate_ascent": 0.1}),
    "n-step-1": ("kl", {"n_step": 1}),
    "n-step-3": ("kl", {"n_step": 3}),
    "pessimism-0": ("kl", {"pessimism": 0.0}),
    "pessimism-1": ("kl", {"pessimism": 1.0}),
    "octaves-4": ("kl", {"octaves": 4}),
    "octaves-8": ("kl", {"octaves": 8}),
    "next-actions-1": ("kl", {"next_actions": 1}),
    "next-actions-4": ("kl", {"next_actions": 4}),
    "no-embedding": ("kl", {"embedding": 0}),
    "warm-up-2000": ("kl", {"warm_up": 2_000}),
    "warm-up-10000": ("kl", {"warm_up": 10_000}),
    "updates-2": ("kl", {"updates_per_step": 2.0}),
    "wasserstein": ("wasserstein", {}),
    "radius-0.03-of-actions": ("wasserstein", {"radius": 0.03}),
    "radius-0.3-of-actions": ("wasserstein", {"radius": 0.3}),
    "sinkhorn": ("sinkhorn", {}),
}


@dataclass(frozen=True)
class Options:
    """What to run, and where to."""

    env: str = "HalfCheetah-v5"
    """A task with a preset."""
    timesteps: int = 20_000
    """Of each seed; what fades fades as in the preset's own budget."""
    results: Path = RESULTS
    """In its choices/ are the tables, and a folder of records for each."""
    table: bool = False
    """Only make the table."""


def main(options: Options) -> None:
    """Run what has no record yet, then make the table."""
    folder = options.results / "choices" / f"{options.env}-{options.timesteps}"
    for kind, (metric, settings) in VARIANTS.items():
        if options.table or is_preset(options.env, metric, settings):
            continue
        for seed in SEEDS:
            run(options, folder, kind, metric, seed, settings)
    text = table(options, read_records(folder))
    folder.with_suffix(".md").write_text(text)
    print(text)


def is_preset(env: str, metric: str, settings: dict[str, Any]) -> bool:
    """Whether what is to be changed is so in the preset already."""
    if not settings:
        return False
    own = odrpo.ODRPO(env, metric).config
    return all(getattr(own, name) == value for name, value in settings.items())


def run(
    options: Options, folder: Path, kind: str, metric: str, seed: int, settings: dict[str, Any]
) -> None:
    """One seed of one variant."""
    if has_seed(folder, options.env, kind, metric, seed):
        return
    record, _ = run_task(
        options.env, metric, [seed], "tuned", options.timesteps, evaluation_episodes=10, **settings
    )
    add_seeds(replace(record, kind=kind), folder)
    print(f"{kind} {seed}: {record.seeds[0].greedy_return:.0f}", flush=True)


def table(options: Options, records: list[Record]) -> str:
    """Every variant in Markdown, every seed shown."""
    lines = [
        "# Choices",
        "",
        f"{options.env} after {options.timesteps:,} timesteps: the settings of the preset with one",
        "of them changed. The greedy policy's return, then that of the last tenth of training;",
        "every seed is shown. Differences of less than the spread of the seeds mean nothing.",
        f"Made by `python benchmarks/choices.py --env {options.env} --timesteps "
        f"{options.timesteps}`.",
        "",
        "| metric | changed | greedy | seeds | last tenth | ms a step |",
        "|---|---|---|---|---|---|",
    ]
    kinds = list(VARIANTS)
    for record in sorted(records, key=lambda record: kinds.index(record.kind)):
        changed, count = VARIANTS[record.kind][1], len(record.seeds)
        greedy = [seed.greedy_return for seed in record.seeds]
        final = np.mean([seed.final_return for seed in record.seeds])
        cells = [
            record.metric,
            ", ".join(f"{name} {value:g}" for name, value in changed.items()) or "nothing",
            f"**{np.mean(greedy):.0f}**",
            " ".join(f"{value:.0f}" for value in sorted(greedy)),
            f"{final:.0f}",
            f"{1000 * record.wall_clock / count / record.timesteps:.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
