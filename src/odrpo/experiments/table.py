"""A table of texts, written as Markdown or LaTeX."""

import math
import re
from dataclasses import dataclass, field
from typing import NamedTuple


class Cell(NamedTuple):
    """A text, and whether it stands out."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """A title, a header, rows, and what is to be said of them in Markdown."""

    name: str
    """Of its files."""
    title: str
    header: list[str]
    rows: list[list[Cell]]
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """For docs and terminals."""
        lines = [self.header, ["---"] * len(self.header)]
        lines += [[f"**{c.text}**" if c.bold else c.text for c in row] for row in self.rows]
        table = "\n".join(f"| {' | '.join(_bars(text) for text in line)} |" for line in lines)
        return "\n\n".join([table, *self.notes])

    def latex(self) -> str:
        """For papers: a table environment with booktabs."""
        lines = [[_tex(text) for text in self.header]]
        lines += [[_tex_cell(cell) for cell in row] for row in self.rows]
        head, *body = [" & ".join(line) + r" \\" for line in lines]
        caption = " ".join(map(_tex_of_markdown, [_sentence(self.title), *self.notes]))
        parts = [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{tab:{self.name}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}",
            *(r"\toprule", head, r"\midrule", *body, r"\bottomrule"),
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(parts) + "\n"


NEGATIVE = re.compile(r"(?<![\w.])-(?=\d)")
SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "≥": r"$\geq$",
    "<": r"$<$",
    ">": r"$>$",
}


def _tex(text: str) -> str:
    return re.sub("|".join(map(re.escape, SPECIAL)), lambda found: SPECIAL[found[0]], text)


def _tex_cell(cell: Cell) -> str:
    text = NEGATIVE.sub("$-$", _tex(cell.text))  # a hyphen is no minus
    return rf"\textbf{{{text}}}" if cell.bold else text


def _sentence(title: str) -> str:
    return title if title.endswith(("?", "!", ".")) else f"{title}."


def _tex_of_markdown(text: str) -> str:
    bold = re.sub(r"\*\*(.+?)\*\*", r"\\textbf{\1}", _tex(text))
    return re.sub("`(.+?)`", r"\\texttt{\1}", bold)


def _bars(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


def counted(count: int, noun: str) -> str:
    """So many of something: 1 run, 12,000 runs."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def number(value: float | None) -> str:
    """As many digits as say something: 12345, 97.3, -4.12, 0.995."""
    if value is None or value != value:
        return "-"
    text = f"{value:.{_decimals(value)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def estimate(mean: float, deviation: float) -> str:
    """To the second digit of the deviation, and no further than `number` goes.

    >>> estimate(4693.2, 641.4), estimate(-4.274, 0.4621), estimate(7.931, 0.023)
    ('4693 ± 641', '-4.27 ± 0.46', '7.93 ± 0.02')
    """
    if math.isnan(deviation):  # of a run without an episode
        return "-"
    if deviation == 0:
        return f"{number(mean)} ± 0"
    digits = min(_decimals(mean), max(0, 1 - math.floor(math.log10(deviation))))
    spread = f"{deviation:.{digits}f}"
    return f"{mean:.{digits}f} ± {spread if float(spread) else format(deviation, '.1g')}"


def _decimals(value: float) -> int:
    size = abs(value)
    return 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 else 3
