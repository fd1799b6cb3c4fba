"""Files that somebody has damaged or made: an error that names the file, or what was saved."""

import gzip
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import odrpo
from odrpo import checkpoint
from odrpo.cli import main
from odrpo.experiments import record
from odrpo.model_files import contents
from tests import probes
from tests.experiments.made_up import made_up
from tests.faults import KINDS, ROOT, damaged

SETTINGS: dict[str, Any] = KINDS["generative"] | {"num_steps": 18, "updates_per_step": 0.5}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    model = odrpo.ODRPO(**SETTINGS | {"env": probes.Endless})
    model.learn(126, run_dir=folder / "run")  # to the midst of an episode
    model.save(folder / "model.odrpo", replay=True)
    odrpo.ODRPO(**KINDS["device"]).learn(64).save(folder / "device.odrpo")
    odrpo.ODRPO(**KINDS["tabular"]).learn(128).save(folder / "tables.odrpo")
    record.write(made_up("Taxi-v4", "odrpo-kl"), folder / "record.json.gz")
    (rows,) = (folder / "run" / "checkpoints" / "replay").iterdir()
    names = ("model", "device", "tables")
    models = {name: folder / f"{name}.odrpo" for name in names}
    return models | {"rows": rows, "record": folder / "record.json.gz"}


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


def signed(path: Path, arrays: dict[str, Any], header: Any) -> Path:
    """Write a file whose checksum is right, whatever is in it; a header may be a text."""
    text = header if isinstance(header, str) else json.dumps(header)
    metadata = {"odrpo": text, "checksum": checkpoint.checksum(arrays, text)}
    save_file({k: np.array(x, order="C") for k, x in arrays.items()}, path, metadata=metadata)
    return path


Changes = dict[str, Any]
MANY = 5 * 10**7
REFUSED: dict[str, Changes] = {
    "a replay beyond all memory": {"config": {"replay_size": 10**18}},
    "very many environments": {"config": {"num_envs": 10**12}},
    "a network beyond all memory": {"config": {"hidden": [10**9, 10**9]}},
    "very many layers": {"config": {"hidden": [1] * 8000}},
    "very many candidates": {"config": {"candidates": MANY}},
    "candidates beyond all memory": {"config": {"candidates": 10**13}},
    "very many actions": {"action_space": {"kind": "Discrete", "n": MANY, "start": 0}},
    "a space of very many numbers": {"observation_space": {"kind": "MultiBinary", "n": 10**13}},
    "a space whose size goes around": {
        "observation_space": {"kind": "MultiBinary", "n": [2**32, 2**32]},
    },
    "bounds of very many letters": {
        "observation_space": {
            **{"kind": "Box", "shape": [20], "dtype": "S20000000"},
            **{"low": [0] * 20, "high": [1] * 20},
        },
    },
    "no number": {"timesteps": float("nan")},
    "a number without end": {"timesteps": 10**400},
    "more timesteps than there are": {"timesteps": 10**18},
    "fewer episodes than the last ones": {"episodes": 3},
    "texts for episodes": {"recent_episodes": ["abc"]},
    "a text for a return": {"recent_episodes": [[1, "2", 3]]},
    "an episode later than all": {"recent_episodes": [[10**6, 2.0, 3]]},
    "a text for a number": {"seed": "__import__('os').system('true')"},
    "an unknown kind": {"observation_space": {"kind": "pickle", "parts": "cos\nsystem\n"}},
    "rows that are not there": {"replay": {"added": 10**15}},
    "an environment that is no id": {"env": 5},
    "an environment that clears the screen": {"env": "\x1b[2JCartPole-v1"},
    "a place that there is not": {"backend": "elsewhere"},
    "a limit that is none": {"max_steps": -1},
    "callbacks without bottom": {"callbacks": "DEEP", "depth": 100_000},
}
HARMLESS: dict[str, Changes] = {
    "a large replay": {"config": {"replay_size": 10**12}},
    "a long run": {"target": 2**52, "timesteps": 2**52},
    "spaces in spaces": {"observation_space": "DEEP", "depth": 400},
    "callbacks that nobody asks for": {"callbacks": [["Evil", {"a": [[1]] * 1000}]]},
}
RECORDS = {"empty lists": b"[" + b"[]," * 10**7 + b"[]]", "nothing": b" " * 10**8}
"""Texts that are short once they are compressed."""


