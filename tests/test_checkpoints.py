"""The checkpoints of a run: the newest that is whole is used, and nothing that is needed goes."""

import json
import resource
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import odrpo
from odrpo import checkpoint, replay_files
from odrpo.callbacks import CheckpointEvery, EvaluateEvery
from odrpo.checkpoints import checkpoints_in
from odrpo.run_folder import RunFolder
from tests import probes
from tests.faults import KINDS, assert_same_run, full_disk

TABULAR: dict[str, Any] = dict(KINDS["tabular"])
REPLAY: dict[str, Any] = KINDS["generative"] | {"env": probes.Endless}


def model(**changes: Any) -> odrpo.ODRPO:
    settings = dict(changes) if "env" in changes else TABULAR | changes
    return odrpo.ODRPO(settings.pop("env"), **settings)


def trained(folder: Path, timesteps: int = 320, **changes: Any) -> odrpo.ODRPO:
    return model(**changes).learn(timesteps, run_dir=folder, checkpoint_timesteps=64)


def test_the_last_three_are_kept(tmp_path: Path) -> None:
    trained(tmp_path)
    assert [int(path.stem) for path in checkpoints_in(tmp_path)] == [320, 256, 192]
    newest = (tmp_path / "checkpoints" / "000000000320.odrpo").read_bytes()
    assert (tmp_path / "model.odrpo").read_bytes() == newest


@pytest.mark.parametrize("content", [b"", b"torn"])
def test_the_one_before_a_damaged_one_is_used(content: bytes, tmp_path: Path) -> None:
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    trained(whole, 448)
    trained(torn, 320)
    checkpoints_in(torn)[0].write_bytes(content)
    with pytest.warns(UserWarning, match=r"000000000320.odrpo: .*; the checkpoint before it is"):
        again = odrpo.ODRPO.load(torn)
    assert again.num_timesteps == 256
    again.learn(448 - 256, run_dir=torn, checkpoint_timesteps=64)
    assert [int(path.stem) for path in checkpoints_in(torn)] == [448, 384, 320]
    assert_same_run(torn, whole)


def test_what_comes_after_the_one_that_a_run_goes_on_from_is_gone(tmp_path: Path) -> None:
    trained(tmp_path)
    earlier = odrpo.ODRPO.load(checkpoints_in(tmp_path)[1])
    earlier.learn(0, run_dir=tmp_path)
    assert odrpo.ODRPO.load(tmp_path).num_timesteps == 256


def test_where_all_are_damaged_the_error_names_a_file(tmp_path: Path) -> None:
    trained(tmp_path)
    for path in (*checkpoints_in(tmp_path), tmp_path / "model.odrpo"):
        path.write_bytes(path.read_bytes()[:-1])
    with (
        pytest.warns(UserWarning, match="it is damaged"),
        pytest.raises(ValueError, match=r"model.odrpo: this is no odrpo model, or it is damaged"),
    ):
        odrpo.ODRPO.load(tmp_path)


def test_of_a_replay_only_what_is_new_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_files, "TRANSITIONS", 32)
    written: list[str] = []
    write = checkpoint.write
    monkeypatch.setattr(
        checkpoint, "write", lambda path, *rest: (written.append(path.name), write(path, *rest))
    )
    trained(tmp_path, 144, **REPLAY)
    rows = [name for name in written if name.startswith("rows-")]
    full = [name for name in rows if name.split("-")[1:3] in (["0", "32"], ["32", "64"])]
    assert len(full) == 2
    assert len(rows) == len(set(rows))
    again = odrpo.ODRPO.load(tmp_path)
    assert again.replay is not None
    assert again.replay.added == 144


def test_what_no_checkpoint_needs_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_files, "TRANSITIONS", 32)
    trained(tmp_path, 800, **REPLAY)
    needed = set()
    for path in checkpoints_in(tmp_path):
        needed |= set(checkpoint.read(path)[1]["replay"]["files"])
    assert {path.name for path in (tmp_path / "checkpoints" / "replay").iterdir()} == needed
    assert min(int(name.split("-")[1]) for name in needed) >= 800 - 150 - 3 * 64 - 32


def test_rows_that_are_missing_lead_to_the_checkpoint_before(tmp_path: Path) -> None:
    trained(tmp_path, 320, **REPLAY)
    newest, before, *_ = checkpoints_in(tmp_path)
    names = [set(checkpoint.read(path)[1]["replay"]["files"]) for path in (newest, before)]
    (only,) = names[0] - names[1]
    (tmp_path / "checkpoints" / "replay" / only).unlink()
    with pytest.warns(UserWarning, match=rf"{only}: there is no such file.*the checkpoint before"):
        assert odrpo.ODRPO.load(tmp_path).num_timesteps == int(before.stem)


