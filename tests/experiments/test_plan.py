"""What is published is what the plan says, and all of it."""

from pathlib import Path

from odrpo.experiments.plan import UNPUBLISHED, published_plan
from odrpo.experiments.runs import ELSEWHERE, METHODS
from odrpo.presets import TASKS

RESULTS = Path(__file__).parent.parent.parent / "results"


def seeds_of(env: str, label: str) -> list[int]:
    return [run.seed for run in published_plan() if (run.env, run.label) == (env, label)]


def test_every_task_has_its_runs() -> None:
    every = published_plan()
    assert len(set(every)) == len(every)
    assert {run.env for run in every} == {*TASKS, *ELSEWHERE} - {*UNPUBLISHED}
    for method in METHODS:
        assert seeds_of("Taxi-v4", method) == seeds_of("Acrobot-v1", method) == [0, 1, 2, 3, 4]
    assert seeds_of("CartPole-v1", "odrpo-wasserstein+ties-move") == [0, 1, 2, 3, 4]
    assert seeds_of("Ant-v5", "odrpo-kl") == [24, 25, 26]
    for method in ("trpo", "ppo", "a2c"):
        assert seeds_of("Ant-v5", method) == [24, 25]
    assert seeds_of("Reacher-v5", "odrpo-kl+gaussian") == [20, 21, 22]
    assert seeds_of("HalfCheetah-v5", "odrpo-wasserstein") == [33, 34, 35]
    assert seeds_of("Reacher-v5", "odrpo-kl+paper-budget") == [20, 21, 22]
    assert seeds_of("Hopper-v5", "odrpo-kl+paper-budget") == [47]
    assert seeds_of("Ant-v5", "odrpo-kl+paper-budget") == []
    assert seeds_of("Swimmer-v5", "odrpo-kl") == [20]


def test_a_short_one_has_the_same_runs() -> None:
    for full, short in zip(published_plan(), published_plan(short=True), strict=True):
        assert (full.name, full.timesteps // 10) == (short.name, short.timesteps)


def test_nothing_is_published_but_what_is_planned() -> None:
    planned = {run.record_file(RESULTS) for run in published_plan()}
    found = set((RESULTS / "records").rglob("*.json.gz"))
    assert found
    assert sorted(map(str, found - planned)) == []


def test_published_seeds_are_the_first_ones_without_holes() -> None:
    found: dict[tuple[str, str], list[int]] = {}
    for file in (RESULTS / "records").glob("*/*/*.json.gz"):
        env, label = file.parts[-3:-1]
        found.setdefault((env, label), []).append(int(file.name.split(".")[0]))
    holes = [
        f"{env} {label} seed {seed}"
        for (env, label), seeds in found.items()
        for seed in set(seeds_of(env, label)[: len(seeds)]) - set(seeds)
    ]
    assert holes == []
