"""Policies: a table, or a network with a softmax. Each samples, offers a support, is projected."""

from odrpo.policies.categorical import CategoricalPolicy
from odrpo.policies.support import Policy, Support
from odrpo.policies.tabular import TabularPolicy

__all__ = ["CategoricalPolicy", "Policy", "Support", "TabularPolicy"]
