"""PPO of rejax on CartPole, all of it on the device: prints one line of JSON."""

import json
import platform
import sys
import time
from importlib.metadata import version
from typing import Any

import jax
import rejax

PACKAGES = ("rejax", "gymnax", "jax", "flax", "optax", "numpy")


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


if __name__ == "__main__":
    found = speed(**json.loads(sys.argv[1]))
    versions = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    print(json.dumps(found | {"versions": versions}))
