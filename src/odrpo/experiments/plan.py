"""What is published: the runs whose records go into the repository, as data."""

from typing import NamedTuple

from odrpo.experiments.runs import BASELINES, ELSEWHERE, GROUPS, METHODS, Run, plan
from odrpo.experiments.variants import VARIANTS


class Part(NamedTuple):
    """Runs that belong together: each method on each task, with so many seeds."""

    envs: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: int
    variants: tuple[str, ...] = ()


UNPUBLISHED = ("Pusher-v5", "BipedalWalker-v3")
"""Tasks beyond the paper that anyone may run."""
PARTS = (
    Part(GROUPS["tabular"] + GROUPS["discrete"], METHODS, 5, tuple(VARIANTS)),
    Part(GROUPS["continuous"], ("odrpo-kl",), 3, ("gaussian",)),
    Part(("HalfCheetah-v5",), ("odrpo-wasserstein",), 3),
    Part(GROUPS["continuous"], BASELINES, 2),
    Part(("InvertedPendulum-v5", "Reacher-v5"), ("odrpo-kl",), 3, ("paper-budget",)),
    Part(("Hopper-v5", "Walker2d-v5"), ("odrpo-kl",), 1, ("paper-budget",)),
    Part(tuple(env for env in ELSEWHERE if env not in UNPUBLISHED), ("odrpo-kl",), 1),
)


def published_plan(short: bool = False) -> list[Run]:
    """All of it, each run once."""
    every = [run for part in PARTS for run in plan(*part, short=short)]
    return list(dict.fromkeys(every))
