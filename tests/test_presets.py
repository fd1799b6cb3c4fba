"""Every preset is a valid configuration for its environment."""

import pytest

from odrpo.config import Config
from odrpo.envs.make import make
from odrpo.learner import Sizes
from odrpo.model import spaces_of
from odrpo.presets import TASKS, settings_for
from odrpo.trust_region import METRICS


# SWIG warns while Box2D is imported, where an error would be fatal.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("env", TASKS)
def test_presets_fit_their_environment(env: str) -> None:
    sizes = Sizes.of(*spaces_of(make(env, 1, "auto", None)))
    for preset in ("tuned", "paper"):
        for name, metric in METRICS.items():
            settings, _ = settings_for(env, name, sizes, preset)
            Config.create(metric=metric(), **settings).check_spaces(*sizes)


@pytest.mark.parametrize("critic", [None, "replay", "table"])
def test_an_endless_task_has_a_limit_whatever_is_chosen(critic: str | None) -> None:
    sizes = Sizes.of(*spaces_of(make("CliffWalking-v1", 1, "auto", None)))
    for preset in ("tuned", "paper", "default"):
        assert settings_for("CliffWalking-v1", "kl", sizes, preset, critic)[1] == 200


def test_the_paper_sizes_of_a_generative_policy() -> None:
    paper = TASKS["HalfCheetah-v5"].paper
    assert paper["hidden"] == (400, 300)
    assert (paper["minibatch"], paper["candidates"], paper["updates_per_step"]) == (64, 16, 0.5)
    assert (paper["polyak"], paper["behaviour_noise"], paper["n_step"]) == (0.005, 0.2, 1)
    assert (paper["policy_rate"], paper["critic_rate"]) == (1e-4, 1e-3)
