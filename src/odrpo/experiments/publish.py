"""Tables, figures and the page of all records, as files."""

from collections.abc import Sequence
from pathlib import Path

from odrpo.experiments.ablations import possible_ablations
from odrpo.experiments.figures import CERTIFICATES, CURVES, every_figure
from odrpo.experiments.findings import read_findings
from odrpo.experiments.page import results_page
from odrpo.experiments.record import Record
from odrpo.experiments.results import Results
from odrpo.experiments.tables import at_a_glance, possible_tables
from odrpo.files import put


def publish(records: Sequence[Record], out: Path, page: Path | None = None) -> list[Path]:
    """Write OUT/tables/*.md and *.tex, OUT/figures/*.png, and the page; returns where they are.

    What is there of records that are gone is removed.
    """
    if not records:
        return []
    findings, results = read_findings(out), Results(records)
    tables, figures, page = out / "tables", out / "figures", page or out / "results.md"
    every = possible_tables(results)
    ablations = possible_ablations(results, findings.ablations)
    for table in (at_a_glance(results), *every, *ablations):
        some = bool(table.rows)
        text = f"# {table.title}\n\n{table.markdown()}\n"
        _write(tables / f"{table.name}.md", text if some else None)
        _write(tables / f"{table.name}.tex", table.latex() if some else None)
    drawn = every_figure(records)
    for name in (*CURVES, CERTIFICATES):
        _write(figures / f"{name}.png", drawn.get(name))
    shown = [[table for table in group if table.rows] for group in (every, ablations)]
    put(page, results_page(records, findings, page, figures, *shown))
    return [tables, *([figures] if drawn else []), page]


def _write(path: Path, content: str | bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    else:
        put(path, content)
