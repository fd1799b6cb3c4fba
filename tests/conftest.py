"""Strict modes: what JAX would quietly promote is an error here."""

import hypothesis
import jax
import matplotlib

matplotlib.use("Agg")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
# Compilation makes the first example of a shape slow; seeds are fixed so that a failure comes back.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True)
hypothesis.settings.load_profile("default")
