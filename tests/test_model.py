"""The face that users see: the same seed, the same run; what is saved, comes back."""

from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest

import odrpo

SMALL: dict[str, Any] = {
    "num_envs": 4,
    "num_steps": 16,
    "hidden": (16,),
    "policy_epochs": 2,
    "critic_epochs": 2,
}


def small(env: Any = "CartPole-v1", **options: Any) -> odrpo.ODRPO:
    return odrpo.ODRPO(env, **(SMALL | options))


def on_host(**options: Any) -> odrpo.ODRPO:
    return small(backend="host", **options)


def assert_same(one: odrpo.ODRPO, other: odrpo.ODRPO) -> None:
    """Bit by bit, in what was learned and in what was recorded."""
    assert one.num_timesteps == other.num_timesteps
    for a, b in zip(jax.tree.leaves(one.learner), jax.tree.leaves(other.learner), strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.records.recent == other.records.recent


@pytest.mark.parametrize("make", [small, pytest.param(on_host, marks=pytest.mark.slow)])
def test_the_same_seed_gives_the_same_run(make: Any) -> None:
    assert_same(make(seed=3).learn(300), make(seed=3).learn(300))
    other = make(seed=4).learn(300)
    assert not np.array_equal(
        other.probabilities(np.zeros(4)), make(seed=3).learn(300).probabilities(np.zeros(4))
    )


@pytest.mark.parametrize("metric", [odrpo.Wasserstein, odrpo.Sinkhorn])
def test_a_cost_may_be_lists_of_whole_numbers(metric: Any) -> None:
    cost = np.array([[0, 2], [1, 0]], np.float32)
    listed = small(metric=metric([[0, 2], [1, 0]])).learn(64)
    assert_same(listed, small(metric=metric(cost)).learn(64))


@pytest.mark.parametrize("make", [small, on_host])
def test_learning_twice_is_learning_for_twice_as_long(make: Any) -> None:
    # 100 is no multiple of the 64 steps of a batch: the rest must not be lost or doubled.
    assert_same(make().learn(100).learn(100), make().learn(200))


@pytest.mark.parametrize("make", [small, on_host])
def test_learning_goes_on_after_a_callback_stopped_it(make: Any) -> None:
    # On the device the next update is under way by then: it must not be taken.
    stopped = make().learn(300, lambda model, row: row["timesteps"] < 128)
    assert stopped.num_timesteps == 128
    assert_same(stopped.learn(128), make().learn(256))


def test_learning_goes_on_after_loading(tmp_path: Path) -> None:
    stopped = small().learn(128)
    stopped.save(tmp_path / "model.odrpo")
    loaded = odrpo.ODRPO.load(tmp_path / "model.odrpo")
    assert_same(loaded.learn(128), small().learn(256))


@pytest.mark.parametrize(
    ("env", "settings"),
    [("CartPole-v1", SMALL | {"normalise_observations": True}), ("CliffWalking-v1", {})],
)
def test_a_loaded_model_predicts_the_same(env: str, settings: dict, tmp_path: Path) -> None:
    model = odrpo.ODRPO(env, "wasserstein", **settings).learn(256)
    model.save(tmp_path / "model.odrpo")
    loaded = odrpo.ODRPO.load(tmp_path / "model.odrpo")
    space = model.observation_space
    space.seed(0)
    seen = np.stack([np.clip(space.sample(), -5, 47) for _ in range(20)])
    np.testing.assert_array_equal(loaded.probabilities(seen), model.probabilities(seen))
    assert loaded.observation_space == model.observation_space
    assert type(loaded.config.metric) is odrpo.Wasserstein


def test_a_model_file_predicts_without_an_environment(tmp_path: Path) -> None:
    mdp = odrpo.FiniteMDP([[0, 1], [1, 1]], [[0, 1], [0, 0]], 0, [0, 1], max_steps=5)
    cost = np.array([[0.0, 1.0], [2.0, 0.0]])
    model = odrpo.ODRPO(mdp, odrpo.Wasserstein(cost)).learn(512)
    model.save(tmp_path / "own.odrpo")
    loaded = odrpo.ODRPO.load(tmp_path / "own.odrpo")
    assert loaded.predict(0, deterministic=True) == model.predict(0, deterministic=True)
    np.testing.assert_allclose(loaded.config.metric.cost, cost)
    with pytest.raises(ValueError, match=r"pass it to ODRPO\.load"):
        loaded.learn(100)
    assert odrpo.ODRPO.load(tmp_path / "own.odrpo", env=mdp).learn(256).num_timesteps == 1024


def test_an_environment_that_is_handed_over_keeps_its_own_limit(tmp_path: Path) -> None:
    odrpo.ODRPO("CliffWalking-v1", max_steps=50, num_envs=4, num_steps=16).save(tmp_path / "model")
    mdp = odrpo.FiniteMDP.from_gymnasium("CliffWalking-v1", max_steps=7)
    model = odrpo.ODRPO.load(tmp_path / "model", env=mdp).learn(64)
    assert max(episode.length for episode in model.records.episodes) == 7
    assert odrpo.ODRPO.load(tmp_path / "model", env="CliffWalking-v1").max_steps == 50


def test_a_seed_at_random_can_be_used_again() -> None:
    first, second = small(seed=None), small(seed=None)
    assert first.seed != second.seed
    assert_same(first.learn(192), small(seed=first.seed).learn(192))


def test_several_seeds_train_in_one_program() -> None:
    models = [small(seed=seed) for seed in range(3)]
    odrpo.train(models, 192)
    assert [model.num_timesteps for model in models] == [192, 192, 192]
    policies = np.stack([model.probabilities(np.ones(4)) for model in models])
    assert len({tuple(row) for row in policies}) == 3
    alone = small(seed=1).learn(192)
    # One program of several seeds rounds in another way than one of a single seed.
    np.testing.assert_allclose(alone.probabilities(np.ones(4)), policies[1], atol=0.05)


def test_a_model_says_what_it_is() -> None:
    said = "ODRPO(CliffWalking-v1, KL, seed 3, 64 timesteps)"
    assert repr(odrpo.ODRPO("CliffWalking-v1", seed=3, num_envs=4, num_steps=16).learn(64)) == said


def test_predict_has_the_shape_of_stable_baselines() -> None:
    model = small()
    action, state = model.predict(np.zeros(4), deterministic=True)
    assert action in gymnasium.spaces.Discrete(2)
    assert state is None
    actions, state = model.predict(np.zeros((5, 4)), state="kept", episode_start=np.ones(5))
    assert actions.shape == (5,)
    assert state == "kept"


def test_predict_honours_masks() -> None:
    model = small()
    masks = np.array([[True, False], [False, True]])
    for deterministic in (True, False):
        actions, _ = model.predict(
            np.zeros((2, 4)), deterministic=deterministic, action_masks=masks
        )
        np.testing.assert_array_equal(actions, [0, 1])
    assert model.predict(np.zeros(4), action_masks=[0, 1])[0] == 1


def test_draws_follow_the_policy() -> None:
    model = odrpo.ODRPO("CliffWalking-v1")
    actions, _ = model.predict(np.full(4000, 36))
    np.testing.assert_allclose(np.bincount(actions) / 4000, 0.25, atol=0.03)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"radus": 0.1}, "radus: there is no such setting; did you mean radius?"),
        ({"radius": -1.0}, "radius: -1.0; use a finite number of at least 0"),
        ({"radius": float("nan")}, "radius: nan; use a finite number"),
        ({"num_envs": 0}, "num_envs: 0; use a whole number of at least 1"),
        ({"observed": 5}, "observed: 5, but an observation has 4 numbers, no more; leave it out"),
        ({"num_envs": 2.5}, "num_envs: 2.5; use a whole number"),
        ({"discount": 1.5}, "discount: 1.5; .* at most 1"),
        ({"hidden": 64}, r"hidden: 64; use the sizes of the layers, such as \(64, 64\)"),
        ({"complete_episodes": 1}, "complete_episodes: 1; use True or False"),
        ({"advantages": "gae"}, "advantages: 'gae'; use one of \"critic\""),
        ({"policy": "table", "critic": "table"}, 'policy: "table" needs Discrete observations'),
        ({"critic": "table"}, 'critic: "table"; policy="network" goes with "network" or "replay"'),
        ({"policy": "table"}, 'policy: "table" needs Discrete observations'),
        ({"preset": "best"}, "preset: 'best'; use \"tuned\""),
        ({"metric": "tv"}, "metric: 'tv' is not known"),
        (
            {"metric": odrpo.Wasserstein(np.ones((3, 3)))},
            r"cost: shape \(3, 3\), expected \(2, 2\)",
        ),
        ({"metric": odrpo.Wasserstein(-np.ones((2, 2)))}, "is no cost"),
        ({"metric": odrpo.Wasserstein([[0, 1e39], [1, 0]])}, r"cost\[0, 1\] = inf is no cost"),
        ({"metric": odrpo.Wasserstein([["a", 1], [1, 0]])}, "cost: text; use real numbers"),
        ({"metric": odrpo.Wasserstein([[0, 1], [1]])}, "cost: rows of different lengths"),
        ({"metric": odrpo.Sinkhorn(strength="x")}, "strength: text; use real numbers"),
        ({"metric": odrpo.Sinkhorn(strength=None)}, "strength: objects; use real numbers"),
        ({"metric": odrpo.Sinkhorn(strength=[1.0])}, r"strength: shape \(1,\), expected a single"),
        ({"n_step": 3}, "n_step: it does nothing with returns='lambda'; leave it out"),
        ({"optimism": 1.0}, "optimism: it does nothing with critic='network'"),
        ({"horizon": 10, "final_fraction": 1}, "horizon: it does nothing with final_fraction=1,"),
        ({"visitation": "unnormalised"}, "use complete_episodes=True"),
        ({"seed": 0.5}, "seed: 0.5; use a whole number"),
        ({"seed": -1}, "seed: -1; use a whole number >= 0"),
        ({"max_steps": 0}, "max_steps: 0; use a whole number > 0"),
        ({"max_steps": -1, "backend": "host"}, "max_steps: -1; use a whole number > 0"),
        ({"backend": "gpu"}, 'backend: \'gpu\'; use one of "auto", "device", "host"'),
        ({"gamma": 0.9}, r"gamma: there is no such setting; did you mean discount\?"),
        ({"learning_rate": 0.1}, "did you mean policy_rate"),
        ({"n_steps": 5}, "did you mean num_steps"),
        ({"n_epochs": 5}, "did you mean policy_epochs"),
        ({"batch_size": 5}, "did you mean minibatch"),
        ({"gae_lambda": 0.5}, "did you mean trace"),
        ({"target_kl": 0.5}, "did you mean radius"),
        ({"n_envs": 5}, "did you mean num_envs"),
        ({"net_arch": [5]}, "did you mean hidden"),
        ({"policy_kwargs": {}}, "did you mean hidden"),
        ({"buffer_size": 5}, "did you mean replay_size"),
        ({"learning_starts": 5}, "did you mean warm_up"),
        ({"tau": 0.5}, "did you mean polyak"),
        ({"verbose": 1}, r"verbose: there is no such setting; learn\(progress_bar="),
    ],
)
def test_wrong_settings_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        odrpo.ODRPO("CartPole-v1", **arguments)


