"""The folder of a run: whose it is, and that nothing is lost whenever a run stops."""

import csv
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odrpo
from odrpo import records, run_folder, run_logs
from odrpo.records import Records
from odrpo.run_folder import RunFolder
from odrpo.run_logs import last_tenth, read_episodes

FAST: dict[str, Any] = {"num_envs": 4, "num_steps": 16}


def cliff(**options: Any) -> odrpo.ODRPO:
    return odrpo.ODRPO("CliffWalking-v1", **(FAST | options))


def column(folder: Path, name: str) -> list[float]:
    with (folder / "progress.csv").open(newline="") as file:
        return [float(row[name]) for row in csv.DictReader(file)]


def test_a_run_that_was_killed_at_once_goes_on(tmp_path: Path) -> None:
    cliff().learn(0, run_dir=tmp_path)
    model = odrpo.ODRPO.load(tmp_path / "model.odrpo")
    assert model.num_timesteps == 0
    model.learn(64, run_dir=tmp_path)
    assert column(tmp_path, "timesteps") == [64]


def test_a_model_goes_on_in_the_folder_that_it_began(tmp_path: Path) -> None:
    model = cliff().learn(0, run_dir=tmp_path)
    model.learn(64, run_dir=tmp_path).learn(64, run_dir=tmp_path)
    assert column(tmp_path, "timesteps") == [64, 128]


def test_a_new_model_never_takes_a_folder_over(tmp_path: Path) -> None:
    cliff().learn(128, run_dir=tmp_path)
    for timesteps in (0, 64):
        other = cliff(seed=1).learn(timesteps)
        with pytest.raises(ValueError, match=f"run_dir: {tmp_path} holds another run"):
            other.learn(64, run_dir=tmp_path)
    assert column(tmp_path, "timesteps") == [64, 128]


def test_what_was_recorded_is_logged_though_training_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Records.add

    def interrupted(self: Records, *arguments: Any) -> dict[str, float]:
        row = add(self, *arguments)
        if row["timesteps"] >= 1024:
            raise KeyboardInterrupt
        return row

    monkeypatch.setattr(Records, "add", interrupted)
    model = cliff()
    with pytest.raises(KeyboardInterrupt):
        model.learn(4096, run_dir=tmp_path)
    assert column(tmp_path, "timesteps") == list(range(64, 1025, 64))
    assert model.records.episodes
    assert read_episodes(tmp_path / "episodes.csv") == model.records.episodes
    assert odrpo.ODRPO.load(tmp_path).num_timesteps == 1024


def test_an_interruption_before_the_files_are_open_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_folder, "Log", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cliff().learn(64, run_dir=tmp_path)


def test_the_clock_goes_on_after_loading(tmp_path: Path) -> None:
    cliff().learn(256, run_dir=tmp_path)
    before = column(tmp_path, "seconds")
    odrpo.ODRPO.load(tmp_path / "model.odrpo").learn(256, run_dir=tmp_path)
    after = column(tmp_path, "seconds")
    assert after[: len(before)] == before
    assert (np.diff(after) > 0).all()


def test_no_curve_without_an_episode(tmp_path: Path) -> None:
    model = cliff(num_steps=4).learn(16, run_dir=tmp_path)
    assert not model.records.episodes
    assert not (tmp_path / "curve.png").exists()


@pytest.mark.parametrize("place", ["file", "file/run"])
def test_a_folder_that_can_not_be_written_is_named(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="run_dir: it can't be written") as error:
        cliff().learn(64, run_dir=tmp_path / place)
    assert error.value.filename == str(tmp_path / place)


def test_stopping_ends_all_seeds_in_good_order(tmp_path: Path) -> None:
    models = [cliff(seed=seed, backend="host") for seed in range(3)]
    odrpo.train(models, 640, run_dir=tmp_path, stop=lambda: models[1].num_timesteps >= 128)
    assert [model.num_timesteps for model in models] == [640, 128, 0]
    loaded = [odrpo.ODRPO.load(tmp_path / f"seed_{seed}" / "model.odrpo") for seed in range(3)]
    odrpo.train(loaded, 0, run_dir=tmp_path, unfinished=True)
    for seed in range(3):
        assert column(tmp_path / f"seed_{seed}", "timesteps") == list(range(64, 641, 64))


