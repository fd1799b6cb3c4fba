"""The checkpoints of a run: the last ones are kept, and the newest that is whole is gone on from.

FOLDER/checkpoints/000000012800.odrpo is the run after 12800 timesteps, FOLDER/checkpoints/replay
what it has lived through, FOLDER/model.odrpo the newest of them once more.
"""

import os
import shutil
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odrpo import checkpoint, model_files
from odrpo.files import sync
from odrpo.model_files import Stored
from odrpo.replay_files import is_row_file, replay_folder, row_files, write_rows

if TYPE_CHECKING:
    from odrpo.model import ODRPO

KEPT = 3
MODEL = "model.odrpo"


class Checkpoints:
    """Writes those of one run."""

    def __init__(self, folder: Path) -> None:
        """What is there is looked through: what it refers to must stay."""
        self.folder, self.inner = folder, folder / "checkpoints"
        for place in (self.inner, self.inner / "replay"):
            if place.is_symlink():
                raise ValueError(f"{place}: it is a link; put a folder in its place")
        for place in (folder, self.inner, self.inner / "replay"):
            for partial in place.glob(".*.odrpo.*.partial"):  # of a process that was killed
                if not partial.is_dir():
                    partial.unlink(missing_ok=True)
        self.rows: dict[Path, list[str]] = {}
        """The files of the replay that each checkpoint needs."""
        for path in checkpoints_in(folder):
            try:
                self.rows[path] = row_files(checkpoint.read(path)[1])
            except ValueError:  # a damaged one needs nothing any more
                self.rows[path] = []

    def forget_later(self, timesteps: int) -> None:
        """Remove those of a later time: the run goes on from an earlier one."""
        for path in [path for path in self.rows if int(path.stem) > timesteps]:
            path.unlink(missing_ok=True)
            del self.rows[path]

    def save(self, model: "ODRPO", extra: dict[str, Any]) -> None:
        """Write one, then remove what is no longer needed; `extra` is kept in its header."""
        arrays, header = model_files.contents(model)
        path = self.inner / f"{model.num_timesteps:012d}.odrpo"
        names: list[str] = []
        if model.replay is not None:
            before = self.rows[max(self.rows)] if self.rows else []
            names = write_rows(model.replay, replay_folder(path), before)
            header["replay"] = model.replay.described() | {"files": names}
        checkpoint.write(path, arrays, header | extra)
        self.rows[path] = names
        _link(path, self.folder / MODEL)
        sync(self.folder)
        self._remove_old()

    def _remove_old(self) -> None:
        for path in sorted(self.rows)[:-KEPT]:
            path.unlink(missing_ok=True)
            del self.rows[path]
        needed = {name for names in self.rows.values() for name in names}
        for path in (self.inner / "replay").glob("*.odrpo"):
            unneeded = is_row_file(path.name) and path.name not in needed
            if unneeded and not path.is_dir():
                path.unlink(missing_ok=True)


def checkpoints_in(folder: Path) -> list[Path]:
    """Those of a run, the newest first."""
    every = (folder / "checkpoints").glob("*.odrpo")
    return sorted(
        (path for path in every if path.stem.isdecimal() and path.is_file()), reverse=True
    )


def newest_timesteps(folder: Path) -> int:
    """How far the newest of them is, be it whole or not; -1: there is none."""
    return max((int(path.stem) for path in checkpoints_in(folder)), default=-1)


def run_of(path: Path) -> Path | None:
    """The folder of the run that a file is a checkpoint of, or its model.odrpo; or that folder."""
    if path.is_dir():
        return path
    if path.parent.name == "checkpoints":
        return path.parent.parent
    return path.parent if path.name == MODEL else None


def newest(folder: Path) -> Stored:
    """The newest one of a run that is whole."""
    for path in checkpoints_in(folder):
        try:
            return model_files.read(path, with_rows=True)
        except ValueError as error:
            warnings.warn(f"{error}; the checkpoint before it is used", stacklevel=3)
    return model_files.read(folder / MODEL)


def _link(path: Path, name: Path) -> None:
    """The same file by another name, in one go."""
    partial = name.with_name(f".{name.name}.{os.getpid()}.partial")
    try:
        partial.unlink(missing_ok=True)
        try:
            os.link(path, partial)
        except OSError:  # not every file system can
            shutil.copyfile(path, partial)
        partial.replace(name)
    finally:
        partial.unlink(missing_ok=True)
