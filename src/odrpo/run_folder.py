"""The folder of a run: what it was told, what it reports, its checkpoints, a picture."""

import json
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from odrpo.callbacks import Callback, Row
from odrpo.checkpoints import MODEL, Checkpoints, checkpoints_in, newest_timesteps
from odrpo.files import fresh, put
from odrpo.run_logs import DENSE_EPISODES, DENSE_UPDATES, Events, Log, is_logged, read_episodes

SHARE_OF_TIME = 0.01
"""Saving takes no more: the larger a model, the less often it is saved."""
SECONDS_BETWEEN_LOGS = 1.0


class RunFolder(Callback):
    """Writes config.json, progress.csv, episodes.csv, TensorBoard events, checkpoints, curve.png.

    A run that was killed goes on from its last checkpoint as if nothing had happened. One process
    at a time has the folder.
    """

    def __init__(
        self, folder: str | Path, seconds: float = 30.0, timesteps: int | None = None
    ) -> None:
        """Nothing is written until training starts.

        There is a checkpoint after so many `seconds`, and after so many `timesteps` if these are
        given, at the end of an update.
        """
        self.folder = Path(folder)
        self.seconds, self.timesteps = seconds, timesteps
        self.is_open = False
        self.cost = 0.0
        self.others: Sequence[Callback] = ()
        """Who else is to be remembered."""
        self.seeds: Sequence[int] = ()
        """Those that train together with it, each in a folder beside this one."""

    def before_training(self) -> None:
        """Write what is known before the first step, so that a run can be resumed from there."""
        model = self.model
        self._refuse_other_runs()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock()
            self._refuse_other_runs()  # what another process has done here until it let go
            self.checkpoints = Checkpoints(self.folder)
            self.checkpoints.forget_later(model.num_timesteps)
            self._describe()
        except OSError as error:
            self.after_training()
            reason = error.strerror or error
            raise OSError(
                error.errno, f"run_dir: it can't be written ({reason})", str(self.folder)
            ) from error

    def _refuse_other_runs(self) -> None:
        """What is in the folder must be what the model has written, or was loaded from."""
        known = self.model.folders.get(self.folder.resolve())
        newest = newest_timesteps(self.folder)
        if holds_run(self.folder) and known is None:
            raise ValueError(
                f"run_dir: {self.folder} holds another run; go on with ODRPO.load of it, or use "
                "another folder"
            )
        if known is not None and newest > known:
            raise ValueError(
                f"run_dir: the run in {self.folder} has since gone on to {newest} timesteps; "
                "go on with ODRPO.load of it, or use another folder"
            )

    def _lock(self) -> None:
        self.lock = FileLock(self.folder / ".lock")
        try:
            self.lock.acquire(timeout=0)
        except Timeout as error:
            raise ValueError(
                f"run_dir: {self.folder} is in use by another process; wait until it is over, or "
                "use another folder"
            ) from error

    def _describe(self) -> None:
        model = self.model
        described: dict[str, Any] = {"seeds": list(self.seeds)}
        described |= {"env": model.env_id, "max_steps": model.max_steps, "seed": model.seed}
        described |= {"backend": model.backend, "timesteps": model.target}
        text = json.dumps(described | {"config": model.config.to_json()}, indent=2)
        put(self.folder / "config.json", text + "\n")
        self._checkpoint()

    def on_training_start(self) -> None:
        """Open the files; what was logged after the last checkpoint is cut off."""
        model = self.model
        self.progress = Log(self.folder / "progress.csv", model.num_timesteps)
        self.episodes = Log(self.folder / "episodes.csv", model.num_timesteps)
        self.logged_updates = model.records.update_count
        self.logged_episodes = model.records.episode_count
        self.events = Events(self.folder, model.num_timesteps)
        self.saved = self.written = time.monotonic()
        self.saved_timesteps = model.num_timesteps
        self.is_open = True

    def on_update(self, row: Row) -> None:
        """Log it, and save where it is time to."""
        self._log()
        try:
            if self._is_time():
                self._save()
            elif time.monotonic() - self.written > SECONDS_BETWEEN_LOGS:
                self._write(surely=False)
        except OSError as error:
            # A disk that is full now need not be later; the last checkpoint is still there.
            self.saved = self.written = time.monotonic()
            self.saved_timesteps = self.model.num_timesteps
            warnings.warn(
                f"run_dir: {self.folder} can't be written ({error.strerror or error}); training "
                "goes on, and it is tried again when the next checkpoint is due",
                RuntimeWarning,
                stacklevel=2,
            )

    def _is_time(self) -> bool:
        if self.timesteps and self.model.num_timesteps - self.saved_timesteps >= self.timesteps:
            return True
        return time.monotonic() - self.saved > max(self.seconds, self.cost / SHARE_OF_TIME)

    def on_training_end(self) -> None:
        """Save, and draw the curve."""
        if not self.is_open:
            return
        self.is_open = False
        self._log()  # what was interrupted between an update and its row
        try:
            self._save()
        finally:
            self.events.close()
        draw_runs([self.folder], self.folder / "curve.png", self.model.env_id or "")

    def after_training(self) -> None:
        """Leave the folder to others."""
        if self.is_open:  # it was to end at once
            self.is_open = False
            self.events.close()
        if hasattr(self, "lock"):
            self.lock.release()

    def _log(self) -> None:
        records = self.model.records
        for episode in _last(records.episodes, records.episode_count - self.logged_episodes):
            self.logged_episodes += 1
            if is_logged(self.logged_episodes, DENSE_EPISODES):
                self.episodes.add(episode._asdict())
        for row in _last(records.updates, records.update_count - self.logged_updates):
            self.logged_updates += 1
            if is_logged(self.logged_updates, DENSE_UPDATES):
                self.progress.add(row)
                self.events.add(row)

    def _save(self) -> None:
        began = time.monotonic()
        self._write(surely=True)  # first: a checkpoint must never be ahead of the logs
        self._checkpoint()
        self.saved = time.monotonic()
        self.saved_timesteps = self.model.num_timesteps
        self.cost = self.saved - began

    def _write(self, surely: bool) -> None:
        self.progress.write(surely)
        self.episodes.write(surely)
        self.events.write(surely)
        self.written = time.monotonic()

    def _checkpoint(self) -> None:
        try:
            self.checkpoints.save(self.model, self._extra())
        finally:  # it may be there, and have failed later
            self.model.folders[self.folder.resolve()] = newest_timesteps(self.folder)

    def _extra(self) -> dict[str, Any]:
        known = [(type(hook).__name__, hook.to_json()) for hook in self.others]
        return {"callbacks": known + self.model.callbacks}