def test_a_file_does_not_choose_what_else_is_read(tmp_path: Path) -> None:
    trained(tmp_path, 128, **REPLAY)
    path = checkpoints_in(tmp_path)[0]
    arrays, header = checkpoint.read(path)
    header["replay"]["files"] = ["../../../etc/passwd"]
    checkpoint.write(path, arrays, header)
    with pytest.raises(ValueError, match="is no file of a replay"):
        odrpo.ODRPO.load(path)


def test_a_model_that_was_copied_alone_predicts(tmp_path: Path) -> None:
    own = trained(tmp_path / "run", 128, **REPLAY)
    copied = tmp_path / "copied.odrpo"
    copied.write_bytes((tmp_path / "run" / "model.odrpo").read_bytes())
    again = odrpo.ODRPO.load(copied)
    np.testing.assert_array_equal(
        again.predict([0.0], deterministic=True)[0], own.predict([0.0], deterministic=True)[0]
    )


def test_a_full_disk_stops_nothing_and_loses_nothing(tmp_path: Path) -> None:
    whole, full = tmp_path / "whole", tmp_path / "full"
    trained(whole)
    own = model()
    with (
        full_disk(lambda: 64 < own.num_timesteps < 256),
        pytest.warns(RuntimeWarning, match="can't be written .No space left.*training goes on"),
    ):
        own.learn(320, run_dir=full, checkpoint_timesteps=64)
    assert_same_run(full, whole)


def test_a_full_disk_at_the_end_is_told_and_the_last_checkpoint_is_whole(tmp_path: Path) -> None:
    own = model()
    with (
        full_disk(lambda: own.num_timesteps > 128),
        pytest.warns(RuntimeWarning, match="training goes on"),
        pytest.raises(OSError, match="No space left"),
    ):
        own.learn(320, run_dir=tmp_path, checkpoint_timesteps=64)
    again = odrpo.ODRPO.load(tmp_path)
    assert again.num_timesteps == 128
    own.learn(0, run_dir=tmp_path)  # there is room again
    assert odrpo.ODRPO.load(tmp_path).num_timesteps == 320


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    trained(tmp_path, 64)
    other = odrpo.ODRPO.load(tmp_path)
    seen: list[str] = []

    def begin(model: odrpo.ODRPO, row: dict[str, float]) -> None:
        with pytest.raises(ValueError, match="is in use by another process") as error:
            other.learn(64, run_dir=tmp_path)
        seen.append(str(error.value))

    odrpo.ODRPO.load(tmp_path).learn(64, callback=begin, run_dir=tmp_path)
    assert len(seen) == 1
    assert odrpo.ODRPO.load(tmp_path).learn(64, run_dir=tmp_path).num_timesteps == 192


def test_callbacks_are_remembered(tmp_path: Path) -> None:
    cliff = odrpo.FiniteMDP.from_gymnasium("CliffWalking-v1", max_steps=200)

    def watch() -> EvaluateEvery:
        return EvaluateEvery(cliff, 128, episodes=1)

    first, second, never = watch(), watch(), watch()
    model().learn(320, callback=[first], run_dir=tmp_path / "run")
    odrpo.ODRPO.load(tmp_path / "run").learn(320, callback=second, run_dir=tmp_path / "run")
    model().learn(640, callback=never)
    assert second.results == never.results
    assert [at for at, _ in second.results] == [128, 256, 384, 512, 640]


def test_how_often_is_a_number(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="checkpoint_timesteps: 0; use a whole number > 0"):
        model().learn(64, run_dir=tmp_path, checkpoint_timesteps=0)
    with pytest.raises(ValueError, match="checkpoint_seconds: nan; use a finite number"):
        model().learn(64, run_dir=tmp_path, checkpoint_seconds=float("nan"))


def test_saving_takes_a_small_share_of_the_time(tmp_path: Path) -> None:
    hook = RunFolder(tmp_path, seconds=0.0)
    hook.model, hook.saved, hook.cost = model(), 0.0, 2.0
    for now, due in ((150.0, False), (250.0, True)):
        with mock.patch("odrpo.run_folder.time.monotonic", return_value=now):
            assert hook._is_time() == due


