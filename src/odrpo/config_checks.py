"""What settings may be, one by one and beside each other; errors name the remedy."""

import math
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import numpy as np

from odrpo.trust_region import resolve_metric

if TYPE_CHECKING:
    from odrpo.config import Config

# The least and the greatest value of each number.
RANGES: dict[str, tuple[float, float]] = {
    "radius": (0, math.inf),
    "beta_solves": (1, math.inf),
    "beta_noise": (0, math.inf),
    "discount": (0, 1),
    "trace": (0, 1),
    "n_step": (1, math.inf),
    "correction_limit": (1, math.inf),
    "initial_value": (-math.inf, math.inf),
    "initial_weight": (0, math.inf),
    "optimism": (0, math.inf),
    "projection_states": (1, math.inf),
    "smoothing": (0, 1),
    "policy_rate": (0, math.inf),
    "policy_epochs": (1, math.inf),
    "critic_rate": (0, math.inf),
    "critic_epochs": (1, math.inf),
    "critic_window": (1, math.inf),
    "minibatch": (1, math.inf),
    "final_fraction": (0, 1),
    "horizon": (1, math.inf),
    "num_envs": (1, math.inf),
    "num_steps": (1, math.inf),
}


# What a setting is of use with: the values of another one.
Needs = list[tuple[str, tuple[str, ...]]]
OF_A_NETWORK: Needs = [("policy", ("network",))]
NEEDS: dict[str, Needs] = {
    "beta_solves": [("beta", ("hold", "decay"))],
    "beta_noise": [("beta", ("hold",))],
    "returns": [("critic", ("table", "network"))],
    "trace": [("critic", ("table", "network")), ("returns", ("lambda",))],
    "n_step": [("critic", ("table", "network")), ("returns", ("n_step",))],
    "correction_limit": [("advantages", ("doubly_robust",))],
    "initial_value": [("critic", ("table", "model"))],
    "initial_weight": [("critic", ("model",))],
    "optimism": [("critic", ("model",))],
    "critic_rate": [("critic", ("table", "network"))],
    "hidden": OF_A_NETWORK,
    "normalise_observations": OF_A_NETWORK,
    "projection": OF_A_NETWORK,
    "projection_states": OF_A_NETWORK,
    "policy_rate": OF_A_NETWORK,
    "policy_epochs": OF_A_NETWORK,
    "critic_epochs": OF_A_NETWORK,
    "critic_window": OF_A_NETWORK,
    "minibatch": OF_A_NETWORK,
}


def check_together(config: "Config") -> None:
    """Refuse settings that contradict each other."""
    if config.policy == "network" and config.critic != "network":
        raise ValueError(
            f'critic: "{config.critic}" needs policy="table"; a network policy goes with '
            'critic="network"'
        )
    if config.policy == "table" and config.critic == "network":
        raise ValueError('critic: "network"; policy="table" goes with "table" or "model"')
    if config.visitation == "unnormalised" and not config.complete_episodes:
        raise ValueError(
            'visitation: "unnormalised" counts whole episodes; use complete_episodes=True'
        )
    if config.critic == "model" and config.advantages != "critic":
        raise ValueError(
            f'advantages: "{config.advantages}"; critic="model" gives those of every action, '
            'use "critic"'
        )


def check_useful(settings: dict[str, Any], config: "Config") -> None:
    """Refuse a setting that would do nothing beside the others."""
    for name in settings:
        for other, values in NEEDS.get(name, []):
            if getattr(config, other) not in values:
                needed = " or ".join(f'"{value}"' for value in values)
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
        return resolve_metric(value)
    if name == "hidden":
        sizes = tuple(value) if isinstance(value, list | tuple) else ()
        if not sizes or not all(isinstance(size, int) and size > 0 for size in sizes):
            raise ValueError(f"hidden: {value!r}; use the sizes of the layers, such as (64, 64)")
        return sizes
    if kind is bool:
        if not isinstance(value, bool):
            raise ValueError(f"{name}: {value!r}; use True or False")
        return value
    if value is None and type(None) in get_args(kind):
        return None
    whole = kind is int or int in get_args(kind)
    number = isinstance(value, int | np.integer if whole else int | float | np.number)
    least, greatest = RANGES[name]
    if isinstance(value, bool) or not number or not least <= value <= greatest or math.isinf(value):
        what = "a whole number" if whole else "a finite number"
        bounds = f" of at least {least}" if least > -math.inf else ""
        bounds += f" and at most {greatest}" if greatest < math.inf else ""
        raise ValueError(f"{name}: {value!r}; use {what}{bounds}")
    return int(value) if whole else float(value)
