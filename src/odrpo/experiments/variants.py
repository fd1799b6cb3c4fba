"""What is changed in our settings, one thing at a time, to answer a question: data only."""

from dataclasses import dataclass, field
from typing import Any

from odrpo.presets import TASKS, of_metric

FINITE = ("Taxi-v4", "NChain-v0", "CliffWalking-v1")
CLASSIC = ("CartPole-v1", "Acrobot-v1")
BOXES = ("InvertedPendulum-v5", "Reacher-v5", "LunarLanderContinuous-v3")
KL, WASSERSTEIN = ("kl",), ("wasserstein",)
BOTH = KL + WASSERSTEIN
THE_PAPERS = {
    "InvertedPendulum-v5": 250_000,
    "Reacher-v5": 500_000,
    "Hopper-v5": 1_000_000,
    "Walker2d-v5": 1_000_000,
    "HalfCheetah-v5": 1_000_000,
    "Ant-v5": 1_000_000,
}
"""The timesteps of the paper, where ours are fewer."""


@dataclass(frozen=True)
class Variant:
    """One change, and where it is tried."""

    question: str
    """What it helps to answer; variants of one question are shown beside each other."""
    envs: tuple[str, ...]
    metrics: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)
    """By how much numbers of the preset are multiplied."""
    preset: str = "tuned"
    model_free: bool = False
    timesteps: dict[str, int] = field(default_factory=dict)
    """Budgets that are not the task's; what fades does so within them."""

    def applies_to(self, env: str, metric: str | None) -> bool:
        """Whether it is tried there."""
        return env in self.envs and metric in self.metrics

    def changes(self, env: str, metric: str) -> dict[str, Any]:
        """The settings that differ from the preset's."""
        free = of_metric(TASKS[env].model_free, metric) if self.model_free else {}
        scaled = {name: _tuned(env, metric)[name] * by for name, by in self.factors.items()}
        longer = self.timesteps.get(env)
        fades = longer is not None and _tuned(env, metric)["final_fraction"] < 1
        own = {"horizon": longer} if fades else {}
        return free | scaled | own | self.settings


def _tuned(env: str, metric: str) -> dict[str, Any]:
    return of_metric(TASKS[env].tuned, metric)


def _radius(factor: float) -> Variant:
    return Variant("radius", CLASSIC, BOTH, factors={"radius": factor})


VARIANTS: dict[str, Variant] = {
    "model-free": Variant("model", FINITE, BOTH, model_free=True),
    "paper": Variant("paper", FINITE + CLASSIC, BOTH, preset="paper"),
    "held-beta": Variant("beta", CLASSIC, BOTH, {"beta": "hold"}),
    "decaying-beta": Variant("beta", CLASSIC, BOTH, {"beta": "decay"}),
    "ties-stay": Variant("ties", CLASSIC, WASSERSTEIN, {"ties": "stay"}),
    "ties-move": Variant("ties", CLASSIC, WASSERSTEIN, {"ties": "move"}),
    "radius-0.1": _radius(0.1),
    "radius-0.3": _radius(0.3),
    "radius-3": _radius(3.0),
    "radius-10": _radius(10.0),
    "doubly-robust": Variant("advantages", CLASSIC, BOTH, {"advantages": "doubly_robust"}),
    "taken": Variant("advantages", CLASSIC, BOTH, {"advantages": "taken"}),
    "balanced": Variant("advantages", CLASSIC, BOTH, {"advantages": "balanced"}),
    "monte-carlo": Variant("advantages", CLASSIC, BOTH, {"returns": "monte_carlo"}),
    "squared-error": Variant("projection", CLASSIC, BOTH, {"projection": "squared_error"}),
    "gaussian": Variant("policy", BOXES, KL, {"policy": "gaussian"}),
    "paper-budget": Variant("budget", tuple(THE_PAPERS), KL, timesteps=THE_PAPERS),
}


def variant_of(name: str) -> Variant:
    """By its name; of none it is what changes nothing."""
    return VARIANTS[name] if name else Variant("", (), ())
