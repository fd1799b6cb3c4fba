"""PPO of rejax on CartPole, all of it on the device: prints one line of JSON."""

import json
import platform
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import jax
import numpy as np
import rejax

PACKAGES = ("rejax", "gymnax", "jax", "flax", "optax", "numpy")
CHECKED = 5000
"""Timesteps, rounded up to whole updates, between looking whether a task is solved."""


def speed(timesteps: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Timesteps a second of one compiled program, which does not stop to evaluate."""
    agent = rejax.PPO.create(
        env="CartPole-v1",
        total_timesteps=timesteps,
        eval_freq=timesteps,
        skip_initial_evaluation=True,
        **settings,
    )
    evaluate = agent.eval_callback
    agent = agent.replace(eval_callback=lambda *_: ())
    began = time.perf_counter()
    train = jax.jit(agent.train).lower(jax.random.key(0)).compile()
    compilation = time.perf_counter() - began
    began = time.perf_counter()
    state, _ = jax.block_until_ready(train(jax.random.key(1)))
    seconds = time.perf_counter() - began
    _, returns = jax.jit(lambda state: evaluate(agent, state, jax.random.key(2)))(state)
    return {
        "speed": int(state.global_step) / seconds,
        "first_update": compilation,
        "return": float(returns.mean()),
    }


def solve(
    seed: int, started: float, goal: float, timesteps: int, settings: dict[str, Any]
) -> dict[str, Any]:
    """Seconds from `started` to an evaluated mean of `goal`, which it looks at by itself.

    Its program runs to the end: what it took until then is the share of the timesteps.
    """
    agent = rejax.PPO.create(
        env="CartPole-v1",
        total_timesteps=timesteps,
        eval_freq=CHECKED,
        skip_initial_evaluation=True,
        **settings,
    )
    train = jax.jit(agent.train).lower(jax.random.key(0)).compile()
    start = time.time() - started
    began = time.perf_counter()
    state, (_, returns) = jax.block_until_ready(train(jax.random.key(seed)))
    seconds = time.perf_counter() - began
    means = np.asarray(returns).mean(axis=1)
    there = np.flatnonzero(means >= goal)
    share = (there[0] + 1) / len(means) if len(there) else None
    return {
        "speed": speed(timesteps, settings)["speed"],
        "start": start,
        "seconds": None if share is None else start + share * seconds,
        "timesteps": int(state.global_step) if share is None else int(share * timesteps),
        "confirmed": float(means[-1]),
        "peak_memory": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


if __name__ == "__main__":
    tasks: dict[str, Callable[..., dict[str, Any]]] = {"speed": speed, "solve": solve}
    found = tasks[sys.argv[1]](**json.loads(sys.argv[2]))
    versions = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    print(json.dumps(found | {"versions": versions}))
