"""Files that are there as a whole or not at all, and are never what somebody's link leads to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def fresh(path: Path) -> Path:
    """An empty file, never what a link in a folder from somebody else leads to."""
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return path


def sync(path: Path) -> None:
    """What was written to a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_folder(name: str, folder: Path) -> None:
    """That a folder can be written to, or made: before hours are spent on what is to go there."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise ValueError(f"{name}: {nearest} is no folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ValueError(f"{name}: {nearest} can't be written to")


def put(path: Path, content: str | bytes) -> None:
    """Write a file in one go: whoever reads sees the old one or the new one, never a part."""
    with replacing(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of `path` once that has gone well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = fresh(path.with_name(f".{path.name}.{os.getpid()}.partial"))
    try:
        yield partial
        sync(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    sync(path.parent)
