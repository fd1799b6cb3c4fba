"""The public edge: errors, precisions, kinds of array, and JAX's transformations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import odrpo
from tests.trust_region.problems import random_case

METRICS = ["kl", "wasserstein", "sinkhorn"]
GOOD = {
    "advantages": np.array([[1.0, 0.0], [0.5, 2.0]]),
    "policy": np.array([[0.4, 0.6], [0.7, 0.3]]),
    "radius": 0.1,
    "weights": np.array([1.0, 3.0]),
    "mask": np.array([[True, True], [True, True]]),
}
NAN, INF = np.nan, np.inf


def changed(name: str, place: tuple, value: float) -> np.ndarray:
    array = GOOD[name].copy()
    array[place] = value
    return array


BAD = {
    "advantage NaN": (
        {"advantages": changed("advantages", (1, 0), NAN)},
        r"advantages\[1, 0\] = nan",
    ),
    "advantage too large": (
        {"advantages": np.full((2, 2), 1e308)},
        r"advantages\[0, 0\] = .* is not finite or too large",
    ),
    "complex": ({"advantages": np.ones((2, 2)) * 1j}, "advantages: complex numbers"),
    "advantage infinite": (
        {"advantages": changed("advantages", (0, 1), INF)},
        r"advantages\[0, 1\] = inf",
    ),
    "row sum": (
        {"policy": changed("policy", (1, 0), 0.8)},
        r"policy\[1\] = .* does not sum to one",
    ),
    "negative probability": (
        {"policy": np.array([[0.4, 0.6], [1.2, -0.2]])},
        r"policy\[1, 1\] = -0.2",
    ),
    "policy NaN": ({"policy": changed("policy", (0, 0), NAN)}, r"policy\[0, 0\] = nan"),
    "radius negative": ({"radius": -1e-9}, r"radius = -.* is no radius; use a number >= 0"),
    "radius NaN": ({"radius": NAN}, "radius = nan"),
    "radius array": ({"radius": np.ones(2)}, r"radius: shape \(2,\), expected a single number"),
    "weight negative": ({"weights": np.array([1.0, -1.0])}, r"weights\[1\] = -1.0"),
    "weight NaN": ({"weights": np.array([NAN, 1.0])}, r"weights\[0\] = nan"),
    "weight infinite": ({"weights": np.array([INF, 1.0])}, r"weights\[0\] = inf"),
    "weights all zero": ({"weights": np.zeros(2)}, "weights: they sum to 0.0"),
    "policy shape": ({"policy": np.ones((2, 3)) / 3}, r"policy: shape \(2, 3\), expected \(2, 2\)"),
    "weights shape": ({"weights": np.ones(3)}, r"weights: shape \(3,\), expected \(2,\)"),
    "mask shape": ({"mask": np.ones((2, 3), bool)}, r"mask: shape \(2, 3\)"),
    "one dimension": (
        {"advantages": np.ones(3)},
        r"advantages: shape \(3,\).*advantages\[None, :\]",
    ),
    "no actions": ({"advantages": np.ones((2, 0))}, r"advantages: shape \(2, 0\)"),
    "ragged": ({"advantages": [[1.0, 2.0], [1.0]]}, "advantages: rows of different lengths"),
    "text": ({"advantages": [["a", "b"]]}, "advantages: text; use real numbers"),
    "all masked": (
        {"mask": np.array([[True, True], [False, False]])},
        r"mask\[1\] = .*allow at least one",
    ),
    "probability on a masked action": (
        {"mask": np.array([[True, True], [True, False]])},
        r"policy\[1, 1\] = 0.3.* is on an action that the mask forbids",
    ),
    "unknown metric": ({"metric": "tv"}, "metric: 'tv' is not known; use one of \"kl\""),
    "metric class": ({"metric": odrpo.KL}, r"metric: a class; call it, odrpo.KL\(\)"),
    "mask of shares": ({"mask": np.full((2, 2), 0.5)}, r"mask\[0, 0\] = 0.5 is neither 0 nor 1"),
    "no radius": ({"radius": None}, "radius: None; it must be given"),
    "cost negative": (
        {"metric": odrpo.Wasserstein([[0.0, -1.0], [1.0, 0.0]])},
        r"cost\[0, 1\] = -1.0 is no cost",
    ),
    "cost diagonal": (
        {"metric": odrpo.Wasserstein([[0.0, 1.0], [1.0, 0.5]])},
        r"cost\[1, 1\] = 0.5 is the cost of staying",
    ),
    "cost NaN": ({"metric": odrpo.Sinkhorn([[0.0, NAN], [1.0, 0.0]])}, r"cost\[0, 1\] = nan"),
    "cost shape": ({"metric": odrpo.Wasserstein(np.zeros((3, 3)))}, r"cost: shape \(3, 3\)"),
    "strength": ({"metric": odrpo.Sinkhorn(strength=0.0)}, "strength = 0.0 is no strength"),
}


@pytest.mark.parametrize("bad", sorted(BAD))
@pytest.mark.parametrize("library", [np, jnp])
def test_bad_input_is_named(bad: str, library) -> None:
    change, message = BAD[bad]
    arguments = GOOD | change
    if library is jnp:
        if bad == "advantage too large":
            arguments["advantages"] = np.full((2, 2), 3e38, np.float32)
        arguments = {
            name: jnp.asarray(value) if isinstance(value, np.ndarray) else value
            for name, value in arguments.items()
        }
    with pytest.raises(ValueError, match=message):
        odrpo.solve(**arguments)


def test_weights_whose_sum_overflows_are_refused() -> None:
    with pytest.raises(ValueError, match="weights: they sum to inf"):
        odrpo.solve(**GOOD | {"weights": np.full(2, 1.7e308)})


@pytest.mark.parametrize("metric", METRICS)
def test_inputs_are_not_modified(metric: str) -> None:
    before = {name: np.copy(value) for name, value in GOOD.items()}
    solution = odrpo.solve(**GOOD, metric=metric)
    solution.policy[:] = 0
    for name, value in GOOD.items():
        np.testing.assert_array_equal(value, before[name])


@pytest.mark.parametrize("metric", METRICS)
def test_precision_and_kind_follow_the_input(metric: str) -> None:
    advantages, policy = GOOD["advantages"], GOOD["policy"]
    double = odrpo.solve(advantages, policy, 0.1, metric)
    assert type(double.policy) is np.ndarray
    assert isinstance(double.beta, np.float64)
    assert double.policy.dtype == np.float64
    assert isinstance(
        odrpo.solve(advantages.tolist(), policy.tolist(), 0.1, metric).gap, np.float64
    )

    single = odrpo.solve(advantages.astype(np.float32), policy.astype(np.float32), 0.1, metric)
    assert single.policy.dtype == np.float32
    np.testing.assert_allclose(single.policy, double.policy, atol=1e-4)

    device = odrpo.solve(jnp.asarray(advantages), jnp.asarray(policy), 0.1, metric)
    assert isinstance(device.policy, jax.Array)
    assert device.policy.dtype == jnp.float32
    mixed = odrpo.solve(jnp.asarray(advantages), policy, 0.1, metric)
    np.testing.assert_array_equal(mixed.policy, device.policy)
    half = odrpo.solve(jnp.asarray(advantages, jnp.float16), jnp.asarray(policy), 0.1, metric)
    assert half.policy.dtype == jnp.float32
    with jax.enable_x64(True):
        wide = odrpo.solve(jnp.asarray(advantages), jnp.asarray(policy), 0.1, metric)
        assert wide.policy.dtype == jnp.float64
        np.testing.assert_array_equal(wide.policy, double.policy)
        assert odrpo.solve(advantages, policy, jnp.asarray(0.1), metric).policy.dtype == jnp.float64


@pytest.mark.parametrize("metric", METRICS)
def test_numpy_input_while_something_else_is_traced(metric: str) -> None:
    gain = odrpo.solve(GOOD["advantages"], GOOD["policy"], 0.1, metric).gain
    traced = jax.jit(
        lambda x: x + odrpo.solve(GOOD["advantages"], GOOD["policy"], 0.1, metric).gain
    )
    assert float(traced(1.0)) == pytest.approx(1 + gain, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.full(2, 1e-50)}, "weights: they sum to 0.0 in float32; scale them"),
        ({"metric": odrpo.Wasserstein(1e300 * (1 - np.eye(2)))}, r"cost\[0, 1\] = inf"),
        ({"metric": odrpo.Sinkhorn(strength=1e-50)}, "strength = 0.0 is no strength"),
        ({"metric": odrpo.Sinkhorn(strength=None)}, "strength: None; it must be given"),
    ],
)
def test_what_float32_can_not_hold(change: dict, message: str) -> None:
    tables = {name: GOOD[name].astype(np.float32) for name in ("advantages", "policy")}
    with pytest.raises(ValueError, match=message):
        odrpo.solve(**GOOD | tables | change)


@pytest.mark.parametrize("metric", METRICS)
def test_what_can_not_be_checked_under_jit_does_not_look_solved(metric: str) -> None:
    good = (jnp.ones((2, 2)), jnp.full((2, 2), 0.5), 0.1, jnp.ones(2))
    bad = {0: jnp.asarray([[1.0, jnp.nan], [0.0, 1.0]]), 2: -0.1, 3: jnp.asarray([2.0, -1.0])}
    solve = jax.jit(lambda a, p, r, w: odrpo.solve(a, p, r, metric, weights=w))
    assert np.isfinite(solve(*good).gap)
    for place, value in bad.items():
        arguments = [value if index == place else each for index, each in enumerate(good)]
        solution = solve(*arguments)
        assert np.isnan(solution.gap)
        assert np.isnan(solution.gain)


@pytest.mark.parametrize("place", [(1, 2), (2, 1), (3, 0), (3, 2)])
def test_neither_does_a_cost_that_is_not_a_number(place: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    advantages, policy = jnp.asarray(rng.normal(size=(3, 4))), jnp.full((3, 4), 0.25)
    cost = jnp.asarray(1 - np.eye(4)).at[place].set(jnp.nan)
    solution = jax.jit(lambda cost: odrpo.solve(advantages, policy, 0.1, odrpo.Wasserstein(cost)))(
        cost
    )
    assert np.isnan(solution.gap)


@pytest.mark.parametrize("metric", METRICS)
def test_a_large_solution_is_a_policy_to_start_from(metric: str) -> None:
    rng = np.random.default_rng(0)
    advantages, policy = rng.normal(size=(2000, 8)), rng.dirichlet(np.ones(8), 2000)
    for _ in range(3):
        policy = odrpo.solve(advantages, policy, 0.05, metric).policy
        assert (policy >= 0).all()
        np.testing.assert_allclose(policy.sum(axis=1), 1, atol=1e-14)


@pytest.mark.parametrize("metric", METRICS)
def test_jit_and_vmap_agree_with_the_loop(metric: str) -> None:
    problems = [random_case(seed) for seed in range(4)]
    advantages = jnp.stack([jnp.asarray(case.advantages, jnp.float32) for case in problems])
    policy = jnp.stack([jnp.asarray(case.policy, jnp.float32) for case in problems])
    radius = jnp.asarray([1e-4, 0.01, 0.3, 100.0], jnp.float32)
    batched = jax.jit(jax.vmap(lambda a, p, r: odrpo.solve(a, p, r, metric)))
    solutions = batched(advantages, policy, radius)
    for index in range(4):
        alone = odrpo.solve(advantages[index], policy[index], radius[index], metric)
        np.testing.assert_allclose(solutions.policy[index], alone.policy, atol=1e-5)
        np.testing.assert_allclose(solutions.beta[index], alone.beta, rtol=1e-4)
        np.testing.assert_allclose(solutions.gap[index], alone.gap, atol=1e-5)


@pytest.mark.parametrize("radius", [1e-6, 0.05, 1e3])
@pytest.mark.parametrize("kind", ["kl", "wasserstein", "line", "sinkhorn"])
def test_gradients_are_those_of_the_envelope(kind: str, radius: float) -> None:
    """d objective / d A = rho pi', d objective / d delta = beta, and differences for the rest."""
    case = random_case(2)
    metric = odrpo.Wasserstein(case.line_cost()) if kind == "line" else kind
    with jax.enable_x64(True):
        weights = jnp.asarray(case.weights / case.weights.sum())
        arguments = (jnp.asarray(case.advantages), jnp.asarray(case.policy), jnp.asarray(radius))

        def objective(advantages, policy, radius):
            return odrpo.solve(advantages, policy, radius, metric, weights=weights).objective

        solution = odrpo.solve(*arguments, metric, weights=weights)
        by_advantages, by_policy, by_radius = jax.grad(objective, (0, 1, 2))(*arguments)
        np.testing.assert_allclose(by_advantages, weights[:, None] * solution.policy, atol=1e-8)
        assert float(by_radius) == pytest.approx(float(solution.beta), rel=1e-6)
        towards = jnp.zeros_like(arguments[1]).at[0, 0].set(1).at[0, 1].set(-1)
        moved = [
            objective(arguments[0], arguments[1] + sign * 1e-7 * towards, radius)
            for sign in (1, -1)
        ]
        slope = (moved[0] - moved[1]) / 2e-7
        assert float(jnp.sum(by_policy * towards)) == pytest.approx(
            float(slope), rel=1e-4, abs=1e-5
        )


