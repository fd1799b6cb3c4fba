"""Strict modes: what JAX would quietly promote is an error here; and programs compiled once."""

import os
from collections.abc import Iterator
from pathlib import Path

# Before JAX looks: most of the time goes into compiling, which takes nearly half of it without
# optimisation. `make test-all` runs the programs that users run.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)
# The workers share what they compile, with the processes that tests start and with later runs.
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(Path(__file__).parent.parent / ".jax_cache")
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"

import hypothesis
import jax
import matplotlib
import pytest

matplotlib.use("Agg")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
# Compilation makes the first example of a shape slow; seeds are fixed so that a failure comes back.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True)
hypothesis.settings.load_profile("default")

MOST_MAPS = 20_000
MAPS = Path("/proc/self/maps")


@pytest.fixture(scope="module", autouse=True)
def _few_programs_in_memory() -> Iterator[None]:
    """Every compiled program takes up regions of memory, of which Linux gives a process 65530.

    Where it has no more, XLA ends in a segmentation fault.
    """
    yield
    if MAPS.exists() and len(MAPS.read_bytes().splitlines()) > MOST_MAPS:
        jax.clear_caches()
