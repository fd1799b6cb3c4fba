"""Settings for the paper's environments, ours and the paper's: data, nothing else."""

from dataclasses import dataclass, field
from typing import Any, Literal

PresetName = Literal["tuned", "paper", "default"]
Settings = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One of the paper's environments with its budget, and the settings that we found for it."""

    env: str
    timesteps: int
    """The paper's budget; where that counts episodes, enough for them."""
    settings: dict[str, Settings]
    """By metric; "all" goes with each."""
    episodes: int | None = None
    """The paper's budget, where it counts episodes."""
    max_steps: int | None = None
    """A step limit for an environment that has none."""
    paper: Settings = field(default_factory=dict)
    """What the paper's table of hyperparameters says of it."""


FINITE: Settings = {
    "policy": "table",
    "critic": "model",
    "initial_weight": 0.5,
    "optimism": 2.0,
    "discount": 0.99,
    "radius": 0.1,
    "trace": 0.0,
    "num_envs": 8,
}
"""For finite states without a preset."""

VECTOR: Settings = {}
"""For all else: the defaults of Config."""

TASKS: dict[str, Task] = {
    task.env: task
    for task in [
        Task(
            "CartPole-v1",
            100_000,
            {
                "all": {"final_fraction": 0.1, "horizon": 80_000},
                "kl": {"radius": 0.01},
                "wasserstein": {"radius": 0.03},
            },
            episodes=200,
        ),
    ]
}


def settings_for(
    env: str | None, metric: str, finite: bool, preset: PresetName = "tuned"
) -> tuple[Settings, int | None]:
    """The settings of a preset, and a step limit if it has one.

    Args:
        env: The id of an environment; None: one without.
        metric: "kl", "wasserstein" or "sinkhorn".
        finite: Whether its states are finitely many.
        preset: "tuned" is ours, or the default where there is none; "paper" is the paper's.
    """
    if preset not in ("tuned", "paper", "default"):
        raise ValueError(f'preset: {preset!r}; use "tuned", "paper" or "default"')
    general = FINITE if finite else VECTOR
    task = TASKS.get(env or "")
    if preset == "paper":
        if task is None or not task.paper:
            raise ValueError(
                f"preset: the paper has no settings for {env}; it has them for {', '.join(TASKS)}"
            )
        return task.paper, task.max_steps
    if task is None or preset == "default":
        return general, None
    settings = general | task.settings.get("all", {})
    # Sinkhorn is Wasserstein with an entropy: the same radii serve.
    return settings | task.settings["kl" if metric == "kl" else "wasserstein"], task.max_steps
