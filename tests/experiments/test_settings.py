"""A record that is no longer of what a run would do is noticed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from odrpo.experiments.ours import model_of
from odrpo.experiments.plan import published_plan
from odrpo.experiments.record import read_all
from odrpo.experiments.runs import OURS, Run
from odrpo.experiments.settings import expected, is_outdated
from odrpo.experiments.variants import VARIANTS
from tests.experiments.made_up import made_up

RUN = Run("CartPole-v1", "odrpo-kl", 0, 1000)
EVERY = [Run(env, "odrpo-kl", 0, 1) for env in ("Taxi-v4", "Acrobot-v1", "Reacher-v5", "Ant-v5")]
EVERY += [
    Run(variant.envs[0], method, 0, 1, name)
    for name, variant in VARIANTS.items()
    for method, metric in OURS.items()
    if metric in variant.metrics
]


@pytest.mark.parametrize("run", EVERY, ids=lambda run: run.name)
def test_what_is_expected_is_what_a_model_has(run: Run) -> None:
    config = json.loads(json.dumps(model_of(run).config.to_json()))
    del config["metric"]
    assert expected(run) == config
    if run.variant:
        assert expected(replace(run, variant="")) != config


def test_other_settings_and_other_budgets_are_outdated() -> None:
    record = made_up("CartPole-v1", "odrpo-kl", config=expected(RUN))
    assert not is_outdated(record, RUN)
    assert is_outdated(record, replace(RUN, timesteps=2000))
    assert is_outdated(replace(record, config=record.config | {"radius": 7.0}), RUN)
    fewer = {name: value for name, value in record.config.items() if name != "ties"}
    assert not is_outdated(replace(record, config=fewer), RUN)


def test_what_a_record_does_not_know_yet_was_the_default() -> None:
    run = replace(RUN, variant="ties-stay", method="odrpo-wasserstein")
    record = made_up("CartPole-v1", "odrpo-wasserstein", variant="ties-stay", config=expected(run))
    assert not is_outdated(record, run)
    fewer = {name: value for name, value in record.config.items() if name != "ties"}
    assert is_outdated(replace(record, config=fewer), run)


def test_the_same_of_baselines() -> None:
    run = replace(RUN, method="ppo")
    record = made_up("CartPole-v1", "ppo", config=expected(run))
    assert not is_outdated(record, run)
    assert is_outdated(replace(record, config=record.config | {"n_epochs": 1}), run)
    # What is no longer set is by default now; a record says only what was not.
    assert is_outdated(replace(record, config=record.config | {"target_kl": 0.5}), run)
    fewer = {name: value for name, value in record.config.items() if name != "gamma"}
    assert is_outdated(replace(record, config=fewer), run)


def test_what_is_published_is_not_outdated() -> None:
    planned = {(run.env, run.label, run.seed): run for run in published_plan()}
    records = read_all(Path(__file__).parents[2] / "results")
    outdated = [
        f"{record.env} {record.label} seed {record.seed}"
        for record in records
        if is_outdated(record, planned[record.env, record.label, record.seed])
    ]
    assert outdated == []
