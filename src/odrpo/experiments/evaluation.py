"""What a trained policy does in Gymnasium's own environments: the same for every method."""

from typing import Any, Protocol

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from odrpo.envs.make import made

SIDE_BY_SIDE = 16
SEED = 10_000
"""Far from those of training."""
CHANCY = ("Taxi-v4", "FrozenLake-v1", "FrozenLake8x8-v1", "Blackjack-v1")
QUICK = ("NChain-v0", "CliffWalking-v1", "CartPole-v1", "Acrobot-v1")
EPISODES = dict.fromkeys(CHANCY, 1000) | dict.fromkeys(QUICK, 100)
OTHERWISE = 30
COUNTED = {"Taxi-v4": {"dropoffs": 20.0, "illegal": -10.0}}
"""Events by the reward that gives them away."""

Evaluation = dict[str, list[float]]


class Player(Protocol):
    """A policy in the shape of Stable-Baselines3."""

    def predict(self, observation: Any, *, deterministic: bool) -> tuple[Any, Any]:
        """Actions for a batch of observations."""
        ...


def play(player: Player, env: str, max_steps: int | None) -> Evaluation:
    """Greedy episodes: returns, lengths, and what is counted in this environment.

    They begin as Gymnasium has it, whatever we do with environments in training. The seed is the
    same for all; where later episodes draw from what earlier ones left, equal policies alone play
    equal ones.
    """
    episodes = EPISODES.get(env, OTHERWISE)
    count = min(SIDE_BY_SIDE, episodes)
    makers = [lambda: made(env, max_steps)] * count
    side = SyncVectorEnv(makers, autoreset_mode=AutoresetMode.SAME_STEP)
    # Each plays its share, so that short episodes are not favoured.
    left = episodes // count + (np.arange(count) < episodes % count)
    counted = COUNTED.get(env, {})
    names = ("returns", "lengths", *counted)
    found: Evaluation = {name: [] for name in names}
    sums = np.zeros((len(names), count))
    observation, _ = side.reset(seed=SEED)
    while left.any():
        action, _ = player.predict(observation, deterministic=True)
        observation, reward, terminated, truncated, _ = side.step(np.asarray(action))
        sums += [reward, np.ones(count), *(reward == value for value in counted.values())]
        for k in np.flatnonzero(terminated | truncated):
            if left[k]:
                left[k] -= 1
                for name, value in zip(names, sums[:, k], strict=True):
                    found[name].append(round(float(value), 4))
            sums[:, k] = 0
    side.close()
    return found
