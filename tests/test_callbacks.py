"""Hooks into training, and the folder of a run."""

import csv
import json
import shutil
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboardX.proto.event_pb2 import Event

import odrpo
from odrpo.callbacks import Callback, CheckpointEvery, EvaluateEvery, StopOnReward
from odrpo.run_folder import RunFolder, read_episodes

FAST: dict[str, Any] = {"num_envs": 4, "num_steps": 16}


def cliff(**options: Any) -> odrpo.ODRPO:
    return odrpo.ODRPO("CliffWalking-v1", **(FAST | options))


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Diary(Callback):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_training_start(self) -> None:
        self.lines.append(f"start at {self.model.num_timesteps}")

    def on_update(self, row: dict[str, float]) -> None:
        self.lines.append(f"update to {row['timesteps']}")

    def on_training_end(self) -> None:
        self.lines.append(f"end at {self.model.num_timesteps}")


def test_hooks_are_called_in_order() -> None:
    diary = Diary()
    cliff().learn(128, callback=diary)
    assert diary.lines == ["start at 0", "update to 64", "update to 128", "end at 128"]


def test_a_function_can_stop_and_learning_goes_on_from_there() -> None:
    seen = []

    def stop(model: odrpo.ODRPO, row: dict[str, float]) -> bool:
        seen.append(row["timesteps"])
        return model.num_timesteps < 128

    model = cliff().learn(10_000, callback=[stop, Diary()])
    assert seen == [64, 128]
    assert model.learn(64).num_timesteps == 192


def test_stop_on_reward() -> None:
    model = cliff().learn(30_000, callback=StopOnReward(-14))
    assert model.records.updates[-1]["return"] >= -14
    assert model.num_timesteps < 30_000
    assert all(row["return"] < -14 or row["episodes"] < 20 for row in model.records.updates[:-1])


@pytest.mark.filterwarnings("ignore:.*did not end:RuntimeWarning")
def test_evaluation_keeps_the_best(tmp_path: Path) -> None:
    best = tmp_path / "best.odrpo"
    watch = EvaluateEvery("CliffWalking-v1", 1024, episodes=1, best_model=best, stop_at=-13)
    model = cliff()
    model.learn(30_000, callback=watch)
    assert watch.best == -13
    assert watch.results[-1] == (model.num_timesteps, -13)
    assert [steps for steps, _ in watch.results] == list(range(1024, model.num_timesteps + 1, 1024))
    assert odrpo.evaluate(odrpo.ODRPO.load(best), "CliffWalking-v1", 1) == -13


def test_checkpoints(tmp_path: Path) -> None:
    cliff().learn(256, callback=CheckpointEvery(tmp_path / "at_{timesteps}.odrpo", 100))
    assert {path.name for path in tmp_path.iterdir()} == {"at_128.odrpo", "at_256.odrpo"}
    with pytest.raises(ValueError, match="timesteps: 0; use a whole number > 0"):
        CheckpointEvery("x", 0)


@pytest.mark.parametrize(
    ("callback", "message"),
    [
        ("x", "callback: 'x'; use a function"),
        (["x"], "callback: 'x'; use a function"),
        (StopOnReward, r"callback: StopOnReward is a class; make an object of it, StopOnReward\("),
        ([Diary], "callback: Diary is a class"),
    ],
)
def test_what_is_no_callback_is_refused(callback: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cliff().learn(64, callback=callback)


def test_callbacks_refuse_what_is_no_number() -> None:
    for threshold in (np.nan, "high", None):
        with pytest.raises(ValueError, match=r"threshold: .*; use a finite number"):
            StopOnReward(threshold)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="stop_at: nan; use a finite number"):
        EvaluateEvery("CliffWalking-v1", 100, stop_at=np.nan)
    with pytest.raises(ValueError, match="episodes: 0; use a whole number > 0"):
        EvaluateEvery("CliffWalking-v1", 100, episodes=0)


def events_in(path: Path) -> list[Event]:
    """As TensorBoard reads them: a length and its checksum, what is told and its checksum."""
    content, at, found = path.read_bytes(), 0, []
    while at < len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        found.append(Event.FromString(content[at + 12 : at + 12 + length]))
        at += 12 + length + 4
    return found


