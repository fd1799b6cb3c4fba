"""On-policy algorithms of Stable-Baselines3 and its kin: prints one line of JSON."""

import importlib
import json
import platform
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from stable_baselines3.common.callbacks import BaseCallback
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
    own = {key: scheduled(value) for key, value in settings.items()}
    return kind("MlpPolicy", envs, seed=seed, device="cpu", **own)


def scheduled(value: Any) -> Any:
    """RL Zoo's "lin_0.001" falls linearly to zero."""
    if not isinstance(value, str):
        return value
    start = float(value.removeprefix("lin_"))
    return lambda left: max(left, 0.0) * start


def speed(
    num_envs: int, threads: int | None, env: str = CARTPOLE, **settings: Any
) -> dict[str, Any]:
    """Timesteps a second of one update."""
    model = begin(num_envs, 0, threads, env, **settings)
    began = time.perf_counter()
    model.learn(1)
    return {"speed": model.num_timesteps / (time.perf_counter() - began)}


def solve(
    num_envs: int,
    threads: int | None,
    seed: int,
    started: float,
    goal: float,
    timesteps: int,
    **settings: Any,
) -> dict[str, Any]:
    """Seconds from `started` to a greedy mean of `goal` in 20 episodes, and timesteps a second.

    It is checked after every update, or some of them where they are short; the speed leaves out
    what the checks take. `start` is when the first update was done. Another 100 episodes tell
    afterwards whether it was luck.
    """
    model = begin(num_envs, seed, threads, **settings)
    check = Check(make_vec_env(CARTPOLE, num_envs, seed=EVALUATION_SEED + seed), goal)
    model.learn(timesteps, callback=check)
    trained = time.time() - check.first - check.evaluating
    return {
        "speed": (model.num_timesteps - check.first_timesteps) / trained,
        "start": check.first - started,
        "seconds": None if check.solved is None else check.solved - started,
        "timesteps": model.num_timesteps,
        "confirmed": mean_return(model, check.evaluation, 100),
        "peak_memory": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def mean_return(model: Any, env: Any, episodes: int) -> float:
    """Of the greedy policy."""
    mean, _ = evaluate_policy(model, env, n_eval_episodes=episodes)
    assert isinstance(mean, float)
    return mean


class Check(BaseCallback):
    """Evaluates where a rollout begins: the update before it is done then."""

    def __init__(self, evaluation: Any, goal: float) -> None:
        """Nothing was looked at yet."""
        super().__init__()
        self.evaluation, self.goal = evaluation, goal
        self.first, self.first_timesteps, self.checked = 0.0, 0, 0
        self.evaluating = 0.0
        self.solved: float | None = None

    def _on_rollout_start(self) -> None:
        if not self.num_timesteps:
            return
        if not self.first:
            self.first, self.first_timesteps = time.time(), self.num_timesteps
        if self.num_timesteps - self.checked < CHECKED:
            return
        self.checked = self.num_timesteps
        began = time.time()
        mean = mean_return(self.model, self.evaluation, 20)
        self.evaluating += time.time() - began
        if mean >= self.goal:
            self.solved = time.time()

    def _on_step(self) -> bool:
        return self.solved is None


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
