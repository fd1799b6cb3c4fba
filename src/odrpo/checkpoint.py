"""Files that are safe to load: arrays as safetensors, the rest as JSON in the header."""

import errno
import json
import reprlib
import zlib
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from odrpo.files import replacing

FORMAT = 3
DAMAGED = (
    *(SafetensorError, LookupError, TypeError, ValueError),
    *(AttributeError, RecursionError, OverflowError, MemoryError),
)
"""What reading a file that is none of ours may raise."""
MOST_TOLD = 300
"""Characters of what is told of a file."""


def write(path: Path, arrays: dict[str, np.ndarray], header: dict[str, Any]) -> None:
    """Write a file in one go: whoever reads sees the old one or the new one, never a part."""
    text = json.dumps({"format": FORMAT, **header})
    metadata = {"odrpo": text, "checksum": checksum(arrays, text)}
    try:
        with replacing(path) as partial:
            # As open to others as any file of this user: safetensors would keep it to itself.
            mode = partial.stat().st_mode
            save_file(arrays, partial, metadata=metadata)
            partial.chmod(mode)
    except (OSError, SafetensorError) as error:
        number = getattr(error, "errno", None) or errno.EIO
        reason = getattr(error, "strerror", None) or error
        raise OSError(number, f"it can't be written ({reason})", str(path)) from error


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the header of a file."""
    _read_through(path)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            header = json.loads(metadata["odrpo"])
            told = metadata.get("checksum")
            if header["format"] == FORMAT or told is not None:
                arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
                if told != checksum(arrays, metadata["odrpo"]):
                    raise ValueError("its checksum is wrong")
    except (*DAMAGED, OSError) as error:
        what = plain(str(error))
        raise ValueError(f"{path}: this is no odrpo model, or it is damaged ({what})") from error
    if header["format"] != FORMAT:
        raise ValueError(
            f"{path}: its format is {reprlib.repr(header['format'])}, this version of odrpo reads "
            f"{FORMAT}; it was written by odrpo {reprlib.repr(header.get('version'))}"
        )
    return arrays, header


def plain(text: str) -> str:
    """What may come from a file, without what a terminal would obey, and of bounded length."""
    kept = "".join(c if c.isprintable() else "?" for c in text[: MOST_TOLD + 1])
    return kept if len(kept) <= MOST_TOLD else f"{kept[:MOST_TOLD]}..."


def _read_through(path: Path) -> None:
    """Whatever keeps a file from being read is told here.

    Safetensors calls all of it a missing file, and a disk that fails under the map by which it
    reads would end the process.
    """
    try:
        if not path.is_file():
            raise FileNotFoundError
        with path.open("rb", buffering=0) as file:
            while file.read(2**20):
                pass
    except FileNotFoundError as error:
        raise ValueError(f"{path}: there is no such file") from error
    except OSError as error:
        raise ValueError(f"{path}: it can't be read ({error.strerror or error})") from error


def checksum(arrays: dict[str, np.ndarray], text: str = "") -> str:
    """Of all that a file says: a disk that forgets a bit must not change what a model does."""
    total = zlib.crc32(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        total = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return f"{total:08x}"


def flatten(tree: Any) -> dict[str, np.ndarray]:
    """A pytree of arrays by the names of its leaves; keys of random numbers become their data."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(place): np.asarray(_bare(leaf)) for place, leaf in leaves}


def restore(template: Any, arrays: dict[str, np.ndarray], prefix: str = "") -> Any:
    """A pytree like the template with the arrays in their places, which begin with `prefix`."""

    def find(place: Any, like: Any) -> Any:
        name = prefix + jax.tree_util.keystr(place)
        bare = jax.eval_shape(_bare, like)
        if name not in arrays:
            raise ValueError(f"the file has no array {name}")
        array = arrays[name]
        if array.shape != bare.shape or array.dtype != bare.dtype:
            raise ValueError(
                f"{name} is {array.dtype}{array.shape} in the file, not {bare.dtype}{bare.shape}"
            )
        value = jax.numpy.asarray(array)
        return jax.random.wrap_key_data(value) if _is_key(like) else value

    return jax.tree_util.tree_map_with_path(find, template)


def _is_key(leaf: Any) -> bool:
    return jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _bare(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf
