"""The page of results: what was run, all tables and figures, what agrees with the paper."""

import os
from collections.abc import Sequence
from pathlib import Path

from odrpo.experiments.ablations import every_ablation
from odrpo.experiments.figures import PLACES
from odrpo.experiments.findings import Findings
from odrpo.experiments.record import Record
from odrpo.experiments.tables import every_table
from odrpo.presets import TASKS

LIMITS = (
    "**Environments** are those of today: Taxi-v4, CliffWalking-v1, LunarLanderContinuous-v3 and "
    "MuJoCo v5 instead of v3, v0, v2 and v2. CliffWalking has a limit of 200 steps here, since it "
    "has none of its own and the paper names none. NChain-v0, which Gymnasium has dropped, is "
    "ours, by the same rules.",
    "**Budgets**: every method has the same timesteps on a task, {budgets}. With continuous "
    "actions these are fewer than the paper's where the table says so.",
    "**Settings**: ours are tuned, on other seeds than are shown; the baselines have what RL "
    "Baselines3 Zoo has published, and their defaults where it has nothing (the tabular tasks, "
    "whose states they see one-hot; Reacher and InvertedPendulum for TRPO and A2C). Their networks "
    "are 64 x 64 where the Zoo names no others.",
    "**Tabular tasks**: our presets learn a model of the transitions, which TRPO, PPO and A2C do "
    'not; the rows "without a model" do not either.',
    "**Seeds** of each method: {seeds}.",
)


def results_page(records: Sequence[Record], findings: Findings, page: Path, figures: Path) -> str:
    """All of it in Markdown; `page` is where it goes, so that its pictures are found."""
    where = Path(os.path.relpath(figures, page.parent)).as_posix()
    parts = [
        "# Results",
        "Made from the records of all runs by `odrpo reproduce`; `odrpo report` makes a page of "
        "them that can be explored. " + _facts(records),
        "## First, the limits",
        _bullets(LIMITS).format(budgets=_budgets(records), seeds=_seeds(records)),
        *_compared(findings),
        "## Tables",
    ]
    for table in every_table(records):
        parts += [f"### {table.title}", table.markdown()]
    parts += ["## Learning curves"]
    for name in PLACES:
        parts.append(f"![Learning curves against {name}]({where}/curves_{name}.png)")
    parts.append(
        "Interquartile means of the seeds with 95 % bootstrap intervals; each seed is thin. The "
        "lowest twentieth of all points, mostly beginnings, is cut off."
    )
    if any(record.updates for record in records):
        parts += [
            "## Certificates",
            f"![beta*, distance of radius and gap over training]({where}/certificates.png)",
            "Of every update of ours: the dual variable, how much of the radius the exact step "
            "used, and how far at most it can be from the best policy in the ball.",
        ]
    ablations = every_ablation(records, findings.ablations)
    if ablations:
        parts += ["## One thing changed at a time"]
        for table in ablations:
            parts += [f"### {table.title}", table.markdown()]
    return "\n\n".join(parts) + "\n"


def _compared(findings: Findings) -> list[str]:
    """With the paper."""
    parts = []
    if findings.agrees:
        parts += ["## What agrees with the paper", _bullets(findings.agrees)]
    if findings.differs:
        parts += ["## What does not, and why", _bullets(findings.differs)]
    return parts


def _bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _facts(records: Sequence[Record]) -> str:
    steps = sum(record.timesteps for record in records)
    hours = sum(record.seconds for record in records) / 3600
    cpus = sorted({f"{r.machine.get('cpu')}, {r.machine.get('cores')} cores" for r in records})
    return (
        f"{len(records)} runs, {steps / 1e6:.0f} million timesteps, {hours:.1f} hours of one core "
        f"({'; '.join(cpus)})."
    )


def _budgets(records: Sequence[Record]) -> str:
    found = {record.env: record.timesteps for record in records}
    return ", ".join(f"{env} {found[env] / 1000:g} k" for env in TASKS if env in found)


def _seeds(records: Sequence[Record]) -> str:
    """How many each method has, where that is not the same everywhere."""
    counts: dict[str, list[int]] = {}
    for env in TASKS:
        labels = {r.label for r in records if r.env == env and not r.variant}
        counts[env] = [sum(r.label == k and r.env == env for r in records) for k in labels]
    known = {env: own for env, own in counts.items() if own}
    return ", ".join(
        f"{env} {min(own)}" if min(own) == max(own) else f"{env} {min(own)} to {max(own)}"
        for env, own in known.items()
    )
