"""Numbers that a user gives: what is taken, and what is refused by name."""

from typing import Any

import numpy as np
import pytest

from odrpo.arguments import finite, seed_of, whole


@pytest.mark.parametrize("value", [100_000, 1e5, np.int32(100_000), np.float64(1e5)])
def test_whole_numbers_in_any_form(value: Any) -> None:
    assert whole("steps", value) == 100_000
    assert type(whole("steps", value)) is int


@pytest.mark.parametrize("value", [0.5, np.nan, np.inf, -1, "3", None, True, [1]])
def test_what_is_no_whole_number_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^steps: .*; use a whole number >= 0$"):
        whole("steps", value)


def test_bounds_are_named() -> None:
    with pytest.raises(ValueError, match=r"^steps: 0; use a whole number > 0$"):
        whole("steps", 0, 1)
    with pytest.raises(ValueError, match=r"^seed: -1; use a whole number >= 0$"):
        seed_of(-1)
    with pytest.raises(ValueError, match=r"^seed: 4294967296; use a whole number below 4294967296"):
        seed_of(2**32)


@pytest.mark.parametrize("value", [np.nan, np.inf, "3", None, True])
def test_what_is_not_finite_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^threshold: .*; use a finite number$"):
        finite("threshold", value)
    assert finite("threshold", np.float32(2)) == 2.0
