"""One HTML file from records: styles, scripts, data and pictures are all in it."""

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from odrpo.experiments.ablations import every_ablation
from odrpo.experiments.findings import Findings
from odrpo.experiments.limits import limits
from odrpo.experiments.record import Record
from odrpo.experiments.table import counted
from odrpo.experiments.tables import every_table
from odrpo.report.data import page_data
from odrpo.report.markdown import as_html, bullets
from odrpo.report.picture import Picture
from odrpo.report.table import table_html

NO_PICTURES = (
    "There are none: `odrpo report DIR` draws them of the models that `odrpo reproduce` leaves in "
    "DIR/runs, and keeps them in DIR/pictures; here are neither. What has a record is not run "
    "again: to see its policy, use another folder, `odrpo reproduce --out DIR`."
)
STATIC = files("odrpo.report") / "static"
SCRIPTS = ("shared.js", "curves.js", "small.js", "runs.js", "page.js")


def build_report(
    records: Sequence[Record], findings: Findings, pictures: Sequence[Picture] = ()
) -> str:
    """The page; it needs no network, and what it prints of the records is escaped."""
    every = (*every_table(records), *every_ablation(records, findings.ablations))
    tables = "".join(map(table_html, every))
    envs = {record.env for record in records}
    summary = f"{counted(len(records), 'run')} of {counted(len(envs), 'task')}"
    return Template(_file("page.html")).substitute(
        style=_file("uPlot.min.css") + _file("page.css"),
        library=_file("uPlot.iife.min.js"),
        script="".join(map(_file, SCRIPTS)),
        data=as_script(page_data(records)),
        summary=html.escape(summary),
        conclusions=_conclusions(records, findings),
        tables=tables,
        pictures=_gallery(pictures),
    )


def as_script(data: object) -> str:
    """JSON that no text in it can lead out of its script element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _conclusions(records: Sequence[Record], findings: Findings) -> str:
    """What the results can't say comes first."""
    parts = {
        "First, the limits": limits(records),
        "What agrees with the paper": findings.agrees,
        "What does not, and why": findings.differs,
    }
    return "".join(f"<h2>{title}</h2>{bullets(texts)}" for title, texts in parts.items() if texts)


def _gallery(pictures: Sequence[Picture]) -> str:
    if not pictures:
        return f"<p class=note>{as_html(NO_PICTURES)}</p>"
    return f"<div class=gallery>{''.join(picture.html() for picture in pictures)}</div>"


def _file(name: str) -> str:
    return (STATIC / name).read_text()
