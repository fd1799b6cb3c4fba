"""odrpo in training, a measurement a process: prints one line of JSON."""

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium

import odrpo
from odrpo.callbacks import EvaluateEvery

CARTPOLE = "CartPole-v1"
EVALUATION_SEED = 10_000


def speed(
    metric: str,
    timesteps: int,
    env: str = CARTPOLE,
    host_envs: int = 0,
    settings: dict[str, Any] | None = None,
    untimed: int = 0,
) -> dict[str, Any]:
    """Timesteps a second of `learn` once it is compiled; on the host with `host_envs` of Gymnasium.

    The first update is timed apart; what follows counts after `untimed` timesteps.
    """
    source: Any = env
    if host_envs:
        source = gymnasium.make_vec(env, num_envs=host_envs, vectorization_mode="sync")
    began = time.perf_counter()
    model = odrpo.ODRPO(source, metric, **(settings or {})).learn(1)
    first = time.perf_counter() - began
    before = model.learn(untimed).num_timesteps
    began = time.perf_counter()
    model.learn(timesteps)
    seconds = time.perf_counter() - began
    return {"speed": (model.num_timesteps - before) / seconds, "first_update": first}


def learn(metric: str, timesteps: int, seeds: int, settings: dict[str, Any]) -> dict[str, Any]:
    """What the greedy policy of each seed returns in 100 episodes after so many timesteps."""
    models = [odrpo.ODRPO(CARTPOLE, metric, seed=seed, **settings) for seed in range(seeds)]
    odrpo.train(models, timesteps)
    returns = [odrpo.evaluate(model, CARTPOLE, 100, EVALUATION_SEED) for model in models]
    return {"returns": [float(part.mean()) for part in returns], "timesteps": timesteps}


def solve(
    metric: str,
    seed: int,
    started: float,
    goal: float,
    every: int,
    timesteps: int,
    host_envs: int = 0,
) -> dict[str, Any]:
    """Seconds from `started` to a greedy mean of `goal` in 20 episodes, checked `every` timesteps.

    `start` is when the first update was done. Another 100 episodes, in Gymnasium's own CartPole,
    tell afterwards whether that was luck; then another one is timed, from its beginning.
    """
    source: Any = CARTPOLE
    if host_envs:
        source = gymnasium.make_vec(CARTPOLE, num_envs=host_envs, vectorization_mode="sync")
    check = EvaluateEvery(CARTPOLE, every, episodes=20, stop_at=goal, seed=EVALUATION_SEED + seed)
    model = odrpo.ODRPO(source, metric, seed=seed).learn(1)
    start = time.time() - started
    model.learn(timesteps, check)
    seconds = time.time() - started
    confirmed = odrpo.evaluate(model, lambda: gymnasium.make(CARTPOLE), 100, seed)
    measured = speed(metric, 30_000 if host_envs else 150_000, host_envs=host_envs)
    return {
        "start": start,
        "seconds": seconds if check.best >= goal else None,
        "timesteps": model.num_timesteps,
        "confirmed": float(confirmed.mean()),
        "speed": measured["speed"],
    }


def peak_memory() -> int:
    """In bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    tasks: dict[str, Callable[..., dict[str, Any]]] = {
        "speed": speed,
        "learn": learn,
        "solve": solve,
    }
    found = tasks[sys.argv[1]](**json.loads(sys.argv[2]))
    print(json.dumps(found | {"peak_memory": peak_memory()}))
