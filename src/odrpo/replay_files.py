"""What was lived through, in files of many rows each: a save writes only what is new."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from odrpo import checkpoint
from odrpo.replay import Replay

TRANSITIONS = 16_384
"""In a file that is full."""
NAME = re.compile(r"rows-(\d{1,15})-(\d{1,15})-([0-9a-f]{8})\.odrpo")


def replay_folder(path: Path) -> Path:
    """Where a checkpoint, or the model.odrpo of a run, has what it has lived through."""
    inner = path.parent if path.parent.name == "checkpoints" else path.parent / "checkpoints"
    return inner / "replay"


def row_files(header: dict[str, Any]) -> list[str]:
    """The files of the replay that a checkpoint needs."""
    replay = header.get("replay")
    names = replay.get("files", []) if isinstance(replay, dict) else []
    return names if isinstance(names, list) else []


def write_rows(replay: Replay, folder: Path, before: Sequence[str]) -> list[str]:
    """Write what is in none of the files of the save before; the names of all, the oldest first.

    Files that are full stay as they are; the last one, which is not, is written anew each time.
    """
    size = max(1, TRANSITIONS // replay.num_envs)
    # Of the last one the newest row may since have been called the end of an episode.
    full = {_range(name)[0]: name for name in before[:-1] if _is_full(name, size)}
    names = []
    for first in range(replay.oldest // size * size, replay.added, size):
        begin, end = max(first, replay.oldest), min(first + size, replay.added)
        names.append(full.get(first) or _write(replay.rows(begin, end), begin, end, folder))
    return names


def read_rows(folder: Path, names: Sequence[str]) -> list[dict[str, np.ndarray]]:
    """The rows of each file; they must follow each other without a gap."""
    parts, at = [], None
    for name in names:
        first, end = _range(name)
        rows, _ = checkpoint.read(folder / name)
        found = name.removesuffix(".odrpo").rpartition("-")[2]
        if at not in (None, first) or any(len(x) != end - first for x in rows.values()):
            raise ValueError(f"{folder / name}: its rows do not follow those before")
        if checkpoint.checksum(rows) != found:
            raise ValueError(f"{folder / name}: it has other rows than its name says")
        parts.append(rows)
        at = end
    return parts


def _write(rows: dict[str, np.ndarray], first: int, end: int, folder: Path) -> str:
    name = f"rows-{first}-{end}-{checkpoint.checksum(rows)}.odrpo"
    if not (folder / name).exists():
        checkpoint.write(folder / name, rows, {})
    return name


def _range(name: str) -> tuple[int, int]:
    """From which row to before which; a name may come from a file that somebody has made."""
    match = NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise ValueError(f"{name!r} is no file of a replay")
    return int(match[1]), int(match[2])


def is_row_file(name: str) -> bool:
    """Whether it is called as those that `write_rows` writes."""
    return NAME.fullmatch(name) is not None


def _is_full(name: str, size: int) -> bool:
    first, end = _range(name)
    return first % size == 0 and end - first == size
