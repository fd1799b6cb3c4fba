"""What is learned: a policy, a critic and their statistics; and how it acts."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.config import Config
from odrpo.critics import Critic, ModelCritic, NetworkCritic, TableCritic
from odrpo.envs.env import Array
from odrpo.observations import Normaliser
from odrpo.policies import CategoricalPolicy, Policy, TabularPolicy


class Sizes(NamedTuple):
    """What the algorithm must know of an environment."""

    states: int | None
    """The number of states, where an observation is the index of one."""
    features: int
    """The length of an observation as a network sees it."""
    actions: int


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


def policy_of(config: Config, sizes: Sizes) -> Policy:
    """The kind of policy that the config asks for."""
    if config.policy == "table":
        return TabularPolicy(sizes.states or 0, sizes.actions)
    return CategoricalPolicy(
        sizes.features,
        sizes.actions,
        config.hidden,
        config.projection,
        config.policy_epochs,
        config.minibatch,
        config.projection_states,
    )


def critic_of(config: Config, sizes: Sizes) -> Critic:
    """The kind of critic that the config asks for."""
    action_values = config.advantages in ("critic", "doubly_robust")
    if config.critic == "model":
        return ModelCritic(
            sizes.states or 0,
            sizes.actions,
            config.initial_value,
            config.initial_weight,
            config.optimism,
        )
    if config.critic == "table":
        return TableCritic(sizes.states or 0, sizes.actions, action_values, config.initial_value)
    return NetworkCritic(
        sizes.features,
        sizes.actions,
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
    return Learner(
        policy_of(config, sizes).init(policy_key),
        critic_of(config, sizes).init(critic_key),
        Normaliser.init(sizes.features),
        jnp.zeros((), jnp.int32),
        jnp.zeros((), jnp.int32),
        jnp.zeros(()),
    )


def features(config: Config, sizes: Sizes, learner: Learner, observation: Array) -> Array:
    """An observation, (..., D) or (...), as policy and critic take it: (N, features) or (N,)."""
    if sizes.states is None:
        observation = observation.reshape(-1, sizes.features).astype(jnp.float32)
        if config.normalise_observations:
            return learner.normaliser.apply(observation)
        return observation
    observation = observation.reshape(-1)
    return observation if config.policy == "table" else jax.nn.one_hot(observation, sizes.states)


def probabilities(
    config: Config, sizes: Sizes, learner: Learner, observation: Array, mask: Array | None = None
) -> Array:
    """pi(.|s) at raw observations, (N, A)."""
    x = features(config, sizes, learner, observation)
    return masked(policy_of(config, sizes).probabilities(learner.policy, x), mask)


def act(
    config: Config,
    sizes: Sizes,
    learner: Learner,
    key: jax.Array | tuple,
    observation: Array,
    mask: Array | None = None,
) -> Array:
    """Actions drawn from the policy, (N,); the key may come with a number to be folded in."""
    if isinstance(key, tuple):
        key = jax.random.fold_in(*key)
    policy = probabilities(config, sizes, learner, observation, mask)
    return jax.random.categorical(key, jnp.log(policy)).astype(jnp.int32)


def masked(policy: Array, mask: Array | None) -> Array:
    """The policy without the actions that are not allowed, (N, A)."""
    if mask is None:
        return policy
    kept = jnp.where(mask, policy + 1e-30, 0)
    return kept / jnp.sum(kept, axis=1, keepdims=True)
