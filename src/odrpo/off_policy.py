"""The same step from replay: a little of the critic, a little of the policy, many times a call."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from odrpo.acceptance import accept
from odrpo.config import Config
from odrpo.critics import Transitions
from odrpo.embedding import Embedding
from odrpo.envs.env import Array
from odrpo.exact_step import Info, Taken, explained_variance, faded, report, smoothed, solve
from odrpo.learner import (
    Learner,
    Sizes,
    as_row,
    critic_of,
    embedder_of,
    features,
    policy_of,
    with_consequences,
)
from odrpo.policies import GaussianPolicy, GenerativePolicy, Support
from odrpo.trust_region import Problem

SIDE_BY_SIDE = 8
"""For at most so many updates critic and policy see the other as it was."""


def improve_from_replay(
    config: Config,
    sizes: Sizes,
    learner: Learner,
    minibatches: Transitions,
    reward_square: Array,
    key: jax.Array,
    progress: Array,
) -> tuple[Learner, Info]:
    """As many iterations as there are minibatches, (U, B, ...); reported are means over them, but
    the largest distance and the worst gap.

    Critic and policy learn at the same time, each in a thread: on a CPU, XLA makes little use of a
    second core within one program. `reward_square` is the mean square of all rewards seen.
    """
    before, told, counts = learner, [], []
    with ThreadPoolExecutor(1) as beside:
        for first, some in chunks(minibatches):
            given = (config, sizes, learner, some, reward_square, (key, first), progress)
            future = beside.submit(_finished, compiled_improve_critic, *given)
            learner, info = _finished(compiled_improve_policy, *given)
            critic, embedding, explained = future.result()
            learner = learner._replace(critic=critic, embedding=embedding)
            told.append(info._replace(explained_variance=explained))
            counts.append(len(some.reward))
    info = told[0] if len(told) == 1 else summary(told, counts)
    return compiled_accept(config, before, learner, info)


def chunks(minibatches: Transitions) -> Iterator[tuple[int, Transitions]]:
    """So many of them at a time, then what is left; with the number of the first."""
    for first in range(0, len(minibatches.reward), SIDE_BY_SIDE):
        yield first, Transitions(*(x[first : first + SIDE_BY_SIDE] for x in minibatches))


def _finished(function: Callable, *arguments: Any) -> Any:
    return jax.block_until_ready(function(*arguments))


def summary(told: list[Info], counts: list[int]) -> Info:
    """Of several reports, each of so many steps."""
    each = jax.tree.map(lambda *x: np.stack(x), *told)
    worst = each.gap[np.argmax(np.abs(each.gap))]
    mean = jax.tree.map(lambda x: np.average(x, weights=counts), each)
    return mean._replace(gap=worst, distance=each.distance.max())


def prepared(
    config: Config, sizes: Sizes, learner: Learner, observation: Array, reward_square: Array
) -> Learner:
    """The learner with what was seen taken into account in how it sees."""
    critic = critic_of(config, sizes).rescale(learner.critic, reward_square, config.discount)
    embedding = learner.embedding
    if embedding is not None:
        critic = critic_of(config, sizes).renew(critic, embedding.due)
        learner = learner._replace(embedding=embedding.renewed())
    if not config.normalise_observations or sizes.states is not None:
        return learner._replace(critic=critic)
    seen = observation.reshape(-1, sizes.features)
    normaliser = learner.normaliser.update(seen, jnp.ones(len(seen)))
    return learner._replace(critic=critic, normaliser=normaliser)


def improve_critic(
    config: Config,
    sizes: Sizes,
    learner: Learner,
    minibatches: Transitions,
    reward_square: Array,
    key: tuple[jax.Array, Array],
    progress: Array,
) -> tuple[Any, Embedding | None, Array]:
    """One gradient step on each minibatch, of critic and embedding.

    Also how much of the targets was known before.
    """
    learner = prepared(config, sizes, learner, minibatches.observation, reward_square)
    config = faded(config, progress)
    policy, critic = policy_of(config, sizes), critic_of(config, sizes)
    if isinstance(policy, GenerativePolicy | GaussianPolicy):
        policy = replace(policy, candidates=config.next_actions, candidate_noise=None)

    # All at once, for neither policy nor embedding move meanwhile: larger products are faster ones.
    flat = jax.tree.map(jnp.concatenate, minibatches)
    seen = features(config, sizes, learner, flat.observation)
    beyond = features(config, sizes, learner, flat.next_observation)
    following = policy.at(learner.policy, beyond, jax.random.fold_in(*key))
    polyak: Any = config.polyak
    if learner.embedding is not None:
        flat, following = embedded(config, sizes, learner, seen, following, flat)
        polyak = 0.0  # the slow copies are renewed as a whole, together with what they see through

    def step(params: Any, part: tuple) -> tuple[Any, Array]:
        params, target, known = critic.step(params, *part, config.critic_rate, polyak)
        return params, explained_variance(target, known, jnp.ones_like(target))

    updates, size = minibatches.reward.shape
    parts = jax.tree.map(lambda x: x.reshape(updates, size, *x.shape[1:]), (seen, following, flat))
    params, explained = jax.lax.scan(step, learner.critic, parts)
    embedding = improve_embedding(config, sizes, learner, minibatches)
    # What the last step made of the parameters shows in no target yet.
    learned = jax.tree.leaves((params.layers, embedding))
    sound = jnp.all(jnp.array([jnp.all(jnp.isfinite(x)) for x in learned]))
    return params, embedding, jnp.where(sound, jnp.mean(explained), jnp.nan)


def embedded(
    config: Config,
    sizes: Sizes,
    learner: Learner,
    seen: Array,
    following: Support,
    data: Transitions,
) -> tuple[Transitions, Support]:
    """Transitions and what follows them as the critic takes them.

    What follows is valued by the slow copies, through the encoders that they were made with.
    """
    taken = Support(seen, jnp.ones((len(seen), 1)), data.action[:, None])
    taken = with_consequences(config, sizes, learner, taken)
    assert learner.embedding is not None
    assert taken.actions is not None
    earlier = learner.embedding._replace(fixed=learner.embedding.earlier)
    learner = learner._replace(embedding=earlier)
    beyond = features(config, sizes, learner, data.next_observation)
    following = with_consequences(config, sizes, learner, following._replace(observation=beyond))
    return data._replace(action=taken.actions[:, 0]), following


def improve_embedding(
    config: Config, sizes: Sizes, learner: Learner, minibatches: Transitions
) -> Embedding | None:
    """One gradient step on each minibatch; None where there is no embedding."""
    if learner.embedding is None:
        return None
    embedder = embedder_of(config, sizes)

    def step(params: Embedding, data: Transitions) -> tuple[Embedding, None]:
        seen, successor = (
            as_row(config, sizes, learner, x) for x in (data.observation, data.successor)
        )
        return embedder.step(params, seen, data.action, successor, config.critic_rate), None

    return jax.lax.scan(step, learner.embedding, minibatches)[0]


def improve_policy(
    config: Config,
    sizes: Sizes,
    learner: Learner,
    minibatches: Transitions,
    reward_square: Array,
    key: tuple[jax.Array, Array],
    progress: Array,
) -> tuple[Learner, Info]:
    """The exact step at some states of each minibatch, and a gradient step towards each."""
    learner = prepared(config, sizes, learner, minibatches.observation, reward_square)
    config = faded(config, progress)

    def step(carry: tuple[Learner, Any], part: tuple) -> tuple[tuple[Learner, Any], Taken]:
        learner, _ = carry
        after, taken = iterate(config, sizes, learner, *part)
        return (after, learner.policy), taken

    # Minibatches are drawn at random: the first states of one are as good as any.
    states = minibatches.observation[:, : config.projection_states]
    keys = jax.random.split(jax.random.fold_in(key[0], ~key[1]), len(states))
    (learner, before), taken = jax.lax.scan(step, (learner, learner.policy), (states, keys))
    # What the projection made of a step costs more to tell than the step: it is told of the last.
    last = jax.tree.map(lambda x: x[-1], taken)
    told = report(config, sizes, last, learner.policy, before)
    solution = taken.solution
    told = told._replace(beta=jnp.mean(solution.beta), gain=jnp.mean(solution.gain))
    # A certificate is as good as the worst of them.
    worst = solution.gap[jnp.argmax(jnp.abs(solution.gap))]
    return learner, told._replace(gap=worst, distance=jnp.max(solution.distance))


def iterate(
    config: Config, sizes: Sizes, learner: Learner, observation: Array, key: jax.Array
) -> tuple[Learner, Taken]:
    """The exact step at some observations, and one gradient step of the policy towards it."""
    at_key, beta_key, project_key = jax.random.split(key, 3)
    policy, critic = policy_of(config, sizes), critic_of(config, sizes)

    # Estimate.
    seen = features(config, sizes, learner, observation)
    support = policy.at(learner.policy, seen, at_key)

    def values(support: Support) -> Array:
        valued = with_consequences(config, sizes, learner, support)
        return critic.values(learner.critic, valued)

    if support.actions is not None:
        support = ascended(values, support, config.candidate_ascent)
    q = values(support)
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
    return learner._replace(policy=params), Taken(support, problem, solution, jnp.zeros(()))


def ascended(values: Callable[[Support], Array], support: Support, length: Array) -> Support:
    """The support with half of its actions moved up the slope of the critic.

    The root mean square of a move over the components of an action is `length`: how steep the slope
    is does not matter, that is for the exact step to weigh.
    """

    def value(actions: Array) -> Array:
        return jnp.sum(values(support._replace(actions=actions)))

    def moved(actions: Array) -> Array:
        stay, go = jnp.split(actions, [actions.shape[1] // 2], axis=1)
        slope = jax.grad(value)(go)
        steepness = jnp.sqrt(jnp.mean(slope**2, axis=2, keepdims=True))
        up = length * slope / jnp.maximum(steepness, 1e-12)
        return jnp.concatenate([stay, jnp.clip(go + up, -1, 1)], axis=1)

    actions = jax.lax.cond(length > 0, moved, lambda actions: actions, support.actions)
    return support._replace(actions=actions)


WHOLE_KERNELS = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"}
"""XLA would share out small kernels between threads. The other step keeps a core busy as it is: on
two of them an update takes longer that way."""

compiled_improve_critic = jax.jit(
    improve_critic, static_argnames="sizes", compiler_options=WHOLE_KERNELS
)
compiled_improve_policy = jax.jit(
    improve_policy, static_argnames="sizes", compiler_options=WHOLE_KERNELS
)
compiled_accept = jax.jit(accept)
