"""One thing changed at a time: tables that answer a question each."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from odrpo.experiments import statistics
from odrpo.experiments.record import Record
from odrpo.experiments.runs import OURS
from odrpo.experiments.table import Cell, Table
from odrpo.experiments.tables import NAMES, Results, every_seed
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
    "cheetah": Question("What of the settings for a cheetah matters?", "preset"),
    "model": Question("With a model of the environment or without?", "with"),
    "paper": Question("Our settings or the paper's?", "ours"),
}


def every_ablation(records: Sequence[Record], findings: Mapping[str, str]) -> list[Table]:
    """Those that the records have something for, each with what it shows, where that is known."""
    results = Results(records)
    tables = [_table(results, name, findings.get(name)) for name in QUESTIONS]
    return [table for table in tables if table.rows]


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
            best = max(v.mean() for v in values if len(v))
            rows.append([Cell(env), Cell(NAMES[method]), *(every_seed(v, best) for v in values)])
    header = ["task", "method", question.preset, *variants]
    notes = [finding] if finding else []
    notes += ["Last tenth of the training episodes, mean and every seed."]
    return Table(f"ablation_{name}", question.title, header, rows, notes)
