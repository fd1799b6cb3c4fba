"""Whether what a file says of a run can be shown: tables and figures count on it."""

import math
from collections.abc import Sequence
from typing import Any

from odrpo.arguments import finite, whole
from odrpo.experiments.evaluation import COUNTED


def check_values(values: dict[str, Any], certificate: Sequence[str], clock: Sequence[str]) -> None:
    """All but the episodes; an error names what is not as it should be."""
    for name in ("env", "method", "variant", "commit"):
        _check_is(str, name, values[name])
    for name, least in (("seed", 0), ("timesteps", 1), ("taken", 1)):
        whole(name, values[name], least)
    whole("refused", values.get("refused", 0))
    finite("seconds", values["seconds"])
    for name in ("config", "versions", "machine", "updates", "evaluation"):
        _check_is(dict, name, values[name])
    for name in ("largest_gap", "largest_use"):
        if values[name] is not None:
            finite(name, values[name])
    if values["updates"]:
        _check_columns("updates", values["updates"], certificate, or_none=True)
    if values.get("clock"):
        _check_columns("clock", values["clock"], clock, or_none=False)
    counted = ("returns", "lengths", *COUNTED.get(values["env"], ()))
    _check_columns("evaluation", values["evaluation"], counted, or_none=False)


def _check_columns(name: str, table: dict[str, Any], columns: Sequence[str], or_none: bool) -> None:
    """Numbers of every column, as many of each; at least one."""
    for column in columns:
        numbers: Any = table.get(column)
        _check_is(list, f"{name} {column}", numbers)
        known = [n for n in numbers if not (or_none and n is None)]
        if not all(type(n) in (int, float) and math.isfinite(n) for n in known):
            raise ValueError(f"{name} {column}: not all of it is finite")
        if not numbers or len(numbers) != len(table[columns[0]]):
            raise ValueError(f"{name} {column}: there are {len(numbers)}")


def _check_is(kind: type, name: str, value: Any) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{name}: {str(value)[:20]!r} is no {kind.__name__}")
