"""What an update from replay is made of, each part timed on its own: prints one line of JSON.

A part runs many times in one compiled program, as it does in training, on minibatches of the size
of HalfCheetah's. What it takes comes from a run of whole updates over the same minibatches.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp

from odrpo.config import Config
from odrpo.critics import Transitions
from odrpo.exact_step import smoothed, solve
from odrpo.learner import Learner, Sizes, critic_of, features, new_learner, policy_of
from odrpo.off_policy import (
    WHOLE_KERNELS,
    chunks,
    compiled_improve_critic,
    compiled_improve_policy,
    improve_from_replay,
    iterate,
)
from odrpo.policies import Support
from odrpo.presets import settings_for

ENV = "HalfCheetah-v5"
SIZES = Sizes(states=None, features=17, actions=None, dimensions=6)


def critic_gradient(config: Config, learner: Learner, part: tuple) -> tuple[Learner, Any]:
    """The critic's part without the policy: the actions at the next states are there."""
    data, _, _, following = part
    seen = features(config, SIZES, learner, data.observation)
    params, *told = critic_of(config, SIZES).step(
        learner.critic, seen, following, data, config.critic_rate, config.polyak
    )
    return learner._replace(critic=params), told


def candidates(config: Config, learner: Learner, part: tuple) -> tuple[Learner, Support]:
    """Draw them."""
    data, key, *_ = part
    seen = features(config, SIZES, learner, data.observation[: config.projection_states])
    return learner, policy_of(config, SIZES).at(learner.policy, seen, key)


def values(config: Config, learner: Learner, part: tuple) -> tuple[Learner, Any]:
    """What the critic makes of them."""
    _, _, taken, _ = part
    return learner, critic_of(config, SIZES).values(learner.critic, taken.support)


def exact_step(config: Config, learner: Learner, part: tuple) -> tuple[Learner, Any]:
    """The solution of the trust-region problem."""
    _, key, taken, _ = part
    solution, learner = solve(config, taken.support, taken.problem, learner, key)
    return learner, solution


def projection(config: Config, learner: Learner, part: tuple) -> tuple[Learner, None]:
    """The policy's gradient step towards it."""
    _, key, taken, _ = part
    params = policy_of(config, SIZES).project(
        learner.policy,
        taken.support,
        smoothed(config, taken.solution.policy),
        taken.problem.weights,
        key,
        config.policy_rate,
    )
    return learner._replace(policy=params), None


PARTS = (critic_gradient, candidates, values, exact_step, projection)


def scanned(part: Callable[..., tuple[Learner, Any]]) -> Callable[..., tuple[Learner, Any]]:
    """The part again and again, in one program compiled as the steps are."""

    def run(config: Config, learner: Learner, given: tuple) -> tuple[Learner, Any]:
        return jax.lax.scan(lambda learner, one: part(config, learner, one), learner, given)

    return jax.jit(run, compiler_options=WHOLE_KERNELS)


def time_parts(
    metric: str, settings: dict[str, Any], iterations: int, repeats: int
) -> dict[str, float]:
    """Seconds of each part, the median of the repeats, which go over the parts in turn."""
    preferred, _ = settings_for(ENV, metric, SIZES)
    # The parts below know of no embedding.
    config = Config.create(**(preferred | settings | {"metric": metric, "embedding": 0}))
    learner = new_learner(config, SIZES, *jax.random.split(jax.random.key(0)))
    data = made_up(config, iterations, jax.random.key(1))
    unit, progress, key = jnp.ones(()), jnp.zeros(()), jax.random.key(2)
    # Values that are more than noise.
    learner, _ = improve_from_replay(config, SIZES, learner, data, unit, key, progress)

    keys = jax.random.split(key, iterations)
    states = data.observation[:, : config.projection_states]
    actor = scanned(lambda config, learner, one: iterate(config, SIZES, learner, *one))
    _, taken = actor(config, learner, (states, keys))
    given = (data, keys, taken, next_actions(config, learner, data, keys))

    in_training = (config, SIZES, learner, data, unit)

    def in_turn(part: Callable[..., Any]) -> list[Any]:
        """As training calls it, so many updates at once."""
        return [
            part(config, SIZES, learner, some, unit, (key, first), progress)
            for first, some in chunks(data)
        ]

    runs: dict[str, Callable[[], Any]] = {
        "update": lambda: improve_from_replay(*in_training, key, progress),
        "critic": lambda: in_turn(compiled_improve_critic),
        "actor": lambda: in_turn(compiled_improve_policy),
    }
    for part in PARTS:
        runs[part.__name__] = partial(scanned(part), config, learner, given)

    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        jax.block_until_ready(run())
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.perf_counter()
            jax.block_until_ready(run())
            times[name].append((time.perf_counter() - began) / iterations)
    return {name: median(each) for name, each in times.items()}


def made_up(config: Config, count: int, key: jax.Array) -> Transitions:
    """So many minibatches; the reward tells of state and action, so that there is a best one."""
    keys = jax.random.split(key, 3)
    shape = (count, config.minibatch)
    seen, beyond = (jax.random.normal(each, (*shape, SIZES.features)) for each in keys[:2])
    action = jax.random.uniform(keys[2], (*shape, SIZES.dimensions or 0), minval=-1, maxval=1)
    reward = -jnp.sum((action - jnp.tanh(seen[..., : action.shape[-1]])) ** 2, axis=-1)
    return Transitions(seen, action, reward, beyond, jnp.full(shape, config.discount), beyond)


@jax.jit
def next_actions(config: Config, learner: Learner, data: Transitions, keys: jax.Array) -> Support:
    """What the critic asks of the policy at the next observations, for every minibatch."""
    policy: Any = policy_of(config, SIZES)
    policy = replace(policy, candidates=config.next_actions, candidate_noise=jnp.zeros(()))

    def one(part: tuple) -> Support:
        beyond, key = part
        return policy.at(learner.policy, features(config, SIZES, learner, beyond), key)

    return jax.lax.map(one, (data.next_observation, keys))


if __name__ == "__main__":
    print(json.dumps(time_parts(**json.loads(sys.argv[1]))))
