"""`odrpo train` and `odrpo resume`: a run from its beginning, or from where it stopped."""

import dataclasses
import time
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from odrpo.arguments import whole
from odrpo.cli.options import MetricName, optional
from odrpo.config import HINTS, Config
from odrpo.config_checks import checked
from odrpo.evaluation import evaluate
from odrpo.model import ODRPO
from odrpo.presets import TASKS, PresetName, settings_of_task
from odrpo.run_folder import draw_runs, folders_of, holds_run
from odrpo.run_logs import last_tenth
from odrpo.signals import StopRequest
from odrpo.training import train


def _flag(name: str) -> tuple[str, Any, Any]:
    """A setting as an option: not given, it is left to the preset."""
    kind, config_field = HINTS[name], Config.__dataclass_fields__[name]
    words = "|".join(get_args(kind)) if get_origin(kind) is Literal else "NUMBER"
    metavar = "True|False" if kind is bool else words
    if name == "hidden":
        metavar = "NUMBER NUMBER ..."
    meaning = config_field.metadata["help"]
    # Python 3.11 has no way to write this union of a computed type but with |.
    return name, Annotated[kind | None, optional(metavar, meaning)], None


Settings = dataclasses.make_dataclass(
    "Settings", [_flag(name) for name in HINTS if name != "metric"], frozen=True
)
Settings.__doc__ = "settings of the algorithm; what is not given is left to the preset"


def train_policy(
    env: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ENV")],
    settings: Annotated[Settings, tyro.conf.arg(name="")],  # type: ignore[valid-type]
    metric: MetricName = "kl",
    timesteps: Annotated[int | None, optional("NUMBER")] = None,
    seed: int = 0,
    seeds: int = 1,
    run_dir: Annotated[Path | None, optional("DIR")] = None,
    preset: PresetName = "tuned",
    backend: Literal["auto", "device", "host"] = "auto",
    max_steps: Annotated[int | None, optional("NUMBER")] = None,
    episodes: int = 100,
    checkpoint_seconds: float = 30.0,
    checkpoint_timesteps: Annotated[int | None, optional("NUMBER")] = None,
) -> None:
    """Train a policy, and leave model, logs and learning curve in a folder.

    ENV is the id of a Gymnasium environment with Discrete or Box actions; module:ENV imports a
    module first, which registers one of your own. CartPole, Acrobot and all with a table of
    transitions (Taxi, CliffWalking, FrozenLake, NChain) run on the device.

    Example: odrpo train CartPole-v1 --metric wasserstein --seeds 5 --run-dir runs/cartpole

    Args:
        env: The environment.
        settings: Settings of the algorithm.
        metric: The trust region.
        timesteps: How long; else the budget of the environment's preset, or the horizon. It is the
            horizon too, where neither --horizon nor a preset of the environment says one.
        seed: The first seed.
        seeds: How many seeds to train, from the first one on; on the device in one program.
        run_dir: Where to; else a new folder in runs/.
        preset: tuned is ours, or the default where there is none; paper is the paper's.
        backend: Where the environment runs.
        max_steps: A step limit for its episodes.
        episodes: How many to evaluate the final policy on.
        checkpoint_seconds: How often the run is saved; less often where saving would take more than
            a hundredth of the time.
        checkpoint_timesteps: Save it after so many timesteps too.
    """
    whole("seeds", seeds, 1)
    whole("episodes", episodes, 1)
    if timesteps is not None:
        whole("timesteps", timesteps)
    given = {k: v for k, v in dataclasses.asdict(settings).items() if v is not None}
    options = {"preset": preset, "backend": backend, "max_steps": max_steps, **given}
    models = [ODRPO(env, metric, seed=seed + k, **options) for k in range(seeds)]
    if timesteps is None:
        timesteps = TASKS[env].timesteps if env in TASKS else models[0].config.horizon
    own = settings_of_task(env, metric, models[0].sizes, preset, given.get("critic")) or {}
    if timesteps and "horizon" not in given | own:
        horizon = checked("horizon", timesteps, int)
        for model in models:
            model.config = dataclasses.replace(model.config, horizon=horizon)
    folder = run_dir or _new_folder(env, metric)
    if any(holds_run(place) for place in (folder, *folder.glob("seed_*"))):
        raise ValueError(
            f"run-dir: {folder} holds a run; go on with `odrpo resume {folder}`, or use another"
        )
    _train(models, timesteps, folder, episodes, (checkpoint_seconds, checkpoint_timesteps))


