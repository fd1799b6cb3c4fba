"""Files that are safe to load: arrays as safetensors, the rest as JSON in the header."""

import json
import os
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

FORMAT = 1


def write(path: Path, arrays: dict[str, np.ndarray], header: dict[str, Any]) -> None:
    """Write a file in one go: whoever reads sees the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    text = json.dumps({"format": FORMAT, **header})
    try:
        save_file(arrays, partial, metadata={"odrpo": text})
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the header of a file."""
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file")
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})["odrpo"])
            header["format"]
            arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
    except (SafetensorError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: this is no odrpo model, or it is damaged ({error})") from error
    if header["format"] != FORMAT:
        raise ValueError(
            f"{path}: its format is {header['format']}, this version of odrpo reads {FORMAT}; "
            f"it was written by odrpo {header.get('version')}"
        )
    return arrays, header


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
