"""Parts of the update from replay whose results are known."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from odrpo.exact_step import Info
from odrpo.off_policy import ascended, summary
from odrpo.policies import Support

GOAL = jnp.array([0.5, -0.5, 0.0])


def hill(steepness: float) -> Callable[[Support], jax.Array]:
    """Actions near the goal are worth more, the more so the steeper."""

    def values(at: Support) -> jax.Array:
        assert at.actions is not None
        return -steepness * jnp.sum((at.actions - GOAL[None, None]) ** 2, axis=2)

    return values


def support_of(actions: jax.Array) -> Support:
    states, count, _ = actions.shape
    return Support(jnp.zeros((states, 2)), jnp.full((states, count), 1 / count), actions)


def test_half_of_the_candidates_go_so_far_up_the_slope_however_steep_it_is() -> None:
    actions = jax.random.uniform(jax.random.key(0), (7, 6, 3), minval=-0.9, maxval=0.9)
    for steepness in (1e-3, 1e3):
        after = ascended(hill(steepness), support_of(actions), jnp.float32(0.05))
        np.testing.assert_array_equal(after.actions[:, :3], actions[:, :3])
        move = np.asarray(after.actions[:, 3:] - actions[:, 3:])
        np.testing.assert_allclose(np.sqrt(np.mean(move**2, axis=2)), 0.05, rtol=1e-3)
        way = np.asarray(GOAL) - np.asarray(actions[:, 3:])
        cosine = np.sum(move * way, axis=2) / np.linalg.norm(move, axis=2)
        np.testing.assert_allclose(cosine, np.linalg.norm(way, axis=2), rtol=1e-3)


def test_candidates_stay_where_nothing_rises_and_within_their_bounds() -> None:
    top = support_of(jnp.broadcast_to(GOAL, (2, 4, 3)))
    for steepness, length in ((1.0, 0.05), (0.0, 0.05), (1.0, 0.0)):
        after = ascended(hill(steepness), top, jnp.float32(length))
        np.testing.assert_array_equal(after.actions, top.actions)
    far = ascended(hill(-1.0), support_of(jnp.full((2, 4, 3), 0.95)), jnp.float32(1))
    assert np.abs(far.actions).max() <= 1


def test_what_is_told_of_many_steps_counts_each_of_them_once() -> None:
    eight, five = (Info(*np.full(len(Info._fields), x, np.float32)) for x in (1.0, -14.0))
    told = summary([eight, five], [8, 5])
    assert told.gain == (8 - 5 * 14) / 13
    assert (told.gap, told.distance) == (-14, 1)
