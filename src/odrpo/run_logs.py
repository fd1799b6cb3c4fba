"""The logs of a run: .csv files that grow row by row, and are whole whatever happens."""

import contextlib
import csv
import io
import math
import os
import platform
import time
import warnings
from pathlib import Path
from typing import Any

from odrpo.files import put
from odrpo.records import Episode, Records

DENSE_UPDATES, DENSE_EPISODES = 10_000, 100_000
"""So many are logged one by one; of more, fewer and fewer, so that files stay small."""


class Log:
    """A .csv file; rows wait in memory until they are written, in one go."""

    def __init__(self, path: Path, timesteps: int) -> None:
        """Keep the rows up to `timesteps`, which the model knows of."""
        self.path, self.size = path, 0
        self.waiting: list[dict[str, Any]] = []
        self.names: list[str] = []
        kept, lost = _known_rows(path, timesteps)
        if lost:
            copy = path.with_name(f"{path.name}.damaged")
            path.replace(copy)
            warnings.warn(
                f"{path}: {lost} of its lines can't be read; the others stay, and {copy.name} has "
                "all of them",
                stacklevel=2,
            )
        # Never a moment without what is known: a new file takes the place of the old one.
        text = self._text(kept)
        put(path, text)
        self.size = len(text)

    def add(self, row: dict[str, Any]) -> None:
        """Another row, for the next time that is written."""
        self.waiting.append(row)

    def write(self, surely: bool) -> None:
        """Put what waits into the file, `surely` on the disk.

        Where that fails, all of it still waits, and the next time takes the place of this one.
        """
        with self.path.open("r+b") as file:
            file.seek(self.size)
            file.write(self._text(self.waiting))
            file.flush()
            if surely:
                os.fsync(file.fileno())
            self.size = file.tell()
        self.waiting.clear()

    def _text(self, rows: list[dict[str, Any]]) -> bytes:
        text = io.StringIO(newline="")
        if rows:
            self.names = self.names or list(rows[0])
            # A run of an earlier version goes on with the columns that it had.
            writer = csv.DictWriter(text, self.names, extrasaction="ignore")
            if not self.size:
                writer.writeheader()
            writer.writerows(rows)
        return text.getvalue().encode()


class Events:
    """The same for TensorBoard; written here, since tensorboardX's own thread ends at an error."""

    def __init__(self, folder: Path, timesteps: int) -> None:
        """What earlier files have of a time after `timesteps` is not to be shown."""
        from tensorboardX.proto.event_pb2 import Event, SessionLog
        from tensorboardX.record_writer import RecordWriter

        now = time.time()
        name = f"events.out.tfevents.{now:.6f}.{platform.node()}"
        self.writer = RecordWriter(str(folder / name))
        begin = SessionLog(status=SessionLog.START)
        self.waiting = [
            Event(file_version="brain.Event:2", wall_time=now),
            Event(step=timesteps + 1, session_log=begin, wall_time=now),
        ]

    def add(self, row: dict[str, float]) -> None:
        """The numbers of an update: one event for all, which costs least."""
        from tensorboardX.proto.event_pb2 import Event

        event = Event(step=int(row["timesteps"]), wall_time=time.time())
        for name, value in row.items():
            if name != "timesteps" and math.isfinite(value):
                event.summary.value.add(tag=name, simple_value=value)
        self.waiting.append(event)

    def write(self, surely: bool) -> None:
        """The same; after an error some of it may be there twice."""
        for event in self.waiting:
            self.writer.write(event.SerializeToString())
        if surely:
            self.writer.flush()
        self.waiting.clear()

    def close(self) -> None:
        """No more comes."""
        with contextlib.suppress(OSError):  # what is told of a full disk is told of the logs
            self.writer.close()


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
            Episode(int(row["timesteps"]), float(row["episode_return"]), int(float(row["length"])))
            for row in csv.DictReader(file)
        ]


def is_logged(number: int, dense: int) -> bool:
    """Whether the update or episode of this number is."""
    return number % _stride(number, dense) == 0


def _stride(number: int, dense: int) -> int:
    """1 up to `dense`, then 10, then 100 from ten times as many on, and so forth."""
    stride = 1
    while number > dense * stride:
        stride *= 10
    return stride


def _known_rows(path: Path, timesteps: int) -> tuple[list[dict[str, Any]], int]:
    """The rows up to `timesteps`, and how many lines there are that no writing can have left.

    Whatever comes after may be there in part: it was written after the model was saved.
    """
    if not path.exists():
        return [], 0
    names, *lines = path.read_bytes().decode(errors="replace").splitlines() or [""]
    header = names.split(",")
    rows = [dict(zip(header, line.split(","), strict=False)) for line in lines]
    known = [
        row
        for row, line in zip(rows, lines, strict=True)
        if line.count(",") == names.count(",") and _is_of_numbers(row)
    ]
    kept = [row for row in known if 0 < int(row["timesteps"]) <= timesteps]
    torn = bool(lines) and rows[-1] not in known[-1:]  # the last line alone
    return kept, len(lines) - len(known) - torn


def _is_of_numbers(row: dict[str, str]) -> bool:
    try:
        numbers = [float(value) for value in row.values()]
    except ValueError:
        return False
    at = row.get("timesteps", "")
    return bool(numbers) and at.isdecimal() and len(at) < 19
