"""Continuous actions and learning from replay, on probes with known answers."""

from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import odrpo
from odrpo.callbacks import CheckpointEvery
from odrpo.envs.env import Step
from odrpo.learner import critic_of, features, policy_of
from odrpo.rollout import device
from tests import probes

SMALL: dict[str, Any] = {
    "hidden": (32, 32),
    "minibatch": 64,
    "warm_up": 128,
    "num_steps": 32,
    "horizon": 100_000,
    "policy_rate": 3e-3,
    "critic_rate": 3e-3,
}
ON_POLICY: dict[str, Any] = {
    "critic": "network",
    "returns": "lambda",
    "hidden": (32, 32),
    "num_steps": 256,
    "policy_epochs": 5,
    "projection_states": None,
    "minibatch": 64,
    "radius": 0.2,
    "horizon": 100_000,
}


def aim(metric: str = "kl", **settings: Any) -> odrpo.ODRPO:
    return odrpo.ODRPO(probes.Aim, metric, **(SMALL | settings))


def missed_by(model: odrpo.ODRPO) -> float:
    seen = np.random.default_rng(1).uniform(-1, 1, (200, 2)).astype(np.float32)
    actions, _ = model.predict(seen, deterministic=True)
    assert actions.shape == (200, 1, 2)
    return probes.Aim().missed_by(seen, actions)


@pytest.mark.parametrize(
    ("metric", "settings"),
    [
        ("kl", {}),
        pytest.param("kl", {"policy": "gaussian"}, marks=pytest.mark.slow),
        pytest.param("wasserstein", {}, marks=pytest.mark.slow),
        pytest.param("sinkhorn", {}, marks=pytest.mark.slow),
        pytest.param("kl", {"updates_per_step": 0.25}, marks=pytest.mark.slow),
        pytest.param("kl", {"normalise_observations": False}, marks=pytest.mark.slow),
        pytest.param("kl", {"candidate_ascent": 0.1}, marks=pytest.mark.slow),
    ],
)
def test_the_action_that_pays_is_found_at_every_state(metric: str, settings: dict) -> None:
    assert missed_by(aim(metric)) > 0.2
    assert missed_by(aim(metric, **settings).learn(2500)) < 0.1


class Cheap(probes.Aim):
    """The same for next to nothing."""

    pays = 1e-6


@pytest.mark.slow
def test_how_much_a_reward_is_does_not_matter() -> None:
    assert missed_by(odrpo.ODRPO(Cheap, **SMALL).learn(1400)) < 0.1


