"""What settings may be, one by one and beside each other; errors name the remedy."""

import reprlib
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import numpy as np

from odrpo.trust_region import Wasserstein, resolve_metric
from odrpo.trust_region.interface import as_array

if TYPE_CHECKING:
    from odrpo.config import Config

HUGE = 1e38
"""A float beyond it has no room in 32 bits."""
WIDE, LONG, MANY, EVER = 10**5, 10**7, 10**9, 10**15
"""More than any machine has memory or time for: of a layer or of samples at a state; of steps or
environments in a batch; of what else is in an update; and in a run."""
MOST_LAYERS = 100

# The least and the greatest value of each number.
RANGES: dict[str, tuple[float, float]] = {
    "radius": (0, HUGE),
    "farthest": (1, HUGE),
    "beta_solves": (1, MANY),
    "beta_noise": (0, HUGE),
    "discount": (0, 1),
    "trace": (0, 1),
    "n_step": (1, LONG),
    "correction_limit": (1, HUGE),
    "initial_value": (-HUGE, HUGE),
    "initial_weight": (0, HUGE),
    "optimism": (0, HUGE),
    "projection_states": (1, MANY),
    "smoothing": (0, 1),
    "policy_rate": (0, HUGE),
    "policy_epochs": (1, MANY),
    "critic_rate": (0, HUGE),
    "critic_epochs": (1, MANY),
    "critic_window": (1, WIDE),
    "minibatch": (1, MANY),
    "final_fraction": (0, 1),
    "horizon": (1, EVER),
    "candidates": (2, WIDE),
    "candidate_noise": (0, HUGE),
    "candidate_ascent": (0, HUGE),
    "behaviour_noise": (0, HUGE),
    "octaves": (1, 16),
    "levels": (2, WIDE),
    "head": (1, WIDE),
    "replay_size": (1, EVER),
    "warm_up": (1, EVER),
    "updates_per_step": (0, WIDE),
    "members": (1, 1000),
    "pessimism": (0, 1),
    "embedding": (0, 4096),
    "observed": (1, MANY),
    "next_actions": (1, WIDE),
    "polyak": (0, 1),
    "num_envs": (1, LONG),
    "num_steps": (1, LONG),
}


# What a setting is of use with: the values of another one.
Needs = list[tuple[str, tuple[str | int, ...]]]
CONTINUOUS = ("generative", "gaussian")
"""The policies for actions of a continuum."""
OF_A_NETWORK: Needs = [("policy", ("network", *CONTINUOUS))]
OF_A_CONTINUUM: Needs = [("policy", CONTINUOUS)]
OF_A_GENERATOR: Needs = [("policy", ("generative",))]
OF_REPLAY: Needs = [("critic", ("replay",))]
NEEDS: dict[str, Needs] = {
    "beta_solves": [("beta", ("hold", "decay"))],
    "beta_noise": [("beta", ("hold",))],
    "returns": [("critic", ("table", "network", "replay"))],
    "trace": [("critic", ("table", "network")), ("returns", ("lambda",))],
    "n_step": [("critic", ("table", "network", "replay")), ("returns", ("n_step",))],
    "correction_limit": [("advantages", ("doubly_robust",))],
    "initial_value": [("critic", ("table", "model"))],
    "initial_weight": [("critic", ("model",))],
    "optimism": [("critic", ("model",))],
    "critic_rate": [("critic", ("table", "network", "replay"))],
    "hidden": OF_A_NETWORK,
    "normalise_observations": OF_A_NETWORK,
    "observed": OF_A_NETWORK,
    "projection": [("policy", ("network",))],
    "projection_states": OF_A_NETWORK,
    "smoothing": [("policy", ("table", "network"))],
    "policy_rate": OF_A_NETWORK,
    "policy_epochs": OF_A_NETWORK,
    "critic_epochs": [("critic", ("network",))],
    "critic_window": [("critic", ("network",))],
    "minibatch": OF_A_NETWORK,
    "candidates": OF_A_CONTINUUM,
    "candidate_noise": OF_A_CONTINUUM,
    "behaviour_noise": OF_A_CONTINUUM,
    "levels": OF_A_GENERATOR,
    "head": OF_A_GENERATOR,
    "replay_size": OF_REPLAY,
    "warm_up": OF_REPLAY,
    "candidate_ascent": [*OF_A_CONTINUUM, *OF_REPLAY],
    "octaves": [*OF_A_CONTINUUM, *OF_REPLAY],
    "updates_per_step": OF_REPLAY,
    "members": OF_REPLAY,
    "pessimism": OF_REPLAY,
    "layer_norm": OF_REPLAY,
    "embedding": [*OF_A_GENERATOR, *OF_REPLAY],
    "next_actions": [*OF_A_CONTINUUM, *OF_REPLAY],
    "polyak": [*OF_REPLAY, ("embedding", (0,))],
}


OF_STABLE_BASELINES = {
    "gamma": "did you mean discount?",
    "learning_rate": "did you mean policy_rate (and critic_rate)?",
    "n_steps": "did you mean num_steps?",
    "n_epochs": "did you mean policy_epochs (and critic_epochs)?",
    "batch_size": "did you mean minibatch?",
    "gae_lambda": "did you mean trace?",
    "target_kl": "did you mean radius?",
    "n_envs": "did you mean num_envs?",
    "net_arch": "did you mean hidden?",
    "policy_kwargs": "did you mean hidden?",
    "buffer_size": "did you mean replay_size?",
    "learning_starts": "did you mean warm_up?",
    "tau": "did you mean polyak?",
    "train_freq": "did you mean num_steps?",
    "gradient_steps": "did you mean updates_per_step?",
    "verbose": "learn(progress_bar=...) tells how far it is",
    "tensorboard_log": "learn(run_dir=...) and --run-dir write them",
}
"""What to use here for settings by the names that they have there."""


