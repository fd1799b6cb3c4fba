"""Tables and figures of all records, as files."""

from collections.abc import Sequence
from pathlib import Path

from odrpo.experiments.figures import every_figure
from odrpo.experiments.record import Record
from odrpo.experiments.tables import every_table


def publish(records: Sequence[Record], out: Path) -> list[Path]:
    """Write OUT/tables/*.md and *.tex, and OUT/figures/*.png; returns their folders."""
    tables = out / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    for table in every_table(records):
        text = f"# {table.title}\n\n{table.markdown()}\n"
        (tables / f"{table.name}.md").write_text(text)
        (tables / f"{table.name}.tex").write_text(table.latex())
    every_figure(records, out / "figures")
    return [tables, out / "figures"]
