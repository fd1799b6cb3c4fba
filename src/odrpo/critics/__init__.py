"""Critics: what the actions of a state are worth under the current policy."""

from odrpo.critics.critic import Critic, Samples
from odrpo.critics.ensemble import EnsembleCritic, Transitions
from odrpo.critics.model import ModelCritic
from odrpo.critics.network import NetworkCritic
from odrpo.critics.table import TableCritic

__all__ = [
    "Critic",
    "EnsembleCritic",
    "ModelCritic",
    "NetworkCritic",
    "Samples",
    "TableCritic",
    "Transitions",
]
