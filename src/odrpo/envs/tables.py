"""A finite MDP as a Gymnasium environment, for those who step it themselves."""

from typing import Any

import gymnasium
import numpy as np

from odrpo.envs.finite import FiniteMDP


class TableEnv(gymnasium.Env):
    """Steps through the tables of a FiniteMDP; with the table `P` of Gymnasium's toy texts."""

    def __init__(self, mdp: FiniteMDP) -> None:
        """Take over the tables and their step limit."""
        self.mdp, self.max_steps = mdp, mdp.max_steps
        self.observation_space = mdp.observation_space
        self.action_space = mdp.action_space
        self.initial_state_distrib = np.asarray(mdp.start)
        self.P = {
            state: {action: self._outcomes(state, action) for action in range(mdp.action_space.n)}
            for state in range(mdp.observation_space.n)
        }

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict]:
        """Draw a first state."""
        super().reset(seed=seed)
        self.steps = 0
        self.state = int(self.np_random.choice(len(self.P), p=self.initial_state_distrib))
        return self.state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict]:
        """Draw one of the outcomes of (state, action)."""
        outcomes = self.P[self.state][int(action)]
        drawn = self.np_random.choice(len(outcomes), p=[outcome[0] for outcome in outcomes])
        _, self.state, reward, terminated = outcomes[drawn]
        self.steps += 1
        late = self.max_steps is not None and self.steps >= self.max_steps
        return self.state, reward, terminated, late and not terminated, {}

    def _outcomes(self, state: int, action: int) -> list[tuple[float, int, float, bool]]:
        columns = (np.asarray(column)[state, action] for column in self.mdp.outcomes)
        rows = zip(*columns, strict=True)
        return [(float(p), int(s), float(r), bool(t)) for p, s, r, t in rows if p > 0]