def hostile_files(files: dict[str, Path], folder: Path) -> dict[str, Path]:
    paths = {}
    arrays, whole = checkpoint.read(files["model"])
    for number, (name, changes) in enumerate((REFUSED | HARMLESS).items()):
        header = dict(whole)
        for key, value in changes.items():
            header[key] = whole[key] | value if key in ("config", "replay") else value
        depth = header.pop("depth", 0)
        space = depth < 1000  # the others are beyond what JSON is read to
        left, right = ('{"kind": "Tuple", "parts": [', "]}") if space else ("[", "]")
        bottom = json.dumps(whole["observation_space"]) if space else ""
        text = json.dumps(header).replace('"DEEP"', left * depth + bottom + right * depth)
        paths[name] = signed(folder / f"hostile{number}.odrpo", arrays, text)
    for name, content in RECORDS.items():
        paths[name] = folder / f"{name}.json.gz"
        paths[name].write_bytes(gzip.compress(content))
    return paths


@pytest.fixture(scope="module")
def hostile(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of each hostile file what reading it comes to, in a process of its own: all have had peaks.

    [the kind of error or "", its message, how much memory it took in kB]
    """
    paths = hostile_files(files, tmp_path_factory.mktemp("hostile"))
    # The first ones are as they should be: what a process takes once is not counted.
    given = {"model": files["model"], "record": files["record"], **paths}
    command = [
        sys.executable,
        "-m",
        "tests.test_fuzz",
        json.dumps({k: str(p) for k, p in given.items()}),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: (*found, paths.get(name)) for name, found in json.loads(done.stdout).items()}


@pytest.mark.parametrize("name", [*REFUSED, *RECORDS])
def test_a_hostile_file_is_refused(name: str, hostile: dict[str, Any]) -> None:
    kind, message, grown, path = hostile[name]
    assert kind == "ValueError", message
    assert str(path) in message
    assert message.isprintable()
    assert len(message) < 1000
    assert grown < MOST_GROWN


@pytest.mark.parametrize("name", HARMLESS)
def test_a_file_that_only_looks_hostile_is_harmless(name: str, hostile: dict[str, Any]) -> None:
    kind, message, grown, _ = hostile[name]
    assert not kind, message
    assert grown < MOST_GROWN


MOST_GROWN = 100_000
"""kB that reading a file of some kB may take for a while."""
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _kilobytes(name: str) -> int:
    """What Linux tells of the memory of this process; elsewhere nothing is measured."""
    if not STATUS.exists():
        return 0
    return next(int(line.split()[1]) for line in STATUS.open() if line.startswith(name))


def _measured(path: Path) -> tuple[str, str, int]:
    if CLEAR.exists():
        CLEAR.write_text("5")  # the peak is that of now
    before = _kilobytes("VmRSS")
    kind, message = "", ""
    try:
        record.read(path) if path.suffix == ".gz" else odrpo.ODRPO.load(path)
    except BaseException as error:
        kind, message = type(error).__name__, str(error)
    return kind, message, _kilobytes("VmHWM") - before


def paths_in(values: Any, at: tuple = ()) -> Iterator[tuple]:
    """The place of every value in a header, however deep; of long lists the first ones."""
    yield at
    inner = values.items() if isinstance(values, dict) else ()
    if isinstance(values, list):
        inner = enumerate(values[:3])
    for key, value in inner:
        yield from paths_in(value, (*at, key))


ODD: list[Any] = [
    *(None, True, -1, 0, 1, 3, 2**31, 2**53, 10**18, 10**400, -(10**18)),
    *(0.5, 1.5, 1e-300, 1e38, 1e300, float("nan"), float("inf"), -float("inf")),
    *("", "1", "nan", "CartPole-v1", "os:system", "\x1b[2J\x9b", "x" * 10_000),
    *([], [1], ["a", "b"], [[]], [[1, 2.0, 3]], {}, {"kind": "Discrete", "n": 1, "start": 0}),
]
"""Values of a header, none of them where it belongs but by chance."""


def with_odd_value(header: dict[str, Any], rng: np.random.Generator) -> tuple[Any, str]:
    header = json.loads(json.dumps(header))
    places = list(paths_in(header))[1:]
    *way, key = places[rng.integers(len(places))]
    inner = header
    for step in way:
        inner = inner[step]
    if rng.random() < 0.1:
        del inner[key]
        return header, f"{way} without {key}"
    inner[key] = ODD[rng.integers(len(ODD))]
    return header, f"{way} {key}: {str(inner[key])[:50]}"


def odd_numbers(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same with another number somewhere, or everywhere."""
    new = array.copy()
    numbers: list[Any] = [0, 1]
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        numbers = [limits.min, limits.max, limits.max - 1, 0, 7]
    elif array.dtype.kind == "f":
        numbers = [np.nan, np.inf, -np.inf, np.finfo(array.dtype).max, -1e30, -1, 0, 1e-40]
    place = rng.integers(array.size) if array.size and rng.random() < 0.5 else slice(None)
    new.reshape(-1)[place] = numbers[rng.integers(len(numbers))]
    return new


DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint32", "bool")
ARRAY_CHANGES: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray | None]] = {
    "dropped": lambda array, rng: None,
    "of another dtype": lambda array, rng: array.astype(DTYPES[rng.integers(len(DTYPES))]),
    "flat": lambda array, rng: array.reshape(-1),
    "with an axis": lambda array, rng: array[None],
    "with an axis at the end": lambda array, rng: array[..., None],
    "twice": lambda array, rng: np.concatenate([array, array], -1) if array.ndim else array[None],
    "cut": lambda array, rng: array[:-1] if array.ndim else array[None],
    "empty": lambda array, rng: np.zeros((0, *array.shape[1:]), array.dtype),
    "with odd numbers": odd_numbers,
    "with other odd numbers": odd_numbers,
    "with numbers as odd": odd_numbers,
}