def check_together(config: "Config") -> None:
    """Refuse settings that contradict each other."""
    goes_with = ("table", "model") if config.policy == "table" else ("network", "replay")
    if config.critic not in goes_with:
        raise ValueError(
            f'critic: "{config.critic}"; policy="{config.policy}" goes with '
            + " or ".join(f'"{name}"' for name in goes_with)
        )
    if config.visitation == "unnormalised" and not config.complete_episodes:
        raise ValueError(
            'visitation: "unnormalised" counts whole episodes; use complete_episodes=True'
        )
    if config.embedding and config.policy == "gaussian":
        raise ValueError('embedding: policy="gaussian" has none; use embedding=0')
    if config.ties != "split" and (
        not isinstance(config.metric, Wasserstein) or config.beta != "exact"
    ):
        raise ValueError(
            f'ties: "{config.ties}" is for metric="wasserstein" with beta="exact"; leave it out'
        )
    if config.critic in ("model", "replay") and config.advantages != "critic":
        raise ValueError(
            f'advantages: "{config.advantages}"; critic="{config.critic}" gives those of every '
            'action, use "critic"'
        )
    if config.critic == "replay":
        for name, value in REPLAY_TAKES.items():
            if getattr(config, name) != value:
                raise ValueError(
                    f'{name}: {getattr(config, name)!r}; critic="replay" learns from single '
                    f"steps, use {value!r}"
                )


def check_updates(config: "Config") -> None:
    """Refuse a part of an update from replay; for the number of environments that there are."""
    steps = config.num_envs * config.num_steps
    exact = abs(steps * config.updates_per_step - max(1, config.updates_at_once)) < 1e-3
    if config.critic == "replay" and not exact:
        raise ValueError(
            f"updates_per_step: {config.updates_per_step}; num_envs * num_steps is {steps}, "
            f"which makes no whole number of updates; use a multiple of {1 / steps:g}"
        )


REPLAY_TAKES = {"returns": "n_step", "complete_episodes": False, "visitation": "undiscounted"}


def check_policy(policy: str, states: int | None, dimensions: int | None) -> None:
    """Refuse one that is not made for what is seen and done."""
    if (policy in CONTINUOUS) != (dimensions is not None):
        needed = "Box" if policy in CONTINUOUS else "Discrete"
        raise ValueError(f'policy: "{policy}" is for {needed} actions; leave it out')
    if policy == "table" and states is None:
        raise ValueError(
            'policy: "table" needs Discrete observations; use policy="network" and critic="network"'
        )


def check_useful(settings: dict[str, Any], config: "Config") -> None:
    """Refuse a setting that would do nothing beside the others."""
    if "horizon" in settings and config.final_fraction == 1:
        raise ValueError(
            "horizon: it does nothing with final_fraction=1, since nothing fades; leave it out, or "
            "use a final_fraction below 1"
        )
    for name in settings:
        for other, values in NEEDS.get(name, []):
            if getattr(config, other) in values:
                continue
            if set(values) <= set(CONTINUOUS) and config.policy not in CONTINUOUS:
                raise ValueError(f"{name}: it is for continuous actions (Box); leave it out")
            needed = " or ".join(
                f'"{value}"' if isinstance(value, str) else str(value) for value in values
            )
            raise ValueError(
                f"{name}: it does nothing with {other}={getattr(config, other)!r}; "
                f"leave it out, or use {other}={needed}"
            )


def checked(name: str, value: Any, kind: Any) -> Any:
    """The value in its right type, or a ValueError that says what would be right."""
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            choices = ", ".join(f'"{choice}"' for choice in get_args(kind))
            raise ValueError(f"{name}: {value!r}; use one of {choices}")
        return value
    if name == "metric":
        return _with_numbers(resolve_metric(value))
    if name == "hidden":
        sizes = tuple(value) if isinstance(value, list | tuple) else ()
        if not 0 < len(sizes) <= MOST_LAYERS or not all(map(_is_layer, sizes)):
            raise ValueError(
                f"hidden: {reprlib.repr(value)}; use the sizes of the layers, such as (64, 64)"
            )
        return sizes
    if kind is bool:
        if not isinstance(value, bool):
            raise ValueError(f"{name}: {value!r}; use True or False")
        return value
    if value is None and type(None) in get_args(kind):
        return None
    whole = kind is int or int in get_args(kind)
    if whole and isinstance(value, float) and value.is_integer():
        value = int(value)  # 1e6 reads better than 1000000
    number = isinstance(value, int | np.integer if whole else int | float | np.number)
    least, greatest = RANGES[name]
    if isinstance(value, bool) or not number or not least <= value <= greatest:
        what = "a whole number" if whole else "a finite number"
        bounds = f"of at least {least} and at most {greatest}"
        raise ValueError(f"{name}: {reprlib.repr(value)}; use {what} {bounds}")
    return int(value) if whole else float(value)


def _with_numbers(metric: Any) -> Any:
    """The metric with its cost as an array, which may be given as lists, and its strength a float.

    A cost is in the precision of training; what that can't hold becomes infinite.
    """
    parts = {part.name: getattr(metric, part.name) for part in fields(metric)}
    arrays = {name: as_array(name, value) for name, value in parts.items() if name != "cost"}
    numbers = {name: float(array) if array.ndim == 0 else array for name, array in arrays.items()}
    if parts.get("cost") is not None:
        with np.errstate(over="ignore"):
            numbers["cost"] = np.asarray(as_array("cost", metric.cost), np.float32)
    return replace(metric, **numbers)


def _is_layer(size: Any) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and 0 < size <= WIDE
