"""ODRPO, the face that users see: learn, predict, save, load."""

import dataclasses
import secrets
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium.vector import VectorEnv

from odrpo import algorithm, checkpoint, checkpoints, model_files
from odrpo.algorithm import compiled_act
from odrpo.arguments import MOST_SEEDS, seed_of, whole
from odrpo.callbacks import Callbacks
from odrpo.config import Config, check_names
from odrpo.config_checks import check_policy, check_updates, check_useful
from odrpo.envs import make, spaces
from odrpo.envs.make import Backend
from odrpo.envs.replayable import EnvError, end, share
from odrpo.learner import Learner, Sizes, best, probabilities
from odrpo.model_files import empty_replay
from odrpo.presets import PresetName, settings_for
from odrpo.records import Records
from odrpo.replay import Replay
from odrpo.rollout import device
from odrpo.rollout.host import HostWalkers
from odrpo.rollout.position import Position
from odrpo.training import train
from odrpo.trust_region import METRICS, Metric, resolve_metric


class ODRPO:
    """A policy in training: every update solves its trust-region problem exactly.

    Args:
        env: An id, a Gymnasium env or vector env, an odrpo.FiniteMDP, or a function that makes one.
        metric: "kl", "wasserstein", "sinkhorn", or odrpo.KL(), odrpo.Wasserstein(cost), ...
        preset: "tuned": our settings for the environment, or good defaults where there are none;
            "paper": the paper's; "default": the defaults, whatever the environment.
        seed: The same seed gives the same run; None: one at random, to be read from `model.seed`.
        backend: "device" or "host"; "auto" runs on the device what can.
        max_steps: A step limit for the environment, where it is given by id or function.
        settings: Any field of odrpo.Config by its name.

    Attributes:
        config: The settings in use.
        records: A row for each of the last 3000 updates, and the last 30 000 episodes.
    """

    replay: Replay | None
    """What was seen, for critic="replay"; None for others."""
    walkers: HostWalkers | None
    """Gymnasium's environments in the midst of their episodes, once training has begun."""
    position: Position | None
    """Where Gymnasium's environments were after the last update, if they can be brought back."""
    callbacks: list[tuple[str, Any]]
    """What a checkpoint remembers of callbacks that are not there, by the names of their kinds."""

    file: Path
    """Where it was loaded from, if it was."""
    walker_arrays: dict[str, np.ndarray]
    """Environments on the device as a file has them, until they are needed."""

    def __init__(
        self,
        env: Any,
        metric: str | Metric = "kl",
        *,
        preset: PresetName = "tuned",
        seed: int | None = 0,
        backend: Backend = "auto",
        max_steps: int | None = None,
        **settings: Any,
    ) -> None:
        """Choose settings and begin: see the class."""
        _check_order(env)
        chosen = resolve_metric(metric)
        name = next(name for name, kind in METRICS.items() if isinstance(chosen, kind))
        check_names(settings)
        self.env_id = env if isinstance(env, str) else None
        self.backend = backend
        self.seed = secrets.randbelow(MOST_SEEDS) if seed is None else seed_of(seed)
        sample = make(env, 1, backend, max_steps)
        self.observation_space, self.action_space = spaces_of(sample)
        self.sizes = Sizes.of(self.observation_space, self.action_space)
        if settings.get("policy") == "table":  # before a critic is blamed that does not go with it
            check_policy("table", self.sizes.states, self.sizes.dimensions)
        if settings.get("normalise_observations") and self.sizes.states is not None:
            raise ValueError(
                "normalise_observations: it does nothing with Discrete observations; leave it out"
            )
        preferred, limit = settings_for(
            self.env_id, name, self.sizes, preset, settings.get("critic")
        )
        self.max_steps = limit if max_steps is None else whole("max_steps", max_steps, 1)
        self.config = Config.create(metric=chosen, **(preferred | settings))
        check_useful(settings, self.config)
        self.config.check_spaces(*self.sizes)
        self._begin()
        self._source: Any = env
        self._set_env(settings)
        # A function may give the same one again, and what was handed over is not ours to close.
        if isinstance(sample, VectorEnv) and not share(sample, self._env):
            sample.close()
        if not spaces.is_bounded(self.action_space):
            warnings.warn(
                f"env: actions of {self.action_space} have no bounds; they are taken from [-3, 3], "
                "or up to 6 from the one bound that there is. gymnasium.wrappers.TransformAction "
                "gives them others",
                stacklevel=2,
            )
        self.replay = empty_replay(self.config, self.seed)
        self.records = Records()
        self.target = 0
        device_env = None if isinstance(self.env, VectorEnv) else self.env
        key = jax.random.key(self.seed)
        self.state = compiled_init(self.config, self.sizes, device_env, key)

    def __repr__(self) -> str:
        """What it learns, by what, and how far it is."""
        env, metric = self.env_id or "its own env", type(self.config.metric).__name__
        return f"ODRPO({env}, {metric}, seed {self.seed}, {self.num_timesteps:,} timesteps)"

    def learn(
        self,
        total_timesteps: int,
        callback: Callbacks = None,
        progress_bar: bool | None = None,
        run_dir: str | Path | None = None,
        checkpoint_seconds: float = 30.0,
        checkpoint_timesteps: int | None = None,
    ) -> "ODRPO":
        """Train for so many more timesteps; calling it again goes on where it stopped.

        Args:
            total_timesteps: How many; the last update may go a little beyond, the first from
                replay comes after `warm_up`.
            callback: A function of (model, row), an odrpo.callbacks.Callback, or a list of them.
            progress_bar: Whether to tell how far it is, by a bar on a terminal and by a line every
                half minute elsewhere; None: on a terminal.
            run_dir: A folder for progress.csv, episodes.csv, TensorBoard events, checkpoints,
                model.odrpo and curve.png; None: nothing is written.
            checkpoint_seconds: How often the run is saved there; less often where saving would
                take more than a hundredth of the time.
            checkpoint_timesteps: Save it after so many timesteps too.
        """
        train(
            [self],
            total_timesteps,
            callback,
            progress_bar,
            run_dir,
            checkpoint_seconds=checkpoint_seconds,
            checkpoint_timesteps=checkpoint_timesteps,
        )
        return self

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[Any, Any]:
        """The action for an observation, or the actions for a batch; the shape of SB3's `predict`.

        Args:
            observation: One of the observation space, or a batch of them.
            state: Handed back: the policy has no memory.
            episode_start: Not needed.
            deterministic: Take the most probable action, or the median of continuous ones, instead
                of drawing one.
            action_masks: True where an action is allowed, (A,) or (B, A).
        """
        batch, single = spaces.as_batch(self.observation_space, observation)
        encoded = spaces.encode(self.observation_space, batch)
        self._drawn += not deterministic
        key = jax.random.fold_in(jax.random.key(self.seed), self._drawn)
        action = self.act(encoded, key, deterministic, action_masks)
        action = spaces.decode_actions(self.action_space, action)
        return (action[0] if single else action), state

    def probabilities(self, observation: Any, action_masks: Any = None) -> np.ndarray:
        """pi(.|s) for an observation, (A,), or a batch of them, (B, A)."""
        if self.sizes.actions is None:
            raise ValueError("env: its actions are a continuum, which has no probabilities")
        batch, single = spaces.as_batch(self.observation_space, observation)
        encoded = spaces.encode(self.observation_space, batch)
        masks = self._checked_masks(len(encoded), action_masks)
        learner = self.learner._replace(critic=None)
        policy = np.asarray(
            compiled_probabilities(self.config, self.sizes, learner, encoded, masks)
        )
        return policy[0] if single else policy

    def act(
        self, encoded: np.ndarray, key: jax.Array, deterministic: bool, masks: Any = None
    ) -> np.ndarray:
        """Actions as the algorithm counts them at observations in the form that it takes."""
        masks = self._checked_masks(len(encoded), masks)
        learner = self.learner._replace(critic=None)
        if deterministic:
            action = compiled_best(self.config, self.sizes, learner, encoded, masks)
        else:
            action = compiled_act(self.config, self.sizes, learner, key, encoded, masks)
        return np.asarray(action)

    def _checked_masks(self, count: int, masks: Any) -> np.ndarray | None:
        if masks is None:
            return None
        if self.sizes.actions is None:
            raise ValueError("action_masks: the actions are a continuum; leave it out")
        shape = (count, self.sizes.actions)
        masks = np.asarray(masks).astype(bool)
        if masks.shape not in (shape, shape[1:]):
            raise ValueError(f"action_masks: shape {masks.shape}, expected {shape}")
        masks = np.broadcast_to(masks, shape)
        if not masks.any(axis=1).all():
            raise ValueError("action_masks: a row forbids all actions; allow at least one")
        return masks

    @property
    def learner(self) -> Learner:
        """What has been learned so far."""
        return self.state.learner

    @property
    def state(self) -> algorithm.State:
        """All that is carried on from update to update."""
        if callable(self._state):  # in training together with others, whose states are one array
            return self._state()
        return self._state

    @state.setter
    def state(self, state: Any) -> None:
        self._state = state

    @property
    def num_timesteps(self) -> int:
        """Steps taken in the environments so far."""
        return self.records.timesteps

    def save(self, path: str | Path, replay: bool = False) -> None:
        """Write all that is needed to predict, and to go on: one file without any code in it.

        Args:
            path: Where to.
            replay: Whether the transitions that an off-policy critic learns from are to be in it:
                without them training that goes on begins with a warm-up.
        """
        model_files.write(self, Path(path), replay)

    @classmethod
    def load(cls, path: str | Path, env: Any = None) -> "ODRPO":
        """A model from its file; predicting needs no environment.

        Args:
            path: What `save` wrote, or the folder of a run.
            env: The environment to go on learning in; None: the one that the file names, if any.
        """
        path = Path(path)
        model: ODRPO = object.__new__(cls)
        stored = checkpoints.newest(path) if path.is_dir() else model_files.read(path)
        model._begin()
        for field in dataclasses.fields(stored):
            setattr(model, field.name, getattr(stored, field.name))
        if (folder := checkpoints.run_of(path)) is not None:
            model.folders[folder.resolve()] = checkpoints.newest_timesteps(folder)
        model._source = stored.env_id
        if env is None and stored.env_id is not None and ":" in stored.env_id:
            # Gymnasium would import the module before the colon: a file must not decide on that.
            model._source = None
        elif env is not None:
            model._source = env
            if not (isinstance(env, str | gymnasium.Env) or callable(env)):
                model.max_steps = None  # tables and vector environments have a limit of their own
            model._set_env({})
        return model

    @property
    def env(self) -> Any:
        """Where it learns; None if a file names no environment."""
        if self._env is None and self._source is not None:
            self._set_env({})
        return self._env

    def renew_env(self) -> None:
        """Environments that have failed are made anew, and begin with new episodes."""
        self.walkers = self.position = None
        self.records.env_restarts += 1
        if isinstance(self._source, str) or _is_maker(self._source):
            end(self._env)
            try:
                self._set_env({})
            except Exception as error:
                name = self.env_id or "the function that makes it"
                reason = f"{type(error).__name__}: {error}"
                raise EnvError(f"env: {name} gave no new environment ({reason})") from error

    def check_spaces(self, env: Any) -> None:
        """Refuse an environment that this policy was not made for."""
        for mine, its in zip(
            (self.observation_space, self.action_space), spaces_of(env), strict=True
        ):
            if spaces.to_json(mine) != spaces.to_json(its):
                raise ValueError(f"env: it has {its}, the model was trained for {mine}")

    def _begin(self) -> None:
        # It goes on in folders that it began, or was loaded from: how far it knows each to be.
        self.folders = dict[Path, int]()
        self.walkers = self.position = None
        self.callbacks = []
        self.replay = None
        self._env: Any = None
        self.walker_arrays = {}
        self._drawn = 0

    def _set_env(self, settings: dict[str, Any]) -> None:
        env = make(self._source, self.config.num_envs, self.backend, self.max_steps)
        self.check_spaces(env)
        self._env = env
        config = self.config
        if isinstance(env, VectorEnv) and env.num_envs != config.num_envs:
            if "num_envs" in settings:
                raise ValueError(
                    f"num_envs: {settings['num_envs']}, but env has {env.num_envs}; leave it out"
                )
            steps = config.num_steps
            if "num_steps" not in settings and not config.complete_episodes:
                steps = max(1, config.num_envs * steps // env.num_envs)  # the same size of batch
            self.config = dataclasses.replace(config, num_envs=env.num_envs, num_steps=steps)
            self.position = None
            if self.replay is not None:
                if self.replay.added:
                    raise ValueError(
                        f"env: it is {env.num_envs} environments, and the file has transitions of "
                        f"{config.num_envs}; pass as many"
                    )
                self.replay = empty_replay(self.config, self.seed)
        elif not isinstance(env, VectorEnv):
            if settings.get("on_env_error") == "restart":
                raise ValueError(
                    "on_env_error: this environment runs on the device, where nothing can be made "
                    'anew; leave it out, or use backend="host"'
                )
            if hasattr(self, "_state"):
                self._continue_walkers(env)
        check_updates(self.config)

    def _continue_walkers(self, env: Any) -> None:
        """Environments on the device go on where the file has them, or begin."""
        key = jax.random.fold_in(jax.random.key(self.seed), self.num_timesteps % MOST_SEEDS)
        walkers = device.start(env, key, self.config.num_envs)
        if self.walker_arrays:
            try:
                walkers = checkpoint.restore(walkers, self.walker_arrays, ".walkers")
            except ValueError as error:
                raise ValueError(
                    f"{self.file}: its environments do not fit, or it is damaged ({error})"
                ) from error
        elif self.replay is not None:
            self.replay.break_off()
        self.state = self.state._replace(walkers=walkers)


compiled_init = jax.jit(algorithm.init, static_argnames="sizes")
compiled_best = jax.jit(best, static_argnames="sizes")
compiled_probabilities = jax.jit(probabilities, static_argnames="sizes")


def _is_maker(env: Any) -> bool:
    return callable(env) and (isinstance(env, type) or not hasattr(env, "step"))


def _check_order(env: Any) -> None:
    """Catch the order of Stable-Baselines3: a policy, then an environment."""
    if isinstance(env, str) and env.endswith("Policy") and env not in gymnasium.registry:
        raise ValueError(
            f"env: {env!r} is a policy of Stable-Baselines3; odrpo takes the environment first and "
            "chooses the policy by itself, as in ODRPO('CartPole-v1')"
        )


def spaces_of(env: Any) -> tuple[Any, Any]:
    """What one environment shows and takes, be it one of many or not."""
    if isinstance(env, VectorEnv):
        return env.single_observation_space, env.single_action_space
    return env.observation_space, env.action_space
