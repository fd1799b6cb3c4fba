"""Random problems for the solvers, the awkward ones included."""

from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import strategies as st

# Few shapes, so that few programs are compiled.
SHAPES = [(1, 2), (1, 5), (4, 3), (6, 5)]


@dataclass(frozen=True)
class Case:
    """The arguments of `odrpo.solve` but for the metric."""

    advantages: np.ndarray
    policy: np.ndarray
    radius: float
    weights: np.ndarray
    mask: np.ndarray
    seed: int = field(default=0)

    @property
    def arguments(self) -> dict:
        return {
            "advantages": self.advantages,
            "policy": self.policy,
            "radius": self.radius,
            "weights": self.weights,
            "mask": self.mask,
        }

    def in_single_precision(self) -> "Case":
        """The same as float32 holds it; what is too small for its normal numbers becomes zero."""
        policy = self.policy.astype(np.float32)
        policy[policy < np.finfo(np.float32).tiny] = 0
        policy /= policy.sum(axis=1, keepdims=True)
        return replace(self, advantages=self.advantages.astype(np.float32), policy=policy)

    def in_double_precision(self) -> "Case":
        """The same numbers as float64."""
        policy = self.policy.astype(float)
        policy /= policy.sum(axis=1, keepdims=True)
        return replace(self, advantages=self.advantages.astype(float), policy=policy)

    @property
    def scale(self) -> float:
        """The size of an advantage, against which an error is judged."""
        return float(np.abs(np.where(self.mask, self.advantages, 0)).max())

    def line_cost(self) -> np.ndarray:
        actions = np.arange(self.policy.shape[1], dtype=float)
        return np.abs(actions[:, None] - actions[None, :])

    def random_cost(self) -> np.ndarray:
        """Distances between random points: a metric."""
        return _distances(self._rng().random((self.policy.shape[1], 2)))

    def cost_per_state(self) -> np.ndarray:
        """No metric: not symmetric, and some moves are free."""
        states, actions = self.policy.shape
        cost = self._rng().random((states, actions, actions)).round(1)
        return cost * (1 - np.eye(actions))

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed + 1)


def _distances(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[..., :, None, :] - points[..., None, :, :], axis=-1)


@st.composite
def cases(draw: st.DrawFn, shapes: list = SHAPES, least_radius: float = -8) -> Case:
    """Ties, zeros, masks, skewed policies; radius up to 1e3, advantages from 1e-6 to 1e6."""
    states, actions = draw(st.sampled_from(shapes))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["plain", "ties", "constant", "heavy tails", "mixed scales"]))
    advantages = {
        "plain": rng.normal(size=(states, actions)),
        "ties": rng.integers(-2, 3, (states, actions)) / 4,
        "constant": np.full((states, actions), rng.normal()),
        "heavy tails": rng.standard_cauchy((states, actions)).clip(-1e3, 1e3),
        "mixed scales": rng.normal(size=(states, actions)) * 10 ** rng.uniform(-8, 0, (states, 1)),
    }[kind] * 10.0 ** draw(st.integers(-6, 6))
    concentration = draw(st.sampled_from([0.05, 1.0, 50.0]))
    policy = rng.dirichlet(np.full(actions, concentration), states)
    mask = np.ones((states, actions), bool)
    if draw(st.booleans()):
        mask = rng.random((states, actions)) < 0.7
        mask[np.arange(states), rng.integers(0, actions, states)] = True
    if draw(st.booleans()):
        policy = policy * (rng.random((states, actions)) < 0.6)
    policy = policy * mask
    empty = policy.sum(axis=1) == 0
    policy[empty] = mask[empty]
    policy = policy / policy.sum(axis=1, keepdims=True)
    weights = rng.random(states) * (rng.random(states) < 0.8)
    weights[rng.integers(states)] = 1.0
    radius = 10.0 ** draw(st.floats(least_radius, 3))
    return Case(advantages, policy, radius, weights, mask, seed)


def random_case(seed: int, states: int = 4, actions: int = 3, radius: float = 0.05) -> Case:
    """A plain case without masks and zeros."""
    rng = np.random.default_rng(seed)
    return Case(
        rng.normal(size=(states, actions)),
        rng.dirichlet(np.ones(actions), states),
        radius,
        rng.random(states) + 0.1,
        np.ones((states, actions), bool),
        seed,
    )
