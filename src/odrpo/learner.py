"""What is learned: a policy, a critic and their statistics; and how it acts."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.config import Config
from odrpo.critics import EnsembleCritic, ModelCritic, NetworkCritic, TableCritic
from odrpo.embedding import Embedder, Embedding
from odrpo.envs import spaces
from odrpo.envs.env import Array
from odrpo.observations import Normaliser
from odrpo.policies import (
    CategoricalPolicy,
    GaussianPolicy,
    GenerativePolicy,
    Policy,
    Support,
    TabularPolicy,
    held_uniform,
    masked,
)
from odrpo.randomness import drawn

Held = tuple[jax.Array, Array | int]
"""A key that stays the same, and the number of the step: see `held_uniform`."""


class Sizes(NamedTuple):
    """What the algorithm must know of an environment."""

    states: int | None
    """The number of states, where an observation is the index of one."""
    features: int
    """The length of an observation as a network sees it."""
    actions: int | None
    """The number of actions; None: they are a continuum."""
    dimensions: int | None = None
    """Those of an action of a continuum."""

    @classmethod
    def of(cls, observation_space: Any, action_space: Any) -> "Sizes":
        """By what one environment shows and takes."""
        return cls(
            spaces.state_count(observation_space),
            spaces.feature_count(observation_space),
            spaces.action_count(action_space),
            spaces.action_dimensions(action_space),
        )


class Learner(NamedTuple):
    """What is learned: parameters, and the statistics that go with them."""

    policy: Any
    critic: Any
    normaliser: Normaliser
    updates: Array
    """How many there have been."""
    betas: Array
    """How many updates solved for a beta above zero, where it is held later on."""
    mean_beta: Array
    """Their mean."""
    embedding: Embedding | None = None
    """What policy and critic see of states and actions beside themselves, where that is learned."""


def observed(config: Config, sizes: Sizes) -> int:
    """The length of what policy and critic look at of an observation."""
    return sizes.features if config.observed is None else config.observed


def embedder_of(config: Config, sizes: Sizes) -> Embedder:
    """The kind of embedding that the config asks for."""
    seen = observed(config, sizes)
    return Embedder(seen, sizes.dimensions or 0, config.hidden, config.embedding)


def policy_of(config: Config, sizes: Sizes) -> Policy:
    """The kind of policy that the config asks for."""
    if config.policy == "table":
        return TabularPolicy(sizes.states or 0, sizes.actions or 0)
    if config.policy == "generative":
        return GenerativePolicy(
            observed(config, sizes),
            sizes.dimensions or 0,
            config.hidden,
            config.levels,
            config.head,
            config.candidates,
            config.candidate_noise,
            config.policy_epochs,
            config.minibatch,
            config.projection_states,
            config.embedding,
        )
    if config.policy == "gaussian":
        return GaussianPolicy(
            observed(config, sizes),
            sizes.dimensions or 0,
            config.hidden,
            config.candidates,
            config.candidate_noise,
            config.policy_epochs,
            config.minibatch,
            config.projection_states,
        )
    return CategoricalPolicy(
        observed(config, sizes),
        sizes.actions or 0,
        config.hidden,
        config.projection,
        config.policy_epochs,
        config.minibatch,
        config.projection_states,
    )


def critic_of(config: Config, sizes: Sizes) -> Any:
    """The kind of critic that the config asks for."""
    action_values = config.advantages in ("critic", "doubly_robust")
    if config.critic == "replay":
        return EnsembleCritic(
            observed(config, sizes),
            sizes.actions,
            sizes.dimensions,
            config.hidden,
            config.members,
            config.layer_norm,
            config.pessimism,
            config.embedding,
        )
    if config.critic == "model":
        return ModelCritic(
            sizes.states or 0,
            sizes.actions or 0,
            config.initial_value,
            config.initial_weight,
            config.optimism,
        )
    if config.critic == "table":
        return TableCritic(
            sizes.states or 0, sizes.actions or 0, action_values, config.initial_value
        )
    return NetworkCritic(
        observed(config, sizes),
        sizes.actions or config.candidates,
        sizes.dimensions,
        action_values,
        config.hidden,
        config.critic_epochs,
        config.minibatch,
        config.num_envs * config.num_steps,
        config.critic_window,
    )


def new_learner(
    config: Config, sizes: Sizes, policy_key: jax.Array, critic_key: jax.Array
) -> Learner:
    """One that has learned nothing."""
    # Numbers below that of the members may give the keys of these.
    embedding_key = jax.random.fold_in(critic_key, config.members)
    return Learner(
        policy_of(config, sizes).init(policy_key),
        critic_of(config, sizes).init(critic_key),
        Normaliser.init(sizes.features),
        jnp.zeros((), jnp.int32),
        jnp.zeros((), jnp.int32),
        jnp.zeros(()),
        embedder_of(config, sizes).init(embedding_key) if config.embedding else None,
    )


def features(config: Config, sizes: Sizes, learner: Learner, observation: Array) -> Array:
    """An observation, (..., D) or (...), as policy and critic take it: (N, features) or (N,).

    Where there is an embedding it stands behind the features.
    """
    if config.policy == "table":
        return observation.reshape(-1)
    row = as_row(config, sizes, learner, observation)
    if learner.embedding is None:
        return row
    z = embedder_of(config, sizes).states(learner.embedding.fixed, row)
    return jnp.concatenate([row, z], axis=1)


def as_row(config: Config, sizes: Sizes, learner: Learner, observation: Array) -> Array:
    """What networks look at of an observation, (..., D) or (...), a row each."""
    if sizes.states is not None:
        return jax.nn.one_hot(observation.reshape(-1), sizes.states)
    row = observation.reshape(-1, sizes.features).astype(jnp.float32)
    row = learner.normaliser.apply(row) if config.normalise_observations else row
    return row[:, : config.observed]


def with_consequences(config: Config, sizes: Sizes, learner: Learner, at: Support) -> Support:
    """A support as the critic takes it: the embedding of an action stands behind it."""
    if learner.embedding is None:
        return at
    z, actions = at.observation[:, observed(config, sizes) :], jnp.asarray(at.actions)
    led_to = embedder_of(config, sizes).actions(learner.embedding.fixed, z, actions)
    return at._replace(actions=jnp.concatenate([actions, led_to], axis=2))


def act(
    config: Config,
    sizes: Sizes,
    learner: Learner,
    key: jax.Array | tuple,
    observation: Array,
    mask: Array | None = None,
    noise: Array | float = 0.0,
    held: Held | None = None,
) -> Array:
    """Actions drawn from the policy; the key may come with a number to be folded in.

    To those of a continuum noise of that standard deviation is added; with `held` what they are
    generated from is in part the same as before.
    """
    if isinstance(key, tuple):
        key = jax.random.fold_in(*key)
    x = features(config, sizes, learner, observation)
    policy = policy_of(config, sizes)
    if not isinstance(policy, GenerativePolicy | GaussianPolicy):
        return policy.act(learner.policy, x, key, mask)
    if held is None:
        action = policy.act(learner.policy, x, key, mask)
    else:
        tau = held_uniform(*held, (len(x), policy.dimensions), config.octaves)
        action = policy.generate(learner.policy, x, tau)
    added = noise * drawn(jax.random.normal, jax.random.fold_in(key, 1), action.shape)
    return jnp.clip(action + added, -1, 1)


def best(
    config: Config, sizes: Sizes, learner: Learner, observation: Array, mask: Array | None = None
) -> Array:
    """The actions to take where nothing is to be explored."""
    x = features(config, sizes, learner, observation)
    return policy_of(config, sizes).best(learner.policy, x, mask)


def probabilities(
    config: Config, sizes: Sizes, learner: Learner, observation: Array, mask: Array | None = None
) -> Array:
    """pi(.|s) of finitely many actions at raw observations, (N, A)."""
    x = features(config, sizes, learner, observation)
    at = policy_of(config, sizes).at(learner.policy, x, jax.random.key(0))
    return masked(at.policy, mask)
