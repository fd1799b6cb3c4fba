"""How good a policy is: returns of whole episodes."""

import functools
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import VectorEnv

from odrpo.arguments import seed_of, whole
from odrpo.config import Config
from odrpo.envs import make
from odrpo.envs.env import Array, Env
from odrpo.envs.replayable import share
from odrpo.envs.spaces import decode_actions
from odrpo.learner import Learner, Sizes, act, best
from odrpo.rollout.host import HostWalkers

MOST_STEPS = 10_000


def evaluate(
    model: Any,
    env: Any,
    episodes: int = 100,
    seed: int = 0,
    deterministic: bool = True,
    max_steps: int | None = None,
) -> np.ndarray:
    """Play whole episodes with a policy and return their returns, (episodes,).

    Args:
        model: An ODRPO, or on Gymnasium environments anything with its `predict`.
        env: As for ODRPO: an id, a Gymnasium env or vector env, a FiniteMDP, a function.
        episodes: How many.
        seed: The same seed gives the same episodes.
        deterministic: Take the most probable action, or the median of continuous ones; else
            draw from the policy.
        max_steps: An episode that does not end by itself is left after so many steps (10 000 unless
            given), with a warning.
    """
    if not hasattr(model, "predict"):
        raise ValueError(
            f"model: {model!r} has no predict; use an ODRPO, ODRPO.load(path) where it is in a file"
        )
    episodes, seed = whole("episodes", episodes, 1), seed_of(seed)
    limit = MOST_STEPS if max_steps is None else whole("max_steps", max_steps, 1)
    ours = hasattr(model, "learner")
    resolved = make(env, min(episodes, 16), "auto" if ours else "host")
    if isinstance(resolved, VectorEnv):
        if ours:
            model.check_spaces(resolved)
        if ours and share(resolved, model.env):
            model.walkers = None  # its environments will stand elsewhere, and are brought back
        returns, unfinished = _on_host(model, resolved, episodes, seed, deterministic, limit)
        if isinstance(env, str):
            resolved.close()
    else:
        model.check_spaces(resolved)
        returns, unfinished = _on_device(
            model.config,
            model.sizes,
            resolved,
            model.learner,
            jax.random.key(seed),
            episodes,
            deterministic,
            limit,
        )
    if unfinished:
        warnings.warn(
            f"{unfinished} of {episodes} episodes did not end within {limit} steps; their "
            "returns count up to there (max_steps allows more)",
            RuntimeWarning,
            stacklevel=2,
        )
    return np.asarray(returns, float)


@functools.partial(jax.jit, static_argnames=("sizes", "episodes", "deterministic"))
def _on_device(
    config: Config,
    sizes: Sizes,
    env: Env,
    learner: Learner,
    key: jax.Array,
    episodes: int,
    deterministic: bool,
    limit: Array,
) -> tuple[Array, Array]:
    """All episodes side by side until the last one ends; also how many were left unfinished."""
    start_key, key = jax.random.split(key)
    state, observation = jax.vmap(env.reset)(jax.random.split(start_key, episodes))

    def going_on(carry: tuple) -> Array:
        count, *_, alive = carry
        return jnp.any(alive) & (count < limit)

    def step(carry: tuple) -> tuple:
        count, key, state, observation, total, alive = carry
        key, act_key, step_key = jax.random.split(key, 3)
        if deterministic:
            action = best(config, sizes, learner, observation)
        else:
            action = act(config, sizes, learner, act_key, observation)
        action = decode_actions(env.action_space, action)
        taken = jax.vmap(env.step)(jax.random.split(step_key, episodes), state, action)
        total = total + jnp.where(alive, taken.reward.astype(total.dtype), 0)
        alive = alive & ~(taken.terminated | taken.truncated)
        return count + 1, key, taken.state, taken.observation, total, alive

    first = (0, key, state, observation, jnp.zeros(episodes), jnp.ones(episodes, bool))
    *_, total, alive = jax.lax.while_loop(going_on, step, first)
    return total, jnp.sum(alive)


def _on_host(
    model: Any, env: VectorEnv, episodes: int, seed: int, deterministic: bool, limit: int
) -> tuple[np.ndarray, int]:
    """Each environment plays its share of the episodes, so that short ones are not favoured."""
    share = episodes // env.num_envs + (np.arange(env.num_envs) < episodes % env.num_envs)
    returns: list[list[float]] = [[] for _ in share]
    unfinished = 0
    walkers = HostWalkers(env, seed, as_given=not hasattr(model, "learner"))
    key = jax.random.key(seed)

    def choose(number: int, observation: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
        if not hasattr(model, "learner"):
            actions, _ = model.predict(walkers.raw, deterministic=deterministic)
            return np.asarray(actions)
        drawn = key if deterministic else jax.random.fold_in(key, number)
        return model.act(observation, drawn, deterministic, mask)

    number = 0
    while any(len(done) < wanted for done, wanted in zip(returns, share, strict=True)):
        row = walkers.step(choose, number)
        number += 1
        late = walkers.time >= limit
        for k in np.flatnonzero(row["terminated"] | row["truncated"] | late):
            if len(returns[k]) < share[k]:
                returns[k].append(float(row["episode_return"][k]))
                unfinished += int(late[k])
        if late.any():  # one environment of several can't be told to begin anew
            walkers.reset()
    return np.concatenate([np.asarray(part) for part in returns]), unfinished
