"""The folder of a run: what it was told, what it reports, the model, a picture."""

import csv
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from odrpo.callbacks import Callback, Row
from odrpo.records import Episode, Records

SECONDS_BETWEEN_SAVES = 30.0
SHARE_OF_TIME = 0.02
"""Saving takes no more: the larger a model and what it has seen, the less often it is saved."""
DENSE_UPDATES, DENSE_EPISODES = 10_000, 100_000
"""So many are logged one by one."""


class RunFolder(Callback):
    """Writes config.json, progress.csv, episodes.csv, TensorBoard events, model.odrpo, curve.png.

    The model is saved every half minute, and at the end; a run that was killed goes on from there.
    """

    def __init__(self, folder: str | Path) -> None:
        """Nothing is written until training starts."""
        self.folder = Path(folder)
        self.is_open = False
        self.cost = 0.0

    def on_training_start(self) -> None:
        """Open the files; what was logged after the last save of the model is cut off."""
        from tensorboardX import SummaryWriter

        model = self.model
        self.progress = _Table(self.folder / "progress.csv", model.num_timesteps)
        self.episodes = _Table(self.folder / "episodes.csv", model.num_timesteps)
        self.logged_updates = model.records.update_count
        self.logged_episodes = model.records.episode_count
        self.events = SummaryWriter(str(self.folder), purge_step=model.num_timesteps + 1)
        self.saved = time.monotonic()
        self.is_open = True

    def before_training(self) -> None:
        """Write what is known before the first step, so that a run can be resumed from there."""
        model = self.model
        is_ours = model.from_file or self.folder.resolve() in model.folders
        if holds_run(self.folder) and not is_ours:
            raise ValueError(
                f"run_dir: {self.folder} holds another run; go on with ODRPO.load of its "
                "model.odrpo, or use another folder"
            )
        try:
            self._describe()
        except OSError as error:
            reason = error.strerror or error
            raise OSError(
                error.errno, f"run_dir: it can't be written ({reason})", str(self.folder)
            ) from error
        model.folders.add(self.folder.resolve())

    def _describe(self) -> None:
        model = self.model
        self.folder.mkdir(parents=True, exist_ok=True)
        described = {"env": model.env_id, "max_steps": model.max_steps, "seed": model.seed}
        described |= {"backend": model.backend, "timesteps": model.target}
        text = json.dumps(described | {"config": model.config.to_json()}, indent=2)
        (self.folder / "config.json").write_text(text + "\n")
        model.save(self.folder / "model.odrpo", replay=True)

    def on_update(self, row: Row) -> None:
        """Log it, and save the model where it is time to."""
        self._log()
        if time.monotonic() - self.saved > max(SECONDS_BETWEEN_SAVES, self.cost / SHARE_OF_TIME):
            self._save()

    def on_training_end(self) -> None:
        """Save the model and draw the curve."""
        if not self.is_open:
            return
        self._log()  # what was interrupted between an update and its row
        self._save()
        self.progress.close()
        self.episodes.close()
        self.events.close()
        self.is_open = False
        draw_runs([self.folder], self.folder / "curve.png", self.model.env_id or "")

    def _log(self) -> None:
        """Of very many updates and episodes fewer and fewer, so that files stay small."""
        records = self.model.records
        for episode in _last(records.episodes, records.episode_count - self.logged_episodes):
            if _is_logged(self.logged_episodes + 1, DENSE_EPISODES):
                self.episodes.add(episode._asdict())
            self.logged_episodes += 1
        for row in _last(records.updates, records.update_count - self.logged_updates):
            is_logged = _is_logged(self.logged_updates + 1, DENSE_UPDATES)
            if is_logged:
                self.progress.add(row)
            self.logged_updates += 1
            for name, value in row.items() if is_logged else ():
                if name != "timesteps" and math.isfinite(value):
                    self.events.add_scalar(name, value, int(row["timesteps"]))

    def _save(self) -> None:
        # The logs first: a model must never be ahead of them.
        self.progress.flush()
        self.episodes.flush()
        began = time.monotonic()
        self.model.save(self.folder / "model.odrpo", replay=True)
        self.saved = time.monotonic()
        self.cost = self.saved - began


def holds_run(folder: Path) -> bool:
    """Whether there is something in a folder that a new run would destroy."""
    return any((folder / name).exists() for name in ("model.odrpo", "progress.csv"))


def draw_runs(folders: Sequence[Path], path: Path, title: str) -> None:
    """Draw the learning curve of a run, or of several seeds; none where no episode has ended."""
    from odrpo.curves import draw_curves, smoothed  # matplotlib is slow to import

    curves = [smoothed(read_episodes(folder / "episodes.csv")) for folder in folders]
    if any(len(timesteps) for timesteps, _ in curves):
        draw_curves({"": curves}, path, title)


def last_tenth(folder: Path, count: int) -> float:
    """The mean return of the last tenth of all `count` episodes of a run, from its folder."""
    episodes = read_episodes(folder / "episodes.csv")
    first = count - max(1, count // 10) + 1
    number, kept = 0, []
    for episode in episodes:
        number += _stride(number + 1, DENSE_EPISODES)
        if number >= first:
            kept.append(episode.episode_return)
    return sum(kept) / len(kept) if kept else math.nan


def read_records_of(folder: Path) -> Records:
    """What a run has recorded, from its folder."""
    with (folder / "progress.csv").open(newline="") as file:
        updates = [
            {name: float(value) for name, value in row.items()} for row in csv.DictReader(file)
        ]
    return Records(updates=updates, episodes=read_episodes(folder / "episodes.csv"))


def read_episodes(path: Path) -> list[Episode]:
    """The episodes of a run, from its folder."""
    with path.open(newline="") as file:
        return [
            Episode(int(row["timesteps"]), float(row["episode_return"]), int(row["length"]))
            for row in csv.DictReader(file)
        ]


class _Table:
    """A .csv file that grows row by row."""

    def __init__(self, path: Path, timesteps: int) -> None:
        """Keep the rows up to `timesteps`, which the model knows of."""
        kept: list[dict[str, Any]] = []
        if path.exists():
            with path.open(newline="") as file:
                kept = [row for row in csv.DictReader(file) if _is_known(row, timesteps)]
        # Never a moment without what is known: a new file takes the place of the old one.
        partial = path.with_suffix(".partial")
        self.file = partial.open("w", newline="")
        self.writer: csv.DictWriter | None = None
        for row in kept:
            self.add(row)
        self.file.flush()
        partial.replace(path)

    def add(self, row: dict[str, Any]) -> None:
        if self.writer is None:
            self.writer = csv.DictWriter(self.file, list(row))
            self.writer.writeheader()
        self.writer.writerow(row)

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        self.file.close()


def _last(items: list[Any], count: int) -> list[Any]:
    return items[len(items) - count :] if count <= len(items) else items


def _is_logged(number: int, dense: int) -> bool:
    return number % _stride(number, dense) == 0


def _stride(number: int, dense: int) -> int:
    """1 up to `dense`, then 10, then 100 from ten times as many on, and so forth."""
    stride = 1
    while number > dense * stride:
        stride *= 10
    return stride


def _is_known(row: dict[str, Any], timesteps: int) -> bool:
    """Whether a row is whole, and not of a time after the model was saved."""
    return None not in row.values() and 0 < int(row["timesteps"]) <= timesteps
