"""One run of ours: train in a folder, or go on with what is there, then evaluate."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from odrpo.callbacks import Callback, Row
from odrpo.checkpoints import checkpoints_in
from odrpo.experiments.evaluation import play
from odrpo.experiments.record import CERTIFICATE, CLOCK, Record, columns, surroundings, thinned
from odrpo.experiments.runs import OURS, Run
from odrpo.experiments.status import Status
from odrpo.experiments.variants import variant_of
from odrpo.model import ODRPO
from odrpo.run_logs import read_records_of
from odrpo.training import train


class ShowStatus(Callback):
    """Tells those who watch how far a run is."""

    def __init__(self, status: Status) -> None:
        """Where to."""
        self.status = status

    def on_update(self, row: Row) -> None:
        """Every now and then."""
        self.status.tell(int(row["timesteps"]), self.model.records.recent)


def run_ours(run: Run, folder: Path, stop: Callable[[], bool]) -> Record | None:
    """Train and evaluate; None: it was stopped, and goes on from there another time."""
    around = surroundings()
    model = _begun(run, folder)
    if model.num_timesteps < run.timesteps:
        status = ShowStatus(Status(folder))
        begun = model.target > 0
        train([model], run.timesteps - model.target, status, False, folder, begun, stop)
    if model.num_timesteps < run.timesteps:
        return None
    model.save(folder / "model.odrpo")  # without what it has seen, which may be large
    # A model that was stopped does not remember what it had played.
    records = read_records_of(folder)
    within = [episode for episode in records.episodes if episode.timesteps <= run.timesteps]
    return Record(
        **run.identity(),
        **around,
        taken=model.num_timesteps,
        config=json.loads(json.dumps(model.config.to_json())),
        seconds=round(model.records.seconds, 1),
        played=columns(within),
        updates=thinned(records.updates, CERTIFICATE),
        clock=thinned(records.updates, CLOCK),
        largest_gap=model.records.largest_gap,
        largest_use=model.records.largest_use,
        refused=model.records.refused,
        evaluation=play(model, run.env, model.max_steps),
    )


def model_of(run: Run) -> ODRPO:
    """A new model with the settings of the run."""
    variant, metric = variant_of(run.variant), OURS[run.method]
    preset: Any = variant.preset
    settings = variant.changes(run.env, metric)
    return ODRPO(run.env, metric, preset=preset, seed=run.seed, **settings)


def _begun(run: Run, folder: Path) -> ODRPO:
    """The model of the run, new or as far as it got."""
    file, model = folder / "model.odrpo", model_of(run)
    if not (file.exists() or checkpoints_in(folder)):
        return model
    if not (checkpoints_in(folder) or (folder / "progress.csv").exists()):
        file.unlink()  # its record was written, and is gone
        return model
    begun = ODRPO.load(folder)
    if begun.config.to_json() != model.config.to_json() or begun.target > run.timesteps:
        raise ValueError(f"{folder}: it holds a run with other settings; remove it to run anew")
    return begun
