"""How options are shown."""

from typing import Any, Literal

import tyro

MetricName = Literal["kl", "wasserstein", "sinkhorn"]


def optional(metavar: str, meaning: str | None = None) -> Any:
    """An option that is shown by what it takes, without its default of None."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="", help=meaning)
