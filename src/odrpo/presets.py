"""Settings for the paper's environments, ours and the paper's: data only."""

from dataclasses import dataclass, field
from typing import Any, Literal

from odrpo.config import has_room_for_model
from odrpo.learner import Sizes

PresetName = Literal["tuned", "paper", "default"]
Settings = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One of the paper's environments."""

    env: str
    timesteps: int
    """The paper's budget, or ours where less will do; where it counts episodes, enough for them."""
    tuned: dict[str, Settings]
    """Our settings: "all", and those of a metric."""
    paper: Settings
    """The paper's table of hyperparameters."""
    episodes: int | None = None
    """The paper's budget, where it counts episodes."""
    max_steps: int | None = None
    """A step limit for an environment that has none."""
    optimum: float | None = None
    """The largest expected return, where it is known."""
    threshold: float | None = None
    """The return whose first mean over 20 episodes the paper counts the timesteps to."""
    model_free: dict[str, Settings] = field(default_factory=dict)
    """The same as `tuned` without a model of the environment, for finite states."""
    unseen: dict[str, int] = field(default_factory=dict)
    """Seeds from here on were not looked at in choosing settings: "all", and those of a metric."""

    def first_seed(self, metric: str | None) -> int:
        """The first of those that results are reported on."""
        name = "wasserstein" if metric == "sinkhorn" else metric or "all"
        return self.unseen.get(name, self.unseen.get("all", 0))


FINITE: dict[str, Settings] = {
    "all": {
        "policy": "table",
        "critic": "model",
        "smoothing": 0.0,
        "final_fraction": 1.0,
        "initial_weight": 0.5,
        "optimism": 2.0,
        "discount": 0.99,
        "radius": 0.1,
        "trace": 0.0,
        "num_envs": 8,
        "num_steps": 64,
    }
}
"""For finite states without a preset."""

VECTOR: dict[str, Settings] = {"kl": {"radius": 0.01}, "wasserstein": {"radius": 0.03}}
"""For all else: the defaults of Config, and a radius."""

CONTINUOUS: dict[str, Settings] = {
    "all": {
        "policy": "generative",
        "critic": "replay",
        "returns": "n_step",
        "n_step": 1,
        "discount": 0.99,
        "hidden": (128, 128),
        "normalise_observations": True,
        "policy_rate": 1e-3,
        "policy_epochs": 1,
        "critic_rate": 1e-3,
        "minibatch": 128,
        "projection_states": 32,
        "smoothing": 0.0,
        "final_fraction": 0.1,
        "horizon": 300_000,
        "num_envs": 1,
        "num_steps": 8,
    },
    "kl": {"radius": 0.5},
    "wasserstein": {"radius": 0.1},
}
"""For continuous actions."""

ON_POLICY: dict[str, Settings] = {
    "all": {
        "policy": "generative",
        "critic": "network",
        "normalise_observations": True,
        "policy_rate": 1e-3,
        "policy_epochs": 5,
        "critic_rate": 1e-3,
        "minibatch": 256,
        "projection_states": 1024,
        "smoothing": 0.0,
        "num_envs": 8,
        "num_steps": 256,
    },
    "kl": {"radius": 0.1},
    "wasserstein": {"radius": 0.03},
}
"""For continuous actions without replay."""

REPLAY: dict[str, Settings] = {
    "all": {
        "policy": "network",
        "critic": "replay",
        "returns": "n_step",
        "n_step": 1,
        "hidden": (64, 64),
        "policy_rate": 1e-3,
        "policy_epochs": 1,
        "critic_rate": 1e-3,
        "minibatch": 128,
        "num_envs": 1,
        "num_steps": 8,
    },
    "kl": {"radius": 0.1},
    "wasserstein": {"radius": 0.1},
}
"""For discrete actions from replay."""

TABLE: Settings = {
    "policy": "table",
    "smoothing": 0.0,
    "final_fraction": 1.0,
    "discount": 0.9,
    "trace": 0.0,
    "num_envs": 4,
    "num_steps": 64,
}
MODEL: Settings = TABLE | {"critic": "model"}
TD: Settings = TABLE | {"critic": "table", "critic_rate": 0.5}
MANY_STATES: dict[str, Settings] = {
    "all": TD | {"discount": 0.99, "num_envs": 8},
    "kl": {"radius": 0.02},
    "wasserstein": {"radius": 0.01},
}
"""For more of them than a model of all transitions has room for."""

