"""What the paper proves about the duals and the step, as far as it holds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import odrpo
from tests.trust_region.problems import random_case

METRICS = {
    "kl": odrpo.KL(),
    "wasserstein": odrpo.Wasserstein(),
    "line": odrpo.Wasserstein(np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))),
    "sinkhorn": odrpo.Sinkhorn(strength=np.float64(30.0)),
}


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("kind", METRICS)
@pytest.mark.parametrize("seed", range(5))
def test_dual_is_convex_and_above_every_feasible_policy(kind: str, seed: int) -> None:
    case = random_case(seed)
    problem = odrpo.Problem.create(**case.arguments)
    betas = np.geomspace(1e-3, 1e3, 200)
    dual = np.asarray(jax.vmap(lambda beta: METRICS[kind].dual(problem, beta))(jnp.asarray(betas)))
    slopes = np.diff(dual) / np.diff(betas)
    assert (np.diff(slopes) >= -1e-9).all()
    solution = odrpo.solve(**case.arguments, metric=METRICS[kind])
    assert (dual >= solution.objective - 1e-12).all()
    at_optimum = float(METRICS[kind].dual(problem, solution.beta))
    assert at_optimum == pytest.approx(solution.objective, abs=1e-12)


@pytest.mark.parametrize("kind", METRICS)
def test_objective_grows_and_is_concave_in_the_radius(kind: str) -> None:
    """Its slope is beta, which falls; equivalently the distance falls as beta grows."""
    case = random_case(11)
    radii = np.linspace(0.01, 1.5, 40)
    solutions = [
        odrpo.solve(case.advantages, case.policy, radius, METRICS[kind]) for radius in radii
    ]
    objectives = np.array([s.objective for s in solutions])
    betas = np.array([s.beta for s in solutions])
    assert (np.diff(objectives) >= -1e-12).all()
    assert (np.diff(betas) <= 1e-9).all()
    slopes = np.diff(objectives) / np.diff(radii)
    assert (slopes <= betas[:-1] + 1e-9).all()
    assert (slopes >= betas[1:] - 1e-9).all()


@pytest.mark.parametrize("kind", ["kl", "wasserstein", "line"])
@pytest.mark.parametrize("seed", range(5))
def test_no_random_policy_in_the_ball_is_better(kind: str, seed: int) -> None:
    case = random_case(seed, radius=0.1)
    solution = odrpo.solve(**case.arguments, metric=METRICS[kind])
    weights = case.weights / case.weights.sum()
    rng = np.random.default_rng(seed)
    best = -np.inf
    for _ in range(2000):
        mix = rng.random() * rng.random(4)[:, None]
        policy = (1 - mix) * case.policy + mix * rng.dirichlet(np.full(3, 0.3), 4)
        if weights @ distance(kind, policy, case.policy) <= case.radius:
            best = max(best, weights @ (policy * case.advantages).sum(axis=1))
    assert -np.inf < best <= solution.objective


def distance(kind: str, new: np.ndarray, old: np.ndarray) -> np.ndarray:
    if kind == "kl":
        return (new * np.log(new / old)).sum(axis=1)
    if kind == "wasserstein":
        return np.abs(new - old).sum(axis=1) / 2
    return np.abs(np.cumsum(new - old, axis=1)).sum(axis=1)  # on a line: between the CDFs


def test_wasserstein_bounds_total_variation() -> None:
    for seed in range(20):
        case = random_case(seed, radius=0.2)
        cost = case.random_cost()
        solution = odrpo.solve(**case.arguments, metric=odrpo.Wasserstein(cost))
        weights = case.weights / case.weights.sum()
        variation = weights @ np.abs(solution.policy - case.policy).sum(axis=1) / 2
        least = cost[~np.eye(3, dtype=bool)].min()
        assert solution.distance >= least * variation - 1e-12


class Chain:
    """A random finite MDP with exact values, for the theorems that speak of true returns."""

    discount = 0.8

    def __init__(self, seed: int, states: int = 6, actions: int = 3) -> None:
        rng = np.random.default_rng(seed)
        self.transitions = rng.dirichlet(np.full(states, 0.3), (states, actions))
        self.rewards = rng.normal(size=(states, actions))
        self.start = rng.dirichlet(np.ones(states))

    def evaluate(self, policy: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return, advantages and unnormalised discounted visitation of a policy."""
        step = np.einsum("sa,sat->st", policy, self.transitions)
        resolvent = np.linalg.inv(np.eye(len(step)) - self.discount * step)
        values = resolvent @ (policy * self.rewards).sum(axis=1)
        q = self.rewards + self.discount * self.transitions @ values
        return float(self.start @ values), q - values[:, None], self.start @ resolvent


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("radius", [1e-3, 0.05, 0.5])
def test_return_is_bounded_below(seed: int, radius: float) -> None:
    """The first theorem (total variation, KL) and the corollary (Wasserstein), with max_s."""
    chain = Chain(seed)
    policy = np.random.default_rng(seed).dirichlet(np.ones(3), 6)
    before, advantages, visits = chain.evaluate(policy)
    penalty = 4 * np.abs(advantages).max() * chain.discount / (1 - chain.discount) ** 2
    for kind in ["kl", "wasserstein", "line"]:
        new = odrpo.solve(advantages, policy, radius, METRICS[kind], weights=visits).policy
        after, _, _ = chain.evaluate(new)
        surrogate = before + visits @ (new * advantages).sum(axis=1)
        variation = np.abs(new - policy).sum(axis=1).max() / 2
        assert after >= surrogate - penalty * variation**2 - 1e-12
        if kind == "kl":
            assert after >= surrogate - penalty * distance("kl", new, policy).max() - 1e-12
        else:  # the least distance between two actions is one
            assert after >= surrogate - penalty * distance(kind, new, policy).max() ** 2 - 1e-12


@pytest.mark.parametrize("kind", ["kl", "wasserstein", "line"])
@pytest.mark.parametrize("seed", range(3))
def test_small_exact_steps_never_lower_the_return(kind: str, seed: int) -> None:
    chain = Chain(seed)
    policy = np.full((6, 3), 1 / 3)
    returns = []
    for _ in range(60):
        value, advantages, visits = chain.evaluate(policy)
        returns.append(value)
        policy = odrpo.solve(advantages, policy, 0.01, METRICS[kind], weights=visits).policy
    assert (np.diff(returns) >= -1e-9).all()
    assert returns[-1] > returns[0] + 0.1
