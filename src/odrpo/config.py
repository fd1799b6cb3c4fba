"""Every setting of the algorithm, with what it means: also the flags of the command line."""

import difflib
import math
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import jax
import numpy as np

from odrpo.trust_region import KL, METRICS, Metric, resolve_metric
from odrpo.trust_region.checks import check_shapes, check_values


def setting(default: Any, meaning: str, static: bool = True) -> Any:
    """A field of Config; static ones shape the program, the others are data of it."""
    return field(default=default, metadata={"help": meaning, "static": static})


@dataclass(frozen=True, eq=False)
class Config:
    """How ODRPO trains. Numbers that are not whole are traced: changing them compiles nothing."""

    metric: Metric = field(
        default_factory=KL,
        metadata={"help": "How the distance of two policies is measured.", "static": False},
    )
    radius: float = setting(
        0.01,
        "How far an update may move the policy, on average over the states visited (delta).",
        static=False,
    )
    beta: Literal["exact", "hold", "decay"] = setting(
        "exact",
        "exact: solve for beta at every update. hold: solve for the first beta_solves "
        "updates, then keep their mean, perturbed a little (the paper's shortcut). decay: let "
        "that mean fall as 1/sqrt(updates).",
    )
    beta_solves: int = setting(
        20,
        "Updates that solve for beta before it is held or decays.",
    )
    beta_noise: float = setting(
        0.05,
        "Standard deviation of the relative perturbation of a held beta.",
        static=False,
    )

    discount: float = setting(
        0.995,
        "What a reward is worth one step later (gamma).",
        static=False,
    )
    visitation: Literal["discounted", "unnormalised", "undiscounted"] = setting(
        "undiscounted",
        "How states count. discounted: by gamma^t, made to sum to one. unnormalised: the same "
        "without that, as in the paper, which makes the radius smaller by the sum. "
        "undiscounted: all alike.",
    )
    returns: Literal["lambda", "n_step", "monte_carlo"] = setting(
        "lambda",
        "How the return of an action is estimated: lambda-returns (GAE), n-step TD, or Monte "
        "Carlo.",
    )
    trace: float = setting(
        0.95,
        "The lambda of lambda-returns: 0 is one-step TD, 1 is Monte Carlo.",
        static=False,
    )
    n_step: int = setting(
        5,
        "The n of n-step TD.",
    )
    advantages: Literal["critic", "doubly_robust", "taken", "balanced"] = setting(
        "critic",
        "How actions that were not taken get their advantage. critic: Q - V of a critic for "
        "every action. doubly_robust: the same, corrected where an action was taken. taken: "
        "return - V where taken, zero elsewhere (the paper's). balanced: the others share "
        "what makes the mean zero.",
    )
    correction_limit: float = setting(
        4.0,
        "The most that 1/pi may be in the correction of doubly_robust.",
        static=False,
    )

    policy: Literal["table", "network"] = setting(
        "network",
        "A row of probabilities for each state, or a network with a softmax.",
    )
    critic: Literal["table", "network", "model"] = setting(
        "network",
        "A table of values; a network; or values computed on the empirical model of all "
        "transitions seen (for finite states; model-based).",
    )
    hidden: tuple[int, ...] = setting(
        (64, 64),
        "Hidden layers of the networks.",
    )
    initial_value: float | None = setting(
        None,
        "What a table takes an action to be worth that was never tried; high: try it. None: zero; "
        "with critic=model as much as the best that was tried, if that is more.",
        static=False,
    )
    initial_weight: float = setting(
        0.0,
        "How many visits the initial value counts for in the mean (critic=model).",
        static=False,
    )
    optimism: float = setting(
        0.0,
        "By how many standard errors of what follows an action is overrated (critic=model).",
        static=False,
    )
    normalise_observations: bool = setting(
        False,
        "Bring each observation to mean zero and variance one, as seen so far.",
    )
    projection: Literal["cross_entropy", "squared_error"] = setting(
        "cross_entropy",
        "The loss by which the network is fitted to the exact step.",
    )
    projection_states: int | None = setting(
        None,
        "Fit to a random subset of so many states of each batch; None: to all.",
    )

    smoothing: float = setting(
        0.01,
        "Share of the uniform policy in the target of the projection, so that no action dies out.",
        static=False,
    )

    policy_rate: float = setting(
        3e-3,
        "Learning rate of the policy network.",
        static=False,
    )
    policy_epochs: int = setting(
        5,
        "Passes over each batch for the policy network.",
    )
    critic_rate: float = setting(
        3e-3,
        "Learning rate of the critic network; of a table, the share of the way to the mean return.",
        static=False,
    )
    critic_epochs: int = setting(
        3,
        "Passes over the last batches for the critic network.",
    )
    critic_window: int = setting(
        2,
        "The critic network is fitted to the last so many batches.",
    )
    minibatch: int = setting(
        64,
        "Samples in each gradient step.",
    )
    final_fraction: float = setting(
        0.1,
        "Radius, smoothing and the networks' rates fall linearly to this fraction of themselves.",
        static=False,
    )
    horizon: int = setting(
        500_000,
        "Timesteps over which they do; from there on they stay.",
    )

    num_envs: int = setting(
        16,
        "Environments side by side.",
    )
    num_steps: int = setting(
        128,
        "Steps in each environment between updates; with complete_episodes the most of an episode.",
    )
    complete_episodes: bool = setting(
        False,
        "Collect one whole episode of each environment for every update, as the paper does.",
    )

    @classmethod
    def create(cls, **settings: Any) -> "Config":
        """Check the settings one by one and against each other."""
        check_names(settings)
        for name, value in settings.items():
            settings[name] = _checked(name, value)
        config = cls(**settings)
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
        return config

    def check_spaces(self, states: int | None, actions: int) -> None:
        """Refuse tables for what has no finite states or too many, and costs of another size."""
        row = np.full((1, actions), 1 / actions)
        parts = {f.name: getattr(self.metric, f.name) for f in fields(self.metric)}  # type: ignore[arg-type]
        arrays = {name: np.asarray(value) for name, value in parts.items() if value is not None}
        arrays |= {"advantages": row, "policy": row, "radius": np.zeros(())}
        check_shapes(arrays)
        check_values(arrays)
        if self.policy == "table" and states is None:
            raise ValueError(
                'policy: "table" needs Discrete observations; use policy="network" and '
                'critic="network"'
            )
        if self.critic == "model" and (states or 0) ** 2 * actions > MOST_COUNTS:
            raise ValueError(
                f'critic: "model" would count {states} x {actions} x {states} transitions; use '
                'critic="table"'
            )

    def to_json(self) -> dict[str, Any]:
        """Numbers, words and lists; `from_json` is the way back."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "metric"}
        name = next(name for name, kind in METRICS.items() if isinstance(self.metric, kind))
        metric: dict[str, Any] = {"name": name}
        for part in fields(self.metric):  # type: ignore[arg-type]
            value = getattr(self.metric, part.name)
            metric[part.name] = None if value is None else np.asarray(value).tolist()
        return {"metric": metric, **values}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Config":
        """A config as `to_json` wrote it."""
        metric = dict(values["metric"])
        kind = METRICS[metric.pop("name")]
        parts = {
            k: np.asarray(v, np.float32) if k == "cost" and v else v for k, v in metric.items()
        }
        return cls.create(**{**values, "metric": kind(**parts)})


MOST_COUNTS = 100_000_000

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


def check_names(settings: dict[str, Any]) -> None:
    """Refuse a setting that there is not, with the one that was meant."""
    known = [f.name for f in fields(Config)]
    for name in settings:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            remedy = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            raise ValueError(f"{name}: there is no such setting; {remedy}")


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


def check_useful(settings: dict[str, Any], config: Config) -> None:
    """Refuse a setting that would do nothing beside the others."""
    for name in settings:
        for other, values in NEEDS.get(name, []):
            if getattr(config, other) not in values:
                needed = " or ".join(f'"{value}"' for value in values)
                raise ValueError(
                    f"{name}: it does nothing with {other}={getattr(config, other)!r}; "
                    f"leave it out, or use {other}={needed}"
                )


def _checked(name: str, value: Any) -> Any:
    """The value in its right type, or a ValueError that says what would be right."""
    kind = HINTS[name]
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


HINTS = get_type_hints(Config)

jax.tree_util.register_dataclass(
    Config,
    data_fields=[f.name for f in fields(Config) if not f.metadata["static"]],
    meta_fields=[f.name for f in fields(Config) if f.metadata["static"]],
)
