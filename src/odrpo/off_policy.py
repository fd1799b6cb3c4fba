"""The same step from replay: a little of the critic, a little of the policy, many times a call."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from odrpo.algorithm import Info, Taken, explained_variance, faded, report, smoothed, solve
from odrpo.config import Config
from odrpo.critics import Transitions
from odrpo.envs.env import Array
from odrpo.learner import Learner, Sizes, critic_of, features, policy_of
from odrpo.policies import GenerativePolicy, Support
from odrpo.trust_region import Problem, Solution


def improve_from_replay(
    config: Config,
    sizes: Sizes,
    learner: Learner,
    minibatches: Transitions,
    reward_square: Array,
    key: jax.Array,
    progress: Array,
) -> tuple[Learner, Info]:
    """As many iterations as there are minibatches, (U, B, ...).

    Reported are means, and the largest gap.

    `reward_square` is the mean square of all rewards seen.
    """
    critic = critic_of(config, sizes)
    learner = learner._replace(
        critic=critic.rescale(learner.critic, reward_square, config.discount)
    )
    if config.normalise_observations and sizes.states is None:
        seen = minibatches.observation.reshape(-1, sizes.features)
        learner = learner._replace(normaliser=learner.normaliser.update(seen, jnp.ones(len(seen))))
    config = faded(config, progress)

    def step(carry: tuple[Learner, Any], part: tuple) -> tuple[tuple[Learner, Any], Taken]:
        learner, _ = carry
        data, key = part
        after, taken = iterate(config, sizes, learner, data, key)
        return (after, learner.policy), taken

    keys = jax.random.split(key, len(minibatches.reward))
    first = (learner, learner.policy)
    (learner, before), taken = jax.lax.scan(step, first, (minibatches, keys))
    # What the projection made of a step costs more to tell than the step: it is told of the last.
    last = jax.tree.map(lambda x: x[-1], taken)
    told = report(config, sizes, last, learner.policy, before)
    solution = taken.solution
    means = {"beta": solution.beta, "distance": solution.distance, "gain": solution.gain}
    means |= {"explained_variance": taken.explained}
    told = told._replace(**{name: jnp.mean(each) for name, each in means.items()})
    # A certificate is as good as the worst of them.
    return learner, told._replace(gap=solution.gap[jnp.argmax(jnp.abs(solution.gap))])


def iterate(
    config: Config,
    sizes: Sizes,
    learner: Learner,
    data: Transitions,
    key: jax.Array,
) -> tuple[Learner, Taken]:
    """One gradient step of the critic, the exact step on some states, one of the policy."""
    next_key, *policy_keys = jax.random.split(key, 4)
    learner, explained = improve_critic(config, sizes, learner, data, next_key)
    # Minibatches are drawn at random: the first states of one are as good as any.
    states = data.observation[: config.projection_states]
    learner, step = improve_policy(config, sizes, learner, states, policy_keys)
    return learner, Taken(*step, explained)


def improve_critic(
    config: Config,
    sizes: Sizes,
    learner: Learner,
    data: Transitions,
    key: jax.Array,
) -> tuple[Learner, Array]:
    """One gradient step of the critic; also how much of its targets it knew before."""
    policy, critic = policy_of(config, sizes), critic_of(config, sizes)
    seen = features(config, sizes, learner, data.observation)
    beyond = features(config, sizes, learner, data.next_observation)
    if isinstance(policy, GenerativePolicy):
        policy = replace(policy, candidates=config.next_actions, candidate_noise=None)
    following = policy.at(learner.policy, beyond, key)
    params, target, known = critic.step(
        learner.critic, seen, following, data, config.critic_rate, config.polyak
    )
    explained = explained_variance(target, known, jnp.ones_like(target))
    return learner._replace(critic=params), explained


def improve_policy(
    config: Config,
    sizes: Sizes,
    learner: Learner,
    observation: Array,
    keys: Sequence[jax.Array],
) -> tuple[Learner, tuple[Support, Problem, Solution]]:
    """The exact step at some observations, and one gradient step of the policy towards it."""
    at_key, beta_key, project_key = keys
    policy, critic = policy_of(config, sizes), critic_of(config, sizes)

    # Estimate.
    seen = features(config, sizes, learner, observation)
    support = policy.at(learner.policy, seen, at_key)
    q = critic.values(learner.critic, support)
    advantages = q - jnp.sum(support.policy * q, axis=1, keepdims=True)

    # Solve.
    problem = Problem.create(advantages, support.policy, config.radius)
    solution, learner = solve(config, support, problem, learner, beta_key)

    # Project.
    params = policy.project(
        learner.policy,
        support,
        smoothed(config, solution.policy),
        problem.weights,
        project_key,
        config.policy_rate,
    )
    return learner._replace(policy=params), (support, problem, solution)


compiled_improve_from_replay = jax.jit(improve_from_replay, static_argnames="sizes")
