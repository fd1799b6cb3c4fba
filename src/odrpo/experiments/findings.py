"""What people have concluded from records: sentences in a file beside these, shown with them."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from odrpo.experiments.ablations import ABLATIONS

FORM = "it may have agrees and differs, lists of texts, and a table ablations of texts"


@dataclass(frozen=True)
class Findings:
    """Sentences in Markdown."""

    agrees: list[str] = field(default_factory=list)
    """With the paper."""
    differs: list[str] = field(default_factory=list)
    """From the paper, and why."""
    ablations: dict[str, str] = field(default_factory=dict)
    """What each of them shows, by its question."""


def read_findings(out: Path) -> Findings:
    """Those of OUT/findings.toml; none where there is no such file."""
    path = out / "findings.toml"
    if not path.exists():
        return Findings()
    try:
        found = Findings(**tomllib.loads(path.read_text()))
        texts = [*found.agrees, *found.differs, *found.ablations.values()]
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: {error}; {FORM}") from error
    lists = isinstance(found.agrees, list) and isinstance(found.differs, list)
    unknown = sorted(set(found.ablations) - set(ABLATIONS))
    if unknown:
        raise ValueError(
            f"{path}: ablations: there is no {', '.join(unknown)}; use {', '.join(ABLATIONS)}"
        )
    if not lists or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{path}: not all of it is text; {FORM}")
    return found
