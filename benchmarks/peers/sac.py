"""SAC of Stable-Baselines3, or of SBX, its port to JAX: prints one line of JSON."""

import importlib
import json
import platform
import sys
import time
from importlib.metadata import version
from typing import Any

import gymnasium
import torch

PACKAGES = {
    "stable_baselines3": ("stable-baselines3", "torch", "gymnasium", "mujoco", "numpy"),
    "sbx": ("sbx-rl", "stable-baselines3", "jax", "flax", "gymnasium", "mujoco", "numpy"),
}


def speed(
    library: str,
    env: str,
    timesteps: int,
    untimed: int,
    settings: dict[str, Any],
    threads: int | None = None,
) -> dict[str, Any]:
    """Timesteps a second, after `untimed` ones in which learning starts and what can is compiled.

    `threads` are those of torch; None: as many as it likes.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    agent = importlib.import_module(library).SAC
    # By its id SB3 would make one that can be rendered.
    made = gymnasium.make(env)
    model = agent("MlpPolicy", made, seed=0, device="cpu", **settings).learn(untimed)
    before, began = model.num_timesteps, time.perf_counter()
    model.learn(timesteps, reset_num_timesteps=False)
    return {"speed": (model.num_timesteps - before) / (time.perf_counter() - began)}


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    found = speed(**asked)
    versions = {name: version(name) for name in PACKAGES[asked["library"]]}
    print(json.dumps(found | {"versions": versions | {"python": platform.python_version()}}))
