"""What metric, radius, K and noise do: each changed alone, on a short run of one task.

Into results/choices; every seed is recorded when it is done, and what has a record is not run
again. The seeds are none of those that results are reported on.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tyro

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
    "candidate-noise-0.3": ("kl", {"candidate_noise": 0.3}),
    "radius-0.1-of-actions": ("wasserstein", {"radius": 0.1}),
    "radius-0.03-of-actions": ("wasserstein", {"radius": 0.03}),
    "radius-0.3-of-actions": ("wasserstein", {"radius": 0.3}),
    "entropy": ("sinkhorn", {"radius": 0.1}),
}


@dataclass(frozen=True)
class Options:
    """What to run, and where to."""

    env: str = "HalfCheetah-v5"
    """A task with a preset."""
    timesteps: int = 20_000
    """Of each seed; what fades fades as in the preset's own budget."""
    results: Path = RESULTS
    """Where choices.md goes, and the folder of the records."""
    table: bool = False
    """Only make the table."""


def main(options: Options) -> None:
    """Run what has no record yet, then make the table."""
    folder = options.results / "choices" / f"{options.env}-{options.timesteps}"
    for kind, (metric, settings) in VARIANTS.items():
        for seed in () if options.table else SEEDS:
            run(options, folder, kind, metric, seed, settings)
    text = table(options, read_records(folder))
    (options.results / "choices.md").write_text(text)
    print(text)


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
        "Made by `python benchmarks/choices.py` from `results/choices/`.",
        "",
        "| metric | radius | K | candidate noise | greedy | seeds | last tenth | ms a step |",
        "|---|---|---|---|---|---|---|---|",
    ]
    kinds = list(VARIANTS)
    for record in sorted(records, key=lambda record: kinds.index(record.kind)):
        config, count = record.config, len(record.seeds)
        greedy = [seed.greedy_return for seed in record.seeds]
        final = np.mean([seed.final_return for seed in record.seeds])
        cells = [
            record.metric,
            f"{config['radius']:g}",
            str(config["candidates"]),
            f"{config['candidate_noise']:g}",
            f"**{np.mean(greedy):.0f}**",
            " ".join(f"{value:.0f}" for value in sorted(greedy)),
            f"{final:.0f}",
            f"{1000 * record.wall_clock / count / record.timesteps:.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
