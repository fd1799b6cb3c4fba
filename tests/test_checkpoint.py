"""Files: what was written comes back; what can't be read is named; no write leaves a part."""

import errno
import os
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

import odrpo
from odrpo import checkpoint
from odrpo.checkpoints import checkpoints_in


class Inner(NamedTuple):
    weights: Any
    count: Any


def state() -> dict[str, Any]:
    return {
        "key": jax.random.key(7),
        "keys": jax.random.split(jax.random.key(8), 3),
        "inner": Inner(jnp.linspace(-1, 1, 6).reshape(2, 3).T, jnp.asarray(2**31 - 1, jnp.int32)),
        "parts": [jnp.asarray([True, False]), jnp.asarray(np.nan), jnp.zeros((0, 4))],
        "nothing": None,
        "half": jnp.asarray([1.5, 65504.0], jnp.float16),
        "bits": jnp.asarray([0, 2**32 - 1], jnp.uint32),
    }


def bare(leaf: Any) -> np.ndarray:
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.odrpo"
    checkpoint.write(path, checkpoint.flatten(state()), {"version": "9.9", "note": "é"})
    return path


def test_a_tree_comes_back_leaf_by_leaf(saved: Path) -> None:
    arrays, header = checkpoint.read(saved)
    assert header == {"format": checkpoint.FORMAT, "version": "9.9", "note": "é"}
    expected = state()
    for template in (expected, jax.eval_shape(state)):
        found = checkpoint.restore(template, arrays)
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        for new, old in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert isinstance(new, jax.Array)
            assert (new.dtype, new.shape) == (old.dtype, old.shape)
            np.testing.assert_array_equal(bare(new), bare(old))


def test_a_key_draws_the_same_after_its_return(saved: Path) -> None:
    found = checkpoint.restore(jax.eval_shape(state), checkpoint.read(saved)[0])
    for name in ("key", "keys"):
        drawn, expected = (
            [float(jax.random.uniform(key)) for key in jnp.atleast_1d(tree[name])]
            for tree in (found, state())
        )
        assert drawn == expected


def test_keys_of_another_kind_come_back_where_they_are_the_default() -> None:
    with jax.default_prng_impl("rbg"):
        tree = {"key": jax.random.key(3)}
        found = checkpoint.restore(tree, checkpoint.flatten(tree))
    assert found["key"].dtype == tree["key"].dtype
    np.testing.assert_array_equal(bare(found["key"]), bare(tree["key"]))


def test_folders_are_made_and_an_old_file_gives_way(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "model.odrpo"
    for value in (1.0, 2.0):
        checkpoint.write(path, {"x": np.asarray(value)}, {"value": value})
        arrays, header = checkpoint.read(path)
        assert (float(arrays["x"]), header["value"]) == (value, value)
    assert list(path.parent.iterdir()) == [path]


def test_a_file_is_as_open_to_others_as_any(saved: Path) -> None:
    (saved.parent / "other").touch()
    assert saved.stat().st_mode == (saved.parent / "other").stat().st_mode


def test_who_reads_during_a_write_sees_the_old_file(saved: Path) -> None:
    before = saved.read_bytes()
    with saved.open("rb") as reader:
        first = reader.read(20)
        checkpoint.write(saved, {"x": np.zeros(100)}, {})
        assert first + reader.read() == before
    assert saved.read_bytes() != before


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "model.odrpo", tmp_path):
        with pytest.raises(ValueError, match=f"{path}: there is no such file"):
            checkpoint.read(path)


def test_a_file_that_can_not_be_read_is_named(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Path, "open", failing)
    with pytest.raises(ValueError, match=f"{saved}: it can't be read .Input/output error.$"):
        checkpoint.read(saved)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all files")
def test_a_file_of_somebody_else_is_named(saved: Path) -> None:
    saved.chmod(0)
    with pytest.raises(ValueError, match=f"{saved}: it can't be read .Permission denied.$"):
        checkpoint.read(saved)


def test_the_checkpoint_before_takes_the_place_of_one_that_can_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = odrpo.ODRPO("CliffWalking-v1", num_envs=2, num_steps=8)
    model.learn(32, run_dir=tmp_path, checkpoint_timesteps=1)
    newest = checkpoints_in(tmp_path)[0]
    whole = Path.open

    def failing(path: Path, *rest: Any, **options: Any) -> Any:
        if path == newest:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return whole(path, *rest, **options)

    monkeypatch.setattr(Path, "open", failing)
    with pytest.warns(UserWarning, match=r"Input/output error.*the checkpoint before it is used"):
        found = odrpo.ODRPO.load(tmp_path)
    assert found.num_timesteps == 16


