"""Rollouts of environments that run on the device: one compiled scan."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from odrpo.envs.env import Array, Env
from odrpo.envs.spaces import decode_actions
from odrpo.rollout.batch import Batch

Act = Callable[[jax.Array, Array, Array], Array]
"""Of a key, observations (B, ...), and the number of the step."""


class Walkers(NamedTuple):
    """B environments in the midst of their episodes, (B, ...) each."""

    state: Any
    observation: Array
    time: Array
    episode_return: Array


def start(env: Env, key: jax.Array, count: int) -> Walkers:
    """Begin an episode in each of `count` environments."""
    state, observation = jax.vmap(env.reset)(jax.random.split(key, count))
    return Walkers(state, observation, jnp.zeros(count, jnp.int32), jnp.zeros(count))


def collect(
    env: Env,
    act: Act,
    walkers: Walkers,
    key: jax.Array,
    steps: int,
) -> tuple[Walkers, Batch]:
    """Take `steps` steps in each environment; where an episode is over, the next one begins."""
    count = walkers.time.shape[0]
    act_key, step_key, reset_key = jax.random.split(key, 3)
    # What may begin anew is drawn beforehand and at once: within the loop it would take longer.
    fresh = jax.vmap(lambda key: start(env, key, count))(jax.random.split(reset_key, steps))
    numbers = jnp.arange(steps)
    keys = jax.random.split(act_key, steps), jax.random.split(step_key, (steps, count)), numbers

    def step(walkers: Walkers, row: tuple) -> tuple[Walkers, Batch]:
        fresh, (own_key, step_keys, number) = row
        action = act(own_key, walkers.observation, number)
        decoded = decode_actions(env.action_space, action)
        taken = jax.vmap(env.step)(step_keys, walkers.state, decoded)
        reward = taken.reward.astype(jnp.float32)
        episode_return = walkers.episode_return + reward
        batch = Batch(
            observation=walkers.observation,
            action=action,
            reward=reward,
            next_observation=taken.observation,
            terminated=taken.terminated,
            truncated=taken.truncated,
            time=walkers.time,
            episode_return=episode_return,
            valid=jnp.ones(count, bool),
        )
        going_on = Walkers(taken.state, taken.observation, walkers.time + 1, episode_return)

        def choose(new: Array, old: Array) -> Array:
            done = batch.done.reshape(count, *[1] * (new.ndim - 1))
            return jnp.where(done, new, old)

        return jax.tree.map(choose, fresh, going_on), batch

    return jax.lax.scan(step, walkers, (fresh, keys))


def collect_episodes(
    env: Env,
    act: Act,
    walkers: Walkers,
    key: jax.Array,
    steps: int,
) -> tuple[Walkers, Batch]:
    """One episode from its beginning in each environment; one of more than `steps` is cut off.

    What comes after the episode is in the batch too, but is not valid.
    """
    start_key, collect_key = jax.random.split(key)
    fresh = start(env, start_key, walkers.time.shape[0])
    _, batch = collect(env, act, fresh, collect_key, steps)
    done = batch.done.astype(jnp.int32)
    over = jnp.cumsum(done, axis=0) - done > 0
    cut = jnp.zeros_like(over).at[-1].set(~over[-1])
    return walkers, replace(
        batch,
        valid=~over,
        terminated=batch.terminated & ~over,
        truncated=((batch.truncated & ~over) | cut) & ~batch.terminated,
    )
