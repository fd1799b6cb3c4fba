"""Film strips: moments of an episode, side by side."""

import os
import sys
from typing import Any

import gymnasium
import numpy as np
from PIL import Image

from odrpo.model import ODRPO
from odrpo.report.picture import Picture, name_of, small_png

FRAMES, WIDTH = 8, 220
"""How many frames, and how wide each is, in pixels."""
RUNNERS = ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5", "Swimmer-v5")
"""Of these a few steps in a row are shown: the gait."""
MOST_STEPS = 1000


def film_strip(model: ODRPO) -> Picture:
    """Moments of one greedy episode."""
    name = model.env_id
    if sys.platform == "linux" and "DISPLAY" not in os.environ:
        # Else MuJoCo and SDL would look for a window, and complain.
        os.environ.setdefault("MUJOCO_GL", "egl")
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    follow: dict[str, Any] = {"camera_name": "track"} if name in RUNNERS else {}
    try:
        env = gymnasium.make(name or "", render_mode="rgb_array", **follow)
        actions, total = _played(model, env)
        frames = _filmed(env, actions, _moments(len(actions), name in RUNNERS))
        env.close()
    except Exception as error:  # no OpenGL, no pygame, nothing to render with
        raise ValueError(f"{name} can't draw itself ({type(error).__name__}: {error})") from error
    height = round(WIDTH * frames[0].shape[0] / frames[0].shape[1])
    strip = Image.new("RGB", (WIDTH * FRAMES // 2, 2 * height))
    for k, frame in enumerate(frames):
        place = (k % (FRAMES // 2) * WIDTH, k // (FRAMES // 2) * height)
        strip.paste(Image.fromarray(frame).resize((WIDTH, height)), place)
    caption = f"One greedy episode of {len(actions)} steps, return {total:.1f}."
    return Picture(name_of(model), caption, small_png(strip))


def _moments(length: int, in_a_row: bool) -> list[int]:
    """Which of an episode's observations are shown, from its first to its last."""
    if in_a_row and length > 2 * FRAMES:
        return list(range(length // 2, length // 2 + FRAMES))
    return [round(k * length / (FRAMES - 1)) for k in range(FRAMES)]


def _played(model: ODRPO, env: gymnasium.Env) -> tuple[list[Any], float]:
    """The actions of an episode, and its return."""
    observation, _ = env.reset(seed=10_000)
    actions: list[Any] = []
    total, over = 0.0, False
    while not over and len(actions) < MOST_STEPS:
        action, _ = model.predict(observation, deterministic=True)
        observation, reward, terminated, truncated, _ = env.step(action)
        actions.append(action)
        total += float(reward)
        over = terminated or truncated
    return actions, total


def _filmed(env: gymnasium.Env, actions: list[Any], moments: list[int]) -> list[np.ndarray]:
    """The episode once more, rendered at these moments alone: rendering takes long."""
    env.reset(seed=10_000)
    frames: dict[int, np.ndarray] = {}
    for step in range(max(moments) + 1):
        if step in moments:
            frames[step] = np.asarray(env.render())
        if step < len(actions):
            env.step(actions[step])
    return [frames[step] for step in moments]
