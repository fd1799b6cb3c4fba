"""PPO of Stable-Baselines3, with its defaults: prints one line of JSON."""

import json
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from statistics import median
from typing import Any

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

CARTPOLE = "CartPole-v1"
EVALUATION_SEED = 10_000
PACKAGES = ("stable-baselines3", "torch", "gymnasium", "numpy")


def begin(
    num_envs: int, seed: int, threads: int | None, env: str = CARTPOLE, **settings: Any
) -> PPO:
    """A fresh model, with so many threads of torch; None: as many as torch likes."""
    if threads is not None:
        torch.set_num_threads(threads)
    # What make_vec_env makes is a DummyVecEnv.
    envs = make_vec_env(env, num_envs, seed=seed)
    return PPO("MlpPolicy", envs, seed=seed, device="cpu", **settings)


def update(model: PPO) -> float:
    """Train for one update; returns its timesteps a second."""
    before, began = model.num_timesteps, time.perf_counter()
    model.learn(model.n_steps * model.n_envs, reset_num_timesteps=False)
    return (model.num_timesteps - before) / (time.perf_counter() - began)


def speed(
    num_envs: int, threads: int | None, env: str = CARTPOLE, **settings: Any
) -> dict[str, Any]:
    """Timesteps a second of one update."""
    return {"speed": update(begin(num_envs, 0, threads, env, **settings))}


def solve(
    num_envs: int, threads: int | None, seed: int, started: float, goal: float, timesteps: int
) -> dict[str, Any]:
    """Seconds from `started` to a greedy mean of `goal` in 20 episodes, and timesteps a second.

    It is checked after every update: in between the policy stays the same. The speed is the median
    over the updates, without the checks. Another 100 episodes tell afterwards whether it was luck.
    """
    model = begin(num_envs, seed, threads)
    evaluation = make_vec_env(CARTPOLE, num_envs, seed=EVALUATION_SEED + seed)
    speeds, seconds = [], None
    while seconds is None and model.num_timesteps < timesteps:
        speeds.append(update(model))
        if evaluate_policy(model, evaluation, n_eval_episodes=20)[0] >= goal:
            seconds = time.time() - started
    return {
        "speed": median(speeds),
        "seconds": seconds,
        "timesteps": model.num_timesteps,
        "confirmed": float(evaluate_policy(model, evaluation, n_eval_episodes=100)[0]),
    }


if __name__ == "__main__":
    tasks: dict[str, Callable[..., dict[str, Any]]] = {"speed": speed, "solve": solve}
    found = tasks[sys.argv[1]](**json.loads(sys.argv[2]))
    versions = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    print(json.dumps(found | {"versions": versions}))
