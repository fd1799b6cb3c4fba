"""Experiments that were stopped go on, and remember what came before."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from odrpo.experiments import add_seeds, has_seed, read_records, run_task

SMALL: dict[str, Any] = {"hidden": (8,), "num_envs": 2, "num_steps": 64}


def test_an_experiment_goes_on_in_its_folder(tmp_path: Path) -> None:
    def run(timesteps: int, **settings: Any) -> tuple:
        record, (model,) = run_task(
            *("CartPole-v1", "kl", [3], "default", timesteps),
            evaluation_episodes=1,
            progress_bar=False,
            folder=tmp_path,
            **(SMALL | settings),
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
    with pytest.raises(ValueError, match="it holds a run with other settings"):
        run(1024)
    with pytest.raises(ValueError, match="it holds a run with other settings"):
        run(2048, radius=0.5)


def test_a_seed_joins_those_that_are_recorded(tmp_path: Path) -> None:
    record, _ = run_task("CliffWalking-v1", "kl", [3], timesteps=2_000, evaluation_episodes=2)
    assert not has_seed(tmp_path, "CliffWalking-v1", "tuned", "kl", 3)
    add_seeds(record, tmp_path)
    curve = [list(point) for point in record.seeds[0].curve]
    assert len(curve) > 1
    assert read_records(tmp_path)[0].seeds[0].curve == curve
    # One of an earlier version, which had fewer settings.
    fewer = {name: value for name, value in record.config.items() if name != "octaves"}
    add_seeds(replace(record, config=fewer, metric="sinkhorn"), tmp_path)
    add_seeds(replace(record, metric="sinkhorn"), tmp_path)
    earlier = replace(record, seeds=[replace(record.seeds[0], seed=1)])
    both = add_seeds(earlier, tmp_path)
    assert [seed.seed for seed in both.seeds] == [1, 3]
    assert both.wall_clock == 2 * record.wall_clock
    assert len(read_records(tmp_path)[0].seeds) == 2
    assert has_seed(tmp_path, "CliffWalking-v1", "tuned", "kl", 3)
    add_seeds(replace(record, metric="wasserstein"), tmp_path)
    assert len(read_records(tmp_path)) == 3
    with pytest.raises(
        ValueError, match="CliffWalking-v1-tuned-kl: it is recorded with other settings"
    ):
        add_seeds(replace(record, config=record.config | {"radius": 9.0}), tmp_path)
