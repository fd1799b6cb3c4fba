import pytest

from odrpo.experiments.ours import model_of
from odrpo.experiments.runs import (
    ELSEWHERE,
    METHODS,
    named_methods,
    named_tasks,
    named_variants,
    plan,
)
from odrpo.experiments.variants import VARIANTS
from odrpo.presets import TASKS


def test_names_of_tasks() -> None:
    assert named_tasks("taxi, CartPole-v1") == ["Taxi-v4", "CartPole-v1"]
    assert named_tasks("tabular,cliffwalking") == ["Taxi-v4", "NChain-v0", "CliffWalking-v1"]
    assert set(named_tasks("all")) == set(TASKS)
    assert sum(len(named_tasks(group)) for group in ("tabular", "discrete", "continuous")) == 12


def test_tasks_beyond_the_paper() -> None:
    assert named_tasks("elsewhere") == list(ELSEWHERE)
    (run,) = plan(named_tasks("pendulum"), ["odrpo-kl"], 1, [], short=False)
    assert (run.env, run.timesteps, run.seed) == ("Pendulum-v1", 15_000, 20)
    assert model_of(run).config.policy == "generative"


def test_names_of_methods_and_variants() -> None:
    assert named_methods("all") == list(METHODS)
    assert named_methods("ppo,odrpo") == [
        "ppo",
        *("odrpo-kl", "odrpo-wasserstein", "odrpo-sinkhorn"),
    ]
    assert named_variants("") == []
    assert named_variants("held-beta") == ["held-beta"]


@pytest.mark.parametrize(
    ("names", "word"), [(named_tasks, "pong"), (named_methods, "sac"), (named_variants, "none")]
)
def test_what_there_is_not_is_named_with_what_there_is(names, word) -> None:
    with pytest.raises(ValueError, match=f"there is no '{word}'; use one or several of"):
        names(word)


def test_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="tasks: none"):
        named_tasks(" , ")


def test_variants_for_none_of_the_tasks_are_refused() -> None:
    with pytest.raises(ValueError, match="variants: none of gaussian, taken is for these tasks"):
        plan(["HalfCheetah-v5"], ["odrpo-kl"], 1, ["gaussian", "taken"], False)
    assert plan(["CartPole-v1"], ["odrpo-kl"], 1, ["gaussian", "taken"], False)


def test_a_plan_has_every_seed_of_every_method() -> None:
    runs = plan(["Taxi-v4", "Ant-v5"], ["odrpo-kl", "ppo"], 2, [], short=False)
    assert len(set(runs)) == len(runs) == 8
    assert [(run.env, run.method, run.seed) for run in runs[:4]] == [
        ("Taxi-v4", "odrpo-kl", 0),
        ("Taxi-v4", "ppo", 0),
        ("Ant-v5", "odrpo-kl", TASKS["Ant-v5"].first_seed("kl")),
        ("Ant-v5", "ppo", TASKS["Ant-v5"].first_seed(None)),
    ]
    short = plan(["Taxi-v4"], ["ppo"], 1, [], short=True)
    assert 10 * short[0].timesteps == runs[0].timesteps


def test_variants_are_of_ours_where_they_apply() -> None:
    runs = plan(["Taxi-v4", "CartPole-v1"], ["odrpo-kl", "ppo"], 1, list(VARIANTS), short=False)
    changed = {(run.env, run.label) for run in runs if run.variant}
    assert ("Taxi-v4", "odrpo-kl+model-free") in changed
    assert ("CartPole-v1", "odrpo-kl+radius-3") in changed
    assert all(label.startswith("odrpo-kl+") for _, label in changed)


def test_the_papers_timesteps_are_a_variant_where_ours_are_fewer() -> None:
    own, longer = plan(["Hopper-v5"], ["odrpo-kl", "ppo"], 1, ["paper-budget"], short=False)[:2]
    assert (own.timesteps, longer.timesteps) == (300_000, 1_000_000)
    assert model_of(own).config.horizon == own.timesteps
    assert model_of(longer).config.horizon == longer.timesteps
    assert (
        plan(["Hopper-v5"], ["odrpo-kl"], 1, ["paper-budget"], short=True)[1].timesteps == 100_000
    )
    ant = plan(["Ant-v5"], ["odrpo-kl"], 1, ["paper-budget"], short=False)[1]
    assert model_of(ant).config.final_fraction == 1  # nothing fades
