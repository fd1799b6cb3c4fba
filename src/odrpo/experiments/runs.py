"""Which runs there are to reproduce the paper: a task, a method and a seed each."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from odrpo.experiments.record import file_of, labelled
from odrpo.experiments.variants import CLASSIC, FINITE, VARIANTS, variant_of
from odrpo.presets import TASKS

OURS = {"odrpo-kl": "kl", "odrpo-wasserstein": "wasserstein", "odrpo-sinkhorn": "sinkhorn"}
"""Our methods and their metrics."""
BASELINES = ("trpo", "ppo", "a2c")
METHODS = (*OURS, *BASELINES)
GROUPS = {
    "tabular": FINITE,
    "discrete": CLASSIC,
    "continuous": (
        *("LunarLanderContinuous-v3", "InvertedPendulum-v5", "Reacher-v5", "Hopper-v5"),
        *("Walker2d-v5", "HalfCheetah-v5", "Ant-v5"),
    ),
}
ELSEWHERE = {
    "FrozenLake-v1": 500_000,
    "FrozenLake8x8-v1": 500_000,
    "Blackjack-v1": 100_000,
    "MountainCar-v0": 100_000,
    "LunarLander-v3": 500_000,
    "Pendulum-v1": 15_000,
    "MountainCarContinuous-v0": 30_000,
    "Swimmer-v5": 100_000,
    "Pusher-v5": 100_000,
    "BipedalWalker-v3": 200_000,
}
"""Tasks that are none of the paper's, where ours have no preset: their timesteps."""
FIRST_ELSEWHERE = 20
"""Seeds from here on were not looked at in choosing defaults."""
SHORT = 10
"""A short budget is the full one divided by this."""


@dataclass(frozen=True)
class Run:
    """One seed of one method on one task."""

    env: str
    method: str
    seed: int
    timesteps: int
    variant: str = ""
    """What is changed in our settings, by its name in `variants`; none: nothing."""

    @property
    def label(self) -> str:
        """The method with its variant."""
        return labelled(self.method, self.variant)

    @property
    def name(self) -> str:
        """What a person calls it."""
        return f"{self.env} {self.label} seed {self.seed}"

    def identity(self) -> dict[str, Any]:
        """The fields of its record that say which run it was."""
        return asdict(self)

    def folder(self, out: Path) -> Path:
        """Where it keeps what it needs to go on."""
        return out / "runs" / self.env / self.label / str(self.seed)

    def record_file(self, out: Path) -> Path:
        """Where its record goes."""
        return file_of(out, self.env, self.label, self.seed)


def plan(
    tasks: Sequence[str], methods: Sequence[str], seeds: int, variants: Sequence[str], short: bool
) -> list[Run]:
    """Every run of these tasks and methods, seed by seed, so that all have one before any has two.

    Seeds begin where the task's settings were not tuned on.
    """
    runs = []
    for k in range(seeds):
        for env in tasks:
            for method in methods:
                seed = _first_seed(env, method) + k
                also = [v for v in variants if VARIANTS[v].applies_to(env, OURS.get(method))]
                for name in ("", *also):
                    timesteps = _budget(env, name) // (SHORT if short else 1)
                    runs.append(Run(env, method, seed, timesteps, name))
    if variants and not any(run.variant for run in runs):
        raise ValueError(f"variants: none of {', '.join(variants)} is for these tasks and methods")
    return runs


def _budget(env: str, variant: str) -> int:
    own = TASKS[env].timesteps if env in TASKS else ELSEWHERE[env]
    return variant_of(variant).timesteps.get(env, own)


def _first_seed(env: str, method: str) -> int:
    return TASKS[env].first_seed(OURS.get(method)) if env in TASKS else FIRST_ELSEWHERE


def named_tasks(words: str) -> list[str]:
    """Environments by id, by name without its version, by group, with commas between.

    "all" are the paper's.
    """
    every = (*TASKS, *ELSEWHERE)
    short = {env.rsplit("-", 1)[0].lower(): env for env in every}
    groups = GROUPS | {"all": tuple(TASKS), "elsewhere": tuple(ELSEWHERE)}
    found: dict[str, None] = {}
    for word in _split("tasks", words):
        name = word.lower()
        if name in groups:
            found |= dict.fromkeys(groups[name])
        elif name in short or word in every:
            found[short.get(name, word)] = None
        else:
            choices = ", ".join([*groups, *short])
            raise ValueError(f"tasks: there is no {word!r}; use one or several of {choices}")
    return list(found)


def named_methods(words: str) -> list[str]:
    """Methods by name, "all", "odrpo" or "baselines", with commas between."""
    return _named("methods", words, METHODS, {"odrpo": tuple(OURS), "baselines": BASELINES})


def named_variants(words: str) -> list[str]:
    """Variants by name, "all" or none."""
    return _named("variants", words, tuple(VARIANTS), {}) if words else []


def _named(
    argument: str, words: str, every: tuple[str, ...], groups: dict[str, tuple[str, ...]]
) -> list[str]:
    groups = groups | {"all": every}
    found: dict[str, None] = {}
    for word in _split(argument, words):
        if word not in groups and word not in every:
            choices = ", ".join([*groups, *every])
            raise ValueError(f"{argument}: there is no {word!r}; use one or several of {choices}")
        found |= dict.fromkeys(groups.get(word, (word,)))
    return list(found)


def _split(argument: str, words: str) -> list[str]:
    parts = [part.strip() for part in words.split(",") if part.strip()]
    if not parts:
        raise ValueError(f"{argument}: none; name at least one")
    return parts
