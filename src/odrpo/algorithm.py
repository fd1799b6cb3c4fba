"""Algorithm 1 of the paper: collect, estimate, solve, project."""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from odrpo.advantages import estimate_returns, on_support
from odrpo.config import Config
from odrpo.critics import Samples
from odrpo.envs.env import Array, Env
from odrpo.learner import (
    Learner,
    Sizes,
    act,
    critic_of,
    features,
    masked,
    new_learner,
    policy_of,
)
from odrpo.policies import Support
from odrpo.rollout import Batch, device
from odrpo.rollout.host import HostWalkers
from odrpo.trust_region import Problem, Solution


class State(NamedTuple):
    """All that a run carries on from update to update."""

    learner: Learner
    walkers: Any
    """The environments on the device in the midst of their episodes; None for others."""
    key: jax.Array


class Info(NamedTuple):
    """What an update reports, a scalar each."""

    beta: Array
    """The optimal dual variable (or the one that was held)."""
    radius: Array
    """The radius of this update."""
    distance: Array
    """Mean distance of the exact step."""
    gap: Array
    """Dual less objective: no policy in the ball is better than the exact step by more."""
    gain: Array
    """Expected advantage of the exact step."""
    projected_distance: Array
    """Mean distance of the policy as it was fitted to the exact step."""
    projected_gain: Array
    """Expected advantage of that policy."""
    entropy: Array
    """Mean entropy of the new policy."""
    explained_variance: Array
    """Share of the variance of the returns that the critic knew before it saw them."""


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

    def choose(key: jax.Array, observation: Array) -> Array:
        return act(config, sizes, state.learner, key, observation)

    collect = device.collect_episodes if config.complete_episodes else device.collect
    walkers, batch = collect(env, choose, state.walkers, collect_key, config.num_steps)
    learner, info = improve(config, sizes, state.learner, batch, improve_key, progress)
    return State(learner, walkers, key), batch, info


def update_on_host(
    config: Config, sizes: Sizes, walkers: HostWalkers, state: State, progress: Array
) -> tuple[State, Batch, Info]:
    """One iteration with Gymnasium's environments; only the collecting differs."""
    key, collect_key, improve_key = jax.random.split(state.key, 3)
    actor = state.learner._replace(critic=None)  # the less is handed over, the faster a call

    def choose(number: int, observation: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
        action = compiled_act(config, sizes, actor, (collect_key, number), observation, mask)
        return np.asarray(action)

    collect = walkers.collect_episodes if config.complete_episodes else walkers.collect
    batch = collect(choose, config.num_steps)
    learner, info = compiled_improve(config, sizes, state.learner, batch, improve_key, progress)
    return State(learner, None, key), batch, info


def improve(
    config: Config, sizes: Sizes, learner: Learner, batch: Batch, key: jax.Array, progress: Array
) -> tuple[Learner, Info]:
    """One iteration from a batch: the same for device, host and table."""
    critic_key, beta_key, project_key = jax.random.split(key, 3)
    fade = 1 - (1 - config.final_fraction) * jnp.minimum(progress, 1)
    policy, critic = policy_of(config, sizes), critic_of(config, sizes)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch)
    seen = features(config, sizes, learner, flat.observation)
    following = features(config, sizes, learner, flat.next_observation)
    valid = flat.valid.astype(jnp.float32)

    # Estimate: what the actions taken returned, then what every action is worth.
    pi = masked(policy.probabilities(learner.policy, seen), flat.mask)
    next_pi = masked(policy.probabilities(learner.policy, following), flat.next_mask)
    next_value = jnp.sum(next_pi * critic.values(learner.critic, following, next_pi), axis=1)
    shape = batch.reward.shape
    target = estimate_returns(config, batch, next_value.reshape(shape)).reshape(-1)
    known = chosen(critic.values(learner.critic, seen, pi), flat.action)
    explained = explained_variance(target, known, valid)
    samples = Samples(
        seen, flat.action, pi, target, flat.reward, following, flat.terminated, flat.valid
    )
    critic_params = critic.fit(
        learner.critic,
        samples,
        lambda x: policy.probabilities(learner.policy, x),
        config.discount,
        critic_key,
        config.critic_rate * (fade if config.critic == "network" else 1),
    )

    support = policy.support(seen)
    allowed = None if flat.mask is None else allowed_at(support, flat.mask, flat.valid)
    old = masked(policy.probabilities(learner.policy, support.observation), allowed)
    q = critic.values(critic_params, support.observation, old)
    advantages = on_support(config, support, q, old, samples)

    # Solve.
    visits = jnp.where(jnp.sum(valid) > 0, valid, 1)  # a batch may hold nothing but resets
    if config.visitation != "undiscounted":
        # Counted from the earliest visit, lest all of them vanish late in an episode.
        time = flat.time.astype(jnp.float32)
        earliest = jnp.min(jnp.where(flat.valid, time, jnp.inf), initial=jnp.inf)
        base = earliest if config.visitation == "discounted" else 0
        visits = visits * config.discount ** jnp.maximum(time - base, 0)
    mass = jnp.asarray(1.0)
    if config.visitation == "unnormalised":
        mass = jnp.sum(visits) / jnp.maximum(jnp.sum(valid * (flat.time == 0)), 1)
    radius = config.radius * fade
    problem = Problem.create(advantages, old, radius / mass, support.total(visits), allowed)
    solution, learner = solve(config, problem, learner, beta_key)
    if config.critic == "table" or allowed is not None:
        # Nothing new is known where nobody was; what is old would be acted upon again and again.
        visited = (problem.weights > 0)[:, None]
        solution = replace(solution, policy=jnp.where(visited, solution.policy, old))

    # Project.
    uniform = masked(jnp.full_like(old, 1 / sizes.actions), allowed)
    # As the steps get smaller so must this, or in the end it would outweigh them.
    smoothing = config.smoothing * fade
    policy_params = policy.project(
        learner.policy,
        support,
        (1 - smoothing) * solution.policy + smoothing * uniform,
        problem.weights,
        project_key,
        config.policy_rate * fade,
    )
    new = masked(policy.probabilities(policy_params, support.observation), allowed)
    info = Info(
        beta=solution.beta,
        radius=problem.radius,
        distance=solution.distance,
        gap=solution.gap,
        gain=solution.gain,
        projected_distance=config.metric.distance(new, old, problem.weights),
        projected_gain=problem.weights @ jnp.sum((new - old) * problem.advantages, axis=1),
        entropy=-(problem.weights @ jnp.sum(jax.scipy.special.xlogy(new, new), axis=1)),
        explained_variance=explained,
    )
    if config.normalise_observations and sizes.states is None:
        learner = learner._replace(normaliser=learner.normaliser.update(flat.observation, valid))
    return learner._replace(policy=policy_params, critic=critic_params), info


