"""Runs in processes of their own: what fails, what is stopped, what is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from filelock import FileLock

from odrpo.experiments import worker
from odrpo.experiments.baselines import _Watch
from odrpo.experiments.pool import Pool
from odrpo.experiments.record import Record, read
from odrpo.experiments.runs import Run
from odrpo.experiments.status import Status, read_status
from odrpo.model import ODRPO

RUN = Run("CartPole-v1", "odrpo-kl", 0, 6_000)
SAVE_ALWAYS = """
import functools, json, os, sys
from pathlib import Path
import odrpo.run_folder, odrpo.experiments.ours, odrpo.experiments.status
odrpo.run_folder.SHARE_OF_TIME = 1e9
odrpo.experiments.status.SECONDS = 0
often = functools.partial(odrpo.experiments.ours.train, checkpoint_seconds=0.0)
odrpo.experiments.ours.train = often
from odrpo.experiments.runs import Run
from odrpo.experiments.worker import main
sys.exit(main(Run(**json.loads(sys.argv[1])), Path(sys.argv[2]), os.getppid()))
"""


PARENT = """
import os, subprocess, sys
command = [sys.executable, "-m", "odrpo.experiments.worker", *sys.argv[1:], str(os.getpid())]
subprocess.run(command)
"""


def quiet(pool: Pool) -> None:
    """Show nothing."""


def never() -> bool:
    return False


def tables_of(record: Record) -> tuple:
    """All but how long it took."""
    return (
        record.played.tolist(),
        record.taken,
        record.updates,
        record.evaluation,
        record.largest_gap,
        record.largest_use,
        record.refused,
        record.config,
        record.clock["timesteps"],
    )


def test_one_failed_run_does_not_stop_the_others(tmp_path: Path) -> None:
    bad = Run("NoSuchTask-v0", "odrpo-kl", 0, 1000)
    good = Run("CliffWalking-v1", "odrpo-kl", 0, 2_000)
    outcome = Pool(tmp_path, [bad, good], jobs=2).work(quiet, never)
    assert outcome.done == [good]
    assert list(outcome.failed) == [bad]
    assert "NoSuchTask" in outcome.failed[bad]
    record = read(good.record_file(tmp_path))
    assert record.played[-1, 0] <= 2_000
    assert record.largest_gap is not None
    assert record.largest_gap < 1e-4
    assert len(record.evaluation["returns"]) == 100
    left = ["lock", "log.txt", "model.odrpo"]
    assert sorted(path.name for path in good.folder(tmp_path).iterdir()) == left
    # A worker that was killed before it had tidied up.
    (good.folder(tmp_path) / "replay").mkdir()
    (good.folder(tmp_path) / "progress.csv").write_text("timesteps")
    assert worker.main(good, tmp_path, os.getppid()) == 0
    assert sorted(path.name for path in good.folder(tmp_path).iterdir()) == left
    # Who removes a record gets it again.
    good.record_file(tmp_path).unlink()
    assert Pool(tmp_path, [good], jobs=1).work(quiet, never).done == [good]
    assert tables_of(read(good.record_file(tmp_path))) == tables_of(record)


def test_one_that_can_not_begin_does_not_stop_the_others(tmp_path: Path) -> None:
    bad = Run("NChain-v0", "odrpo-kl", 0, 1_000)
    good = Run("CliffWalking-v1", "odrpo-kl", 0, 1_000)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "NChain-v0").write_text("in the way")
    outcome = Pool(tmp_path, [bad, good], jobs=1).work(quiet, never)
    assert outcome.done == [good]
    assert "Not a directory" in outcome.failed[bad]


def test_a_stop_ends_what_is_under_way_and_it_goes_on(tmp_path: Path) -> None:
    run = Run("CartPole-v1", "odrpo-kl", 0, 40_000)

    def when_it_learns() -> bool:
        return read_status(run.folder(tmp_path)).get("done", 0) > 0

    outcome = Pool(tmp_path, [run], jobs=1).work(quiet, when_it_learns)
    assert outcome.stopped
    assert (outcome.done, outcome.failed) == ([], {})
    saved = ODRPO.load(run.folder(tmp_path) / "model.odrpo").num_timesteps
    assert 0 < saved < run.timesteps
    outcome = Pool(tmp_path, [run], jobs=1).work(quiet, never)
    assert outcome.done == [run]
    played = read(run.record_file(tmp_path)).played
    # No episode is lost: the timesteps of each environment are those of its episodes.
    assert 40_000 - 4 * 500 <= played[:, 2].sum() <= 40_000


def test_a_killed_run_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, "-c", SAVE_ALWAYS]
    asked = ['{"env":"CartPole-v1","method":"odrpo-kl","seed":0,"timesteps":6000}']
    subprocess.run([*command, *asked, str(whole)], check=True)
    rng = np.random.default_rng(0)
    for target in sorted(rng.integers(500, 5500, 3)):
        process = subprocess.Popen([*command, *asked, str(killed)])
        while process.poll() is None:
            if read_status(RUN.folder(killed)).get("done", 0) >= target:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
            time.sleep(0.002)
        assert process.returncode == -signal.SIGKILL
        assert ODRPO.load(RUN.folder(killed)).num_timesteps > 0
    subprocess.run([*command, *asked, str(killed)], check=True)
    records = [read(RUN.record_file(out)) for out in (whole, killed)]
    assert tables_of(records[0]) == tables_of(records[1])


@pytest.mark.slow
def test_a_killed_command_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    run = Run("CartPole-v1", "odrpo-kl", 0, 100_000)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, "-m", "odrpo", "reproduce", "--tasks", "cartpole"]
    command += ["--methods", "odrpo-kl", "--seeds", "1", "--jobs", "1", "--out"]
    subprocess.run([*command, str(whole)], check=True)
    process = subprocess.Popen([*command, str(killed)])
    while read_status(run.folder(killed)).get("done", 0) == 0:
        time.sleep(0.01)
    process.kill()
    process.wait()
    # The worker, which is left alone, notices; until then the second command's waits.
    subprocess.run([*command, str(killed)], check=True)
    records = [read(run.record_file(out)) for out in (whole, killed)]
    assert tables_of(records[0]) == tables_of(records[1])
    tables = [
        {path.name: path.read_text() for path in (out / "tables").iterdir()}
        for out in (whole, killed)
    ]
    assert len(tables[0]) > 6
    assert tables[0].keys() == tables[1].keys()
    differ = {name for name, text in tables[0].items() if text != tables[1][name]}
    assert differ <= {"wall_clock.md", "wall_clock.tex"}


def test_a_worker_that_is_left_alone_stops(tmp_path: Path) -> None:
    run = Run("CartPole-v1", "odrpo-kl", 0, 1_000_000_000)
    asked = json.dumps(asdict(run))
    parent = subprocess.Popen([sys.executable, "-c", PARENT, asked, str(tmp_path)])
    folder = run.folder(tmp_path)
    while read_status(folder).get("done", 0) == 0:
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    with FileLock(folder / "lock", timeout=60):  # it holds it as long as it lives
        assert ODRPO.load(folder / "model.odrpo").num_timesteps > 0


def test_a_worker_whose_command_was_killed_before_it_looked_stops(tmp_path: Path) -> None:
    run = Run("CartPole-v1", "odrpo-kl", 0, 1_000_000_000)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    command = [sys.executable, "-m", "odrpo.experiments.worker", json.dumps(asdict(run))]
    assert subprocess.run([*command, str(tmp_path), str(gone.pid)], timeout=60).returncode == 1


def test_who_removes_a_record_and_asks_for_more_gets_all_of_it(tmp_path: Path) -> None:
    run = Run("CliffWalking-v1", "odrpo-kl", 0, 1_000)
    assert Pool(tmp_path, [run], jobs=1).work(quiet, never).done == [run]
    run.record_file(tmp_path).unlink()
    longer = replace(run, timesteps=2_000)
    assert Pool(tmp_path, [longer], jobs=1).work(quiet, never).done == [longer]
    assert read(run.record_file(tmp_path)).played[0, 0] < 1_000


def test_a_folder_with_other_settings_is_refused(tmp_path: Path) -> None:
    folder = RUN.folder(tmp_path)
    ODRPO("CartPole-v1", radius=0.5).learn(0, run_dir=folder)
    outcome = Pool(tmp_path, [RUN], jobs=1).work(quiet, never)
    assert "it holds a run with other settings" in outcome.failed[RUN]


def test_baselines_record_every_episode(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    longest = {
        Run("CliffWalking-v1", "trpo", 0, 3_000): 200,
        Run("CartPole-v1", "ppo", 0, 16_000): 500,
        Run("Acrobot-v1", "a2c", 0, 24_000): 500,
    }
    outcome = Pool(tmp_path, list(longest), jobs=2).work(quiet, never)
    assert not outcome.failed
    for run, limit in longest.items():
        record = read(run.record_file(tmp_path))
        assert record.played[-1, 0] <= run.timesteps
        # All timesteps belong to an episode, but for those of one in each environment that had not
        # ended: budgets are more than these can hold.
        unfinished = limit * record.config["n_envs"]
        assert 0 < run.timesteps - unfinished < record.played[:, 2].sum() <= run.timesteps
        assert record.updates == {}
        assert 0 < record.clock["seconds"][0] < record.clock["seconds"][-1] <= record.seconds


def test_a_baseline_that_was_told_to_stop_is_not_over(tmp_path: Path) -> None:
    asked = iter([False, True])
    watch = _Watch(Status(tmp_path), lambda: next(asked))
    now = {"self": SimpleNamespace(num_timesteps=8), "infos": [{}]}
    assert [watch(now, {}) for _ in range(3)] == [True, False, False]
    assert watch.stopped


def test_a_baseline_can_be_stopped(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    run = Run("CartPole-v1", "ppo", 0, 10_000_000)
    began = time.monotonic()
    outcome = Pool(tmp_path, [run], jobs=1).work(
        quiet, lambda: read_status(run.folder(tmp_path)).get("done", 0) > 0
    )
    assert outcome.stopped
    assert time.monotonic() - began < 50
    assert not run.record_file(tmp_path).exists()


@pytest.mark.slow
def test_a_killed_baseline_begins_anew_and_ends_the_same(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    run = Run("Acrobot-v1", "ppo", 0, 40_000)  # what it sees is normalised
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, "-m", "odrpo.experiments.worker", json.dumps(asdict(run))]
    here = str(os.getpid())
    subprocess.run([*command, str(whole), here], check=True)
    process = subprocess.Popen([*command, str(killed), here])
    while process.poll() is None and read_status(run.folder(killed)).get("done", 0) < 5_000:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not run.record_file(killed).exists()
    subprocess.run([*command, str(killed), here], check=True)
    records = [read(run.record_file(out)) for out in (whole, killed)]
    assert len(records[0].played) > 50
    assert tables_of(records[0]) == tables_of(records[1])


def test_without_the_extra_a_baseline_says_what_to_install(tmp_path: Path) -> None:
    try:
        import sb3_contrib  # noqa: F401
    except ImportError:
        run = Run("CartPole-v1", "ppo", 0, 1000)
        outcome = Pool(tmp_path, [run], jobs=1).work(quiet, never)
        assert "make baselines" in outcome.failed[run]
    else:
        pytest.skip("it is installed")
