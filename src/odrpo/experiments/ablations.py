"""One thing changed at a time: tables that answer a question each."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from odrpo.experiments import statistics
from odrpo.experiments.cells import best_mean, every_seed
from odrpo.experiments.record import UPDATES, Record, labelled
from odrpo.experiments.results import NAMES, Results
from odrpo.experiments.runs import OURS
from odrpo.experiments.table import Cell, Table, number
from odrpo.experiments.variants import VARIANTS


class Question(NamedTuple):
    """What is asked, and how the preset is called among the answers."""

    title: str
    preset: str


QUESTIONS: dict[str, Question] = {
    "ties": Question("Ties split exactly, or the paper's plan?", "split"),
    "beta": Question("beta solved at every update, or held as in the paper?", "exact"),
    "radius": Question("How large a radius?", "radius of the preset"),
    "advantages": Question("How are actions valued that were not taken?", "critic"),
    "projection": Question("Cross-entropy or squared error to the exact step?", "cross-entropy"),
    "policy": Question("A generative policy or a Gaussian?", "generative"),
    "budget": Question("What does the paper's full budget add?", "ours"),
    "model": Question("With a model of the environment or without?", "with"),
    "paper": Question("Our settings or the paper's?", "ours"),
}
LIKELY = 0.05
STARRED = (
    f"A star: p < {LIKELY:g} against the preset (two-sided permutation test of the means, exact up "
    "to eight seeds a side, not corrected for the number of comparisons; with three seeds a side p "
    "is at least 0.1)."
)
ABLATIONS = ("metric", *QUESTIONS, "use")
"""All of these tables, as findings name them."""


def every_ablation(records: Sequence[Record], findings: Mapping[str, str]) -> list[Table]:
    """Those that the records have something for, each with what it shows, where that is known."""
    return [table for table in possible_ablations(Results(records), findings) if table.rows]


def possible_ablations(results: Results, findings: Mapping[str, str]) -> list[Table]:
    """Those without rows too."""
    tables = [_metrics(results, findings.get("metric"))]
    tables += [_table(results, name, findings.get(name)) for name in QUESTIONS]
    return [*tables, _use(results, findings.get("use"))]


def _metrics(results: Results, finding: str | None) -> Table:
    """The trust regions beside each other; what is changed in the others is one of these."""
    rows = []
    for env in results.envs:
        values = [results.values(env, method, statistics.last_tenth) for method in OURS]
        if sum(len(v) > 0 for v in values) > 1:
            best = best_mean(values)
            rows.append([Cell(env), *(every_seed(v, best) for v in values)])
    header = ["task", *(NAMES[method] for method in OURS)]
    return Table("ablation_metric", "Which trust region?", header, rows, _notes(finding))


def _use(results: Results, finding: str | None) -> Table:
    """How far steps went that are not exact: without beta*, or without the split of ties."""
    questions = ("ties", "beta", "paper")
    variants = ["", *(key for key, variant in VARIANTS.items() if variant.question in questions)]
    rows = []
    for env in results.envs:
        for method in OURS:
            labels = [labelled(method, variant) for variant in variants]
            cells = [_share(results.of(env, label)) for label in labels]
            if any(cell.text != "-" for cell in cells[1:]):
                rows.append([Cell(env), Cell(NAMES[method]), *cells])
    header = ["task", "method", "preset", *variants[1:]]
    title = "How far do steps go that are not exact?"
    note = (
        "Distance of the steps over the radius: the mean of the updates that a record keeps, at "
        f"most {UPDATES} of a run, and the largest of all."
    )
    return Table("ablation_use", title, header, rows, [*_notes(finding)[:-1], note])


def _share(records: Sequence[Record]) -> Cell:
    known = [record for record in records if record.updates and record.largest_use is not None]
    if not known:
        return Cell("-")
    shares, largest = [], max(record.largest_use or 0.0 for record in known)
    for record in known:
        distance, radius = (np.array(record.updates[k], float) for k in ("distance", "radius"))
        counts = np.isfinite(distance) & (radius > 0)
        shares.append(np.mean(distance[counts] / radius[counts]))
    return Cell(f"{number(float(np.mean(shares)))}, {number(largest)}")


def _table(results: Results, name: str, finding: str | None) -> Table:
    question = QUESTIONS[name]
    variants = [key for key, variant in VARIANTS.items() if variant.question == name]
    rows = []
    for env in results.envs:
        for method in OURS:
            changed = [results.of(env, f"{method}+{variant}") for variant in variants]
            if not any(changed):
                continue
            every = [results.of(env, method), *changed]
            values = [np.array([statistics.last_tenth(r) for r in part]) for part in every]
            best = best_mean(values)
            cells = [every_seed(values[0], best)]
            cells += [_beside(values[0], other, every_seed(other, best)) for other in values[1:]]
            rows.append([Cell(env), Cell(NAMES[method]), *cells])
    header = ["task", "method", question.preset, *variants]
    return Table(f"ablation_{name}", question.title, header, rows, [*_notes(finding), STARRED])


def _beside(preset: np.ndarray, changed: np.ndarray, cell: Cell) -> Cell:
    """Marked where chance alone hardly makes the difference."""
    known = len(preset) > 0 and len(changed) > 0
    starred = known and statistics.by_chance(preset, changed) < LIKELY
    return cell._replace(text=f"{cell.text} *") if starred else cell


def _notes(finding: str | None) -> list[str]:
    known = [finding] if finding else []
    return [*known, "Last tenth of the training episodes, mean (the best in bold) and every seed."]
