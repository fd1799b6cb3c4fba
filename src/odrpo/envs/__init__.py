"""Environments: pure functions on the device, from tables or written for it; Gymnasium's."""

from odrpo.envs.classic import Acrobot, CartPole
from odrpo.envs.env import Env, Step
from odrpo.envs.finite import FiniteMDP
from odrpo.envs.make import make
from odrpo.envs.nchain import nchain, register
from odrpo.envs.replayable import EnvError
from odrpo.envs.tables import TableEnv

register()

__all__ = [
    "Acrobot",
    "CartPole",
    "Env",
    "EnvError",
    "FiniteMDP",
    "Step",
    "TableEnv",
    "make",
    "nchain",
]