def test_config_is_there_before_the_first_step(tmp_path: Path) -> None:
    model().learn(0, run_dir=tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["env"] == "CliffWalking-v1"
    assert odrpo.ODRPO.load(tmp_path).num_timesteps == 0


def test_a_limit_on_the_size_of_files_is_a_full_disk(tmp_path: Path) -> None:
    """As a disk would have it: every write fails, those of TensorBoard's files too."""
    whole, full = tmp_path / "whole", tmp_path / "full"
    trained(whole, 640)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(model: odrpo.ODRPO, row: dict[str, float]) -> None:
        allowed = 600 if 128 <= row["timesteps"] < 512 else soft
        resource.setrlimit(resource.RLIMIT_FSIZE, (allowed, hard))

    try:
        with pytest.warns(RuntimeWarning, match="can't be written .*training goes on"):
            model().learn(640, callback=limit, run_dir=full, checkpoint_timesteps=64)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_same_run(full, whole)


def test_a_checkpoint_knows_what_callbacks_make_of_its_update(tmp_path: Path) -> None:
    """As if killed right after it was written."""
    cliff = odrpo.FiniteMDP.from_gymnasium("CliffWalking-v1", max_steps=200)
    never, killed, again = (EvaluateEvery(cliff, 128, episodes=1) for _ in range(3))
    model().learn(384, callback=never)
    model().learn(128, callback=killed, run_dir=tmp_path, checkpoint_timesteps=1)
    odrpo.ODRPO.load(tmp_path).learn(256, callback=again, run_dir=tmp_path)
    assert again.results == never.results
    assert len(killed.results) == 1


def test_the_end_of_an_episode_that_is_told_late_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_files, "TRANSITIONS", 66)
    settings = REPLAY | {"num_steps": 22, "warm_up": 66, "updates_per_step": 0.5}
    own = model(**settings).learn(66, run_dir=tmp_path)
    assert own.replay is not None
    assert own.replay.added == 66  # a file is full, in the midst of an episode
    assert not own.replay.arrays["truncated"][65].any()
    own.replay.break_off()
    own.learn(22, run_dir=tmp_path)
    loaded = odrpo.ODRPO.load(tmp_path)
    assert loaded.replay is not None
    assert loaded.replay.arrays["truncated"][65].all()


def test_a_model_of_another_folder_does_not_take_one_over(tmp_path: Path) -> None:
    trained(tmp_path / "one", 64)
    trained(tmp_path / "other", 320, seed=1)
    for path in (tmp_path / "one", tmp_path / "one" / "model.odrpo"):
        with pytest.raises(ValueError, match="other holds another run"):
            odrpo.ODRPO.load(path).learn(64, run_dir=tmp_path / "other")
    assert len(checkpoints_in(tmp_path / "other")) == 3


def test_callbacks_are_told_apart_by_their_kind(tmp_path: Path) -> None:
    cliff = odrpo.FiniteMDP.from_gymnasium("CliffWalking-v1", max_steps=200)
    saved = CheckpointEvery(tmp_path / "{timesteps}.odrpo", 100)
    model().learn(128, callback=saved, run_dir=tmp_path / "run")
    watched = EvaluateEvery(cliff, 128, episodes=1)
    odrpo.ODRPO.load(tmp_path / "run").learn(128, callback=watched, run_dir=tmp_path / "run")
    again = CheckpointEvery(tmp_path / "{timesteps}.odrpo", 100)
    odrpo.ODRPO.load(tmp_path / "run").learn(0, callback=again, run_dir=tmp_path / "run")
    assert again.next == 200  # it was not there meanwhile, and is remembered


def test_a_lock_is_released_whatever_goes_wrong(tmp_path: Path) -> None:
    class Odd(CheckpointEvery):
        def to_json(self) -> Any:
            return np.float32(1)

    with pytest.raises(TypeError) as kept:
        model().learn(64, callback=Odd(tmp_path / "x", 10), run_dir=tmp_path / "run")
    assert kept.value is not None  # and with it all that was going on then
    model().learn(64, run_dir=tmp_path / "run")


def test_a_kind_of_numbers_that_we_do_not_know_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.odrpo"
    header = {"x": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [0, 1]}}
    header["__metadata__"] = {"odrpo": json.dumps({"format": 3}), "checksum": "0"}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"\0")
    with pytest.raises(ValueError, match=r"odd.odrpo: this is no odrpo model"):
        odrpo.ODRPO.load(path)