def with_odd_array(arrays: dict[str, Any], rng: np.random.Generator) -> tuple[dict, str]:
    # As often one of those of environments and of replay as one of the many of networks.
    kinds = [name for name in arrays if not name.startswith(".learner")]
    names = kinds if rng.random() < 0.5 else sorted(arrays)
    name, change = names[rng.integers(len(names))], rng.choice(list(ARRAY_CHANGES))
    with np.errstate(all="ignore"):
        new = ARRAY_CHANGES[change](arrays[name], rng)
    others = {k: x for k, x in arrays.items() if k != name}
    return others if new is None else others | {name: new}, f"{name} {change}"


def is_program_of(model: odrpo.ODRPO, config: dict[str, Any]) -> bool:
    """Whether it runs what is compiled already: floats are data."""
    now = json.loads(json.dumps(model.config.to_json()))
    return all(isinstance(x, float) or x == config[name] for name, x in now.items())


def outcome(path: Path, env: Any, config: dict[str, Any], compile_others: bool) -> str:
    """What an odd file with a right checksum comes to; whatever else is raised is a fault."""
    try:
        model = odrpo.ODRPO.load(path, env=env)
    except ValueError as error:
        message = str(error)
        assert str(path) in message or message.startswith("env: "), message
        assert message.isprintable()
        return "refused"
    same = is_program_of(model, config)
    soon = model.replay is None or model.config.warm_up <= 1000
    if not soon or not (same or compile_others):
        return "loaded"
    try:
        model.learn(1, progress_bar=False)
    except (ValueError, FloatingPointError) as error:  # as is an EnvError
        assert str(error).isprintable()  # noqa: PT017
        return "stopped"
    return "trained"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["model", "device", "tables"])
