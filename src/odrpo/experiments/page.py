"""The page of results: what was run, all tables and figures, what agrees with the paper."""

import os
from collections.abc import Sequence
from pathlib import Path

from odrpo.experiments.figures import CERTIFICATES, CURVES, drawable
from odrpo.experiments.findings import Findings
from odrpo.experiments.limits import limits
from odrpo.experiments.record import UPDATES, Record
from odrpo.experiments.results import Results
from odrpo.experiments.table import Table, counted


def results_page(
    records: Sequence[Record],
    findings: Findings,
    page: Path,
    figures: Path,
    tables: Sequence[Table],
    ablations: Sequence[Table],
) -> str:
    """All of it in Markdown; `page` is where it goes, so that its pictures are found."""
    where = Path(os.path.relpath(figures, page.parent)).as_posix()
    parts = [
        "# Results",
        "Made from the records of all runs by `odrpo reproduce`; `odrpo report` makes a page of "
        "them that can be explored. " + _facts(records),
        "## First, the limits",
        _bullets(limits(records)),
        *_compared(findings),
        "## Tables",
    ]
    for table in tables:
        parts += [f"### {table.title}", table.markdown()]
    drawn = drawable(Results(records))
    if any(name in drawn for name in CURVES):
        parts += [
            "## Learning curves",
            *(f"![Learning curves against {x}]({where}/{name}.png)" for name, x in CURVES.items()),
            "Interquartile means of the seeds with 95 % bootstrap intervals; each seed is thin. "
            "The lowest twentieth of all points, mostly beginnings, is cut off. Seconds are those "
            "of training as measured beside the timesteps, without what the first update takes "
            "longer than the others: a first seed compiles, see the table of wall-clock. Where a "
            "record has their sum alone, they are spread evenly. Runs were made on different days, "
            "beside more or less other work.",
        ]
    if CERTIFICATES in drawn:
        parts += [
            "## Certificates",
            f"![beta*, distance of radius and gap over training]({where}/{CERTIFICATES}.png)",
            f"Of the updates of ours, at most {UPDATES} a run: the dual variable, how much of the "
            "radius the exact step used, and how far at most it can be from the best policy in the "
            "ball.",
        ]
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
    taken = f"{steps / 1e6:.0f} million" if steps >= 1e6 else f"{steps:,}"
    cpus = sorted({f"{r.machine.get('cpu')}, {r.machine.get('cores')} cores" for r in records})
    return (
        f"{counted(len(records), 'run')}, {taken} timesteps, {hours:.1f} hours of one core "
        f"({'; '.join(cpus)})."
    )
