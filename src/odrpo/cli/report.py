"""`odrpo report`: all results as one page to look at."""

from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.markup import escape

from odrpo.cli.options import optional
from odrpo.experiments.findings import read_findings
from odrpo.experiments.record import Record, read_all


def make_report(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")] = Path("results"),
    out: Annotated[Path | None, optional("FILE")] = None,
    pictures: bool = True,
) -> None:
    """Make one HTML file of all records: tables, curves, certificates, runs, and pictures.

    It needs nothing else, no network either: send it to whom you like.

    Example: odrpo report results --out report.html

    Args:
        folder: Where `odrpo reproduce` left its records.
        out: The file; else report.html in that folder.
        pictures: Whether to draw what the policies do, where their models are still there.
    """
    from odrpo.report import build_report  # matplotlib is slow to import

    records = read_all(folder)
    if not records:
        raise ValueError(f"{folder}: there are no records in it; `odrpo reproduce` makes them")
    console = Console()
    drawn = _pictures(folder, records, console) if pictures else []
    path = out or folder / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = build_report(records, read_findings(folder), drawn)
    path.write_text(text)
    console.print(
        f"wrote {escape(str(path))}: {len(records)} runs, {len(drawn)} pictures, "
        f"{len(text) / 1e6:.1f} MB"
    )


def _pictures(folder: Path, records: list[Record], console: Console) -> list:
    """One of each task: the first seed of ours whose model is there."""
    from odrpo.report.picture import Picture
    from odrpo.report.pictures import picture_of

    found: dict[str, Picture | None] = {}
    for record in records:
        file = folder / "runs" / record.env / record.label / str(record.seed) / "model.odrpo"
        if record.env not in found and not record.variant and file.exists():
            console.print(f"drawing {escape(record.env)} ...")
            try:
                found[record.env] = picture_of(file)
            except ValueError as error:  # a file that is damaged, or of other settings
                console.print(f"[yellow]no picture:[/] {escape(str(error))}", highlight=False)
    return [picture for picture in found.values() if picture is not None]
