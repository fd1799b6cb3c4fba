"""On-policy algorithms of Stable-Baselines3 and its kin, with their defaults: prints JSON."""

import importlib
import json
import platform
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any

import torch
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

CARTPOLE = "CartPole-v1"
EVALUATION_SEED = 10_000
PPO = "stable_baselines3.PPO"
CHECKED = 4096
"""Timesteps between looking whether a task is solved, where an update is shorter."""
PACKAGES = ("stable-baselines3", "sb3-contrib", "sbx-rl", "torch", "jax", "gymnasium", "numpy")


def begin(
    num_envs: int,
    seed: int,
    threads: int | None,
    env: str = CARTPOLE,
    algorithm: str = PPO,
    **settings: Any,
) -> Any:
    """A fresh model, with so many threads of torch; None: as many as torch likes."""
    if threads is not None:
        torch.set_num_threads(threads)
    module, name = algorithm.rsplit(".", 1)
    # What make_vec_env makes is a DummyVecEnv.
    envs = make_vec_env(env, num_envs, seed=seed)
    kind = getattr(importlib.import_module(module), name)
    return kind("MlpPolicy", envs, seed=seed, device="cpu", **settings)


def update(model: Any, timesteps: int = 1) -> float:
    """Train for one update, or so many timesteps; returns timesteps a second."""
    before, began = model.num_timesteps, time.perf_counter()
    steps = max(model.n_steps * model.n_envs, timesteps)
    model.learn(steps, reset_num_timesteps=False)
    return (model.num_timesteps - before) / (time.perf_counter() - began)


def speed(
    num_envs: int, threads: int | None, env: str = CARTPOLE, **settings: Any
) -> dict[str, Any]:
    """Timesteps a second of one update."""
    return {"speed": update(begin(num_envs, 0, threads, env, **settings))}


def solve(
    num_envs: int,
    threads: int | None,
    seed: int,
    started: float,
    goal: float,
    timesteps: int,
    algorithm: str = PPO,
) -> dict[str, Any]:
    """Seconds from `started` to a greedy mean of `goal` in 20 episodes, and timesteps a second.

    It is checked after every update, or some of them where they are short. The speed is the median
    over what lies between the checks; `start` is when the first update was done. Another 100
    episodes tell afterwards whether it was luck.
    """
    model = begin(num_envs, seed, threads, algorithm=algorithm)
    update(model)
    start = time.time() - started
    evaluation = make_vec_env(CARTPOLE, num_envs, seed=EVALUATION_SEED + seed)
    speeds, seconds = [], None
    while model.num_timesteps < timesteps:
        if evaluate_policy(model, evaluation, n_eval_episodes=20)[0] >= goal:
            seconds = time.time() - started
            break
        speeds.append(update(model, CHECKED))
    return {
        "speed": median(speeds),
        "start": start,
        "seconds": seconds,
        "timesteps": model.num_timesteps,
        "confirmed": float(evaluate_policy(model, evaluation, n_eval_episodes=100)[0]),
        "peak_memory": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def versions() -> dict[str, str]:
    """Of what is there."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    tasks: dict[str, Callable[..., dict[str, Any]]] = {"speed": speed, "solve": solve}
    found = tasks[sys.argv[1]](**json.loads(sys.argv[2]))
    print(json.dumps(found | {"versions": versions()}))
