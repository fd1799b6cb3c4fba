"""The trust-region problem and its exact solvers: arrays in, arrays out."""

from odrpo.trust_region.checks import METRICS, resolve_metric
from odrpo.trust_region.interface import distance, solve
from odrpo.trust_region.kl import KL
from odrpo.trust_region.problem import Metric, Problem, Solution
from odrpo.trust_region.sinkhorn import Sinkhorn
from odrpo.trust_region.wasserstein import Wasserstein

__all__ = [
    "KL",
    "METRICS",
    "Metric",
    "Problem",
    "Sinkhorn",
    "Solution",
    "Wasserstein",
    "distance",
    "resolve_metric",
    "solve",
]
