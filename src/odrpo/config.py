"""Every setting of the algorithm, with what it means: also the flags of the command line."""

import difflib
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_type_hints

import jax
import numpy as np

from odrpo.arguments import finite
from odrpo.config_checks import OF_STABLE_BASELINES, check_policy, check_together, checked
from odrpo.trust_region import KL, METRICS, Metric
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
    ties: Literal["split", "stay", "move"] = setting(
        "split",
        "What a Wasserstein step does with mass that is as well off where it is as elsewhere. "
        "split: moves what the radius has room for, which is exact. stay, move: none or all of it, "
        "as the paper's plan does; the radius is not kept.",
    )
    farthest: float = setting(
        30.0,
        "An update is refused, and the policy stays, where the fitted policy is farther from the "
        "old one than so many times the radius, or the distance of the exact step.",
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

    policy: Literal["table", "network", "generative", "gaussian"] = setting(
        "network",
        "A row of probabilities for each state; a network with a softmax; or, for continuous "
        "actions, a network that generates them from noise, or one that gives the mean and the "
        "deviation of a Gaussian.",
    )
    critic: Literal["table", "network", "model", "replay"] = setting(
        "network",
        "A table of values; a network fitted to the last batches; values computed on the empirical "
        "model of all transitions seen (for finite states; model-based); or several networks "
        "fitted to transitions drawn from all that were seen (off-policy).",
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
    observed: int | None = setting(
        None,
        "Policy and critic look only at the first so many numbers of an observation, flattened; "
        "None: at all.",
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
        "Radius, smoothing, the networks' rates, noise and ascent of candidates, the noise of "
        "behaviour, and what pessimism lacks fall linearly to this fraction of themselves.",
        static=False,
    )
    horizon: int = setting(
        500_000,
        "Timesteps over which they do; from there on they stay.",
    )

    candidates: int = setting(
        16,
        "Continuous actions drawn at each state, among which the exact step shifts its weight (K).",
    )
    candidate_noise: float = setting(
        0.1,
        "Standard deviation of what is added to them, so that they reach beyond the policy; "
        "actions span [-1, 1].",
        static=False,
    )
    candidate_ascent: float = setting(
        0.0,
        "How far half of them are moved up the slope of the critic, as the root mean square over "
        "the components of an action, so that they lie where it points; 0: not at all.",
        static=False,
    )
    behaviour_noise: float = setting(
        0.1,
        "Standard deviation of what is added to continuous actions in training.",
        static=False,
    )
    octaves: int = setting(
        1,
        "Parts of the noise that continuous actions are generated from in training: one is drawn "
        "anew at every step, the others at every second, fourth, eighth... The policy stays what "
        "it is, but what it tries it tries for a while (pink noise). 1: nothing is held.",
    )
    levels: int = setting(
        16,
        "Levels at which a generative policy knows the quantiles of an action.",
    )
    head: int = setting(
        32,
        "Units of the layer that each component of an action has of its own.",
    )

    replay_size: int = setting(
        1_000_000,
        "Transitions that are kept.",
    )
    warm_up: int = setting(
        2_000,
        "Timesteps before the first update; the actions of a new policy are all but uniform.",
    )
    updates_per_step: float = setting(
        1.0,
        "Gradient steps of critic and policy a timestep.",
    )
    members: int = setting(
        2,
        "Networks of which the critic is made.",
    )
    pessimism: float = setting(
        1.0,
        "How the networks make the value of what follows. 1: the least of them, so that no error "
        "feeds itself. 0: their mean, so that what was never tried is not thought little of; what "
        "is short of 1 fades with the radius.",
        static=False,
    )
    layer_norm: bool = setting(
        True,
        "Whether their layers are normalised.",
    )
    embedding: int = setting(
        0,
        "Length of an embedding of states and actions, learned from what comes next, that policy "
        "and critic see beside them (SALE); continuous actions from replay; 0: none.",
    )
    next_actions: int = setting(
        1,
        "Actions drawn at the next state to estimate its value.",
    )
    polyak: float = setting(
        0.01,
        "The share of the way that the slow copies of the critic's networks go at each step; with "
        "an embedding they are renewed from time to time instead.",
        static=False,
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
    on_env_error: Literal["stop", "restart"] = setting(
        "stop",
        "What to do where an environment of Gymnasium's fails or gives what is not finite. stop: "
        "end the training with an error, at the last update. restart: make the environments anew "
        "and go on, up to ten times for an update; `env_restarts` counts them.",
    )

    @property
    def updates_at_once(self) -> int:
        """Gradient steps from replay between collecting and collecting."""
        return round(self.num_envs * self.num_steps * self.updates_per_step)

    @classmethod
    def create(cls, **settings: Any) -> "Config":
        """Check the settings one by one and against each other."""
        check_names(settings)
        for name, value in settings.items():
            settings[name] = checked(name, value, HINTS[name])
        config = cls(**settings)
        check_together(config)
        return config

    def check_spaces(
        self, states: int | None, features: int, actions: int | None, dimensions: int | None
    ) -> None:
        """Refuse a policy, a critic or a cost that is not made for what is seen and done."""
        self._check_metric(actions or self.candidates, dimensions)
        check_policy(self.policy, states, dimensions)
        if self.observed is not None and (states is not None or self.observed > features):
            has = "is an index" if states is not None else f"has {features} numbers, no more"
            raise ValueError(f"observed: {self.observed}, but an observation {has}; leave it out")
        if self.critic == "model" and not has_room_for_model(states or 0, actions or 0):
            raise ValueError(
                f'critic: "model" would count {states} x {actions} x {states} transitions; use '
                'critic="table"'
            )

    def _check_metric(self, actions: int, dimensions: int | None) -> None:
        parts = {f.name: getattr(self.metric, f.name) for f in fields(self.metric)}
        if dimensions is not None and parts.get("cost") is not None:
            raise ValueError(
                "cost: between continuous actions it is how far apart they are; leave it out"
            )
        arrays = {name: np.asarray(value) for name, value in parts.items() if value is not None}
        # A file may say that there are very many actions: a row of them must take no memory.
        one = np.ones((1, 1))
        row, radius = np.broadcast_to(one, (1, actions)), np.zeros(())
        check_shapes(arrays | {"advantages": row, "policy": row, "radius": radius})
        check_values(arrays | {"advantages": one, "policy": one, "radius": radius})

    def to_json(self) -> dict[str, Any]:
        """Numbers, words and lists; `from_json` is the way back."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "metric"}
        name = next(name for name, kind in METRICS.items() if isinstance(self.metric, kind))
        metric: dict[str, Any] = {"name": name}
        for part in fields(self.metric):
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
        if "strength" in parts:
            parts["strength"] = finite("strength", parts["strength"])
        return cls.create(**{**values, "metric": kind(**parts)})


def check_names(settings: dict[str, Any]) -> None:
    """Refuse a setting that there is not, with the one that was meant."""
    known = [f.name for f in fields(Config)]
    for name in settings:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            remedy = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            remedy = OF_STABLE_BASELINES.get(name, remedy)
            raise ValueError(f"{name}: there is no such setting; {remedy}")


def has_room_for_model(states: int, actions: int) -> bool:
    """Whether so many transitions can be counted one by one."""
    return states**2 * actions <= 100_000_000


HINTS = get_type_hints(Config)

jax.tree_util.register_dataclass(
    Config,
    data_fields=[f.name for f in fields(Config) if not f.metadata["static"]],
    meta_fields=[f.name for f in fields(Config) if f.metadata["static"]],
)
