"""Run one task for several seeds, at once where it runs on the device."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from odrpo.callbacks import Callback, Row
from odrpo.evaluation import evaluate
from odrpo.experiments.learning_records import Record, Seed, provenance, thinned
from odrpo.model import ODRPO
from odrpo.presets import TASKS, Task, of_metric
from odrpo.records import Records
from odrpo.run_folder import read_records_of
from odrpo.training import train


class StopAfterEpisodes(Callback):
    """Stop once so many episodes are over."""

    def __init__(self, episodes: int) -> None:
        """Set their number."""
        self.episodes = episodes

    def on_update(self, row: Row) -> bool | None:
        """Count."""
        return row["episodes"] < self.episodes


def run_task(
    env: str,
    metric: str,
    seeds: Sequence[int],
    kind: str = "tuned",
    timesteps: int | None = None,
    episodes: int | None = None,
    evaluation_episodes: int = 100,
    progress_bar: bool | None = None,
    folder: Path | None = None,
    **settings: Any,
) -> tuple[Record, list[ODRPO]]:
    """Train all seeds within a budget and record how they fared.

    Args:
        env: The id of an environment.
        metric: "kl", "wasserstein" or "sinkhorn".
        seeds: Which ones.
        kind: "tuned", "model-free", "paper" or "default".
        timesteps: The budget; None: that of the preset.
        episodes: A budget that counts episodes; None: that of the preset, where it is one.
        evaluation_episodes: How many the final greedy policy plays.
        progress_bar: Whether to show one; None: on a terminal.
        folder: Where each seed keeps a run; one that was stopped goes on from there.
        settings: Any field of odrpo.Config by its name.
    """
    task = TASKS.get(env)
    if task is not None and timesteps is None:
        timesteps, episodes = task.timesteps, task.episodes
    if timesteps is None:
        raise ValueError(f"timesteps: {env} has no preset with a budget; say how many")
    if kind == "model-free":
        if task is None or not task.model_free:
            raise ValueError(f"kind: there are no model-free settings for {env}")
        settings = of_metric(task.model_free, metric) | settings
    preset: Any = "tuned" if kind == "model-free" else kind
    models = [ODRPO(env, metric, preset=preset, seed=seed, **settings) for seed in seeds]
    callback = None if episodes is None else StopAfterEpisodes(episodes)
    records = []
    if folder is None:
        train(models, timesteps, callback, progress_bar)
        records = [model.records for model in models]
        seconds = max(played.seconds for played in records)  # on the device all run at once
    else:
        for k, model in enumerate(models):
            run = folder / f"{env}-{kind}-{metric}-{model.seed}"
            models[k] = _train_in(run, model, timesteps, callback, progress_bar)
            # A model that was stopped does not remember what it had played.
            records.append(read_records_of(run))
        seconds = sum(model.records.seconds for model in models)
    fared = [
        _fared(model, played, task, timesteps, episodes, evaluation_episodes)
        for model, played in zip(models, records, strict=True)
    ]
    first = models[0]
    record = Record(
        env=env,
        metric=metric,
        kind=kind,
        timesteps=timesteps,
        episodes=episodes,
        max_steps=first.max_steps,
        config=first.config.to_json(),
        seeds=fared,
        wall_clock=round(seconds, 1),
        **provenance(),
    )
    return record, models


def _train_in(
    run: Path,
    model: ODRPO,
    timesteps: int,
    callback: Callback | None,
    progress_bar: bool | None,
) -> ODRPO:
    """Train it in a folder, or go on with the run that is there."""
    file = run / "model.odrpo"
    begun = file.exists()
    if begun:
        asked, model = model, ODRPO.load(file)
        if model.config.to_json() != asked.config.to_json() or model.target > timesteps:
            raise ValueError(f"{run}: it holds a run with other settings; remove it to run anew")
        timesteps -= model.target
    train([model], timesteps, callback, progress_bar, run, unfinished=begun)
    return model


def _fared(
    model: ODRPO,
    records: Records,
    task: Task | None,
    timesteps: int,
    episodes: int | None,
    evaluated: int,
) -> Seed:
    within = [e for e in records.episodes[:episodes] if e.timesteps <= timesteps or episodes]
    threshold = task.threshold if task is not None else None
    optimum = task.optimum if task is not None else None
    returns = evaluate(model, model.env, evaluated)
    return Seed(
        seed=model.seed,
        final_return=records.final_return(episodes, None if episodes else timesteps),
        greedy_return=float(returns.mean()),
        success=_delivered(returns) if model.env_id == "Taxi-v4" else None,
        reached=None if threshold is None else _or_none(records.reached(threshold)),
        optimum_reached=(
            None if optimum is None else _or_none(records.reached(optimum - 0.01 * abs(optimum)))
        ),
        largest_gap=model.records.largest_gap,
        largest_use=model.records.largest_use,
        curve=thinned(within),
    )


def _delivered(returns: np.ndarray) -> float:
    """A passenger of Taxi who is not delivered has cost 200 steps, of at least one each."""
    return float((returns > -200).mean())


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None
