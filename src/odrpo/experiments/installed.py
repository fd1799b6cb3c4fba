"""Whether what runs need is installed: better told before any of them begins."""

from collections.abc import Iterable
from importlib.util import find_spec

from odrpo.experiments.runs import BASELINES, Run

NOT_INSTALLED = (
    "Stable-Baselines3 and sb3-contrib are not installed; in a clone `make baselines` installs "
    "them, elsewhere pip install torch==2.13.0, then the extra baselines of odrpo"
)


def what_is_missing(runs: Iterable[Run]) -> str | None:
    """A sentence, or None where nothing is."""
    theirs = sorted({run.method for run in runs} & {*BASELINES})
    if not theirs or find_spec("sb3_contrib"):
        return None
    return f"methods: {', '.join(theirs)}: {NOT_INSTALLED}"
