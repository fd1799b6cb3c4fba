"""The exact step on what was estimated, and what an update tells of it."""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.config import Config
from odrpo.envs.env import Array
from odrpo.learner import Learner, Sizes, policy_of
from odrpo.policies import Support, masked
from odrpo.trust_region import KL, Metric, Problem, Solution

NUDGE = 1e-5
"""Relative to beta*: far enough for a tie to be none."""
FEWEST_STATES = 4
"""At so many at least a policy of continuous actions is compared with the one before."""


class Info(NamedTuple):
    """What an update reports, a scalar each.

    One from replay is many steps: of their gaps the worst and of their distances the largest, of
    all else the mean, but what the projection made of a step is told of the last.
    """

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
    refused: Array
    """0: the update was taken. 1: it was not finite, 2: too far, and the policy is the old one; 3:
    the environment gave what is no number."""


class Taken(NamedTuple):
    """An exact step, and where it was taken."""

    support: Support
    problem: Problem
    solution: Solution
    explained: Array


def fade(config: Config, progress: Any) -> Any:
    """What is left of radius, rates and noise."""
    return 1 - (1 - config.final_fraction) * jnp.minimum(progress, 1)


def faded(config: Config, progress: Array) -> Config:
    """The settings that hold at this point of the training.

    Smoothing and noise get smaller with the radius, or in the end they would outweigh the steps.
    """
    names = ["radius", "smoothing", "policy_rate", "candidate_noise", "candidate_ascent"]
    if config.critic in ("network", "replay"):
        names.append("critic_rate")
    left = fade(config, progress)
    pessimism = 1 - left * (1 - config.pessimism)
    settings = {name: left * getattr(config, name) for name in names}
    return replace(config, pessimism=pessimism, **settings)


def solve(
    config: Config, support: Support, problem: Problem, learner: Learner, key: jax.Array
) -> tuple[Solution, Learner]:
    """The exact step, or the one at a beta that was held."""
    metric = metric_on(config, support)
    updates = learner.updates + 1
    learner = learner._replace(updates=updates)
    if config.beta == "exact":
        solution = metric.solve(problem)
        if config.ties != "split":
            solution = with_ties_in_one_place(config, metric, problem, solution.beta)
        return solution, learner

    def exact() -> tuple[Solution, Array, Array]:
        solution = metric.solve(problem)
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
        return metric.step(problem, beta), learner.betas, learner.mean_beta

    solution, count, mean = jax.lax.cond(learner.betas < config.beta_solves, exact, held)
    return solution, learner._replace(betas=count, mean_beta=mean)


def with_ties_in_one_place(
    config: Config, metric: Metric, problem: Problem, beta: Array
) -> Solution:
    """The plan that the paper has at beta*: mass that is tied stays where it is, or all moves."""
    beside = 1 + NUDGE if config.ties == "stay" else 1 - NUDGE
    return metric.step(problem, jnp.maximum(beside * beta, jnp.finfo(beta.dtype).tiny))


def metric_on(config: Config, support: Support) -> Metric:
    """The metric; between actions of a continuum the cost is how far apart they are."""
    metric = config.metric
    if support.actions is None or isinstance(metric, KL):
        return metric
    by_dimension = jnp.moveaxis(support.actions, 2, 0)
    apart = jnp.abs(by_dimension[..., :, None] - by_dimension[..., None, :])
    return replace(metric, cost=jnp.mean(apart, axis=0))


def smoothed(config: Config, target: Array, allowed: Array | None = None) -> Array:
    """The target of the projection with a little of the uniform policy, (S, N)."""
    uniform = masked(jnp.full_like(target, 1 / target.shape[1]), allowed)
    return (1 - config.smoothing) * target + config.smoothing * uniform


def report(
    config: Config, sizes: Sizes, taken: Taken, new: Any, old: Any, allowed: Array | None = None
) -> Info:
    """What was solved, and what the projection made of it: policies `new` and `old`."""
    support, problem, solution, explained = taken
    policy = policy_of(config, sizes)
    if support.actions is not None:
        support, problem = at_some_states(support, problem)
    before, after = support.policy, masked(policy.on_support(new, old, support), allowed)
    return Info(
        beta=solution.beta,
        radius=problem.radius,
        distance=solution.distance,
        gap=solution.gap,
        gain=solution.gain,
        projected_distance=metric_on(config, support).distance(after, before, problem.weights),
        projected_gain=problem.weights @ jnp.sum((after - before) * problem.advantages, axis=1),
        entropy=problem.weights @ policy.entropy(new, support, after),
        explained_variance=explained,
        refused=jnp.zeros(()),
    )


def at_some_states(support: Support, problem: Problem) -> tuple[Support, Problem]:
    """Every so many of the states of a support whose actions were drawn.

    To find how far apart two policies are on such actions may cost more than the step itself.
    """
    stride = min(max(len(support.policy) // FEWEST_STATES, 1), 32)
    some = jax.tree.map(lambda x: x[::stride], support)
    weights = problem.weights[::stride] + 1e-12  # it may be that none of them counts
    return some, Problem.create(problem.advantages[::stride], some.policy, problem.radius, weights)


def explained_variance(target: Array, known: Array, weights: Array) -> Array:
    """1 - Var(target - known) / Var(target), a scalar."""
    share = weights / jnp.maximum(jnp.sum(weights), 1)

    def variance(x: Array) -> Array:
        return share @ (x - share @ x) ** 2

    spread = variance(target)
    flat = spread == 0
    return jnp.where(flat, 0, 1 - variance(target - known) / jnp.where(flat, 1, spread))
