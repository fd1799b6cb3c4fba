"""A table as HTML; every text is escaped."""

import html

from odrpo.experiments.table import Cell, Table
from odrpo.report.markdown import as_html


def table_html(table: Table) -> str:
    """With its title above and its notes beneath; a second column of words is one of names."""
    head = "".join(f"<th>{html.escape(text)}</th>" for text in table.header)
    words = all(cell.text[:1].isalpha() for row in table.rows for cell in row[1:2])
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    notes = "".join(f"<p class=note>{as_html(note)}</p>" for note in table.notes)
    return (
        f"<h3 id='{html.escape(table.name)}'>{html.escape(table.title)}</h3>"
        f"<div class=wide><table{' class=words' if words else ''}>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        f"{notes}"
    )


def _cell(cell: Cell) -> str:
    text = html.escape(cell.text)
    return f"<td><b>{text}</b></td>" if cell.bold else f"<td>{text}</td>"
