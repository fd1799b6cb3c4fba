"""`odrpo report`: all results as one page to look at."""

from functools import partial
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.markup import escape

from odrpo.cli.options import optional
from odrpo.experiments.findings import read_findings
from odrpo.experiments.record import read_all
from odrpo.experiments.table import counted
from odrpo.files import put


def make_report(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")] = Path("results"),
    out: Annotated[Path | None, optional("FILE")] = None,
    pictures: bool = True,
) -> None:
    """Make one HTML file of all records: tables, curves, certificates, runs, and pictures.

    It is one file that can be sent as it is, and needs no network.

    Example: odrpo report results --out report.html

    Args:
        folder: Where `odrpo reproduce` left its records.
        out: The file; else report.html in that folder.
        pictures: Draw the policies whose models are still in DIR/runs and store the
            pictures in DIR/pictures; with --no-pictures only stored ones are shown.
    """
    from odrpo.report import build_report  # matplotlib is slow to import
    from odrpo.report.pictures import every_picture

    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder; `odrpo reproduce` makes one")
    records = read_all(folder)
    if not records and (folder / "short" / "records").is_dir():
        short = folder / "short"
        raise ValueError(f"{folder}: there are no records in it, but in {short}; use that")
    if not records:
        raise ValueError(f"{folder}: there are no records in it; `odrpo reproduce` makes them")
    console = Console()
    say = partial(console.print, markup=False, highlight=False)
    shown = every_picture(folder, records, pictures, say)
    path = out or folder / "report.html"
    text = build_report(records, read_findings(folder), shown)
    put(path, text)
    console.print(
        f"wrote {escape(str(path))}: {counted(len(records), 'run')}, "
        f"{counted(len(shown), 'picture')}, {len(text) / 1e6:.1f} MB"
    )