SMALL: Settings = {
    "discount": 0.99,
    "num_envs": 4,
    "num_steps": 64,
    "hidden": (32, 32),
    "policy_rate": 5e-3,
    "critic_rate": 5e-3,
}
PAPER: Settings = {
    "complete_episodes": True,
    "returns": "monte_carlo",
    "advantages": "taken",
    "visitation": "unnormalised",
    "radius": 0.01,
    "beta": "hold",
    "projection": "squared_error",
    "critic_rate": 1e-2,
    "critic_window": 1,
    "smoothing": 0.0,
    "final_fraction": 1.0,
    "farthest": 1e9,
}
PAPER_TABLE: Settings = PAPER | {"policy": "table", "critic": "table", "discount": 0.9}
PAPER_NETWORK: Settings = PAPER | {"discount": 0.95, "hidden": (64, 64), "num_steps": 500}
PAPER_GENERATIVE: Settings = CONTINUOUS["all"] | {
    "normalise_observations": False,
    "hidden": (400, 300),
    "policy_rate": 1e-4,
    "minibatch": 64,
    "projection_states": 64,
    "candidates": 16,
    "candidate_noise": 0.0,
    "behaviour_noise": 0.2,
    "layer_norm": False,
    "polyak": 0.005,
    "updates_per_step": 0.5,
    "final_fraction": 1.0,
}
"""The paper gives no radius for these, and its code a beta for all states: the radius is ours."""

TAXI = Task(
    "Taxi-v4",
    timesteps=300_000,
    tuned={"all": MODEL | {"initial_value": 20.0, "radius": 0.1, "num_envs": 8}},
    model_free={"all": TD, "kl": {"radius": 0.02}, "wasserstein": {"radius": 0.005}},
    paper=PAPER_TABLE | {"num_envs": 60, "num_steps": 200},
    optimum=7.93,
)
NCHAIN = Task(
    "NChain-v0",
    timesteps=600_000,
    tuned={
        "all": MODEL
        | {"initial_value": 100.0, "initial_weight": 1.0, "optimism": 2.0, "radius": 0.02}
    },
    model_free={
        "all": TD | {"critic_rate": 0.1, "initial_value": 100.0},
        "kl": {"radius": 0.01},
        "wasserstein": {"radius": 0.01},
    },
    paper=PAPER_TABLE | {"num_envs": 1, "num_steps": 1000},
    optimum=3665.8,
)
CLIFF = Task(
    "CliffWalking-v1",
    timesteps=30_000,
    max_steps=200,
    tuned={"all": MODEL | {"initial_value": 0.0, "radius": 0.02}},
    model_free={
        "all": TD | {"num_envs": 1, "num_steps": 32},
        "kl": {"radius": 0.1},
        "wasserstein": {"radius": 0.05},
    },
    paper=PAPER_TABLE | {"num_envs": 3, "num_steps": 200},
    optimum=-13,
)
CARTPOLE = Task(
    "CartPole-v1",
    timesteps=100_000,
    episodes=200,
    tuned={
        "all": SMALL | {"smoothing": 0.02, "final_fraction": 0.1, "horizon": 80_000},
        "kl": {"radius": 0.015, "critic_epochs": 2},
        "wasserstein": {"radius": 0.03},
    },
    paper=PAPER_NETWORK | {"num_envs": 2, "policy_rate": 1e-2, "critic_rate": 1e-2},
    optimum=500,
    threshold=200,
)
ACROBOT = Task(
    "Acrobot-v1",
    timesteps=325_000,
    episodes=650,
    tuned={
        "all": SMALL | {"smoothing": 0.0, "final_fraction": 0.05},
        "kl": {
            "radius": 0.015,
            "hidden": (64, 64),
            "trace": 0.8,
            "policy_epochs": 8,
            "horizon": 60_000,
        },
        "wasserstein": {
            "radius": 0.035,
            "num_steps": 32,
            "trace": 0.65,
            "critic_epochs": 2,
            "horizon": 45_000,
        },
    },
    paper=PAPER_NETWORK | {"num_envs": 3, "policy_rate": 5e-3, "critic_rate": 5e-3},
    threshold=-150,
)


def _generative(
    env: str,
    timesteps: int,
    tuned: dict[str, Settings] | None = None,
    paper_rate: float = 1e-3,
    unseen: dict[str, int] | None = None,
    **facts: Any,
) -> Task:
    """A task with continuous actions: most settings are those of all."""
    own = tuned or {}
    return Task(
        env,
        timesteps,
        tuned={
            "all": CONTINUOUS["all"] | {"horizon": timesteps} | own.get("all", {}),
            "kl": CONTINUOUS["kl"] | own.get("kl", {}),
            "wasserstein": CONTINUOUS["wasserstein"] | own.get("wasserstein", {}),
        },
        paper=PAPER_GENERATIVE | {"critic_rate": paper_rate},
        unseen=unseen or {"all": 20},
        **facts,
    )