WITH_BOOTSTRAP = [
    {},
    pytest.param({"n_step": 3}, marks=pytest.mark.slow),
    pytest.param({"next_actions": 4}, marks=pytest.mark.slow),
    pytest.param({"members": 3, "pessimism": 0.0, "layer_norm": False}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("settings", WITH_BOOTSTRAP)
def test_what_pays_later_is_found(settings: dict) -> None:
    model = odrpo.ODRPO(probes.Later, **(SMALL | {"polyak": 0.02} | settings)).learn(3000)
    aims = np.linspace(-0.8, 0.8, 50)
    seen = np.stack([np.zeros(50), aims], axis=1).astype(np.float32)
    assert np.abs(model.predict(seen, deterministic=True)[0][:, 0] - aims).mean() < 0.1


@pytest.mark.parametrize("settings", WITH_BOOTSTRAP)
def test_an_end_and_a_cut_are_told_apart(settings: dict) -> None:
    model = odrpo.ODRPO(
        probes.Staying, **(SMALL | {"discount": 0.9, "polyak": 0.05} | settings)
    ).learn(1500)
    nothing = np.zeros((1, 1), np.float32)
    assert model.predict(nothing, deterministic=True)[0] < 0
    critic, policy = (of(model.config, model.sizes) for of in (critic_of, policy_of))
    x = features(model.config, model.sizes, model.learner, nothing)
    at = policy.at(model.learner.policy, x, jax.random.key(0))
    at = at._replace(actions=np.array([[[-0.8], [0.8]]], np.float32), policy=np.ones((1, 2)) / 2)
    stay, end = critic.values(model.learner.critic, at)[0]
    assert end == pytest.approx(2, abs=1)
    assert stay == pytest.approx(10, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("advantages", ["critic", "taken"])
def test_it_is_found_on_policy_too(advantages: str) -> None:
    model = odrpo.ODRPO(probes.Aim, **(ON_POLICY | {"advantages": advantages, "num_envs": 4}))
    assert missed_by(model.learn(40_000)) < 0.15


class Far(probes.Aim):
    """What is seen is large, and differs by little."""

    observation_space = gymnasium.spaces.Box(0, 1000, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        seen, info = super().reset(seed=seed)
        return 500 + 10 * seen, info


def test_a_first_batch_is_seen_as_later_ones_are() -> None:
    model = odrpo.ODRPO(Far, **(ON_POLICY | {"critic_window": 1})).learn(1)
    seen = model.learner.critic.recent.at.observation
    np.testing.assert_allclose(np.mean(seen, axis=(0, 1)), 0, atol=0.01)
    np.testing.assert_allclose(np.std(seen, axis=(0, 1)), 1, atol=0.01)


@jax.tree_util.register_static
class Paying:
    """On the device: a step pays what is done, of actions from 0 to 10."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Box(0, 10, (1,), np.float32)

    def reset(self, key: jax.Array) -> tuple[Any, Any]:
        return jnp.zeros(()), jnp.zeros(1)

    def step(self, key: jax.Array, state: Any, action: Any) -> Step:
        ends = jnp.ones((), bool)
        return Step(state, jnp.zeros(1), action[0], ends, ~ends)


def test_actions_on_the_device_are_within_their_bounds() -> None:
    env, key = Paying(), jax.random.key(0)
    for ours, its in ((-1, 0), (0.5, 7.5), (1, 10)):
        walkers = device.start(env, key, 2)
        _, batch = device.collect(env, lambda *_, a=ours: jnp.full((2, 1), a), walkers, key, 3)
        np.testing.assert_array_equal(batch.action, ours)
        np.testing.assert_array_equal(batch.reward, its)
    model = odrpo.ODRPO(env, **ON_POLICY)
    returns = odrpo.evaluate(model, env, episodes=50, deterministic=False)
    assert 0 <= returns.min() < 4
    assert 6 < returns.max() <= 10


def test_the_step_is_taken_among_candidates_up_the_slope() -> None:
    gains = {
        aim(candidate_ascent=length).learn(1).records.updates[0]["gain"] for length in (0, 0.2)
    }
    assert len(gains) == 2


@pytest.mark.parametrize(
    ("metric", "settings"),
    [
        ("kl", SMALL | {"candidate_ascent": 0.1, "embedding": 16}),
        ("wasserstein", SMALL),
        pytest.param("sinkhorn", SMALL, marks=pytest.mark.slow),
        ("kl", ON_POLICY),
    ],
)
def test_the_certificate_holds_at_every_update(metric: str, settings: dict) -> None:
    model = odrpo.ODRPO(probes.Aim, metric, **settings)
    for row in model.learn(600).records.updates:
        assert row["distance"] <= row["radius"] * (1 + 1e-4)
        assert abs(row["gap"]) <= 1e-4 * (1 + row["gain"])
        assert row["beta"] > 0
        assert row["gain"] > 0
        assert np.isfinite(list(row.values())).all()


@pytest.mark.parametrize(("num_steps", "updates"), [(32, 32), (5, 5)])
def test_critic_and_policy_take_a_step_on_every_minibatch(num_steps: int, updates: int) -> None:
    learner = aim(num_steps=num_steps).learn(1).learner
    assert int(learner.critic.optimiser.count) == updates
    assert int(learner.policy.optimiser.count) == updates
    assert int(learner.updates) == updates


def test_the_same_seed_gives_the_same_run() -> None:
    _assert_same(aim(seed=3).learn(400), aim(seed=3).learn(400))


def test_learning_twice_is_learning_for_twice_as_long() -> None:
    _assert_same(aim().learn(200).learn(200), aim().learn(400))


@pytest.mark.slow
def test_a_run_goes_on_from_its_file_with_all_it_has_seen(tmp_path: Path) -> None:
    path = tmp_path / "model.odrpo"
    one = aim().learn(400)
    one.save(path, replay=True)
    other = odrpo.ODRPO.load(path, env=probes.Aim)
    assert one.replay is not None
    assert other.replay is not None
    assert len(other.replay) == len(one.replay) == 416
    # The environments begin anew, as they do in the run that went on after an evaluation.
    one.walkers = None
    _assert_same(one.learn(100), other.learn(100))


def test_the_folder_of_a_run_holds_its_transitions(tmp_path: Path) -> None:
    one = aim().learn(200, run_dir=tmp_path)
    other = odrpo.ODRPO.load(tmp_path / "model.odrpo", env=probes.Aim)
    one.walkers = None
    _assert_same(one.learn(100), other.learn(100, run_dir=tmp_path))


def test_a_run_that_goes_on_and_is_stopped_at_once_keeps_its_transitions(tmp_path: Path) -> None:
    aim().learn(128, run_dir=tmp_path)
    model = odrpo.ODRPO.load(tmp_path / "model.odrpo", env=probes.Aim)
    odrpo.train([model], 64, run_dir=tmp_path, stop=lambda: True)
    again = odrpo.ODRPO.load(tmp_path / "model.odrpo", env=probes.Aim)
    assert again.replay is not None
    assert len(again.replay) == 128


def test_another_number_of_environments_is_for_a_file_without_transitions(tmp_path: Path) -> None:
    path, three = tmp_path / "model.odrpo", gymnasium.vector.SyncVectorEnv([probes.Aim] * 3)
    model = aim().learn(128)
    model.save(path)
    with pytest.warns(UserWarning, match="has no transitions"):
        loaded = odrpo.ODRPO.load(path, env=three).learn(128)
    assert loaded.replay is not None
    assert len(loaded.replay) >= 128
    model.save(path, replay=True)
    with pytest.raises(ValueError, match="env: it is 3 environments, and the file has transitions"):
        odrpo.ODRPO.load(path, env=three)


def test_what_is_asked_for_after_a_warm_up_is_done(tmp_path: Path) -> None:
    model = aim()
    with pytest.warns(UserWarning, match="1 are fewer than the 128 before the first update"):
        model.learn(1)
    assert model.num_timesteps == 128
    assert model.learn(40).num_timesteps == 192
    model.save(tmp_path / "model.odrpo")
    model = odrpo.ODRPO.load(tmp_path / "model.odrpo", env=probes.Aim)
    with pytest.warns(UserWarning, match=r"128 timesteps of warm-up; save\(path, replay=True\)"):
        model.learn(40)
    assert model.num_timesteps == 320
    assert model.learn(32).num_timesteps == 352


def test_fewer_transitions_may_be_kept_than_it_takes_to_warm_up() -> None:
    model = aim(replay_size=50).learn(1)
    assert model.num_timesteps == 128
    assert model.replay is not None
    assert len(model.replay) == 50


class Interrupted(probes.Endless):
    """Fails once, in the midst of an episode."""

    steps = 0

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        Interrupted.steps += 1
        if Interrupted.steps == 160:
            raise KeyboardInterrupt
        return super().step(action)


def test_a_warm_up_that_was_interrupted_is_lived_through_once() -> None:
    Interrupted.steps = 100
    model = odrpo.ODRPO(Interrupted, **SMALL)
    with pytest.raises(KeyboardInterrupt):
        model.learn(200)
    assert model.num_timesteps == 0
    model.learn(200)
    never = odrpo.ODRPO(Interrupted, **SMALL).learn(200)
    assert model.replay is not None
    assert model.replay.added == model.num_timesteps
    _assert_same(model, never)


def test_an_interruption_within_an_episode_leaves_no_trace() -> None:
    settings = SMALL | {"num_steps": 30}
    Interrupted.steps = 0
    model = odrpo.ODRPO(Interrupted, **settings)
    with pytest.raises(KeyboardInterrupt):
        model.learn(210)
    assert model.num_timesteps == 150  # no multiple of the 4 steps of an episode
    model.learn(210 - 150)
    _assert_same(model, odrpo.ODRPO(Interrupted, **settings).learn(210))


def test_no_return_crosses_an_interruption_where_episodes_begin_anew() -> None:
    Interrupted.steps = 0
    same_step = gymnasium.vector.AutoresetMode.SAME_STEP
    given = gymnasium.vector.SyncVectorEnv([Interrupted], autoreset_mode=same_step)
    model = odrpo.ODRPO(given, **(SMALL | {"num_steps": 30}))
    with pytest.raises(KeyboardInterrupt):
        model.learn(200)
    assert model.replay is not None
    added = model.replay.added
    assert added == 150  # no multiple of the 4 steps of an episode
    model.learn(64)
    assert model.replay.added > added
    assert model.replay.arrays["truncated"][added - 1].all()


def test_what_is_done_every_so_often_is_done_once_after_a_warm_up(tmp_path: Path) -> None:
    aim().learn(200, callback=CheckpointEvery(tmp_path / "{timesteps}", 60))
    assert {path.name for path in tmp_path.iterdir()} == {"128", "192"}


def test_updates_are_whole_for_the_environments_that_there_are() -> None:
    four = gymnasium.vector.SyncVectorEnv([probes.Aim] * 4)
    model = odrpo.ODRPO(four, **(SMALL | {"num_steps": 1, "updates_per_step": 0.25}))
    assert model.config.updates_at_once == 1
    five = gymnasium.vector.SyncVectorEnv([probes.Aim] * 5)
    with pytest.raises(ValueError, match=r"use a multiple of 0\.2"):
        odrpo.ODRPO(five, **(SMALL | {"num_steps": 1, "updates_per_step": 0.5}))


def test_a_critic_that_diverges_is_not_taken() -> None:
    model = aim(critic_rate=1e30, num_steps=8, layer_norm=False)
    with pytest.warns(RuntimeWarning, match="was refused"):
        model.learn(8)
    assert np.isfinite(np.concatenate([x.ravel() for x in jax.tree.leaves(model.learner)])).all()


def test_without_its_transitions_a_file_is_small_and_predicts_the_same(tmp_path: Path) -> None:
    model = aim().learn(2000)
    model.save(tmp_path / "small.odrpo")
    model.save(tmp_path / "large.odrpo", replay=True)
    sizes = [(tmp_path / f"{name}.odrpo").stat().st_size for name in ("small", "large")]
    assert sizes[1] > sizes[0] + 2000 * 4 * 7
    loaded = odrpo.ODRPO.load(tmp_path / "small.odrpo")
    seen = np.zeros((3, 2), np.float32)
    for deterministic in (True, False):
        np.testing.assert_array_equal(
            model.predict(seen, deterministic=deterministic)[0],
            loaded.predict(seen, deterministic=deterministic)[0],
        )


def test_discrete_agents_can_learn_from_replay_and_go_on_from_a_file(tmp_path: Path) -> None:
    def agent() -> odrpo.ODRPO:
        return odrpo.ODRPO(
            probes.reward_by_state_and_action(), critic="replay", warm_up=64, policy_rate=3e-3
        )

    model = agent().learn(800)
    model.save(tmp_path / "model.odrpo", replay=True)
    loaded = odrpo.ODRPO.load(tmp_path / "model.odrpo", env=probes.reward_by_state_and_action())
    _assert_same(loaded.learn(700), agent().learn(1500))
    policy = loaded.probabilities(np.array([0, 1]))
    assert policy[0, 1] > 0.9
    assert policy[1, 0] > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": "network"}, 'policy: "network" is for Discrete actions'),
        ({"policy": "table"}, 'policy: "table" is for Discrete actions'),
        ({"smoothing": 0.1}, "smoothing: it does nothing with policy='generative'"),
        ({"policy": "gaussian", "levels": 8}, "levels: it does nothing with policy='gaussian'"),
        ({"policy": "gaussian", "embedding": 8}, "embedding: .*gaussian"),
        ({"ties": "stay"}, 'ties: "stay" is for metric="wasserstein"'),
        ({"critic_window": 3}, "critic_window: it does nothing with critic='replay'"),
        ({"returns": "lambda"}, "returns: 'lambda'; critic=\"replay\" learns from single steps"),
        ({"updates_per_step": 0.3}, "no whole number of updates; use a multiple of 0.125"),
        ({"updates_per_step": 0.0}, "no whole number of updates"),
        ({"candidates": 1}, "candidates: 1; use a whole number of at least 2"),
        ({"metric": odrpo.Wasserstein(np.ones((16, 16)))}, "cost: between continuous actions"),
    ],
)
def test_wrong_settings_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        odrpo.ODRPO("Pendulum-v1", **arguments)


def test_a_generative_policy_is_refused_for_discrete_actions() -> None:
    with pytest.raises(ValueError, match='policy: "generative" is for Box actions'):
        odrpo.ODRPO("CartPole-v1", policy="generative")


def test_masks_and_probabilities_are_for_discrete_actions() -> None:
    model = aim()
    with pytest.raises(ValueError, match="action_masks: the actions are a continuum"):
        model.predict(np.zeros(2), action_masks=np.ones(3))
    with pytest.raises(ValueError, match="a continuum, which has no probabilities"):
        model.probabilities(np.zeros(2))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pendulum_is_learned_within_15000_steps(seed: int) -> None:
    model = odrpo.ODRPO("Pendulum-v1", seed=seed, horizon=15_000)
    model.learn(15_000)
    assert odrpo.evaluate(model, "Pendulum-v1", 20, seed=100).mean() > -250


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_engine_of_a_mountain_car_is_held_until_it_is_up(seed: int) -> None:
    model = odrpo.ODRPO("MountainCarContinuous-v0", seed=seed).learn(30_000)
    assert odrpo.evaluate(model, "MountainCarContinuous-v0", 20, seed=100).mean() > 85


def _assert_same(one: odrpo.ODRPO, other: odrpo.ODRPO) -> None:
    assert one.num_timesteps == other.num_timesteps
    for a, b in zip(jax.tree.leaves(one.learner), jax.tree.leaves(other.learner), strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.records.recent == other.records.recent


def test_what_is_tried_may_be_held_for_a_while() -> None:
    def from_batch_to_batch(octaves: int) -> float:
        # A batch is two steps: every second move is from one to the next.
        model = aim(octaves=octaves, num_steps=2, warm_up=400).learn(1)
        assert model.replay is not None
        moved = np.abs(np.diff(model.replay.arrays["action"][:400, 0], axis=0))
        return float(np.mean(moved[1::2]))

    assert from_batch_to_batch(octaves=6) < 0.85 * from_batch_to_batch(octaves=1)


def test_what_the_environment_gets_is_within_its_bounds() -> None:
    class Unbounded(probes.Aim):
        action_space = gymnasium.spaces.Box(
            np.array([[-np.inf, 2.0]], np.float32), np.array([[np.inf, np.inf]], np.float32)
        )

    with pytest.warns(UserWarning, match=r"have no bounds; they are taken from \[-3, 3\]"):
        model = odrpo.ODRPO(Unbounded, **SMALL)
    actions = np.stack([model.predict(np.zeros(2))[0] for _ in range(50)])
    assert (actions >= [-3, 2]).all()
    assert (actions <= [3, 8]).all()
    assert actions[:, 0, 0].std() > 1