def resume_run(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")],
    timesteps: Annotated[int | None, optional("NUMBER")] = None,
    episodes: int = 100,
    checkpoint_seconds: float = 30.0,
    checkpoint_timesteps: Annotated[int | None, optional("NUMBER")] = None,
) -> None:
    """Go on with a run that was stopped or killed, or train a finished one for longer.

    Example: odrpo resume runs/cartpole --timesteps 50000

    Args:
        folder: The folder that `odrpo train` left.
        timesteps: How many more than the run was to have, be it finished or not; else it goes on to
            its end.
        episodes: How many to evaluate the final policy on.
        checkpoint_seconds: As for `odrpo train`.
        checkpoint_timesteps: As for `odrpo train`.
    """
    whole("episodes", episodes, 1)
    if timesteps is not None:
        whole("timesteps", timesteps)
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder")
    places = folders_of(folder)
    models = [ODRPO.load(place) for place in places]
    if timesteps is None and all(model.num_timesteps >= model.target for model in models):
        raise ValueError(
            f"{folder}: the run is finished at {models[0].num_timesteps} timesteps; "
            "say how many more with --timesteps"
        )
    where = places[0] if len(places) == 1 else folder
    often = checkpoint_seconds, checkpoint_timesteps
    _train(models, timesteps or 0, where, episodes, often, unfinished=True)


def _train(
    models: list[ODRPO],
    timesteps: int,
    folder: Path,
    episodes: int,
    often: tuple[float, int | None],
    unfinished: bool = False,
) -> None:
    console = Console()
    before = sum(model.num_timesteps for model in models)
    began = time.perf_counter()
    with StopRequest() as stop:
        train(models, timesteps, None, True, folder, unfinished, stop, *often)
    if stop():
        left = any(model.num_timesteps < model.target for model in models)
        how = "` goes on" if left else " --timesteps NUMBER` trains for longer"
        console.print(f"stopped at {_steps(models)}; `odrpo resume {escape(str(folder))}{how}")
        raise SystemExit(stop.exit_code)
    folders = [folder / f"seed_{model.seed}" for model in models] if len(models) > 1 else [folder]
    if len(models) > 1:
        draw_runs(folders, folder / "curve.png", f"{models[0].env_id}, {len(models)} seeds")
    seconds = time.perf_counter() - began
    if sum(model.num_timesteps for model in models) == before:
        console.print(f"nothing was left to do: the run has {_steps(models)} that were asked for")
    console.print(f"playing {episodes} episodes with the greedy policy of each seed ...")
    rate = (sum(model.num_timesteps for model in models) - before) / seconds
    console.print(_summary(models, folders, episodes, seconds, rate))
    console.print(f"wrote {escape(str(folder))}")


def _summary(
    models: list[ODRPO], folders: list[Path], episodes: int, seconds: float, rate: float
) -> Table:
    first = models[0]
    name = type(first.config.metric).__name__
    table = Table(
        title=f"{first.env_id}, {name}: {first.num_timesteps:,} steps a seed",
        caption=f"{seconds:.1f} s, {rate:,.0f} steps/s, compilation included; gaps are "
        "relative to 1 + the gain; certificates are in progress.csv",
        min_width=72,
    )
    for column in ("seed", "episodes", "last tenth", f"{episodes} greedy episodes", "largest gap"):
        table.add_column(column, justify="right")
    for model, folder in zip(models, folders, strict=True):
        env = first.env if model.env is None else model.env
        returns = evaluate(model, env, episodes)
        table.add_row(
            str(model.seed),
            str(model.records.episode_count),
            f"{last_tenth(folder, model.records.episode_count):.2f}",
            f"{returns.mean():.2f} +- {returns.std():.2f}",
            f"{model.records.largest_gap:.1e}" if model.records.update_count else "-",
        )
    return table


def _steps(models: list[ODRPO]) -> str:
    """How far all of them are."""
    done, wanted = (
        sum(n) for n in zip(*((m.num_timesteps, m.target) for m in models), strict=True)
    )
    return f"{done:,} of {wanted:,} steps"


def _new_folder(env: str, metric: str) -> Path:
    name = f"{env.replace('/', '-')}-{metric}-{time.strftime('%Y%m%d-%H%M%S')}"
    return Path("runs") / name