# Where balance is lost, what an action led to shows late; a cheetah can't fall, an arm reaches.
LATE: dict[str, Settings] = {"all": {"n_step": 3}}
# Who is paid for standing must not think little of what lies beyond.
UPRIGHT: dict[str, Settings] = {"all": {"n_step": 3, "pessimism": 0.0}}
# A lander that has learned not to crash hovers, until it tries what it would not do by itself.
# Among actions so far apart a small radius of Wasserstein moves next to nothing.
LANDING: dict[str, Settings] = {
    "all": {"n_step": 3, "candidate_noise": 0.3},
    "wasserstein": {"radius": 0.2},
}
LANDER = _generative(
    *("LunarLanderContinuous-v3", 250_000, LANDING),
    paper_rate=1e-4,
    unseen={"all": 30, "wasserstein": 33},
    threshold=50,
)
PENDULUM = _generative("InvertedPendulum-v5", 50_000, LATE, optimum=1000)
REACHER = _generative("Reacher-v5", 100_000, threshold=-10)
# Some seeds stood still for what that pays, until they tried something else for a while.
# A gait that is a tenth faster but falls after 500 steps is hardly worse at a discount of 0.99.
HOPPING: dict[str, Settings] = {
    "all": UPRIGHT["all"] | {"candidate_noise": 0.3, "octaves": 4, "discount": 0.995}
}
HOPPER = _generative(*("Hopper-v5", 300_000, HOPPING), unseen={"all": 47}, threshold=3000)
WALKER = _generative("Walker2d-v5", 300_000, UPRIGHT, threshold=3000)
# Who can't fall need not become careful. With many joints few draws lie where the critic points,
# a single one at the next state says little, and how the body moves is half of what is to be known.
# Some seeds that began to learn at once stayed with a gait that pays a third of what others do;
# with Wasserstein one did even after 5000 steps.
RUNNING: dict[str, Settings] = {
    "all": {
        "final_fraction": 1.0,
        "candidate_ascent": 0.1,
        "next_actions": 4,
        "embedding": 128,
        "warm_up": 5_000,
    },
    "wasserstein": {"warm_up": 10_000},
}
CHEETAH = _generative(
    *("HalfCheetah-v5", 300_000, RUNNING),
    unseen={"all": 30, "wasserstein": 33},
)
# An ant sees 27 numbers of its body, then forces of contact, which flicker and tell it little
# (Ant-v4 left them out). With eight joints much noise is never any good.
CRAWLING: dict[str, Settings] = {
    "all": RUNNING["all"]
    | {"normalise_observations": False, "observed": 27, "candidate_noise": 0.03}
}
ANT = _generative(*("Ant-v5", 300_000, CRAWLING), unseen={"all": 24})
TASKS: dict[str, Task] = {
    task.env: task
    for task in (
        *(TAXI, NCHAIN, CLIFF, CARTPOLE, ACROBOT),
        *(LANDER, PENDULUM, REACHER, HOPPER, WALKER, CHEETAH, ANT),
    )
}

# Its engine must push for many steps in one direction before anything is to be seen.
BEYOND_DEFAULTS: dict[str, Settings] = {"MountainCarContinuous-v0": {"octaves": 8}}
"""What tasks that are none of the paper's need."""


def settings_for(
    env: str | None,
    metric: str,
    sizes: Sizes,
    preset: PresetName = "tuned",
    critic: str | None = None,
) -> tuple[Settings, int | None]:
    """The settings of a preset, and a step limit if it has one.

    Args:
        env: The id of an environment; None: one without.
        metric: "kl", "wasserstein" or "sinkhorn".
        sizes: What is seen and done in it.
        preset: "tuned" is ours, or the default where there is none; "paper" is the paper's.
        critic: The one asked for, if any: presets for continuous actions are for replay, others are
            not.
    """
    if preset not in ("tuned", "paper", "default"):
        raise ValueError(f'preset: {preset!r}; use "tuned", "paper" or "default"')
    task = TASKS.get(env or "")
    limit = None if task is None else task.max_steps
    if preset == "paper" and task is None:
        raise ValueError(
            f"preset: the paper has no settings for {env}; it has them for {', '.join(TASKS)}"
        )
    own = settings_of_task(env, metric, sizes, preset, critic)
    if own is not None:
        return own, limit
    if sizes.actions is None and critic == "network":
        return of_metric(ON_POLICY, metric), limit
    if sizes.actions is not None and critic == "replay":
        return of_metric(REPLAY, metric), limit
    beyond = BEYOND_DEFAULTS.get(env or "", {}) if preset == "tuned" else {}
    return of_metric(_defaults(sizes), metric) | beyond, limit


def settings_of_task(
    env: str | None, metric: str, sizes: Sizes, preset: PresetName, critic: str | None
) -> Settings | None:
    """Those of one of the paper's environments; None where general ones are used instead."""
    task = TASKS.get(env or "")
    if task is None or preset == "default":
        return None
    if preset == "paper":
        ours = {"radius": of_metric(CONTINUOUS, metric)["radius"]}
        return ours | task.paper
    if critic == ("network" if sizes.actions is None else "replay"):
        return None
    return of_metric(task.tuned, metric)


def _defaults(sizes: Sizes) -> dict[str, Settings]:
    if sizes.actions is None:
        return CONTINUOUS
    if sizes.states is None:
        return VECTOR
    return FINITE if has_room_for_model(sizes.states, sizes.actions) else MANY_STATES


def of_metric(settings: dict[str, Settings], metric: str) -> Settings:
    """Those of all metrics and those of one; Sinkhorn is Wasserstein with an entropy."""
    name = "kl" if metric == "kl" else "wasserstein"
    return settings.get("all", {}) | settings.get(name, {})