@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1"])
def test_what_is_not_to_be_looked_at_makes_no_difference(env: str) -> None:
    own: dict = {"warm_up": 16, "embedding": 8} if env == "Pendulum-v1" else {}
    model = odrpo.ODRPO(env, observed=2, hidden=(16,), normalise_observations=True, **own).learn(64)

    def answers(deviations: list[float]) -> np.ndarray:
        usual = model.learner.normaliser
        apart = np.array(deviations[: model.sizes.features]) * np.sqrt(usual.variance)
        seen = (usual.mean + apart).astype(np.float32)
        if not own:
            return model.probabilities(seen)
        return model.act(seen[None], jax.random.key(0), deterministic=False)

    same, other = answers([1.0, 1.0, 0.9, 0.9]), answers([-1.0, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(answers([1.0, 1.0, 0.0, 0.0]), same)
    assert (same != other).any()


def test_states_that_are_counted_are_not_normalised() -> None:
    with pytest.raises(ValueError, match="normalise_observations: it does nothing with Discrete"):
        odrpo.ODRPO(
            "FrozenLake-v1", policy="network", critic="network", normalise_observations=True
        )


def test_the_order_of_stable_baselines_is_refused() -> None:
    with pytest.raises(ValueError, match=r"env: 'MlpPolicy' .* takes the environment first and"):
        odrpo.ODRPO("MlpPolicy", "CartPole-v1")


def test_whole_numbers_may_be_written_as_floats() -> None:
    assert small(horizon=1e6).learn(1e2).num_timesteps == 128
    with pytest.raises(ValueError, match=r"total_timesteps: 100.5; use a whole number"):
        small().learn(100.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("deterministic", [True, False])
def test_an_empty_batch_has_no_actions(deterministic: bool) -> None:
    model = small()
    actions, _ = model.predict(np.zeros((0, 4)), deterministic=deterministic)
    assert actions.shape == (0,)
    assert model.probabilities(np.zeros((0, 4))).shape == (0, 2)


def test_saving_where_nothing_can_be_written_names_the_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "model.odrpo"
    with pytest.raises(OSError, match="it can't be written") as error:
        small().save(path)
    assert error.value.filename == str(path)


def test_estimators_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ValueError, match='critic="model" gives those of every action'):
        odrpo.ODRPO("CliffWalking-v1", critic="model", advantages="taken")
    many = np.zeros((5000, 5), int)
    with pytest.raises(ValueError, match="would count 5000 x 5 x 5000 transitions"):
        odrpo.ODRPO(odrpo.FiniteMDP(many, np.zeros(5000), 0), critic="model")


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        (np.zeros(3), r"observation: shape \(3,\), expected \(4,\), or \(B, 4\) for a batch"),
        (np.full(4, np.nan), "observation: not all of it is finite"),
        ([1e39] * 4, "observation: not all of it is finite in float32"),
        ("left", "observation: .* is no number"),
    ],
)
def test_wrong_observations_are_refused(observation: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small().predict(observation)


def test_more_states_than_a_model_has_room_for_get_a_table_by_default() -> None:
    states = 10_001
    following = np.stack([np.arange(states), (np.arange(states) + 1) % states], axis=1)
    env = odrpo.FiniteMDP(following, np.zeros((states, 2)), 0, max_steps=10)
    model = odrpo.ODRPO(env, num_envs=1, num_steps=4).learn(4)
    assert model.config.critic == "table"


def test_wrong_calls_are_refused() -> None:
    model = small()
    with pytest.raises(ValueError, match="total_timesteps: -1; use a whole number >= 0"):
        model.learn(-1)
    with pytest.raises(ValueError, match=r"action_masks: shape \(3,\), expected \(1, 2\)"):
        model.predict(np.zeros(4), action_masks=[1, 1, 1])
    with pytest.raises(ValueError, match="a row forbids all actions"):
        model.predict(np.zeros(4), action_masks=[0, 0])
    with pytest.raises(ValueError, match="callback: 3; use a function"):
        model.learn(1, callback=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the model was trained for"):
        odrpo.evaluate(model, "Acrobot-v1")
    with pytest.raises(ValueError, match="num_envs: 3, but env has 2; leave it out"):
        odrpo.ODRPO(gymnasium.make_vec("CartPole-v1", num_envs=2), num_envs=3)


class Spoiled(gymnasium.Env):
    """Pays NaN from the hundredth step on."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)
    steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        return np.zeros(2, np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.steps += 1
        reward = float("nan") if self.steps >= 100 else 1.0
        return np.zeros(2, np.float32), reward, self.steps % 10 == 0, False, {}


@pytest.mark.slow
def test_a_reward_that_is_no_number_stops_the_run_and_loses_nothing() -> None:
    model = small(Spoiled(), num_envs=1, num_steps=64, preset="default")
    with pytest.raises(ValueError, match=r"env: .* paid a reward of nan"):
        model.learn(1000)
    assert model.num_timesteps == 64
    assert np.isfinite(model.probabilities(np.zeros(2))).all()


def test_an_update_that_diverges_is_not_taken() -> None:
    model = small(policy_rate=1e30, critic_rate=1e30)
    before = model.probabilities(np.zeros(4))
    with (
        pytest.warns(RuntimeWarning, match=r"timesteps was refused \(its result is not finite\)"),
        pytest.raises(FloatingPointError, match=r"as were the 9 before it; .* lower policy_rate"),
    ):
        model.learn(64_000)
    np.testing.assert_array_equal(model.probabilities(np.zeros(4)), before)
    assert model.records.refused == 10


def test_models_that_train_together_differ_in_their_seeds_alone() -> None:
    with pytest.raises(ValueError, match="two of them have the same seed"):
        odrpo.train([small(), small()], 64)
    with pytest.raises(ValueError, match="they differ in more than their seeds"):
        odrpo.train([small(seed=0), small(seed=1, radius=0.5)], 64)
    with pytest.raises(ValueError, match="models: none"):
        odrpo.train([], 64)


def test_a_file_can_not_have_a_module_imported(tmp_path: Path) -> None:
    model = small()
    model.env_id = "evil_module:CartPole-v1"
    model.save(tmp_path / "model.odrpo")
    loaded = odrpo.ODRPO.load(tmp_path / "model.odrpo")
    assert loaded.env is None
    assert loaded.predict(np.zeros(4), deterministic=True)[0] in (0, 1)


@pytest.mark.slow
def test_evaluating_on_the_environment_of_the_training_does_not_spoil_it() -> None:
    env = gymnasium.make("CartPole-v1")
    model = small(env, num_envs=1, num_steps=64).learn(64)
    odrpo.evaluate(model, env, episodes=2)
    assert model.learn(64).num_timesteps == 128
    assert (model.walkers.time <= 64).all()  # type: ignore[union-attr]
    numbered = [episode.length for episode in model.records.episodes]
    assert sum(numbered) <= 128


def test_single_env_keeps_the_size_of_a_batch() -> None:
    model = odrpo.ODRPO(gymnasium.make("CartPole-v1"))
    assert model.config.num_envs == 1
    assert model.config.num_steps == odrpo.Config().num_envs * odrpo.Config().num_steps
