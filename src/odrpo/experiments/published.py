"""What others have published on the same tasks: data only, each with its source."""

from typing import NamedTuple


class Value(NamedTuple):
    """A mean, and how much it varied (standard deviation)."""

    mean: float
    spread: float | None = None


ZOO = "RL Baselines3 Zoo, benchmark.md: one trained agent each, on v2 or v3 of the environments"

METHODS = ("odrpo-kl", "odrpo-wasserstein", "trpo", "ppo", "a2c")


def _row(*values: tuple[float, float] | None) -> dict[str, Value]:
    return {k: Value(*v) for k, v in zip(METHODS, values, strict=True) if v is not None}


LAST_TENTH: dict[str, dict[str, Value]] = {
    "Taxi-v4": _row((-16, 10), (-75, 17), (-201, 1), (-343, 36), (-304, 27)),
    "NChain-v0": _row((3666, 223), (3347, 267), (3522, 258), (3506, 237), (1606, 10)),
    "CliffWalking-v1": _row((-40, 23), (-35, 15), (-169, 36), (-3608, 2172), (-5168, 2247)),
    "CartPole-v1": _row((401, 42), (324, 78), (307, 68), (193, 45), (267, 61)),
    "Acrobot-v1": _row((-97, 4), (-153, 7), (-143, 13), (-85, 5), (-452, 28)),
    "LunarLanderContinuous-v3": _row((170, 81), None, (-1, 92), (93, 85), (-262, 130)),
    "Walker2d-v5": _row((3686, 81), None, (2667, 1023), (3179, 747), (-4, 2)),
    "Hopper-v5": _row((2781, 537), None, (2713, 424), (2590, 849), (42, 18)),
    "Reacher-v5": _row((-5.1, 0.1), None, (-5.9, 1.7), (-7.5, 2.1), (-64.2, 1.4)),
    "Ant-v5": _row((5397, 249), None, (-14, 22), (1751, 665), (-88, 44)),
    "HalfCheetah-v5": _row((8174, 92), None, (1178, 47), (1844, 590), (-684, 46)),
    "InvertedPendulum-v5": _row((1000, 0), None, (953, 47), (989, 11), (197, 80)),
}
"""The paper's mean return over the last tenth of the training episodes."""

BUDGET: dict[str, str] = {
    "Taxi-v4": "300 k steps",
    "NChain-v0": "600 k steps",
    "CliffWalking-v1": "30 k steps",
    "CartPole-v1": "200 episodes",
    "Acrobot-v1": "650 episodes",
    "LunarLanderContinuous-v3": "250 k steps",
    "InvertedPendulum-v5": "250 k steps",
    "Reacher-v5": "500 k steps",
    "Hopper-v5": "1 M steps",
    "Walker2d-v5": "1 M steps",
    "HalfCheetah-v5": "1 M steps",
    "Ant-v5": "1 M steps",
}
"""The paper's."""

GREEDY: dict[str, dict[str, Value]] = {
    "CartPole-v1": {"trpo": Value(500), "ppo": Value(500), "a2c": Value(500)},
    "Acrobot-v1": {"trpo": Value(-83.1), "ppo": Value(-73.5), "a2c": Value(-83.4)},
    "LunarLanderContinuous-v3": {"trpo": Value(262), "ppo": Value(271), "a2c": Value(84)},
    "Hopper-v5": {"trpo": Value(3618), "ppo": Value(2410), "a2c": Value(733)},
    "Walker2d-v5": {"trpo": Value(4933), "ppo": Value(3479)},
    "HalfCheetah-v5": {"trpo": Value(1785), "ppo": Value(5819), "a2c": Value(3041)},
    "Ant-v5": {"trpo": Value(4982), "ppo": Value(1327)},
}
"""RL Baselines3 Zoo: the deterministic policy after 100 k to 5 M steps, mostly 1 M."""

FROM_REPLAY: dict[str, dict[str, float]] = {
    "LunarLanderContinuous-v3": {"sac": 260, "td3": 207, "tqc": 278},
    "Hopper-v5": {"sac": 2326, "td3": 3606, "tqc": 3754},
    "Walker2d-v5": {"sac": 3863, "td3": 4718, "tqc": 4381},
    "HalfCheetah-v5": {"sac": 9535, "td3": 9656, "tqc": 12090},
    "Ant-v5": {"sac": 4616, "td3": 5813, "tqc": 3339},
}
"""RL Baselines3 Zoo: the deterministic policies of methods that learn from replay, as ours does."""

TO_THRESHOLD: dict[str, dict[str, float]] = {
    "CartPole-v1": {"odrpo-kl": 8e3, "trpo": 7e3, "ppo": 23e3},
    "Acrobot-v1": {"odrpo-kl": 51e3, "trpo": 150e3, "ppo": 20e3},
    "LunarLanderContinuous-v3": {"odrpo-kl": 100e3, "trpo": 180e3, "ppo": 80e3},
    "Walker2d-v5": {"odrpo-kl": 450e3, "trpo": 1120e3, "ppo": 520e3},
    "Hopper-v5": {"odrpo-kl": 640e3, "trpo": 1150e3, "ppo": 1270e3},
    "Reacher-v5": {"odrpo-kl": 20e3, "trpo": 130e3, "ppo": 200e3},
}
"""The paper's timesteps to the first mean of 20 episodes at the task's threshold."""

TAXI: dict[str, tuple[float, float, float, float]] = {
    "odrpo-kl": (0.995, 0.732, 18.556, -5.976),
    "odrpo-wasserstein": (0.753, 0.232, 70.891, -58.151),
    "trpo": (0.0, 0.0, 200.0, -200.0),
}
"""The paper's trained agents: drop-offs, illegal actions, timesteps and return of an episode."""

SECONDS: dict[str, float] = {"odrpo-kl": 63.0, "trpo": 59.0, "ppo": 70.0}
"""The paper's wall-clock for 10^5 timesteps in the discrete locomotion tasks."""

GOALS: dict[str, float] = {
    "Taxi-v4": 7.5,
    "NChain-v0": 3640,
    "CliffWalking-v1": -15,
    "CartPole-v1": 480,
    "Acrobot-v1": -82,
    "LunarLanderContinuous-v3": 265,
    "Walker2d-v5": 5000,
    "Hopper-v5": 3500,
    "Reacher-v5": -4.0,
    "Ant-v5": 6000,
    "HalfCheetah-v5": 12000,
    "InvertedPendulum-v5": 1000,
}
"""What this project set out to reach, with the paper's budgets."""
THRESHOLD_GOALS: dict[str, float] = {
    "CartPole-v1": 6e3,
    "Acrobot-v1": 10e3,
    "LunarLanderContinuous-v3": 40e3,
    "Walker2d-v5": 220e3,
    "Hopper-v5": 320e3,
    "Reacher-v5": 10e3,
}
