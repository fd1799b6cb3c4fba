"""How good a policy is: returns of whole episodes."""

import functools
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import VectorEnv

from odrpo.config import Config
from odrpo.envs import make
from odrpo.envs.env import Array, Env
from odrpo.learner import Learner, Sizes, probabilities
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
        deterministic: Take the most probable action, or draw from the policy.
        max_steps: An episode that does not end by itself is left after so many steps (10 000 unless
            given), with a warning.
    """
    if not (isinstance(episodes, int) and episodes > 0):
        raise ValueError(f"episodes: {episodes!r}; use a whole number > 0")
    limit = MOST_STEPS if max_steps is None else max_steps
    if not (isinstance(limit, int) and limit > 0):
        raise ValueError(f"max_steps: {max_steps!r}; use a whole number > 0")
    ours = hasattr(model, "learner")
    resolved = make(env, min(episodes, 16), "auto" if ours else "host")
    if isinstance(resolved, VectorEnv):
        if ours:
            model.check_spaces(resolved)
        returns, unfinished = _on_host(model, resolved, episodes, seed, deterministic, limit)
        if ours and _share(resolved, model.env):
            model.walkers = None  # its environments stand elsewhere now: training begins anew
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
        policy = probabilities(config, sizes, learner, observation)
        action = (
            jnp.argmax(policy, axis=1)
            if deterministic
            else jax.random.categorical(act_key, jnp.log(policy))
        ).astype(jnp.int32)
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
    walkers = HostWalkers(env, seed)
    chooser = np.random.default_rng(seed)

    def act(_: int, observation: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
        if not hasattr(model, "learner"):
            actions, _ = model.predict(walkers.raw, deterministic=deterministic)
            return np.asarray(actions) - getattr(env.single_action_space, "start", 0)
        return choose(model.distribution(observation, mask), deterministic, chooser)

    while any(len(done) < wanted for done, wanted in zip(returns, share, strict=True)):
        row = walkers.step(act, 0)
        late = walkers.time >= limit
        for k in np.flatnonzero(row["terminated"] | row["truncated"] | late):
            if len(returns[k]) < share[k]:
                returns[k].append(float(row["episode_return"][k]))
                unfinished += int(late[k])
        if late.any():  # one environment of several can't be told to begin anew
            walkers.reset()
    return np.concatenate([np.asarray(part) for part in returns]), unfinished


def _share(one: Any, other: Any) -> bool:
    """Whether two vector environments are the same, or step the same ones."""
    mine, its = (getattr(env, "envs", [env]) for env in (one, other))
    return any(a is b for a in mine for b in its)


def choose(policy: np.ndarray, deterministic: bool, chooser: np.random.Generator) -> np.ndarray:
    """The most probable actions, or actions drawn, (N, A) to (N,)."""
    if deterministic:
        return policy.argmax(axis=1)
    cumulative = policy.cumsum(axis=1)
    drawn = chooser.random((len(policy), 1)) * cumulative[:, -1:]
    return (drawn >= cumulative).sum(axis=1).clip(max=policy.shape[1] - 1)
