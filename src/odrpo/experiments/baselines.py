"""TRPO, PPO and A2C of Stable-Baselines3 and sb3-contrib, as the paper compares with them.

Hyperparameters are those that RL Baselines3 Zoo has published for a task (for MuJoCo of versions
before v5), and the libraries' defaults elsewhere. Finite states are shown to them one-hot.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from odrpo.envs.make import made
from odrpo.experiments.evaluation import play
from odrpo.experiments.installed import NOT_INSTALLED
from odrpo.experiments.record import CLOCK, Record, columns, surroundings, thinned
from odrpo.experiments.runs import Run
from odrpo.experiments.status import Status
from odrpo.presets import TASKS
from odrpo.records import Episode

Settings = dict[str, Any]
NORMALISED: Settings = {"normalize": True}
WIDE: Settings = {"net_arch": [256, 256], "relu": True, "log_std_init": -2.0, "ortho_init": False}
OFTEN: Settings = NORMALISED | {
    "n_envs": 2,
    "batch_size": 128,
    "n_steps": 1024,
    "cg_max_steps": 25,
    "n_critic_updates": 20,
}
ZOO: dict[str, dict[str, Settings]] = {
    "trpo": {
        "CartPole-v1": {
            "n_envs": 2,
            "n_steps": 512,
            "batch_size": 512,
            "cg_damping": 1e-3,
            "gae_lambda": 0.98,
            "learning_rate": 1e-3,
            "n_critic_updates": 20,
        },
        "Acrobot-v1": NORMALISED | {"n_envs": 2, "n_steps": 1024},
        "LunarLanderContinuous-v3": NORMALISED
        | {"n_envs": 2, "n_steps": 1024, "n_critic_updates": 20},
        "Ant-v5": OFTEN,
        "HalfCheetah-v5": OFTEN | {"target_kl": 0.04},
        "Hopper-v5": OFTEN,
        "Walker2d-v5": OFTEN,
    },
    "ppo": {
        "CartPole-v1": {
            "n_envs": 8,
            "n_steps": 32,
            "batch_size": 256,
            "gae_lambda": 0.8,
            "gamma": 0.98,
            "n_epochs": 20,
            "learning_rate": "lin_0.001",
            "clip_range": "lin_0.2",
        },
        "Acrobot-v1": NORMALISED
        | {"n_envs": 16, "n_steps": 256, "gae_lambda": 0.94, "n_epochs": 4},
        "LunarLanderContinuous-v3": {
            "n_envs": 16,
            "n_steps": 1024,
            "gae_lambda": 0.98,
            "gamma": 0.999,
            "n_epochs": 4,
            "ent_coef": 0.01,
        },
        "Ant-v5": NORMALISED,
        "HalfCheetah-v5": NORMALISED
        | WIDE
        | {
            "n_steps": 512,
            "gamma": 0.98,
            "learning_rate": 2.0633e-05,
            "ent_coef": 0.000401762,
            "clip_range": 0.1,
            "n_epochs": 20,
            "gae_lambda": 0.92,
            "max_grad_norm": 0.8,
            "vf_coef": 0.58096,
        },
        "Hopper-v5": NORMALISED
        | WIDE
        | {
            "batch_size": 32,
            "n_steps": 512,
            "gamma": 0.999,
            "learning_rate": 9.80828e-05,
            "ent_coef": 0.00229519,
            "n_epochs": 5,
            "gae_lambda": 0.99,
            "max_grad_norm": 0.7,
            "vf_coef": 0.835671,
        },
        "InvertedPendulum-v5": NORMALISED
        | {
            "n_steps": 32,
            "gamma": 0.999,
            "learning_rate": 0.000222425,
            "ent_coef": 1.37976e-07,
            "clip_range": 0.4,
            "n_epochs": 5,
            "gae_lambda": 0.9,
            "max_grad_norm": 0.3,
            "vf_coef": 0.19816,
        },
        "Reacher-v5": NORMALISED
        | {
            "batch_size": 32,
            "n_steps": 512,
            "gamma": 0.9,
            "learning_rate": 0.000104019,
            "ent_coef": 7.52585e-08,
            "clip_range": 0.3,
            "n_epochs": 5,
            "gae_lambda": 1.0,
            "max_grad_norm": 0.9,
            "vf_coef": 0.950368,
        },
        "Walker2d-v5": NORMALISED
        | {
            "batch_size": 32,
            "n_steps": 512,
            "learning_rate": 5.05041e-05,
            "ent_coef": 0.000585045,
            "clip_range": 0.1,
            "n_epochs": 20,
            "max_grad_norm": 1.0,
            "vf_coef": 0.871923,
        },
    },
    "a2c": {
        "CartPole-v1": {"n_envs": 8},
        "Acrobot-v1": NORMALISED | {"n_envs": 16},
        **dict.fromkeys(("HalfCheetah-v5", "Ant-v5", "Hopper-v5", "Walker2d-v5"), NORMALISED),
        "LunarLanderContinuous-v3": NORMALISED
        | {
            "n_envs": 4,
            "n_steps": 8,
            "gae_lambda": 0.9,
            "vf_coef": 0.4,
            "learning_rate": "lin_7e-4",
            "use_sde": True,
            "log_std_init": -2.0,
            "ortho_init": False,
        },
    },
}
"""What is not as by default; "lin_" falls linearly to zero over the run."""
OF_POLICY = ("net_arch", "log_std_init", "ortho_init")


def settings_of(method: str, env: str) -> Settings:
    """What the run is made with: all that is not as by default, and where it comes from."""
    published = ZOO[method].get(env)
    own = published if published is not None else {}
    source = "defaults" if published is None else "RL Baselines3 Zoo"
    return {"source": source, "n_envs": 1, "normalize": False, "net_arch": [64, 64], **own}


def run_baseline(run: Run, folder: Path, stop: Callable[[], bool]) -> Record | None:
    """Train from the beginning, for these can't go on as if they had never stopped; evaluate.

    None: it was stopped.
    """
    around, settings = surroundings(), settings_of(run.method, run.env)
    limit = TASKS[run.env].max_steps if run.env in TASKS else None
    model, normaliser = _model(run, settings, limit)
    watch = _Watch(Status(folder), stop)
    model.learn(run.timesteps, callback=watch)
    seconds = watch.seconds
    if watch.stopped:
        return None
    within = [episode for episode in watch.episodes if episode.timesteps <= run.timesteps]
    return Record(
        **run.identity(),
        **around,
        taken=model.num_timesteps,
        config=settings,
        seconds=round(seconds, 1),
        played=columns(within),
        updates={},
        clock=thinned(watch.clock, CLOCK),
        largest_gap=None,
        largest_use=None,
        evaluation=play(Seeing(model, normaliser, run.env), run.env, limit),
    )


class Seeing:
    """A trained policy that is shown what it was shown in training."""

    def __init__(self, model: Any, normaliser: Any, env: str) -> None:
        """The normaliser is none where there was none."""
        self.model, self.normaliser = model, normaliser
        space = made(env, None).observation_space
        self.states = int(space.n) if isinstance(space, gymnasium.spaces.Discrete) else None

    def predict(self, observation: Any, *, deterministic: bool) -> tuple[Any, Any]:
        """Actions for a batch of observations."""
        if self.states is not None:
            observation = np.eye(self.states, dtype=np.float32)[observation]
        if self.normaliser is not None:
            observation = self.normaliser.normalize_obs(observation)
        return self.model.predict(observation, deterministic=deterministic)


def _model(run: Run, settings: Settings, limit: int | None) -> tuple[Any, Any]:
    try:
        import torch
        from sb3_contrib import TRPO
        from stable_baselines3 import A2C, PPO
        from stable_baselines3.common.monitor import Monitor
        from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
    except ImportError as error:
        raise ValueError(f"methods: {run.method}: {NOT_INSTALLED}") from error
    torch.set_num_threads(1)
    kinds = {"trpo": TRPO, "ppo": PPO, "a2c": A2C}
    own = {k: _scheduled(v) for k, v in settings.items() if k != "source"}
    count, normalised = own.pop("n_envs"), own.pop("normalize")
    policy = {name: own.pop(name) for name in OF_POLICY if name in own}
    if own.pop("relu", False):
        policy["activation_fn"] = torch.nn.ReLU

    def make_one() -> gymnasium.Env:
        env = made(run.env, limit)
        if isinstance(env.observation_space, gymnasium.spaces.Discrete):
            env = gymnasium.wrappers.FlattenObservation(env)
        return Monitor(env)

    envs: Any = DummyVecEnv([make_one] * count)
    if normalised:
        envs = VecNormalize(envs, gamma=own.get("gamma", 0.99))
    model = kinds[run.method](
        "MlpPolicy", envs, seed=run.seed, device="cpu", policy_kwargs=policy, **own
    )
    return model, envs if normalised else None


def _scheduled(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    start = float(value.removeprefix("lin_"))
    return lambda left: max(left, 0.0) * start  # the last update may go beyond the end


class _Watch:
    """Takes down every episode with the timestep and the time of its end; stops when told to."""

    def __init__(self, status: Status, stop: Callable[[], bool]) -> None:
        self.status, self.stop, self.stopped = status, stop, False
        self.episodes: list[Episode] = []
        self.clock: list[dict[str, float]] = []
        self.began = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def __call__(self, local: dict[str, Any], _: dict[str, Any]) -> bool:
        timesteps = local["self"].num_timesteps
        for info in local["infos"]:
            if "episode" in info:
                ended = info["episode"]
                self.episodes.append(Episode(timesteps, float(ended["r"]), int(ended["l"])))
                self.clock.append({"timesteps": timesteps, "seconds": self.seconds})
        self.status.tell(timesteps, self.episodes)
        self.stopped = self.stopped or self.stop()
        return not self.stopped
