"""Algorithm 1 of the paper: collect, estimate, solve, project."""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from odrpo.acceptance import UNSOUND, accept
from odrpo.advantages import estimate_returns, on_support
from odrpo.config import Config
from odrpo.critics import NetworkCritic, Samples
from odrpo.envs.env import Array, Env
from odrpo.exact_step import (
    Info,
    Taken,
    explained_variance,
    fade,
    faded,
    report,
    smoothed,
    solve,
)
from odrpo.learner import (
    Held,
    Learner,
    Sizes,
    act,
    critic_of,
    features,
    new_learner,
    policy_of,
)
from odrpo.policies import Support
from odrpo.rollout import Batch, device
from odrpo.rollout.host import HostWalkers
from odrpo.trust_region import Problem


class State(NamedTuple):
    """All that a run carries on from update to update."""

    learner: Learner
    walkers: Any
    """The environments on the device in the midst of their episodes; None for others."""
    key: jax.Array


def init(config: Config, sizes: Sizes, env: Env | None, key: jax.Array) -> State:
    """The beginning of a run; `env` is one on the device, or None."""
    key, policy_key, critic_key, walker_key = jax.random.split(key, 4)
    walkers = None if env is None else device.start(env, walker_key, config.num_envs)
    return State(new_learner(config, sizes, policy_key, critic_key), walkers, key)


def update(
    config: Config, sizes: Sizes, env: Env, state: State, progress: Array
) -> tuple[State, Batch, Info]:
    """One iteration on the device; `progress` is the share of the horizon that is behind."""
    key, collect_key, improve_key = jax.random.split(state.key, 3)
    walkers, batch = collect(config, sizes, env, state, collect_key, progress)
    learner, info = improve(config, sizes, state.learner, batch, improve_key, progress)
    info = info._replace(refused=jnp.where(is_sound(batch), info.refused, UNSOUND))
    return State(learner, walkers, key), batch, info


def is_sound(batch: Batch) -> Array:
    """Whether the environments have given numbers that are some."""
    finite = jnp.all(jnp.isfinite(batch.reward))
    seen = batch.next_observation
    if not jnp.issubdtype(seen.dtype, jnp.inexact):
        return finite
    return finite & jnp.all(jnp.isfinite(seen))


def collect(
    config: Config,
    sizes: Sizes,
    env: Env,
    state: State,
    key: jax.Array,
    progress: Array,
    held: Held | None = None,
) -> tuple[Any, Batch]:
    """Let the policy act in an environment on the device."""
    noise = config.behaviour_noise * fade(config, progress)

    def choose(key: jax.Array, observation: Array, number: Array) -> Array:
        now = held and (held[0], held[1] + number)
        return act(config, sizes, state.learner, key, observation, None, noise, now)

    how = device.collect_episodes if config.complete_episodes else device.collect
    return how(env, choose, state.walkers, key, config.num_steps)


