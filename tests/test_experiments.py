"""Experiments that were stopped go on, and remember what came before."""

from pathlib import Path
from typing import Any

from odrpo.experiments import run_task

SMALL: dict[str, Any] = {"hidden": (8,), "num_envs": 2, "num_steps": 64}


def test_an_experiment_goes_on_in_its_folder(tmp_path: Path) -> None:
    def run(timesteps: int) -> tuple:
        record, (model,) = run_task(
            *("CartPole-v1", "kl", [3], "default", timesteps),
            evaluation_episodes=1,
            progress_bar=False,
            folder=tmp_path,
            **SMALL,
        )
        return record, model

    first, _ = run(1024)
    second, model = run(2048)
    assert model.num_timesteps == 2048
    assert second.seeds[0].curve[: len(first.seeds[0].curve)] == first.seeds[0].curve
    assert len(second.seeds[0].curve) > len(first.seeds[0].curve)
    assert second.wall_clock >= first.wall_clock
    again, model = run(2048)
    assert model.num_timesteps == 2048
    assert again.seeds == second.seeds