def test_a_run_leaves_its_files(tmp_path: Path) -> None:
    model = cliff().learn(2048, run_dir=tmp_path / "run")
    folder = tmp_path / "run"
    config = json.loads((folder / "config.json").read_text())
    assert config["env"] == "CliffWalking-v1"
    assert config["max_steps"] == 200
    assert config["config"]["num_steps"] == 16
    rows = read(folder / "progress.csv")
    assert [float(row["timesteps"]) for row in rows] == list(range(64, 2049, 64))
    for row, kept in zip(rows, model.records.updates, strict=True):
        assert float(row["beta"]) == kept["beta"]
    assert read_episodes(folder / "episodes.csv") == model.records.episodes
    assert (folder / "curve.png").stat().st_size > 5000
    (events,) = folder.glob("events.out.tfevents.*")
    told = [event for event in events_in(events) if event.summary.value]
    assert [event.step for event in told] == list(range(64, 2049, 64))
    for event, kept in zip(told, model.records.updates, strict=True):
        values = {value.tag: value.simple_value for value in event.summary.value}
        assert values == {
            name: pytest.approx(value)
            for name, value in kept.items()
            if name != "timesteps" and np.isfinite(value)
        }


def test_a_run_that_was_killed_goes_on_as_if_nothing_had_happened(
    tmp_path: Path,
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    cliff().learn(2048, run_dir=whole)

    class PlugPulledError(Exception):
        """As a kill: nothing after it is done in an orderly way."""

    def pull(model: odrpo.ODRPO, row: dict[str, float]) -> None:
        if row["timesteps"] >= 1024:
            shutil.copytree(killed, tmp_path / "left")
            raise PlugPulledError

    with pytest.raises(PlugPulledError):
        cliff().learn(2048, callback=pull, run_dir=killed, checkpoint_timesteps=1)
    left = tmp_path / "left"
    with (left / "progress.csv").open("a") as file:
        file.write("1088,77,half a ro")
    model = odrpo.ODRPO.load(left)
    assert model.num_timesteps == 960  # a checkpoint comes after all that is told of an update
    assert model.target == 2048
    model.learn(model.target - model.num_timesteps, run_dir=left)
    for name in ("progress.csv", "episodes.csv"):
        mine, theirs = read(left / name), read(whole / name)
        for row in (*mine, *theirs):
            row.pop("seconds", None)
        assert mine == theirs


@pytest.mark.slow
def test_several_seeds_have_folders_of_their_own(tmp_path: Path) -> None:
    models = [cliff(seed=seed) for seed in (3, 5)]
    odrpo.train(models, 256, run_dir=tmp_path)
    for model in models:
        loaded = odrpo.ODRPO.load(tmp_path / f"seed_{model.seed}" / "model.odrpo")
        states = np.arange(48)
        np.testing.assert_array_equal(loaded.probabilities(states), model.probabilities(states))


def test_a_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    cliff().learn(64, run_dir=tmp_path)
    with pytest.raises(ValueError, match="holds another run"):
        cliff(seed=1).learn(64, run_dir=tmp_path)


@pytest.mark.parametrize(
    ("terminal", "steps"), [(True, "1024/1024"), (False, "1,024 of 1,024 steps")]
)
def test_progress_shows_steps_and_return(
    terminal: bool, steps: str, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    cliff().learn(1024, progress_bar=True)
    shown = " ".join(capfd.readouterr().err.split())
    assert "CliffWalking-v1" in shown
    assert steps in shown
    assert "return -" in shown
    assert "steps/s" in shown
    cliff().learn(64, progress_bar=False)
    assert capfd.readouterr().err == ""


def test_nobody_needs_to_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)  # as in a program without a console
    cliff().learn(64, progress_bar=False)


def test_without_a_terminal_a_line_comes_now_and_then(
    capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odrpo.progress.LINE_SECONDS", 0.0)
    cliff().learn(256, progress_bar=True)
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(":")[1].split(" of ")[0] for line in lines[:4]] == [
        " 64",
        " 128",
        " 192",
        " 256",
    ]


def test_a_run_folder_is_a_callback(tmp_path: Path) -> None:
    cliff().learn(64, callback=RunFolder(tmp_path / "own"))
    assert (tmp_path / "own" / "model.odrpo").exists()
