"""Stopping `odrpo train`, and going on: nothing is lost, and the end tells of the whole run."""

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odrpo
from odrpo import cli
from odrpo.cli import train as train_command
from odrpo.records import Records
from odrpo.run_folder import RunFolder, read_episodes
from odrpo.signals import StopRequest

FAST = ("--num-envs", "4", "--num-steps", "16")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["odrpo", *map(str, arguments)])
    monkeypatch.setenv("COLUMNS", "120")
    cli.main()


def column(folder: Path, name: str) -> list[float]:
    with (folder / "progress.csv").open(newline="") as file:
        return [float(row[name]) for row in csv.DictReader(file)]


def signal_at(monkeypatch: pytest.MonkeyPatch, timesteps: int, *numbers: int) -> None:
    """Send signals to this process while the update that ends there is logged."""
    on_update = RunFolder.on_update

    def interrupted(self: RunFolder, row: dict[str, float]) -> None:
        for number in numbers if row["timesteps"] == timesteps else ():
            os.kill(os.getpid(), number)
        on_update(self, row)

    monkeypatch.setattr(RunFolder, "on_update", interrupted)


@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ([signal.SIGINT], 130),
        ([signal.SIGINT, signal.SIGINT, signal.SIGTERM], 130),
        ([signal.SIGTERM], 143),
    ],
)
def test_a_signal_stops_after_the_update_and_resume_goes_on(
    numbers: list[int],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture,
) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with monkeypatch.context() as patch:
        signal_at(patch, 1024, *numbers)
        flags = ("--timesteps", "2048", "--run-dir", tmp_path)
        with pytest.raises(SystemExit) as error:
            run(patch, "train", "CliffWalking-v1", *flags, *FAST)
    assert error.value.code == code
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before
    printed = capfd.readouterr()
    assert printed.err.count("stopping after this update ...") == 1
    assert "goes on" in printed.out
    assert column(tmp_path, "timesteps") == list(range(64, 1025, 64))
    model = odrpo.ODRPO.load(tmp_path / "model.odrpo")
    assert model.num_timesteps == 1024
    assert len(read_episodes(tmp_path / "episodes.csv")) == model.records.episode_count

    run(monkeypatch, "resume", tmp_path, "--episodes", 2)
    assert column(tmp_path, "timesteps") == list(range(64, 2049, 64))
    assert (np.diff(column(tmp_path, "seconds")) > 0).all()


def test_the_summary_after_a_resume_is_of_the_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    flags = ("--timesteps", "2e3", "--run-dir", tmp_path, "--episodes", "2")
    run(monkeypatch, "train", "CliffWalking-v1", *flags, *FAST)
    capsys.readouterr()
    run(monkeypatch, "resume", tmp_path, "--timesteps", 64, "--episodes", 2)
    shown = capsys.readouterr().out
    returns = [episode.episode_return for episode in read_episodes(tmp_path / "episodes.csv")]
    assert len(returns) > 40
    row = next(line for line in shown.splitlines() if f" {len(returns)} " in line)
    assert f" {np.mean(returns[-(len(returns) // 10) :]):.2f} " in row
    gap, gain = (np.abs(column(tmp_path, name)) for name in ("gap", "gain"))
    assert f" {(gap / (1 + gain)).max():.1e} " in row


def test_a_run_without_an_episode_comes_to_its_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    flags = ("--timesteps", "4", "--num-envs", "1", "--num-steps", "4", "--episodes", "1")
    run(monkeypatch, "train", "CartPole-v1", *flags, "--run-dir", tmp_path)
    assert "4 steps a seed" in capsys.readouterr().out
    assert not (tmp_path / "curve.png").exists()


@pytest.mark.parametrize("moment", ["ODRPO", "evaluate"])
def test_ctrl_c_before_and_after_training_is_no_failure(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

    monkeypatch.setattr(train_command, moment, interrupt)
    flags = ("--timesteps", "64", "--run-dir", tmp_path)
    # A shell that puts the tests into the background has them ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as error:
            run(monkeypatch, "train", "CliffWalking-v1", *flags, *FAST)
    finally:
        signal.signal(signal.SIGINT, before)
    assert error.value.code == 130
    assert capsys.readouterr().err.splitlines()[-1] == "stopped"


def test_a_request_before_the_first_update_is_heard(tmp_path: Path) -> None:
    model = odrpo.ODRPO("CliffWalking-v1", num_envs=4, num_steps=16)
    with StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        odrpo.train([model], 64, run_dir=tmp_path, stop=stop)
    assert stop()
    assert model.num_timesteps == 0
    assert odrpo.ODRPO.load(tmp_path / "model.odrpo").target == 64


@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_in_python_too_a_signal_stops_after_the_update(
    number: int,
    kind: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    model = odrpo.ODRPO("CliffWalking-v1", num_envs=4, num_steps=16)
    with monkeypatch.context() as patch:
        signal_at(patch, 320, number)
        with pytest.raises(kind):
            model.learn(640, run_dir=tmp_path)
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before
    told = f"stopped at 320 timesteps; what is saved in {tmp_path} goes on"
    assert told in capsys.readouterr().err
    again = odrpo.ODRPO.load(tmp_path)
    assert (again.num_timesteps, again.target) == (320, 640)
    again.learn(320, run_dir=tmp_path)
    assert column(tmp_path, "timesteps") == list(range(64, 641, 64))


def test_a_second_signal_ends_at_once_and_the_last_checkpoint_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes in the midst of taking in an update: what is half done is not saved."""
    model = odrpo.ODRPO("CliffWalking-v1", num_envs=4, num_steps=16)
    monkeypatch.setattr("odrpo.signals.PATIENCE", 0.0)
    add = Records.add

    def interrupted(self: Records, *rest: Any) -> dict[str, float]:
        if self.timesteps == 256:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGTERM)
        return add(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Records, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.learn(640, run_dir=tmp_path, checkpoint_timesteps=64)
    again = odrpo.ODRPO.load(tmp_path)
    assert again.num_timesteps == 256
    again.learn(384, run_dir=tmp_path)
    never = odrpo.ODRPO("CliffWalking-v1", num_envs=4, num_steps=16).learn(640)
    states = np.arange(48)
    np.testing.assert_array_equal(again.probabilities(states), never.probabilities(states))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_process_stops_in_good_order(number: int, code: int, tmp_path: Path) -> None:
    main = "import sys; from odrpo.cli import main; main()"
    words = ["train", "CartPole-v1", "--backend", "host", "--timesteps", "1e7", "--run-dir"]
    process = subprocess.Popen(
        [sys.executable, "-c", main, *words, str(tmp_path), *FAST],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("progress.csv")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert "stopping after this update ..." in err
    assert "Traceback" not in err
    assert "goes on" in out
    model = odrpo.ODRPO.load(tmp_path / "model.odrpo")
    if model.num_timesteps:
        assert column(tmp_path, "timesteps")[-1] == model.num_timesteps
