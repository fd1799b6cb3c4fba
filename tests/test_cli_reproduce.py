"""`odrpo reproduce` and `odrpo report`, from the command line to the files."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from odrpo import cli
from odrpo.cli.watching import View
from odrpo.experiments.plan import published_plan
from odrpo.experiments.record import write
from odrpo.experiments.runs import METHODS, plan
from odrpo.experiments.variants import VARIANTS
from odrpo.presets import TASKS
from tests.experiments.made_up import made_up


def run(monkeypatch, *arguments: object, columns: int = 120) -> None:
    monkeypatch.setattr(sys, "argv", ["odrpo", *map(str, arguments)])
    monkeypatch.setenv("COLUMNS", str(columns))
    cli.main()


def recorded(out: Path, tasks: list[str], methods: list[str], seeds: int) -> None:
    """Records of a plan that were never run."""
    for each in plan(tasks, methods, seeds, [], short=True):
        write(made_up(each.env, each.method, each.seed), each.record_file(out))


def test_a_dry_run_says_what_is_missing(tmp_path: Path, monkeypatch, capsys) -> None:
    recorded(tmp_path / "short", ["CartPole-v1"], ["odrpo-kl"], 2)
    words = ("--tasks", "cartpole,taxi", "--methods", "odrpo-kl,ppo", "--seeds", 3)
    options = ("--budget", "short", "--jobs", 2, "--out", tmp_path, "--dry-run")
    run(monkeypatch, "reproduce", *words, *options)
    printed = capsys.readouterr().out
    assert "12 runs: 2 recorded, 10 to do, about" in printed
    assert "note: the records of 2 runs have other settings or timesteps" in printed
    assert "with 2 at once" in printed
    lines = [line.split()[1:-2] for line in printed.splitlines() if line.startswith("CartPole")]
    assert sorted(lines) == [["odrpo-kl", "2", "10,000"], ["ppo", "0-2", "10,000"]]
    assert not (tmp_path / "short" / "runs").exists()
    words = ("--tasks", "cartpole", "--methods", "odrpo-kl", "--seeds", 2)
    run(monkeypatch, "reproduce", *words, *options)
    assert "nothing to do: all runs are recorded in" in capsys.readouterr().out


def test_a_dry_run_has_a_line_for_each_in_eighty_columns(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    words = ("--tasks", "all", "--methods", "all", "--variants", "all", "--out", tmp_path)
    run(monkeypatch, "reproduce", *words, "--dry-run", columns=80)
    lines = capsys.readouterr().out.splitlines()
    head = next(k for k, line in enumerate(lines) if line.split()[:2] == ["task", "method"])
    every = plan(list(TASKS), list(METHODS), 1, list(VARIANTS), short=False)
    listed = lines[head + 1 : head + 1 + len(every)]
    assert [line.split()[:2] for line in listed] == [[r.env, r.label] for r in every]
    assert {line.split()[2] for line in lines if line.startswith("CartPole")} == {"0-4"}
    # Where some are recorded already.
    for each in plan(["HalfCheetah-v5"], ["odrpo-kl"], 2, [], short=False)[1:]:
        write(made_up(each.env, each.method, each.seed), each.record_file(tmp_path))
    words = ("--tasks", "halfcheetah", "--methods", "odrpo-kl", "--out", tmp_path)
    run(monkeypatch, "reproduce", *words, "--dry-run", columns=80)
    assert "HalfCheetah-v5 odrpo-kl 30, 32-34   300,000" in capsys.readouterr().out


def test_what_is_published_is_one_command(tmp_path: Path, monkeypatch, capsys) -> None:
    every = published_plan()
    run(monkeypatch, "reproduce", "--published", "--out", tmp_path, "--dry-run")
    printed = capsys.readouterr().out
    assert f"{len(every)} runs: 0 recorded, {len(every)} to do" in printed
    listed = {tuple(line.split()[:2]) for line in printed.splitlines()}
    assert listed >= {(each.env, each.label) for each in every}


def test_a_dry_run_takes_no_less_than_its_longest_run(tmp_path: Path, monkeypatch, capsys) -> None:
    words = ("--tasks", "taxi,ant", "--methods", "odrpo-kl", "--seeds", 1, "--jobs", 2)
    run(monkeypatch, "reproduce", *words, "--out", tmp_path, "--dry-run")
    printed = capsys.readouterr().out
    assert "2 to do, about 31 min with 2 at once" in printed
    assert [line.split()[-2:] for line in printed.splitlines() if line.startswith("Ant")] == [
        ["31", "min"]
    ]


def test_what_is_not_installed_is_told_before_anything_runs(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr("odrpo.experiments.installed.find_spec", lambda name: None)
    words = ("--tasks", "cliffwalking", "--methods", "odrpo-kl,ppo", "--out", tmp_path)
    run(monkeypatch, "reproduce", *words, "--dry-run")
    assert "ppo: Stable-Baselines3 and sb3-contrib are not installed" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run(monkeypatch, "reproduce", *words)
    assert "make baselines" in capsys.readouterr().err
    assert not (tmp_path / "runs" / "CliffWalking-v1").exists()
    run(monkeypatch, "reproduce", *words[:2], "--methods", "odrpo-kl", *words[4:], "--dry-run")
    assert "not installed" not in capsys.readouterr().out


def test_it_runs_what_is_missing_and_makes_the_tables(tmp_path: Path, monkeypatch, capsys) -> None:
    recorded(tmp_path / "short", ["CliffWalking-v1"], ["odrpo-kl"], 1)
    words = ("--tasks", "cliffwalking", "--methods", "odrpo-kl", "--seeds", 2)
    options = ("--budget", "short", "--jobs", 1, "--out", tmp_path)
    run(monkeypatch, "reproduce", *words, *options)
    printed = capsys.readouterr().out
    assert "2 runs: 1 recorded, 1 to do" in printed
    assert "-169 (TRPO of the paper)" in printed
    assert f"odrpo report {tmp_path / 'short'}" in printed.replace("\n", "")
    table = (tmp_path / "short" / "tables" / "last_tenth.md").read_text()
    assert "(2)" in table
    run(monkeypatch, "reproduce", *words, *options)
    assert "2 runs: 2 recorded, 0 to do" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run(monkeypatch, "report", tmp_path)
    told = "".join(capsys.readouterr().err.split())
    assert f"therearenorecordsinit,butin{tmp_path / 'short'};" in told
    run(monkeypatch, "report", tmp_path / "short")
    printed = capsys.readouterr().out
    assert "2 runs, 1 picture, " in printed
    assert "CliffWalking" in (tmp_path / "short" / "report.html").read_text()


def test_a_stop_is_told_to_the_shell(tmp_path: Path, monkeypatch, capsys) -> None:
    """Ctrl-C or SIGTERM: the code says which, and the records that are there are published."""
    recorded(tmp_path / "short", ["CliffWalking-v1"], ["odrpo-kl"], 1)
    words = ("--tasks", "cliffwalking", "--methods", "odrpo-kl", "--seeds", 2)
    options = ("--budget", "short", "--jobs", 1, "--out", tmp_path)
    monkeypatch.setattr(View, "show", lambda view, pool: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, "reproduce", *words, *options)
    assert stopped.value.code == 143
    assert "the same command goes on" in capsys.readouterr().out
    assert (tmp_path / "short" / "tables" / "last_tenth.md").exists()


def test_what_failed_is_told_with_what_to_do(tmp_path: Path, monkeypatch, capsys) -> None:
    (tmp_path / "short" / "runs").mkdir(parents=True)
    (tmp_path / "short" / "runs" / "CliffWalking-v1").write_text("in the way")
    words = ("--tasks", "cliffwalking", "--methods", "odrpo-kl", "--seeds", 1)
    with pytest.raises(SystemExit) as failed:
        run(monkeypatch, "reproduce", *words, "--budget", "short", "--out", tmp_path)
    assert failed.value.code == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "0 runs finished, 1 failed, 0 left" in printed
    assert "failed: CliffWalking-v1 odrpo-kl seed 0: " in printed
    assert "run the same command again to retry what failed; logs are in" in printed


def test_findings_that_can_not_be_read_are_told_before_anything_runs(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    (tmp_path / "findings.toml").write_text("agrees = 'no list'")
    with pytest.raises(SystemExit):
        run(monkeypatch, "reproduce", "--tasks", "cliffwalking", "--out", tmp_path)
    assert "findings.toml" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["findings.toml"]


def test_two_at_once_in_one_folder_are_refused(tmp_path: Path, monkeypatch, capsys) -> None:
    (tmp_path / "runs").mkdir()
    with FileLock(tmp_path / "runs" / "lock"), pytest.raises(SystemExit) as stopped:
        run(monkeypatch, "reproduce", "--tasks", "taxi", "--out", tmp_path)
    assert stopped.value.code == 2
    assert "another process is running experiments in" in capsys.readouterr().err


def test_where_nothing_can_be_written_is_said_at_once(tmp_path: Path, monkeypatch, capsys) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.touch()
    folder.mkdir()
    for options, message in (
        (("--out", file / "a"), f"out: {file} is no folder"),
        (("--out", folder / "a", "--page", file / "b" / "c.md"), f"page: {file} is no folder"),
        (("--out", folder / "a", "--page", folder), f"page: {folder} is a folder"),
    ):
        with pytest.raises(SystemExit):
            run(monkeypatch, "reproduce", "--tasks", "taxi", *options, "--dry-run")
        assert "".join(message.split()) in "".join(capsys.readouterr().err.split())
    monkeypatch.setattr(os, "access", lambda *_: False)  # who runs the tests may write anywhere
    with pytest.raises(SystemExit):
        run(monkeypatch, "reproduce", "--tasks", "taxi", "--out", folder, "--dry-run")
    assert "can't be written to" in " ".join(capsys.readouterr().err.split())


def test_as_many_at_once_as_there_are_cores_for_it() -> None:
    code = (
        "import inspect, os\n"
        "os.sched_getaffinity, os.cpu_count = lambda _: {0, 3, 5}, lambda: 64\n"
        "from odrpo.cli.reproduce import reproduce\n"
        "print(inspect.signature(reproduce).parameters['jobs'].default)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert int(printed) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("reproduce", "--tasks", "pong"), "tasks: there is no 'pong'"),
        (("reproduce", "--methods", "sac"), "methods: there is no 'sac'"),
        (("reproduce", "--seeds", "0"), "seeds: 0"),
        (
            ("reproduce", "--published", "--tasks", "taxi", "--seeds", "5"),
            "published: that is a plan of its own; leave out --tasks, --seeds",
        ),
        (("reproduce", "--published", "--methods", "all"), "leave out --methods"),
        (("reproduce", "--published", "--variants", "all"), "leave out --variants"),
        (("reproduce", "--seeds", "1.5"), "--seeds: 1.5; use a whole number"),
        (("reproduce", "--jobs", "0"), "jobs: 0"),
        (("report",), "results: there is no such folder"),
        (("report", "."), "there are no records in it"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(words, message, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        run(monkeypatch, *words)
    assert message in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())