def collect_on_host(
    config: Config,
    sizes: Sizes,
    walkers: HostWalkers,
    learner: Learner,
    key: jax.Array,
    progress: Array,
    held: Held | None,
) -> Batch:
    """The same with Gymnasium's environments."""
    actor = learner._replace(critic=None)  # the less is handed over, the faster a call
    noise = np.float32(config.behaviour_noise * fade(config, progress))

    def choose(number: int, observation: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
        now = held and (held[0], held[1] + number)
        return np.asarray(
            compiled_act(config, sizes, actor, (key, number), observation, mask, noise, now)
        )

    how = walkers.collect_episodes if config.complete_episodes else walkers.collect
    return how(choose, config.num_steps)


def improve(
    config: Config, sizes: Sizes, learner: Learner, batch: Batch, key: jax.Array, progress: Array
) -> tuple[Learner, Info]:
    """One iteration from a batch: the same for device and host, table, softmax and generator."""
    before = learner
    critic_key, beta_key, project_key = jax.random.split(key, 3)
    at_key, next_key = jax.random.split(jax.random.fold_in(key, 1))
    config = faded(config, progress)
    policy, critic = policy_of(config, sizes), critic_of(config, sizes)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch)
    valid = flat.valid.astype(jnp.float32)
    if config.normalise_observations and sizes.states is None:
        learner = learner._replace(normaliser=learner.normaliser.update(flat.observation, valid))

    # Estimate: what the actions taken returned, then what every action is worth.
    at, action = where(config, sizes, learner, flat, at_key)
    beyond = features(config, sizes, learner, flat.next_observation)
    if isinstance(critic, NetworkCritic):
        next_value = critic.state_values(learner.critic, beyond)
    else:
        following = policy.at(learner.policy, beyond, next_key).masked(flat.next_mask)
        next_value = jnp.sum(following.policy * critic.values(learner.critic, following), axis=1)
    target = estimate_returns(config, batch, next_value.reshape(batch.reward.shape)).reshape(-1)
    explained = explained_variance(target, chosen(critic.values(learner.critic, at), action), valid)
    samples = Samples(at, action, target, flat.reward, beyond, flat.terminated, flat.valid)
    critic_params = critic.fit(
        learner.critic,
        samples,
        lambda x: policy.at(learner.policy, x, at_key).policy,
        config.discount,
        critic_key,
        config.critic_rate,
    )

    support = policy.support(learner.policy, at)
    allowed = None if flat.mask is None else allowed_at(support, flat.mask, flat.valid)
    support = support.masked(allowed)
    advantages = on_support(config, support, critic.values(critic_params, support), samples)

    # Solve.
    visits, mass = visitation(config, flat, valid)
    problem = Problem.create(
        advantages, support.policy, config.radius / mass, support.total(visits), allowed
    )
    solution, learner = solve(config, support, problem, learner, beta_key)
    if config.critic == "table" or allowed is not None:
        # Nothing new is known where nobody was; what is old would be acted upon again and again.
        visited = (problem.weights > 0)[:, None]
        solution = replace(solution, policy=jnp.where(visited, solution.policy, support.policy))

    # Project.
    policy_params = policy.project(
        learner.policy,
        support,
        smoothed(config, solution.policy, allowed),
        problem.weights,
        project_key,
        config.policy_rate,
    )
    taken = Taken(support, problem, solution, explained)
    info = report(config, sizes, taken, policy_params, learner.policy, allowed)
    new = learner._replace(policy=policy_params, critic=critic_params)
    return accept(config, before, new, info)


def where(
    config: Config, sizes: Sizes, learner: Learner, flat: Batch, key: jax.Array
) -> tuple[Support, Array]:
    """Where the samples were taken, and which of the actions that are looked at there was taken."""
    seen = features(config, sizes, learner, flat.observation)
    at = policy_of(config, sizes).at(learner.policy, seen, key).masked(flat.mask)
    if at.actions is None:
        return at, flat.action
    # What was done is as good a draw from the policy as any: it takes the place of the first.
    first = at.actions.at[:, 0].set(flat.action)
    return at._replace(actions=first), jnp.zeros(len(first), jnp.int32)


def visitation(config: Config, flat: Batch, valid: Array) -> tuple[Array, Array]:
    """How much each sample counts, and by how much that makes the radius smaller."""
    visits = jnp.where(jnp.sum(valid) > 0, valid, 1)  # a batch may hold nothing but resets
    mass = jnp.asarray(1.0)
    if config.visitation == "undiscounted":
        return visits, mass
    # Counted from the earliest visit, lest all of them vanish late in an episode.
    time = flat.time.astype(jnp.float32)
    earliest = jnp.min(jnp.where(flat.valid, time, jnp.inf), initial=jnp.inf)
    base = earliest if config.visitation == "discounted" else 0
    visits = visits * config.discount ** jnp.maximum(time - base, 0)
    if config.visitation == "unnormalised":
        mass = jnp.sum(visits) / jnp.maximum(jnp.sum(valid * (flat.time == 0)), 1)
    return visits, mass


def allowed_at(support: Support, mask: Array, valid: Array) -> Array:
    """Where an action was ever allowed at a state of the support, or nothing is known, (S, A)."""
    seen = valid[:, None].astype(jnp.int32)
    return (support.total(mask.astype(jnp.int32) * seen) > 0) | (support.total(seen) == 0)


def chosen(table: Array, action: Array) -> Array:
    """The entries of the actions taken, (N, A) to (N,)."""
    return jnp.take_along_axis(table, action[:, None], axis=1)[:, 0]


compiled_collect = jax.jit(collect, static_argnames="sizes")
compiled_act = jax.jit(act, static_argnames="sizes")
compiled_improve = jax.jit(improve, static_argnames="sizes")