def holds_run(folder: Path) -> bool:
    """Whether there is something in a folder that a new run would destroy."""
    files = (folder / MODEL, folder / "progress.csv")
    return any(file.exists() for file in files) or bool(checkpoints_in(folder))


def folders_of(folder: Path) -> list[Path]:
    """That of a run, or those of its seeds, which must all be there.

    All are there before the first of them trains.
    """
    found = [place for place in folder.glob("seed_*") if place.name[5:].isdecimal()]
    places = sorted(found, key=lambda place: int(place.name[5:])) or [folder]
    if not any(holds_run(place) for place in places):
        raise ValueError(f"{folder}: no checkpoint in it; nothing was saved yet")
    seeds = {seed for place in places for seed in _seeds_beside(place)}
    missing = [s for s in sorted(seeds) if not holds_run(folder / f"seed_{s}")]
    if found and missing:
        raise ValueError(
            f"{folder}: nothing is there of seeds {missing}; if it was killed before it began, "
            f"remove it and train anew, else go on with one alone, such as {places[0]}"
        )
    return places


def _seeds_beside(place: Path) -> list[int]:
    try:
        seeds = json.loads((place / "config.json").read_text()).get("seeds", [])
        return [int(seed) for seed in seeds]
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return []  # it is there for people; somebody may have changed it


def draw_runs(folders: Sequence[Path], path: Path, title: str) -> None:
    """Draw the learning curve of a run, or of several seeds; none where no episode has ended."""
    from odrpo.curves import draw_curves, smoothed  # matplotlib is slow to import

    curves = [smoothed(read_episodes(folder / "episodes.csv")) for folder in folders]
    if any(len(timesteps) for timesteps, _ in curves):
        partial = fresh(path.with_name(f".partial.{path.name}"))
        draw_curves({"": curves}, partial, title)
        partial.replace(path)


def _last(items: list[Any], count: int) -> list[Any]:
    return items[len(items) - count :] if count <= len(items) else items
