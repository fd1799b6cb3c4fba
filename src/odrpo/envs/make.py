"""From what a user calls an environment to what can be rolled out."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from odrpo.arguments import whole
from odrpo.envs.classic import Acrobot, CartPole
from odrpo.envs.env import Env
from odrpo.envs.finite import FiniteMDP, more_than_table
from odrpo.envs.replayable import Replayable
from odrpo.envs.spaces import check_actions, feature_count

Backend = Literal["auto", "device", "host"]
ON_DEVICE: dict[str, Callable[..., Env]] = {"CartPole-v1": CartPole, "Acrobot-v1": Acrobot}


def make(
    env: Any, num_envs: int, backend: Backend = "auto", max_steps: int | None = None
) -> Env | VectorEnv:
    """An environment on the device, or `num_envs` of Gymnasium's side by side.

    Args:
        env: An id, a Gymnasium env or vector env, a FiniteMDP, or a function that makes one. Ids
            of CartPole, Acrobot and all that have a table `P` run on the device.
        num_envs: How many Gymnasium environments; a vector env or a single one has its own number.
        backend: "device" or "host" where that is to be decided.
        max_steps: A step limit, for an environment of Gymnasium's given by id, itself or function.
    """
    if backend not in get_args(Backend):
        choices = ", ".join(f'"{choice}"' for choice in get_args(Backend))
        raise ValueError(f"backend: {backend!r}; use one of {choices}")
    if max_steps is not None:
        max_steps = whole("max_steps", max_steps, 1)
    given = env
    if isinstance(env, str):
        found = None if backend == "host" else _device_version(env, max_steps)
        if found is None:
            return make(lambda: made(env, max_steps), num_envs, backend)
        env = found
    elif callable(env) and (isinstance(env, type) or not hasattr(env, "step")):
        first = env()
        if isinstance(first, gymnasium.Env):
            makers = [lambda: first, *[_another(env, first)] * (num_envs - 1)]
            return make(_side_by_side([_limited(m, max_steps) for m in makers]), num_envs, backend)
        env = first
    elif isinstance(env, gymnasium.Env):
        return make(_side_by_side([_limited(lambda: env, max_steps)]), num_envs, backend)
    if max_steps is not None and not isinstance(given, str):
        raise ValueError(f"max_steps: {max_steps}; give {type(env).__name__} its limit itself")
    if not all(hasattr(env, part) for part in ("step", "reset", "observation_space")):
        raise ValueError(
            f"env: {env!r} is no environment; use an id, a Gymnasium env or vector env, "
            "an odrpo.FiniteMDP, or a function that makes one"
        )
    hosted = isinstance(env, VectorEnv)
    if hosted and backend == "device":
        raise ValueError(
            "env: it runs on the host only; leave backend at 'auto', or use an odrpo.FiniteMDP"
        )
    if backend == "host" and not hosted:
        raise ValueError(f"env: {env!r} runs on the device only; leave backend at 'auto'")
    check_actions(env.single_action_space if hosted else env.action_space)
    feature_count(env.single_observation_space if hosted else env.observation_space)
    return env


def _device_version(name: str, max_steps: int | None) -> Env | None:
    """The same environment on the device, if there is one."""
    if name in ON_DEVICE:
        return ON_DEVICE[name]() if max_steps is None else ON_DEVICE[name](max_steps)
    spec = gymnasium.registry.get(name)
    if spec is None or not _is_table(spec):
        return None
    return FiniteMDP.from_gymnasium(name, max_steps=max_steps)


def _is_table(spec: Any) -> bool:
    try:
        env = gymnasium.make(spec)
    except Exception:  # whatever it lacks, making it for the host will say so
        return False
    has_table = hasattr(env.unwrapped, "P") and hasattr(env.unwrapped, "initial_state_distrib")
    return has_table and more_than_table(env) is None


def made(name: str, max_steps: int | None) -> gymnasium.Env:
    """One of Gymnasium's by its id; what it needs and is not there is said in one line."""
    try:
        return gymnasium.make(name, max_episode_steps=max_steps)
    except (gymnasium.error.Error, ImportError) as error:
        spec = gymnasium.registry.get(name)
        missing = isinstance(error, ModuleNotFoundError | gymnasium.error.DependencyNotInstalled)
        for extra in ("box2d", "mujoco") if missing else ():
            if spec is not None and extra in str(spec.entry_point):
                # Gymnasium asks for packages one by one, and by other names.
                raise ValueError(
                    f"env: {name} needs packages that are not installed; pip install "
                    f"'odrpo[{extra}]', in a clone pip install '.[{extra}]'"
                ) from error
        raise ValueError(f"env: {error}") from error


def _another(maker: Callable[[], Any], first: gymnasium.Env) -> Callable[[], gymnasium.Env]:
    def make_one() -> gymnasium.Env:
        env = maker()
        if env is first:
            raise ValueError("env: the function returns the same environment again; make a new one")
        return env

    return make_one


def _limited(
    maker: Callable[[], gymnasium.Env], max_steps: int | None
) -> Callable[[], gymnasium.Env]:
    if max_steps is None:
        return maker
    return lambda: gymnasium.wrappers.TimeLimit(maker(), max_steps)


def _side_by_side(makers: list[Callable[[], gymnasium.Env]]) -> SyncVectorEnv:
    numbered = [_replayable(maker, place) for place, maker in enumerate(makers)]
    # The last observation of an episode comes with the step that ends it: no step is lost.
    return SyncVectorEnv(numbered, autoreset_mode=AutoresetMode.SAME_STEP)


def _replayable(maker: Callable[[], gymnasium.Env], place: int) -> Callable[[], gymnasium.Env]:
    return lambda: Replayable(maker(), place)
