"""The folder of a run: what it was told, what it reports, the model, a picture."""

import csv
import json
import math
import time
from pathlib import Path
from typing import Any

from odrpo.callbacks import Callback, Row
from odrpo.records import Episode

SECONDS_BETWEEN_SAVES = 30.0


class RunFolder(Callback):
    """Writes config.json, progress.csv, episodes.csv, TensorBoard events, model.odrpo, curve.png.

    The model is saved every half minute, and at the end; a run that was killed goes on from there.
    """

    def __init__(self, folder: str | Path) -> None:
        """Nothing is written until training starts."""
        self.folder = Path(folder)

    def on_training_start(self) -> None:
        """Open the files; what was logged after the last save of the model is cut off."""
        from tensorboardX import SummaryWriter

        model = self.model
        self.progress = _Table(self.folder / "progress.csv", model.num_timesteps)
        self.episodes = _Table(self.folder / "episodes.csv", model.num_timesteps)
        self.logged = model.records.episode_count
        self.events = SummaryWriter(str(self.folder), purge_step=model.num_timesteps + 1)
        self.saved = time.monotonic()

    def before_training(self) -> None:
        """Write what is known before the first step, so that a run can be resumed from there."""
        model = self.model
        if model.num_timesteps == 0 and (self.folder / "progress.csv").exists():
            raise ValueError(
                f"run_dir: {self.folder} holds another run; go on with ODRPO.load of its "
                "model.odrpo, or use another folder"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        described = {"env": model.env_id, "max_steps": model.max_steps, "seed": model.seed}
        described |= {"backend": model.backend, "timesteps": model.target}
        text = json.dumps(described | {"config": model.config.to_json()}, indent=2)
        (self.folder / "config.json").write_text(text + "\n")
        model.save(self.folder / "model.odrpo")

    def on_update(self, row: Row) -> None:
        """Log it; of very many updates and episodes fewer and fewer, so that files stay small."""
        records = self.model.records
        if records.update_count % _stride(records.update_count, 10_000) == 0:
            self.progress.add(row)
            for name, value in row.items():
                if name != "timesteps" and math.isfinite(value):
                    self.events.add_scalar(name, value, int(row["timesteps"]))
        new = records.episode_count - self.logged
        for number, episode in enumerate(records.episodes[-new:] if new else [], self.logged + 1):
            if number % _stride(number, 100_000) == 0:
                self.episodes.add(episode._asdict())
        self.logged = records.episode_count
        if time.monotonic() - self.saved > SECONDS_BETWEEN_SAVES:
            self._save()

    def on_training_end(self) -> None:
        """Save the model and draw the curve."""
        from odrpo.curves import draw_curves, smoothed  # matplotlib is slow to import

        self._save()
        self.progress.close()
        self.episodes.close()
        self.events.close()
        episodes = read_episodes(self.folder / "episodes.csv")
        draw_curves({"": [smoothed(episodes)]}, self.folder / "curve.png", self.model.env_id or "")

    def _save(self) -> None:
        # The logs first: a model must never be ahead of them.
        self.progress.flush()
        self.episodes.flush()
        self.model.save(self.folder / "model.odrpo")
        self.saved = time.monotonic()


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


def _stride(number: int, dense: int) -> int:
    """1 up to `dense`, then 10, then 100 from ten times as many on, and so forth."""
    stride = 1
    while number > dense * stride:
        stride *= 10
    return stride


def _is_known(row: dict[str, Any], timesteps: int) -> bool:
    """Whether a row is whole, and not of a time after the model was saved."""
    return None not in row.values() and 0 < int(row["timesteps"]) <= timesteps
