"""Environments: pure functions on the device, from tables or written for it."""

from odrpo.envs.classic import Acrobot, CartPole
from odrpo.envs.env import Env, Step
from odrpo.envs.finite import FiniteMDP
from odrpo.envs.nchain import nchain

__all__ = ["Acrobot", "CartPole", "Env", "FiniteMDP", "Step", "nchain"]
