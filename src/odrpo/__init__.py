"""Exact trust-region policy optimisation."""

from importlib.metadata import version

from odrpo.trust_region import KL, Metric, Problem, Sinkhorn, Solution, Wasserstein, solve

__version__ = version("odrpo")
__all__ = ["KL", "Metric", "Problem", "Sinkhorn", "Solution", "Wasserstein", "solve"]
