"""`odrpo evaluate`: how good a saved policy is, in numbers or to look at."""

import os
from pathlib import Path
from typing import Annotated

import gymnasium
import numpy as np
import tyro
from rich.console import Console
from rich.markup import escape

from odrpo.cli.options import optional
from odrpo.evaluation import MOST_STEPS, evaluate
from odrpo.model import ODRPO

FRAMES_A_SECOND = 30
MOST_FRAMES = 1000


def evaluate_model(
    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")],
    env: Annotated[str | None, optional("ENV")] = None,
    episodes: int = 100,
    seed: int = 0,
    stochastic: bool = False,
    max_steps: Annotated[int | None, optional("NUMBER")] = None,
    render: bool = False,
    video: Annotated[Path | None, optional("FILE")] = None,
) -> None:
    """Play episodes with a saved policy and report their returns.

    Example: odrpo evaluate runs/cartpole/model.odrpo --episodes 1000 --video cartpole.gif

    Args:
        file: A model.odrpo, or the folder of a run.
        env: The environment; else the one it was trained in.
        episodes: How many.
        seed: The same seed gives the same episodes.
        stochastic: Draw actions from the policy instead of taking the most probable one (of
            continuous actions the median).
        max_steps: An episode that does not end by itself is left after so many steps.
        render: Show one more episode in a window.
        video: Write one more episode into this .gif file; not together with --render.
    """
    if video is not None and video.suffix != ".gif":
        raise ValueError(f"video: {video}; use a name that ends in .gif")
    if video is not None and render:
        raise ValueError("video: an episode is shown or written, not both; leave out --render")
    model = ODRPO.load(_model_file(file))
    name = env or model.env_id
    if name is None:
        raise ValueError("env: the model file names none; say which with --env")
    played = name if env or model.env is None else model.env
    returns = evaluate(model, played, episodes, seed, not stochastic, max_steps)
    console = Console()
    low, middle, high = np.quantile(returns, [0, 0.5, 1])
    console.print(
        f"{escape(name)}: mean {returns.mean():.2f} +- {returns.std():.2f} over {episodes} "
        f"episodes (least {low:g}, median {middle:g}, greatest {high:g})"
    )
    if render or video is not None:
        limit = MOST_FRAMES if max_steps is None else max_steps
        mode = "human" if render else "rgb_array"
        try:
            frames = _play(model, name, seed, not stochastic, mode, limit)
        except Exception as error:  # it has been played without being drawn
            reason = f"{type(error).__name__}: {error}"
            raise ValueError(f"env: {name} can't draw itself ({reason})") from error
        if video is not None:
            _write_gif(video, frames)
            console.print(f"wrote {escape(str(video))}")


def _model_file(path: Path) -> Path:
    """The model in the folder of a run; of several seeds one has to be chosen."""
    if not path.is_dir():
        return path
    seeds = sorted(path.glob("seed_*/model.odrpo"))
    if seeds and not (path / "model.odrpo").exists():
        raise ValueError(f"{path}: it holds several seeds; choose one, such as {seeds[0].parent}")
    return path / "model.odrpo"


def _play(
    model: ODRPO, name: str, seed: int, deterministic: bool, mode: str, limit: int
) -> list[np.ndarray]:
    """One episode in an environment that draws itself; its frames."""
    if mode != "human":  # SDL need not look for a window, and complain where there is none
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    env = gymnasium.make(name, render_mode=mode, max_episode_steps=model.max_steps)
    observation, info = env.reset(seed=seed)
    frames = []
    for _ in range(min(limit, MOST_STEPS)):
        frames.append(env.render())
        action, _ = model.predict(
            observation, deterministic=deterministic, action_masks=info.get("action_mask")
        )
        observation, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    frames.append(env.render())
    env.close()
    if mode != "human" and any(frame is None for frame in frames):
        raise ValueError("it renders nothing")
    return [np.asarray(frame) for frame in frames if frame is not None]


def _write_gif(path: Path, frames: list[np.ndarray]) -> None:
    from PIL import Image  # matplotlib brings it

    images = [Image.fromarray(frame) for frame in frames]
    path.parent.mkdir(parents=True, exist_ok=True)
    duration = 1000 // FRAMES_A_SECOND
    images[0].save(path, save_all=True, append_images=images[1:], duration=duration, loop=0)