@pytest.mark.parametrize("metric", ["kl", "sinkhorn"])
def test_gradient_of_the_policy(metric: str) -> None:
    case = random_case(4)
    with jax.enable_x64(True):
        policy = jnp.asarray(case.policy)

        def probability(advantages):
            return odrpo.solve(advantages, policy, 0.05, metric).policy[1, 2]

        advantages = jnp.asarray(case.advantages)
        gradient = jax.grad(probability)(advantages)
        for place in [(0, 0), (1, 2), (2, 1)]:
            ends = [probability(advantages.at[place].add(sign * 1e-6)) for sign in (1, -1)]
            assert float(gradient[place]) == pytest.approx(
                float(ends[0] - ends[1]) / 2e-6, abs=1e-7
            )


def test_gradients_are_finite_with_masks_zeros_and_ties() -> None:
    advantages = jnp.asarray([[1.0, 1.0, 0.0], [0.0, 2.0, 5.0]])
    policy = jnp.asarray([[0.0, 0.5, 0.5], [0.5, 0.5, 0.0]])
    mask = jnp.asarray([[True, True, True], [True, True, False]])
    for metric in [*METRICS, odrpo.Wasserstein(1 - np.eye(3))]:
        for radius in [0.0, 0.1, 50.0]:

            def total(advantages, policy, metric=metric, radius=radius):
                solution = odrpo.solve(advantages, policy, radius, metric, mask=mask)
                return jnp.sum(solution.policy[:, 0]) + solution.objective

            for gradient in jax.grad(total, (0, 1))(advantages, policy):
                assert np.isfinite(gradient).all()


