"""Policies: a table, a softmax, a generator, a bell. Each samples, has a support, is projected."""

from odrpo.policies.categorical import CategoricalPolicy
from odrpo.policies.gaussian import GaussianPolicy
from odrpo.policies.generative import GenerativePolicy, held_uniform
from odrpo.policies.support import Policy, Support, masked
from odrpo.policies.tabular import TabularPolicy

__all__ = [
    "CategoricalPolicy",
    "GaussianPolicy",
    "GenerativePolicy",
    "Policy",
    "Support",
    "TabularPolicy",
    "held_uniform",
    "masked",
]
