"""How options are shown and read."""

from contextlib import suppress
from typing import Any, Literal

import tyro

MetricName = Literal["kl", "wasserstein", "sinkhorn"]

registry = tyro.constructors.ConstructorRegistry()


def optional(metavar: str, meaning: str | None = None, usual: Any = None) -> Any:
    """An option that is shown by what it takes; not None but what is usual is its default."""
    hint = "" if usual is None else f"(default: {usual})"
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=hint, help=meaning)


@registry.primitive_rule
def _whole_numbers(
    info: tyro.constructors.PrimitiveTypeInfo,
) -> tyro.constructors.PrimitiveConstructorSpec | None:
    """Whole numbers may be written as 1e5 or 100_000; None is what is not given, no word."""
    if info.type not in (int, int | None):
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: _whole(words[0]),
        is_instance=lambda value: value is None or type(value) is int,
        str_from_instance=lambda value: [str(value)],
    )


def _whole(word: str) -> int:
    with suppress(ValueError):
        return int(word)
    with suppress(ValueError):
        if float(word).is_integer():
            return int(float(word))
    raise ValueError(f"{word}; use a whole number")
