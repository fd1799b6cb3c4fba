"""Random numbers drawn in a faster way are the same, or as good."""

import jax
import numpy as np
import pytest

from odrpo.randomness import drawn, permutation


@pytest.mark.parametrize("how", [jax.random.uniform, jax.random.normal, jax.random.gumbel])
def test_a_detour_gives_the_same_numbers(how) -> None:
    key = jax.random.key(3)
    np.testing.assert_array_equal(drawn(how, key, (5, 4, 3)), how(key, (5, 4, 3)))


def test_a_permutation_is_one_and_any_is_as_probable() -> None:
    orders = np.asarray(
        jax.vmap(lambda key: permutation(key, 5))(jax.random.split(jax.random.key(0), 4000))
    )
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.tile(np.arange(5), (4000, 1)))
    for place in orders.T:
        np.testing.assert_allclose(np.bincount(place) / 4000, 1 / 5, atol=0.03)