def test_seeds_that_were_killed_before_all_had_a_folder_are_missed(tmp_path: Path) -> None:
    places = [tmp_path / f"seed_{seed}" for seed in range(3)]
    with pytest.raises(ValueError, match="no checkpoint in it; nothing was saved yet"):
        run_folder.folders_of(tmp_path)
    odrpo.train([cliff(seed=seed) for seed in range(3)], 0, run_dir=tmp_path)
    assert run_folder.folders_of(tmp_path) == places
    shutil.rmtree(places[1])
    with pytest.raises(ValueError, match=r"nothing is there of seeds \[1\]; .*such as .*seed_0"):
        run_folder.folders_of(tmp_path)
    assert run_folder.folders_of(places[0]) == [places[0]]
    (places[0] / "config.json").write_text("{")
    (places[2] / "config.json").unlink()
    assert run_folder.folders_of(tmp_path) == [places[0], places[2]]


@pytest.mark.parametrize("which", ["progress.csv", "episodes.csv"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace(b"timesteps", b"timestepz", 1),
        lambda text: text.replace(b"\n", b'\n"', 3),
        lambda text: text[:200] + bytes(range(256)) + text[300:],
        lambda text: text.replace(b",", b",abc,", 60),
        lambda text: text[: len(text) // 2] + b"x" * 200_000 + text[len(text) // 2 :],
    ],
    ids=["header", "quotes", "binary", "columns", "long"],
)
def test_a_damaged_log_is_kept_and_told(damage: Any, which: str, tmp_path: Path) -> None:
    cliff().learn(1280, run_dir=tmp_path)
    path = tmp_path / which
    path.write_bytes(damage(path.read_bytes()))
    content = path.read_bytes()
    again = odrpo.ODRPO.load(tmp_path)
    with pytest.warns(UserWarning, match=f"{which}: .* of its lines can't be read"):
        again.learn(64, run_dir=tmp_path)
    assert (tmp_path / f"{which}.damaged").read_bytes() == content
    assert column(tmp_path, "timesteps")[-1] == 1344
    read_episodes(tmp_path / "episodes.csv")


def test_a_log_that_ends_in_the_midst_of_a_line_is_not_damaged(tmp_path: Path) -> None:
    cliff().learn(640, run_dir=tmp_path)
    with (tmp_path / "progress.csv").open("a") as file:
        file.write("704,12,-5")
    odrpo.ODRPO.load(tmp_path).learn(64, run_dir=tmp_path)
    assert column(tmp_path, "timesteps") == list(range(64, 705, 64))
    assert not list(tmp_path.glob("*.damaged"))


def test_links_in_a_folder_lead_nowhere(tmp_path: Path) -> None:
    """Whose folder it is decides on nothing outside of it."""
    run, precious = tmp_path / "run", tmp_path / "precious"
    cliff().learn(64, run_dir=run)
    precious.write_text("mine")
    written = (f".{name}.{os.getpid()}.partial" for name in ("progress.csv", "config.json"))
    names = (*written, ".partial.curve.png")
    for name in (*names, "curve.png", "config.json"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(precious)
    odrpo.ODRPO.load(run).learn(640, run_dir=run)
    assert precious.read_text() == "mine"
    assert column(run, "timesteps")[-1] == 704


@pytest.mark.parametrize("name", ["checkpoints", "checkpoints/replay"])
def test_a_link_for_a_folder_is_refused(name: str, tmp_path: Path) -> None:
    run, precious = tmp_path / "run", tmp_path / "precious"
    cliff().learn(64, run_dir=run)
    precious.mkdir()
    if (run / name).exists():
        (run / name).rename(tmp_path / "aside")
        shutil.copytree(tmp_path / "aside", precious, dirs_exist_ok=True)
    before = sorted(precious.iterdir())
    (run / name).symlink_to(precious)
    with pytest.raises(ValueError, match=f"{name}: it is a link"):
        odrpo.ODRPO.load(run).learn(64, run_dir=run)
    assert sorted(precious.iterdir()) == before


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    cliff().learn(64, run_dir=tmp_path)
    for name in ("999999999999.odrpo", "replay/@eaDir", "replay/rows-0-1-00000000.odrpo"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    (tmp_path / "checkpoints" / "replay" / "notes.txt").write_text("mine")
    odrpo.ODRPO.load(tmp_path).learn(64, run_dir=tmp_path)
    assert (tmp_path / "checkpoints" / "replay" / "notes.txt").exists()
    assert odrpo.ODRPO.load(tmp_path).num_timesteps == 128


def test_a_run_that_has_gone_on_elsewhere_is_not_overwritten(tmp_path: Path) -> None:
    first = cliff().learn(128, run_dir=tmp_path)
    odrpo.ODRPO.load(tmp_path).learn(640, run_dir=tmp_path)
    with pytest.raises(ValueError, match="has since gone on to 768 timesteps; go on with ODRPO"):
        first.learn(64, run_dir=tmp_path)
    assert column(tmp_path, "timesteps") == list(range(64, 769, 64))


def test_a_model_that_only_lies_in_a_folder_does_not_take_it_over(tmp_path: Path) -> None:
    cliff().learn(640, run_dir=tmp_path)
    cliff(seed=7).save(tmp_path / "other.odrpo")
    with pytest.raises(ValueError, match="holds another run"):
        odrpo.ODRPO.load(tmp_path / "other.odrpo").learn(64, run_dir=tmp_path)


@pytest.mark.parametrize("text", ['{"seeds": [1e999]}', "[" * 200_000, '{"seeds": 3}'])
def test_an_odd_config_is_passed_over(text: str, tmp_path: Path) -> None:
    cliff().learn(64, run_dir=tmp_path / "seed_3")
    (tmp_path / "seed_3" / "config.json").write_text(text)
    assert run_folder.folders_of(tmp_path) == [tmp_path / "seed_3"]


def test_seeds_on_the_device_stop_together() -> None:
    models = [cliff(seed=seed) for seed in range(2)]
    odrpo.train(models, 640, stop=lambda: models[1].num_timesteps >= 128)
    assert [model.num_timesteps for model in models] == [128, 128]


def test_all_episodes_of_an_update_are_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where they are more than are kept in memory."""
    every = cliff(max_steps=2).learn(256).records.episodes
    monkeypatch.setattr(records, "MOST_EPISODES", 20)
    model = cliff(max_steps=2).learn(256, run_dir=tmp_path)
    assert len(model.records.episodes) < len(every) == model.records.episode_count
    assert read_episodes(tmp_path / "episodes.csv") == every


@pytest.mark.parametrize("count", [0, 7, 20, 104, 250])
def test_the_last_tenth_is_that_of_all_episodes(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where only some are logged, it is the mean of those."""
    monkeypatch.setattr(run_logs, "DENSE_EPISODES", 20)
    numbers = [n for n in range(1, count + 1) if n <= 20 or n % (10 if n <= 200 else 100) == 0]
    rows = [f"{10 * n},{n},10" for n in numbers]
    (tmp_path / "episodes.csv").write_text("\n".join(["timesteps,episode_return,length", *rows]))
    last = [n for n in numbers if n > count - max(1, count // 10)]
    expected = np.mean(last) if last else np.nan
    np.testing.assert_equal(last_tenth(tmp_path, count), expected)


def test_the_worst_certificate_is_remembered(tmp_path: Path) -> None:
    cliff().learn(256, run_dir=tmp_path)
    model = odrpo.ODRPO.load(tmp_path / "model.odrpo").learn(256, run_dir=tmp_path)
    rows = [column(tmp_path, name) for name in ("gap", "gain", "distance", "radius")]
    assert len(rows[0]) == model.records.update_count > len(model.records.updates)
    gap, gain, distance, radius = (np.array(each) for each in rows)
    assert model.records.largest_gap == pytest.approx(np.max(np.abs(gap) / (1 + np.abs(gain))))
    assert model.records.largest_use == pytest.approx(np.max(distance / radius))


def test_two_run_folders_in_one_place_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds another run"):
        odrpo.train([cliff(seed=0), cliff(seed=1)], 64, callback=RunFolder(tmp_path))
    assert json.loads((tmp_path / "config.json").read_text())["seed"] == 0
