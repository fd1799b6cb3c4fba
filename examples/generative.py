"""What a generative policy can represent and a Gaussian can't: both fitted to the same actions.

Run it with `.venv/bin/python examples/generative.py`; the picture goes to docs/img/generative.png.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from odrpo.networks import descend
from odrpo.policies import GenerativePolicy

STEPS, DRAWS = 4000, 3000
PICTURE = Path(__file__).parent.parent / "docs" / "img" / "generative.png"


def two_modes(rng: np.random.Generator) -> np.ndarray:
    """Left or right around an obstacle, but never into it."""
    side = np.where(rng.random((DRAWS, 1)) < 0.3, 1, -1)
    return side * [0.6, -0.5] + 0.06 * rng.normal(size=(DRAWS, 2))


def ridge(rng: np.random.Generator) -> np.ndarray:
    """Two joints that have to move together."""
    along = rng.uniform(-0.8, 0.8, (DRAWS, 1))
    return np.hstack([along, np.sin(3 * along)]) * 0.9 + 0.05 * rng.normal(size=(DRAWS, 2))


def ring(rng: np.random.Generator) -> np.ndarray:
    """Any direction, one strength."""
    angle = rng.uniform(0, 2 * np.pi, DRAWS)
    radius = 0.75 + 0.04 * rng.normal(size=DRAWS)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def generated(actions: np.ndarray) -> np.ndarray:
    """Draws from a generative policy after quantile regression to the actions."""
    policy = GenerativePolicy(1, 2, (64, 64), 32, 128, 16, 0.0, 1, 64, None)
    nowhere = jnp.zeros((8, 1))

    def step(carry: tuple, key: jax.Array) -> tuple:
        number, generator, optimiser = carry
        some = jax.random.choice(key, jnp.asarray(actions, jnp.float32), (8, 64))
        even = jnp.full((8, 64), 1 / 64)
        rate = 3e-3 * (1 - number / STEPS)
        generator, optimiser, _ = descend(
            lambda g: (policy.loss(g, nowhere, some, even), None), generator, optimiser, rate
        )
        return (number + 1, generator, optimiser), None

    first = (jnp.zeros(()), *policy.init(jax.random.key(0)))
    (_, generator, _), _ = jax.lax.scan(step, first, jax.random.split(jax.random.key(1), STEPS))
    tau = jax.random.uniform(jax.random.key(2), (1, DRAWS, 2))
    return np.asarray(policy.sample(generator, nowhere[:1], tau)[0])


def main() -> None:
    """Fit both to each target and draw them side by side."""
    rng = np.random.default_rng(0)
    figure, grid = plt.subplots(3, 3, figsize=(8.4, 8.6), layout="constrained")
    for number, target in enumerate((two_modes, ridge, ring)):
        row = grid[number]
        actions = target(rng)
        gaussian = actions.mean(axis=0) + rng.normal(size=actions.shape) * actions.std(axis=0)
        columns = {
            "target": (actions, "#2e4057"),
            "Gaussian (diagonal)": (gaussian, "#d1495b"),
            "generative": (generated(actions), "#00798c"),
        }
        for axes, (name, (drawn, colour)) in zip(row, columns.items(), strict=True):
            axes.scatter(*drawn.T, s=2, alpha=0.35, color=colour, linewidths=0)
            axes.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), xticks=[-1, 0, 1], yticks=[-1, 0, 1])
            axes.set_aspect("equal")
            if number == 0:
                axes.set_title(name)
        row[0].set_ylabel(target.__name__.replace("_", " "))
    figure.savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    main()
