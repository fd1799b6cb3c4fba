"""The command line for real: each way in and out, and each complaint."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tyro

import odrpo
from odrpo import cli
from odrpo.cli.options import registry
from odrpo.problem_files import read_problem, write_solution
from tests.trust_region.problems import random_case

EXAMPLE = Path(__file__).parent.parent / "examples" / "machine_repair.json"


def run(monkeypatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["odrpo", *map(str, arguments)])
    cli.main()


def write_problem(folder: Path, kind: str, **entries) -> Path:
    """The same problem in one of the three forms."""
    if kind == "npz":
        np.savez(folder / "problem.npz", **entries)
        return folder / "problem.npz"
    if kind == "json":
        path = folder / "problem.json"
        path.write_text(json.dumps({k: np.asarray(v).tolist() for k, v in entries.items()}))
        return path
    table = folder / "table"
    table.mkdir()
    for name, value in entries.items():
        value = np.asarray(value)
        if value.dtype.kind == "U":
            (table / f"{name}.csv").write_text(str(value))
        else:
            rows = value.reshape(-1, value.shape[-1]) if value.ndim == 3 else value
            np.savetxt(table / f"{name}.csv", np.atleast_1d(rows), delimiter=",", fmt="%.17g")
    return table


@pytest.mark.parametrize("kind", ["npz", "json", "csv"])
def test_every_form_gives_the_same_step(kind: str, tmp_path, monkeypatch, capsys) -> None:
    case = random_case(0)
    entries = case.arguments | {"cost": case.cost_per_state(), "metric": "wasserstein"}
    path = write_problem(tmp_path, kind, **entries)
    run(monkeypatch, "solve", path, "--out", tmp_path / "new" / "policy.csv")
    printed = capsys.readouterr().out
    exact = odrpo.solve(**case.arguments, metric=odrpo.Wasserstein(case.cost_per_state()))
    assert f"{exact.beta:.6g}" in printed
    assert "100 % used" in printed
    written = np.loadtxt(tmp_path / "new" / "policy.csv", delimiter=",")
    np.testing.assert_array_equal(written, exact.policy)


def test_flags_replace_what_the_file_says(tmp_path, monkeypatch) -> None:
    out = tmp_path / "solution.json"
    run(monkeypatch, "solve", EXAMPLE, "--metric", "kl", "--radius", 0.02, "--out", out)
    content = json.loads(EXAMPLE.read_text())
    exact = odrpo.solve(content["advantages"], content["policy"], 0.02, weights=content["weights"])
    assert json.loads(out.read_text())["beta"] == exact.beta


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".csv", ".json"])
def test_what_is_written_can_be_read(suffix: str, tmp_path) -> None:
    solution = odrpo.solve([[1.0, 0.0]], [[0.3, 0.7]], 0.01)
    path = tmp_path / f"out{suffix}"
    write_solution(path, solution)
    if suffix == ".csv":
        policy = np.loadtxt(path, delimiter=",", ndmin=2)
    elif suffix == ".json":
        policy = np.array(json.loads(path.read_text())["policy"])
    else:
        loaded = np.load(path)
        policy = loaded["policy"] if suffix == ".npz" else loaded
    np.testing.assert_array_equal(policy, solution.policy)


def test_pictures_are_drawn(tmp_path, monkeypatch) -> None:
    run(monkeypatch, "solve", EXAMPLE, "--figures", tmp_path / "pictures")
    for name in ("dual.png", "policies.png"):
        assert (tmp_path / "pictures" / name).read_bytes().startswith(b"\x89PNG")


def test_pictures_of_a_masked_problem_with_a_cost(tmp_path, monkeypatch) -> None:
    case = random_case(1, states=30, actions=4)
    mask = case.mask.copy()
    mask[:, 0] = False
    policy = np.where(mask, case.policy, 0)
    policy /= policy.sum(axis=1, keepdims=True)
    entries = {"mask": mask, "policy": policy, "cost": case.random_cost(), "radius": 0.0}
    path = write_problem(tmp_path, "npz", **case.arguments | entries)
    run(monkeypatch, "solve", path, "--figures", tmp_path)
    assert (tmp_path / "dual.png").stat().st_size > 10_000


COMPLAINTS = {
    "missing file": ({}, "nothing.npz", "no such file or folder"),
    "ending": ({"x.txt": "1"}, "x.txt", "expected an .npz or .json file, or a folder"),
    "not JSON": ({"x.json": "{"}, "x.json", "can't be read as JSON"),
    "JSON list": ({"x.json": "[1]"}, "x.json", "expected an object with the names advantages"),
    "not an npz": ({"x.npz": "PK"}, "x.npz", "x.npz: not an .npz archive of plain arrays"),
    "too long a cell": (
        {"d/advantages.csv": "1" * 200_000},
        "d",
        "advantages.csv: can't be read as CSV in UTF-8 (field larger than",
    ),
    "not an npy": ({"d/policy.npy": "text"}, "d", "policy.npy: not an .npy file"),
    "empty folder": ({"d/readme.txt": ""}, "d", "no .csv, .json or .npy files"),
    "CSV with a header": (
        {"d/advantages.csv": "run,stop\n1,2"},
        "d",
        "advantages.csv, row 1, column 1: 'run' is not a number; there is no header row",
    ),
    "two names": (
        {"x.json": '{"advantages": [[1]], "policy": [[1]], "radius": 1, "states": ["a", "b"]}'},
        "x.json",
        "2 names of states for 1 states",
    ),
    "misspelt": (
        {"x.json": '{"advantage": [[1]]}'},
        "x.json",
        "unknown name 'advantage'; known are",
    ),
    "no policy": ({"x.json": '{"advantages": [[1]]}'}, "x.json", "'policy' is missing"),
    "no radius": (
        {"x.json": '{"advantages": [[1]], "policy": [[1]]}'},
        "x.json",
        "'radius' is missing; give it with --radius",
    ),
    "bad value": (
        {"x.json": '{"advantages": [[NaN]], "policy": [[1]], "radius": 1}'},
        "x.json",
        "advantages[0, 0] = nan is not finite",
    ),
    "ragged": (
        {"x.json": '{"advantages": [[1, 2], [1]], "policy": [[1]], "radius": 1}'},
        "x.json",
        "advantages: rows of different lengths",
    ),
    "unknown metric": (
        {"x.json": '{"advantages": [[1]], "policy": [[1]], "radius": 1, "metric": "tv"}'},
        "x.json",
        "metric: 'tv' is not known",
    ),
}


@pytest.mark.parametrize("name", sorted(COMPLAINTS))
def test_complaints_are_one_readable_line(name: str, tmp_path, monkeypatch, capsys) -> None:
    files, argument, message = COMPLAINTS[name]
    for file, content in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit) as stop:
        run(monkeypatch, "solve", argument)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["npz", "npy"])
def test_damaged_arrays_are_told_as_such(kind: str, tmp_path) -> None:
    """Bytes that are changed may go unnoticed, but never end in another error."""
    rng = np.random.default_rng(0)
    table = tmp_path / "table"
    table.mkdir()
    np.savez_compressed(tmp_path / "x.npz", advantages=np.eye(3), policy=np.eye(3), radius=1.0)
    np.save(table / "advantages.npy", np.eye(3))
    damaged, read = {
        "npz": (tmp_path / "x.npz", tmp_path / "x.npz"),
        "npy": (table / "advantages.npy", table),
    }[kind]
    whole = np.frombuffer(damaged.read_bytes(), np.uint8)
    told = set()
    for _ in range(200):
        content = whole.copy()
        content[rng.integers(len(content))] = rng.integers(256)
        damaged.write_bytes(content[: rng.integers(len(content) + 1) or None].tobytes())
        with contextlib.suppress(ValueError), np.errstate(all="ignore"):
            read_problem(read)
        damaged.write_bytes(content.tobytes())
        try:
            read_problem(read)
        except ValueError as error:
            told.add(str(error))
    assert f"{damaged}: not an .{kind} " in " ".join(told)


def test_a_table_from_a_spreadsheet_may_begin_with_a_mark(tmp_path) -> None:
    (tmp_path / "policy.csv").write_text("0.5,0.5", encoding="utf-8-sig")
    (tmp_path / "states.csv").write_text("home", encoding="utf-8-sig")
    (tmp_path / "advantages.json").write_text("[[1, 0]]", encoding="utf-8-sig")
    problem = read_problem(tmp_path, radius=0.1)
    assert problem.arrays["policy"].tolist() == [[0.5, 0.5]]
    assert problem.label("states", 0) == "home"


def test_an_error_without_a_file_says_what_it_is(monkeypatch, capsys) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(cli.app, "cli", full)
    with pytest.raises(SystemExit):
        run(monkeypatch, "solve", EXAMPLE)
    assert capsys.readouterr().err.strip() == "error: the disk is gone"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x.xlsx"], "x.xlsx: can't write '.xlsx'; use .npz, .npy, .csv, .json"),
        (["--out", "x"], "x: has no ending"),
        (["--out", "file/x.csv"], "file: File exists"),
        (["--figures", "file"], "file: File exists"),
    ],
)
def test_what_can_not_be_written(arguments, message, tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        run(monkeypatch, "solve", EXAMPLE, *arguments)
    assert message in capsys.readouterr().err


def test_json_has_no_infinity(tmp_path) -> None:
    write_solution(tmp_path / "x.json", odrpo.solve([[1.0, 0.0]], [[0.3, 0.7]], 0.0))
    assert json.loads((tmp_path / "x.json").read_text())["beta"] is None


def test_what_the_metric_ignores_is_said(tmp_path, monkeypatch, capsys) -> None:
    case = random_case(0)
    path = write_problem(tmp_path, "npz", **case.arguments, cost=case.line_cost())
    run(monkeypatch, "solve", path)
    assert "kl does not use the cost" in capsys.readouterr().out


def test_an_npz_with_pickled_objects_is_refused(tmp_path) -> None:
    np.savez(tmp_path / "x.npz", advantages=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match=r"not an \.npz archive of plain arrays"):
        read_problem(tmp_path / "x.npz")


def test_labels_are_text_not_markup(tmp_path, monkeypatch, capsys) -> None:
    content = json.loads(EXAMPLE.read_text()) | {"states": ["[bold]x[/nope]"] * 6}
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))
    run(monkeypatch, "solve", path)
    assert "[bold]x[/nope]" in capsys.readouterr().out


def test_labels_and_names_do_not_command_the_terminal(tmp_path, monkeypatch, capsys) -> None:
    told = "\x1b]0;pwn\x07\x1b[31mred"
    names = {"states": [told] * 6, "actions": [told] * 4, "cost": np.zeros((4, 4)).tolist()}
    path = tmp_path / "\x1b[31m.json"
    path.write_text(json.dumps(json.loads(EXAMPLE.read_text()) | names))
    monkeypatch.setenv("COLUMNS", "300")
    run(monkeypatch, "solve", path, "--metric", "kl")
    printed = capsys.readouterr().out
    assert "?]0;pwn??[31mred" in printed
    assert "use the cost in ?[31m.json" in printed
    assert not {"\x1b", "\x07"} & set(printed)


def test_the_installed_command_helps() -> None:
    command = Path(sys.executable).parent / "odrpo"
    text = subprocess.run([command, "solve", "--help"], capture_output=True, text=True, check=True)
    assert "--radius" in text.stdout
    assert "Draw dual.png and policies.png" in text.stdout
    assert "None" not in text.stdout
    for way in ([command], [sys.executable, "-m", "odrpo"]):
        text = subprocess.run([*way, "--version"], capture_output=True, text=True, check=True)
        assert text.stdout.strip() == f"odrpo {odrpo.__version__}"


def test_a_negative_number_of_states_is_refused(monkeypatch, capsys) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "solve", EXAMPLE, "--top", -1)
    assert "top: -1; use a whole number >= 0" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "read"), [("1e5", 100_000), ("-3", -3), ("2.0", 2)])
def test_whole_numbers_on_the_command_line(given: str, read: int) -> None:
    assert tyro.cli(int, args=[given], registry=registry) == read


@pytest.mark.parametrize("given", ["1.5", "nan", "inf", "many"])
def test_other_numbers_are_refused_on_the_command_line(given: str, capsys) -> None:
    with pytest.raises(SystemExit):
        tyro.cli(int, args=[given], registry=registry)
    assert given in capsys.readouterr().err