@pytest.mark.parametrize("count", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_what_is_odd_is_refused_or_does_no_harm(
    kind: str, count: int, files: dict[str, Path], tmp_path: Path
) -> None:
    arrays, header = checkpoint.read(files[kind])
    env = probes.Endless if kind == "model" else None
    rng = np.random.default_rng(count)
    path = tmp_path / "odd.odrpo"
    found = Counter[str]()
    for number in range(count):
        odd_header, odd_arrays = header, arrays
        if number % 2:
            odd_header, what = with_odd_value(header, rng)
        else:
            odd_arrays, what = with_odd_array(arrays, rng)
        signed(path, odd_arrays, odd_header)
        try:
            found[outcome(path, env, header["config"], count > 1000)] += 1
        except Exception as error:
            raise AssertionError(f"{kind} {number}: {what}") from error
    assert found["refused"] > count / 3
    assert found["trained"] > 0


WRONG_ARRAYS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "times that are not whole": ("host.time", lambda x: x.astype(np.float32)),
    "times in a table": ("host.time", lambda x: x[None]),
    "times below zero": ("host.time", lambda x: x - 10),
    "seeds below zero": ("host.first_seeds", lambda x: -1 - x),
    "moves that are no numbers": ("host.moves", lambda x: np.nan * x),
    "moves of another shape": ("host.moves", lambda x: np.concatenate([x, x], 1)),
    "an observation of another width": ("host.observation", lambda x: np.concatenate([x, x], 1)),
    "rows of another width": ("replay.observation", lambda x: np.concatenate([x, x], 2)),
    "rows that are not finite": ("replay.reward", lambda x: x + np.inf),
    "rewards of another dtype": ("replay.reward", lambda x: x.astype(np.float64)),
    "rows without a step": ("replay.valid", np.zeros_like),
    "actions of another width": ("replay.action", lambda x: np.concatenate([x, x], 2)),
}


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_an_array_that_no_run_has_left_is_refused(
    name: str, files: dict[str, Path], tmp_path: Path
) -> None:
    arrays, header = checkpoint.read(files["model"])
    which, change = WRONG_ARRAYS[name]
    path = signed(tmp_path / "wrong.odrpo", arrays | {which: change(arrays[which])}, header)
    with pytest.raises(ValueError, match=r"wrong.odrpo: this is no odrpo model"):
        odrpo.ODRPO.load(path)


def test_parameters_that_are_no_numbers_are_refused(files: dict[str, Path], tmp_path: Path) -> None:
    arrays, header = checkpoint.read(files["model"])
    nowhere = {
        name: x * np.nan if x.dtype == np.float32 and name.startswith(".learner.policy") else x
        for name, x in arrays.items()
    }
    path = signed(tmp_path / "nan.odrpo", nowhere, header)
    with pytest.raises(ValueError, match=r"nan.odrpo: .*\.learner\.policy.* not finite"):
        odrpo.ODRPO.load(path)


def test_environments_on_the_device_that_do_not_fit_are_refused(
    files: dict[str, Path], tmp_path: Path
) -> None:
    arrays, header = checkpoint.read(files["device"])
    state = arrays[".walkers.state.state"]
    wider = arrays | {".walkers.state.state": np.concatenate([state, state], 1)}
    model = odrpo.ODRPO.load(signed(tmp_path / "wider.odrpo", wider, header))
    with pytest.raises(ValueError, match=r"wider.odrpo: its environments do not fit"):
        model.learn(1)
    fewer = {k: x[:1] if k.startswith(".walkers") else x for k, x in arrays.items()}
    with pytest.raises(ValueError, match=r"fewer.odrpo: .*but num_envs is 2"):
        odrpo.ODRPO.load(signed(tmp_path / "fewer.odrpo", fewer, header))


def test_a_terminal_is_not_commanded_by_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a\x1b[31mb.odrpo"
    signed(path, {}, {"format": 99, "version": "\x1b[2J" + 10_000 * "x"})
    monkeypatch.setattr(sys, "argv", ["odrpo", "evaluate", str(path)])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert "this version of odrpo reads" in said.replace("\n", " ")
    assert "\x1b[" not in said
    assert len(said) < 1000


def test_a_header_without_bottom_is_refused(files: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "deep.odrpo"
    content = bytearray(files["model"].read_bytes())
    deep = json.dumps({"__metadata__": {"odrpo": "[" * 100_000}}).encode()
    path.write_bytes(len(deep).to_bytes(8, "little") + deep + bytes(content[:8]))
    with pytest.raises(ValueError, match=r"deep.odrpo: this is no odrpo model"):
        odrpo.ODRPO.load(path)


if __name__ == "__main__":
    given: dict[str, str] = json.loads(sys.argv[1])
    print(json.dumps({name: _measured(Path(path)) for name, path in given.items()}))
