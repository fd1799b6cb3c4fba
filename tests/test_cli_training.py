"""`odrpo train`, `resume` and `evaluate` for real, and what they refuse."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import odrpo
from odrpo import cli

FAST = ("--num-envs", "4", "--num-steps", "16", "--episodes", "5")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["odrpo", *map(str, arguments)])
    monkeypatch.setenv("COLUMNS", "120")
    cli.main()


def timesteps(folder: Path) -> list[float]:
    with (folder / "progress.csv").open(newline="") as file:
        return [float(row["timesteps"]) for row in csv.DictReader(file)]


def test_train_resume_evaluate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    folder = tmp_path / "run"
    flags = ("--metric", "wasserstein", "--radius", "0.04", "--run-dir", folder, *FAST)
    run(monkeypatch, "train", "CliffWalking-v1", "--timesteps", 2048, *flags)
    printed = capsys.readouterr().out
    assert "CliffWalking-v1, Wasserstein: 2,048 steps a seed" in printed
    assert "-13.00 +- 0.00" in printed
    config = json.loads((folder / "config.json").read_text())["config"]
    assert config["radius"] == 0.04
    assert config["num_steps"] == 16
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "progress.csv", "model.odrpo", "curve.png"} <= names
    assert any(name.startswith("events.out.tfevents") for name in names)

    run(monkeypatch, "resume", folder, "--timesteps", 256, "--episodes", 5)
    assert timesteps(folder) == list(range(64, 2304 + 1, 64))

    capsys.readouterr()
    for place in (folder / "model.odrpo", folder):
        run(monkeypatch, "evaluate", place, "--episodes", 7)
        assert "mean -13.00 +- 0.00 over 7 episodes" in capsys.readouterr().out


def test_continuous_actions_are_trained_resumed_and_evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    folder = tmp_path / "run"
    flags = ("--hidden", 16, 16, "--warm-up", 64, "--minibatch", 16, "--run-dir", folder)
    run(monkeypatch, "train", "Pendulum-v1", "--timesteps", 400, "--episodes", 2, *flags)
    run(monkeypatch, "resume", folder, "--timesteps", 80, "--episodes", 2)
    assert timesteps(folder) == list(range(64, 480 + 1, 8))
    model = odrpo.ODRPO.load(folder / "model.odrpo")
    assert model.config.horizon == 400
    assert model.replay is not None
    assert len(model.replay) == 480
    capsys.readouterr()
    run(monkeypatch, "evaluate", folder, "--episodes", 2)
    assert "over 2 episodes" in capsys.readouterr().out


@pytest.mark.slow
def test_seeds_train_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    flags = ("--seed", 5, "--seeds", 2, "--run-dir", tmp_path / "run", *FAST)
    run(monkeypatch, "train", "CliffWalking-v1", "--timesteps", 512, "--max-steps", 50, *flags)
    assert (tmp_path / "run" / "curve.png").exists()
    for seed in (5, 6):
        model = odrpo.ODRPO.load(tmp_path / "run" / f"seed_{seed}" / "model.odrpo")
        assert (model.seed, model.max_steps, model.num_timesteps) == (seed, 50, 512)
    run(monkeypatch, "resume", tmp_path / "run", "--timesteps", 64, "--episodes", 2)
    assert timesteps(tmp_path / "run" / "seed_6")[-1] == 576


@pytest.mark.slow
def test_a_video_shows_an_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "")
    monkeypatch.delenv("SDL_VIDEODRIVER")
    odrpo.ODRPO("CartPole-v1", num_envs=4, num_steps=16).save(tmp_path / "model.odrpo")
    video = tmp_path / "fall.gif"
    run(monkeypatch, "evaluate", tmp_path / "model.odrpo", "--episodes", 1, "--video", video)
    from PIL import Image

    with Image.open(video) as image:
        assert 5 < image.n_frames < 510
    assert not capfd.readouterr().err  # as of SDL, which finds no screen


def test_what_can_not_be_drawn_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    odrpo.ODRPO("NChain-v0", num_envs=4, num_steps=16).save(tmp_path / "model.odrpo")
    for flags in (["--render"], ["--video", tmp_path / "chain.gif"]):
        with pytest.raises(SystemExit) as error:
            run(monkeypatch, "evaluate", tmp_path / "model.odrpo", "--episodes", 1, *flags)
        assert error.value.code == 2
        told = " ".join(capsys.readouterr().err.split())
        assert "env: NChain-v0 can't draw itself (TypeError: nchain() got an unexpected" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "Nowhere-v0"], "env: Environment `Nowhere` doesn't exist"),
        (["train", "Pendulum-v1", "--policy", "network"], "is for Discrete actions"),
        (["train", "CartPole-v1", "--radius", "-1"], "radius: -1.0; use a finite number"),
        (["train", "CartPole-v1", "--seeds", "0"], "seeds: 0; use a whole number > 0"),
        (["train", "FrozenLake-v1", "--preset", "paper"], "the paper has no settings for"),
        (["train", "CartPole-v1", "--max-steps", "-1"], "max_steps: -1; use a whole number > 0"),
        (["train", "CartPole-v1", "--episodes", "0"], "episodes: 0; use a whole number > 0"),
        (["train", "CartPole-v1", "--timesteps", "-1"], "timesteps: -1; use a whole number >= 0"),
        (["train", "CartPole-v1", "--seed", "-1"], "seed: -1; use a whole number >= 0"),
        (["train", "CartPole-v1", "--gamma", "0.9"], "--gamma: there is no such option; did you"),
        (["train", "CartPole-v1", "--batch-size=4"], "--batch-size=4: there is no such option"),
        (["resume", "empty"], "no checkpoint in it"),
        (["resume", "nowhere"], "nowhere: there is no such folder"),
        (["resume", "empty", "--episodes", "0"], "episodes: 0; use a whole number > 0"),
        (["evaluate", "empty"], "empty/model.odrpo: there is no such file"),
        (["evaluate", "seeds"], "it holds several seeds; choose one, such as seeds/seed_3"),
        (["evaluate", "x.odrpo", "--video", "x.mp4"], "use a name that ends in .gif"),
        (["evaluate", "x.odrpo", "--video", "x.gif", "--render"], "shown or written, not both"),
    ],
)
def test_what_can_be_mended_is_said_in_a_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "seeds" / "seed_3").mkdir(parents=True)
    (tmp_path / "seeds" / "seed_3" / "model.odrpo").touch()
    with pytest.raises(SystemExit) as error:
        run(monkeypatch, *arguments)
    assert error.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "runs").exists()


def test_a_folder_with_a_run_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    model = odrpo.ODRPO("CliffWalking-v1", num_envs=4, num_steps=16)
    model.learn(64, run_dir=tmp_path)
    with pytest.raises(SystemExit):
        run(monkeypatch, "train", "CliffWalking-v1", "--run-dir", tmp_path)
    assert "holds a run; go on with" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(SystemExit):
        run(monkeypatch, "resume", tmp_path)
    assert "the run is finished at 64 timesteps" in " ".join(capsys.readouterr().err.split())
    states = np.arange(48)
    loaded = odrpo.ODRPO.load(tmp_path / "model.odrpo")
    np.testing.assert_array_equal(loaded.probabilities(states), model.probabilities(states))


@pytest.mark.parametrize(
    ("flags", "horizon"),
    [
        ([], 80_000),
        (["--preset", "default"], 10_000),
        (["--critic", "replay"], 10_000),
        (["--preset", "paper", "--final-fraction", "0.5"], 10_000),
        (["--preset", "default", "--horizon", 20_000], 20_000),
    ],
)
def test_what_fades_does_so_within_the_timesteps(
    flags: list[object], horizon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But where the preset of the environment knows better."""
    models: list[odrpo.ODRPO] = []
    monkeypatch.setattr(cli.train, "_train", lambda given, *_: models.extend(given))
    run(monkeypatch, "train", "CartPole-v1", "--timesteps", 10_000, "--seeds", 2, *flags)
    assert [model.config.horizon for model in models] == [horizon] * 2


def test_help_tells_of_every_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "train", "--help")
    shown = capsys.readouterr().out
    for name in odrpo.Config.__dataclass_fields__:
        assert f"--{name.replace('_', '-')}" in shown
