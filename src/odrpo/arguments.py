"""What numbers may be that a user gives: the checks that many functions share."""

import math
import numbers
import operator
from typing import Any

MOST_SEEDS = 2**32
"""JAX's keys tell no more of them apart."""


def whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number of at least `least`; 1e5 is one as well."""
    try:
        number = operator.index(int(value) if _is_whole_float(value) else value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < least:
        bound = "> 0" if least == 1 else f">= {least}"
        raise ValueError(f"{name}: {value!r}; use a whole number {bound}")
    return number


def seed_of(value: Any) -> int:
    """A seed for JAX and for Gymnasium alike."""
    seed = whole("seed", value)
    if seed >= MOST_SEEDS:
        raise ValueError(f"seed: {seed}; use a whole number below {MOST_SEEDS}")
    return seed


def finite(name: str, value: Any) -> float:
    """A number that is one."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise ValueError(f"{name}: {value!r}; use a finite number")
    return float(value)


def _is_whole_float(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer()
