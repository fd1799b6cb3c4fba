"""What Stable-Baselines3 does where ours is put to the test: prints one line of JSON."""

import base64
import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

UPDATES, BATCH = 5, 128


def ppo() -> PPO:
    """A small one."""
    envs = make_vec_env("CartPole-v1", 2, seed=0)
    return PPO("MlpPolicy", envs, n_steps=64, seed=0, device="cpu")


def parameters(model: PPO) -> bytes:
    """All of the policy."""
    return b"".join(x.detach().numpy().tobytes() for x in model.policy.state_dict().values())


def resumed(folder: Path) -> bool:
    """Whether a run that is saved and loaded half-way ends as one that is not."""
    never = ppo().learn(2 * UPDATES * BATCH)
    ppo().learn(UPDATES * BATCH).save(folder / "half")
    again = PPO.load(folder / "half", env=make_vec_env("CartPole-v1", 2, seed=0), device="cpu")
    again.learn(UPDATES * BATCH, reset_num_timesteps=False)
    return parameters(again) == parameters(never)


class Hostile:
    """Runs something where it is unpickled: here it only leaves a file."""

    def __init__(self, path: Path) -> None:
        """Which one."""
        self.path = path

    def __reduce__(self) -> tuple:
        """What is called."""
        return Path.touch, (self.path,)


def code_runs(folder: Path) -> bool:
    """Whether loading a file that somebody has made runs code from it."""
    ppo().save(folder / "model")
    with zipfile.ZipFile(folder / "model.zip") as file:
        parts = {name: file.read(name) for name in file.namelist()}
    data = json.loads(parts["data"])
    text = base64.b64encode(cloudpickle.dumps(Hostile(folder / "hurt"))).decode()
    data["policy_class"] = {":type:": "a class", ":serialized:": text}
    parts["data"] = json.dumps(data).encode()
    with zipfile.ZipFile(folder / "hostile.zip", "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    try:
        PPO.load(folder / "hostile", device="cpu")
    except Exception as error:
        print(f"hostile file: {error!r}", file=sys.stderr)
    return (folder / "hurt").exists()


def survives(folder: Path) -> bool:
    """Whether the last good file is there after a process was killed while it saved again."""
    model = ppo()
    model.save(folder / "last")
    write, count = zipfile.ZipFile.writestr, [0]

    def killed(*arguments: Any, **options: Any) -> None:
        count[0] += 1
        if count[0] > 2:
            os._exit(1)
        write(*arguments, **options)

    child = os.fork()
    if child == 0:
        setattr(zipfile.ZipFile, "writestr", killed)  # noqa: B010
        model.save(folder / "last")
        os._exit(0)
    os.waitpid(child, 0)
    try:
        PPO.load(folder / "last", device="cpu")
    except Exception as error:
        print(f"torn file: {error!r}", file=sys.stderr)
        return False
    return True


class Spoiled(gymnasium.Wrapper):
    """Pays what is no number, once in a while."""

    def step(self, action: Any) -> tuple:
        """Now and then."""
        seen, reward, terminated, truncated, info = self.env.step(action)
        spoiled = self.np_random.random() < 0.02
        return seen, float("nan") if spoiled else reward, terminated, truncated, info


def noticed() -> bool:
    """Whether a reward of NaN is told before it is in the policy."""
    env = Spoiled(gymnasium.make("CartPole-v1"))
    model = PPO("MlpPolicy", env, n_steps=64, seed=0, device="cpu")
    try:
        model.learn(5 * 64)
    except Exception as error:
        print(f"NaN reward: {error!r}"[:200], file=sys.stderr)
    return bool(np.isfinite(np.frombuffer(parameters(model), np.float32)).all())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        found = {
            "resumed": resumed(home),
            "harmless": not code_runs(home),
            "survives": survives(home),
            "finite": noticed(),
        }
    print(json.dumps(found))
