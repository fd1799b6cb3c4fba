"""One HTML file from records: styles, scripts, data and pictures are all in it."""

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from odrpo.experiments.ablations import every_ablation
from odrpo.experiments.findings import Findings
from odrpo.experiments.record import Record
from odrpo.experiments.tables import every_table
from odrpo.report.data import page_data
from odrpo.report.picture import Picture

STATIC = files("odrpo.report") / "static"


def build_report(
    records: Sequence[Record], findings: Findings, pictures: Sequence[Picture] = ()
) -> str:
    """The page; it needs no network, and what it prints of the records is escaped."""
    every = (*every_table(records), *every_ablation(records, findings.ablations))
    tables = "".join(table.html() for table in every)
    envs = {record.env for record in records}
    summary = f"{len(records)} runs of {len(envs)} tasks"
    return Template(_file("page.html")).substitute(
        style=_file("uPlot.min.css") + _file("page.css"),
        library=_file("uPlot.iife.min.js"),
        script=_file("page.js"),
        data=as_script(page_data(records)),
        summary=html.escape(summary),
        tables=tables,
        pictures="".join(picture.html() for picture in pictures),
    )


def as_script(data: object) -> str:
    """JSON that no text in it can lead out of its script element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _file(name: str) -> str:
    return (STATIC / name).read_text()