def test_what_a_file_says_is_told_without_control_characters() -> None:
    assert checkpoint.plain("caf\u00e9 \x1b[2J\x9b\u202e\n") == "caf\u00e9 ?[2J???"
    assert len(checkpoint.plain(10_000 * "x")) == checkpoint.MOST_TOLD + 3


def header_length(content: bytes) -> int:
    return int.from_bytes(content[:8], "little")


DAMAGE = {
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "cut off in the header": lambda content: content[: 8 + header_length(content) // 2],
    "cut off after the header": lambda content: content[: 8 + header_length(content)],
    "cut off by one byte": lambda content: content[:-1],
    "a byte too many": lambda content: content + b"\0",
    "another kind of file": lambda content: b"PK\x03\x04 and so on, for a while, as in a ZIP",
    "only zeros": lambda content: bytes(len(content)),
    "no text in the header": lambda content: content[:8] + b"\xff" * 20 + content[28:],
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_named(saved: Path, name: str) -> None:
    saved.write_bytes(DAMAGE[name](saved.read_bytes()))
    with pytest.raises(ValueError, match=f"{saved}: this is no odrpo model, or it is damaged"):
        checkpoint.read(saved)


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_a_flipped_byte_is_noticed_wherever_it_is(saved: Path, flip: int) -> None:
    content = saved.read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= flip
        saved.write_bytes(damaged)
        with pytest.raises(ValueError, match="this is no odrpo model, or it is damaged"):
            checkpoint.read(saved)


def test_a_file_of_the_first_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "old.odrpo"
    save_file({"x": np.zeros(2)}, path, metadata={"odrpo": '{"format": 1, "version": "0.1.0"}'})
    with pytest.raises(ValueError, match="its format is 1, this version of odrpo reads 3"):
        checkpoint.read(path)


def test_a_place_that_can_not_be_written_to_is_named(saved: Path) -> None:
    for path in (saved / "model.odrpo", saved.parent):
        with pytest.raises(OSError, match="it can't be written") as error:
            checkpoint.write(path, {"x": np.zeros(2)}, {})
        assert error.value.filename == str(path)
    assert list(saved.parent.iterdir()) == [saved]


FOREIGN = {
    "no header": None,
    "another program's": {"format": "pt"},
    "not JSON": {"odrpo": "{format: 1}"},
    "not a record": {"odrpo": "[1]"},
    "a number": {"odrpo": "1"},
    "no format": {"odrpo": '{"version": "0.1.0"}'},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"x": np.zeros(2)}, path, metadata=FOREIGN[name])
    with pytest.raises(ValueError, match=f"{path}: this is no odrpo model"):
        checkpoint.read(path)


def test_another_format_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.odrpo"
    checkpoint.write(path, {}, {"format": 99, "version": "7.0"})
    message = f"{path}: its format is 99, this version of odrpo reads 3; .* by odrpo '7.0'"
    with pytest.raises(ValueError, match=message):
        checkpoint.read(path)


MISFITS = {
    "shape": (np.zeros((3, 2), np.float32), r"\['x'\]\[0\] is float32\(3, 2\) in the file, not"),
    "dtype": (np.zeros((2, 3), np.int32), r"\['x'\]\[0\] is int32\(2, 3\) in .* float32\(2, 3\)"),
    "missing": (None, r"the file has no array \['x'\]\[0\]"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_an_array_that_does_not_fit_is_named(name: str) -> None:
    array, message = MISFITS[name]
    arrays = {} if array is None else {"['x'][0]": array}
    with pytest.raises(ValueError, match=message):
        checkpoint.restore({"x": [jnp.zeros((2, 3))]}, arrays)


def test_a_key_that_does_not_fit_is_named() -> None:
    with pytest.raises(ValueError, match=r"\['key'\] is uint32\(3,\) in the file, not uint32\(2,"):
        checkpoint.restore({"key": jax.random.key(0)}, {"['key']": np.zeros(3, np.uint32)})


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    before = saved.read_bytes()

    def half(arrays: dict, path: Path, metadata: dict) -> None:
        save_file(arrays, path, metadata=metadata)
        Path(path).write_bytes(Path(path).read_bytes()[:50])
        raise error

    monkeypatch.setattr(checkpoint, "save_file", half)
    for path in (saved, saved.with_name("new.odrpo")):
        with pytest.raises(type(error)):
            checkpoint.write(path, {"x": np.zeros(100)}, {"version": "10"})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_header_that_is_no_json_leaves_the_old_file(saved: Path) -> None:
    before = saved.read_bytes()
    with pytest.raises(TypeError):
        checkpoint.write(saved, {"x": np.zeros(2)}, {"note": object()})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]
