"""Exact trust-region policy optimisation."""

from importlib.metadata import version

from odrpo import callbacks, envs
from odrpo.config import Config
from odrpo.envs import FiniteMDP
from odrpo.evaluation import evaluate
from odrpo.model import ODRPO
from odrpo.training import train
from odrpo.trust_region import (
    KL,
    Metric,
    Problem,
    Sinkhorn,
    Solution,
    Wasserstein,
    distance,
    solve,
)

__version__ = version("odrpo")
__all__ = [
    "KL",
    "ODRPO",
    "Config",
    "FiniteMDP",
    "Metric",
    "Problem",
    "Sinkhorn",
    "Solution",
    "Wasserstein",
    "callbacks",
    "distance",
    "envs",
    "evaluate",
    "solve",
    "train",
]