@pytest.mark.parametrize("metric", METRICS)
def test_a_second_call_compiles_nothing(metric: str) -> None:
    compilations = []

    def listen(event: str, duration: float, **_: object) -> None:
        if "backend_compile" in event:
            compilations.append(event)

    case = random_case(9, states=7, actions=4)
    device = [jnp.asarray(case.advantages), jnp.asarray(case.policy)]
    odrpo.solve(case.advantages, case.policy, 0.1, metric)
    odrpo.solve(*device, 0.1, metric)
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        odrpo.solve(case.advantages * 2, case.policy, 0.2, metric)
        odrpo.solve(*device, 0.3, metric)
        assert compilations == []
        odrpo.solve(case.advantages[1:], case.policy[1:], 0.2, metric)
        assert compilations != []
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def test_ties_survive_a_computation_fused_in_front() -> None:
    """What XLA fuses it may round in two ways; the best action must not differ from itself."""
    rng = np.random.default_rng(0)
    left, right, shift = (jnp.asarray(rng.normal(size=(64, 5)), jnp.float32) for _ in range(3))
    policy = jnp.full((64, 5), 0.2, jnp.float32)

    @jax.jit
    def greedy(metric, left, right, shift):
        return odrpo.solve(left * right - shift, policy, 1e6, metric)

    for metric in ["kl", "wasserstein"]:
        solution = greedy(odrpo.trust_region.checks.METRICS[metric](), left, right, shift)
        np.testing.assert_allclose(solution.policy.max(axis=1), 1)
        expected = np.log(5) if metric == "kl" else 0.8
        assert float(solution.distance) == pytest.approx(expected, rel=1e-5)
