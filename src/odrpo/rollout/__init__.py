"""Rollouts: how a batch of experience is collected."""

from odrpo.rollout.batch import Batch

__all__ = ["Batch"]