compiled_act = jax.jit(act, static_argnames="sizes")
compiled_improve = jax.jit(improve, static_argnames="sizes")


def solve(
    config: Config, problem: Problem, learner: Learner, key: jax.Array
) -> tuple[Solution, Learner]:
    """The exact step, or the one at a beta that was held."""
    updates = learner.updates + 1
    learner = learner._replace(updates=updates)
    if config.beta == "exact":
        return config.metric.solve(problem), learner

    def exact() -> tuple[Solution, Array, Array]:
        solution = config.metric.solve(problem)
        # Where nothing is to be gained yet beta is zero, which is no price to hold on to.
        count = learner.betas + (solution.beta > 0).astype(jnp.int32)
        share = 1 / jnp.maximum(count, 1).astype(jnp.float32)
        mean = learner.mean_beta + share * (solution.beta - learner.mean_beta)
        return solution, count, jnp.where(solution.beta > 0, mean, learner.mean_beta)

    def held() -> tuple[Solution, Array, Array]:
        beta = learner.mean_beta
        if config.beta == "hold":
            beta = beta * jnp.exp(config.beta_noise * jax.random.normal(key))
        else:
            beta = beta * jnp.sqrt(config.beta_solves / updates.astype(jnp.float32))
        return config.metric.step(problem, beta), learner.betas, learner.mean_beta

    solution, count, mean = jax.lax.cond(learner.betas < config.beta_solves, exact, held)
    return solution, learner._replace(betas=count, mean_beta=mean)


def allowed_at(support: Support, mask: Array, valid: Array) -> Array:
    """Where an action was ever allowed at a state of the support, or nothing is known, (S, A)."""
    seen = valid[:, None].astype(jnp.int32)
    return (support.total(mask.astype(jnp.int32) * seen) > 0) | (support.total(seen) == 0)


def chosen(table: Array, action: Array) -> Array:
    """The entries of the actions taken, (N, A) to (N,)."""
    return jnp.take_along_axis(table, action[:, None], axis=1)[:, 0]


def explained_variance(target: Array, known: Array, weights: Array) -> Array:
    """1 - Var(target - known) / Var(target), a scalar."""
    share = weights / jnp.maximum(jnp.sum(weights), 1)

    def variance(x: Array) -> Array:
        return share @ (x - share @ x) ** 2

    spread = variance(target)
    return jnp.where(spread > 0, 1 - variance(target - known) / jnp.where(spread > 0, spread, 1), 0)
