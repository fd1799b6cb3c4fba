"""Exact trust-region policy optimisation."""

from importlib.metadata import version

from odrpo.envs import FiniteMDP
from odrpo.trust_region import KL, Metric, Problem, Sinkhorn, Solution, Wasserstein, solve

__version__ = version("odrpo")
__all__ = ["KL", "FiniteMDP", "Metric", "Problem", "Sinkhorn", "Solution", "Wasserstein", "solve"]
