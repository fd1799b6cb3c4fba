"""Files that somebody has damaged or made: an error that names the file, or what was saved."""

import gzip
import json
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odrpo
from odrpo import checkpoint
from odrpo.experiments import record
from odrpo.model_files import contents
from tests import probes
from tests.experiments.made_up import made_up
from tests.faults import KINDS, damaged

SETTINGS: dict[str, Any] = KINDS["generative"] | {"num_steps": 16}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    settings = dict(SETTINGS)
    settings.pop("env")
    model = odrpo.ODRPO(probes.Endless, **settings)
    model.learn(128, run_dir=folder / "run")
    model.save(folder / "model.odrpo", replay=True)
    record.write(made_up("Taxi-v4", "odrpo-kl"), folder / "record.json.gz")
    (rows,) = (folder / "run" / "checkpoints" / "replay").iterdir()
    return {"model": folder / "model.odrpo", "rows": rows, "record": folder / "record.json.gz"}


def read(kind: str, path: Path) -> Any:
    """As plain arrays and JSON."""
    if kind == "record":
        found = record.read(path)
        return found.played.tobytes(), {k: v for k, v in vars(found).items() if k != "played"}
    if kind == "rows":
        arrays, header = checkpoint.read(path)
    else:
        model = odrpo.ODRPO.load(path)
        arrays, header = contents(model)
        assert model.replay is not None
        arrays |= model.replay.rows(0, model.replay.added)
    return {name: array.tobytes() for name, array in arrays.items()}, header


@pytest.mark.parametrize("kind", ["model", "rows", "record"])
@pytest.mark.parametrize("count", [300, pytest.param(5000, marks=pytest.mark.slow)])
def test_what_is_damaged_is_refused(
    kind: str, count: int, files: dict[str, Path], tmp_path: Path
) -> None:
    content, whole = files[kind].read_bytes(), read(kind, files[kind])
    rng = np.random.default_rng(count)
    path = tmp_path / files[kind].name
    refused = 0
    for _ in range(count):
        path.write_bytes(damaged(content, rng))
        try:
            found = read(kind, path)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017
            refused += 1
        else:
            assert found == whole  # the damage was none
    assert refused > 0.9 * count


Changes = dict[str, Any]
HOSTILE: dict[str, Changes] = {
    "a replay beyond all memory": {"config": {"replay_size": 10**18}},
    "very many environments": {"config": {"num_envs": 10**12}},
    "a network beyond all memory": {"config": {"hidden": [10**9, 10**9]}},
    "a space of very many numbers": {
        "observation_space": {"kind": "MultiBinary", "n": 10**13},
    },
    "no number": {"timesteps": float("nan")},
    "a text for a number": {"seed": "__import__('os').system('true')"},
    "an unknown kind": {"observation_space": {"kind": "pickle", "parts": "cos\nsystem\n"}},
    "rows that are not there": {"replay": {"added": 10**15}},
    "an environment that is no id": {"env": 5},
    "a place that there is not": {"backend": "elsewhere"},
    "a limit that is none": {"max_steps": -1},
    "deep": {"callbacks": None},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_or_harmless(
    name: str, files: dict[str, Path], tmp_path: Path
) -> None:
    arrays, header = checkpoint.read(files["model"])
    for key, value in HOSTILE[name].items():
        header[key] = header[key] | value if key in ("config", "replay") else value
    path = tmp_path / "hostile.odrpo"
    checkpoint.write(path, arrays, header)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        odrpo.ODRPO.load(path)
    except ValueError as error:
        assert str(path) in str(error)  # noqa: PT017
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KB


def test_a_header_without_bottom_is_refused(files: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "deep.odrpo"
    content = bytearray(files["model"].read_bytes())
    deep = json.dumps({"__metadata__": {"odrpo": "[" * 100_000}}).encode()
    path.write_bytes(len(deep).to_bytes(8, "little") + deep + bytes(content[:8]))
    with pytest.raises(ValueError, match=r"deep.odrpo: this is no odrpo model"):
        odrpo.ODRPO.load(path)


def test_a_record_that_grows_beyond_all_bounds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * (record.LARGEST + 10)))
    with pytest.raises(ValueError, match=r"bomb.json.gz: it is no record"):
        record.read(path)
