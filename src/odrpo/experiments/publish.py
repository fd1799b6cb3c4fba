"""Tables, figures and the page of all records, as files."""

from collections.abc import Sequence
from pathlib import Path

from odrpo.experiments.ablations import every_ablation
from odrpo.experiments.figures import every_figure
from odrpo.experiments.findings import read_findings
from odrpo.experiments.page import results_page
from odrpo.experiments.record import Record
from odrpo.experiments.tables import Results, at_a_glance, every_table


def publish(records: Sequence[Record], out: Path, page: Path | None = None) -> list[Path]:
    """Write OUT/tables/*.md and *.tex, OUT/figures/*.png, and the page; returns where they are."""
    if not records:
        return []
    findings = read_findings(out)
    tables, figures, page = out / "tables", out / "figures", page or out / "results.md"
    tables.mkdir(parents=True, exist_ok=True)
    every = (*every_table(records), *every_ablation(records, findings.ablations))
    for table in (at_a_glance(Results(records)), *every):
        text = f"# {table.title}\n\n{table.markdown()}\n"
        (tables / f"{table.name}.md").write_text(text)
        (tables / f"{table.name}.tex").write_text(table.latex())
    every_figure(records, figures)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(results_page(records, findings, page, figures))
    return [tables, figures, page]
