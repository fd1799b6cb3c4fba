"""Finite Markov decision processes from tables: an environment on the device, and exact values."""

from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import wrappers

from odrpo.arguments import whole
from odrpo.envs.env import Array, Step

ROW_SUM_TOLERANCE = 1e-5
OF_MAKE = (
    *(wrappers.TimeLimit, wrappers.OrderEnforcing, wrappers.PassiveEnvChecker),
    *(wrappers.RenderCollection, wrappers.HumanRendering),
)
"""The wrappers of `gymnasium.make`: with them an environment does what its table says."""


class Outcomes(NamedTuple):
    """What may follow each (state, action), (S, A, K) each; K is the most that any pair has."""

    probability: Array
    next_state: Array
    reward: Array
    terminates: Array


class Progress(NamedTuple):
    """Where an episode stands: the state, and the steps taken so far."""

    state: Array
    steps: Array


@jax.tree_util.register_pytree_node_class
class FiniteMDP:
    """A finite MDP with S states and A actions.

    Args:
        transitions: (S, A, S) probabilities, or (S, A) next states where nothing is random.
        rewards: (S,) of acting in a state, (S, A) of an action, or (S, A, S) of a transition.
        start: (S,) distribution of the first state, or its index where there is one.
        terminal: (S,) True where an episode ends on arrival; None: nowhere.
        max_steps: An episode is truncated after so many steps; None: never.

    >>> import odrpo
    >>> walk = odrpo.FiniteMDP([[0, 1], [0, 2], [2, 2]], [[0, 0], [0, 1], [0, 0]], 0, [0, 0, 1], 9)
    >>> walk.optimal_return()
    1.0
    >>> walk.expected_return([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    0.826171875
    """

    outcomes: Outcomes
    start: Array
    max_steps: int | None

    def __init__(
        self,
        transitions: Any,
        rewards: Any,
        start: Any,
        terminal: Any | None = None,
        max_steps: int | None = None,
    ) -> None:
        """Bring the tables to one form: see the class."""
        probability, next_state = _successors(transitions)
        states = len(probability)
        reward = _rewards(rewards, next_state)
        self._set(
            Outcomes(probability, next_state, reward, _ends(terminal, states)[next_state]),
            _start(start, states),
            max_steps,
        )

    @classmethod
    def from_gymnasium(
        cls, env: str | gymnasium.Env, max_steps: int | None = None, **options: Any
    ) -> "FiniteMDP":
        """From an environment (or the id of one) with a table `P[s][a]` of (p, next, reward, end).

        The step limit is the environment's own unless one is given here. Other wrappers than those
        of `gymnasium.make` are refused: a table knows nothing of what they do.
        """
        if isinstance(env, str):
            env = gymnasium.make(env, **options)
        table = getattr(env.unwrapped, "P", None)
        if table is None:
            raise ValueError(f"env: {env} has no table P of its transitions; pass it as it is")
        if (more := more_than_table(env)) is not None:
            raise ValueError(f"env: {more}, which is not in its table P; pass it as it is")
        states, actions = len(table), len(table[0])
        most = max(len(table[s][a]) for s in range(states) for a in range(actions))
        outcomes = Outcomes(
            np.zeros((states, actions, most)),
            np.zeros((states, actions, most), np.int32),
            np.zeros((states, actions, most)),
            np.zeros((states, actions, most), bool),
        )
        for s in range(states):
            for a in range(actions):
                for k, outcome in enumerate(table[s][a]):
                    for column, value in zip(outcomes, outcome, strict=True):
                        column[s, a, k] = value
        start = getattr(env.unwrapped, "initial_state_distrib", None)
        if start is None:
            raise ValueError(f"env: {env} has no initial_state_distrib")
        limit = env.spec.max_episode_steps if env.spec is not None else None
        limit = limit or getattr(env.unwrapped, "max_steps", None)
        mdp: FiniteMDP = object.__new__(cls)
        mdp._set(outcomes, _start(start, states), limit if max_steps is None else max_steps)
        return mdp

    def _set(self, outcomes: Outcomes, start: Array, max_steps: int | None) -> None:
        self.outcomes, self.start = outcomes, start
        self.max_steps = None if max_steps is None else whole("max_steps", max_steps, 1)

    def tree_flatten(self) -> tuple[tuple, int | None]:
        """The tables are data, the step limit is part of the program."""
        return (self.outcomes, self.start), self.max_steps

    @classmethod
    def tree_unflatten(cls, max_steps: int | None, tables: tuple) -> "FiniteMDP":
        """The way back, for JAX."""
        mdp: FiniteMDP = object.__new__(cls)
        mdp.outcomes, mdp.start = tables
        mdp.max_steps = max_steps
        return mdp

    @property
    def observation_space(self) -> gymnasium.spaces.Discrete:
        """The states."""
        return gymnasium.spaces.Discrete(self.outcomes.probability.shape[0])

    @property
    def action_space(self) -> gymnasium.spaces.Discrete:
        """The actions."""
        return gymnasium.spaces.Discrete(self.outcomes.probability.shape[1])

    def reset(self, key: jax.Array) -> tuple[Progress, Array]:
        """Draw a first state."""
        state = _draw(key, jnp.asarray(self.start))
        return Progress(state, jnp.zeros((), jnp.int32)), state

    def step(self, key: jax.Array, progress: Progress, action: Array) -> Step:
        """Draw one of the outcomes of (state, action)."""
        place = (progress.state, action)
        outcomes = Outcomes(*(jnp.asarray(column)[place] for column in self.outcomes))
        drawn = _draw(key, outcomes.probability)
        following = outcomes.next_state[drawn].astype(progress.state.dtype)
        terminated = outcomes.terminates[drawn]
        steps = progress.steps + 1
        late = jnp.asarray(False) if self.max_steps is None else steps >= self.max_steps
        return Step(
            Progress(following, steps),
            following,
            outcomes.reward[drawn],
            terminated,
            late & ~terminated,
        )

    def expected_return(self, policy: Any, discount: float = 1.0) -> float:
        """The exact expected return of a policy, (S, A), from the start, with the step limit."""
        policy, discount = self._checked(policy), _checked_discount(discount)
        if self.max_steps is None:
            self._need_discount(discount)
            values = (policy * self.action_values(policy, discount)).sum(axis=1)
        else:
            values = self._look_ahead(discount, lambda q: (policy * q).sum(axis=1))
        return float(self.start @ values)

    def optimal_return(self, discount: float = 1.0) -> float:
        """The largest expected return that any policy has, with the step limit."""
        discount = _checked_discount(discount)
        if self.max_steps is None:
            self._need_discount(discount)
            values = self.optimal_action_values(discount).max(axis=1)
        else:
            values = self._look_ahead(discount, lambda q: q.max(axis=1))
        return float(self.start @ values)

    def action_values(self, policy: Any, discount: float) -> np.ndarray:
        """Q of a policy, (S, A), discounted and without a step limit: truncation is no end."""
        policy, discount = self._checked(policy), _checked_discount(discount)
        outcomes, (states, _) = self.outcomes, policy.shape
        going_on = outcomes.probability * ~outcomes.terminates * policy[:, :, None]
        matrix = np.eye(states)
        rows = np.broadcast_to(np.arange(states)[:, None, None], going_on.shape)
        np.subtract.at(matrix, (rows, outcomes.next_state), discount * going_on)
        mean_reward = (outcomes.probability * outcomes.reward).sum(axis=2)
        try:
            if discount == 1 and not self._ends(policy):
                raise np.linalg.LinAlgError  # which rounding may hide
            values = np.linalg.solve(matrix, (policy * mean_reward).sum(axis=1))
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"discount: {discount}; this policy does not come to an end from every state, and "
                "action values know no step limit; use a discount in [0, 1)"
            ) from error
        return self._back_up(values, discount)

    def optimal_action_values(self, discount: float) -> np.ndarray:
        """Q of the best policy, (S, A), by policy iteration."""
        self._need_discount(_checked_discount(discount))
        states, actions, _ = self.outcomes.probability.shape
        best = np.zeros(states, int)
        while True:
            q = self.action_values(np.eye(actions)[best], discount)
            better = q.max(axis=1) > q[np.arange(states), best] + 1e-12 * (1 + np.abs(q).max())
            if not better.any():
                return q
            best = np.where(better, q.argmax(axis=1), best)

    def _checked(self, policy: Any) -> np.ndarray:
        table = np.asarray(policy, float)
        expected = self.outcomes.probability.shape[:2]
        if table.shape != expected:
            raise ValueError(f"policy: shape {table.shape}, expected {expected}, states x actions")
        sums = table.sum(axis=1)
        bad = ~((table >= 0).all(axis=1) & (np.abs(sums - 1) <= ROW_SUM_TOLERANCE))
        if bad.any():
            state = int(np.argmax(bad))
            raise ValueError(
                f"policy[{state}] is no distribution (it sums to {sums[state]:.6g}); use "
                "probabilities that sum to one"
            )
        return table

    def _ends(self, policy: np.ndarray) -> bool:
        """Whether a policy may come to an end from every state."""
        outcomes, (states, _) = self.outcomes, policy.shape
        state, action, k = np.nonzero(outcomes.probability * policy[:, :, None])
        following = outcomes.next_state[state, action, k]
        ends = np.zeros(states, bool)
        ends[state[outcomes.terminates[state, action, k]]] = True
        found = 0
        while found < ends.sum():
            found = ends.sum()
            ends[state[ends[following]]] = True
        return bool(ends.all())

    def _back_up(self, values: np.ndarray, discount: float) -> np.ndarray:
        outcomes = self.outcomes
        beyond = np.where(outcomes.terminates, 0, values[outcomes.next_state])
        return (outcomes.probability * (outcomes.reward + discount * beyond)).sum(axis=2)

    def _look_ahead(self, discount: float, choose: Any) -> np.ndarray:
        values = np.zeros(self.outcomes.probability.shape[0])
        for _ in range(self.max_steps or 0):
            values = choose(self._back_up(values, discount))
        return values

    def _need_discount(self, discount: float) -> None:
        if not 0 <= discount < 1:
            raise ValueError(
                f"discount: {discount}; without a step limit use a discount in [0, 1), "
                "or give the MDP max_steps"
            )


def more_than_table(env: gymnasium.Env) -> str | None:
    """What is known of an environment that its table `P` does not tell; None: nothing."""
    name = type(env.unwrapped).__name__
    while isinstance(env, gymnasium.Wrapper):
        if type(env) not in OF_MAKE:
            return f"{name} is wrapped in {type(env).__name__}"
        env = env.env
    if getattr(env, "fickle_passenger", False):
        return f"{name} has a fickle passenger"
    return None


def _checked_discount(discount: Any) -> float:
    if not 0 <= discount <= 1:
        raise ValueError(f"discount: {discount}; use a number in [0, 1]")
    return float(discount)


def _draw(key: jax.Array, probability: Array) -> Array:
    """An index drawn by its probability; rounding never leads past the last possible one."""
    cumulative = jnp.cumsum(probability)
    uniform = jax.random.uniform(key, dtype=cumulative.dtype) * cumulative[-1]
    return jnp.minimum(jnp.sum(uniform >= cumulative), jnp.sum(cumulative < cumulative[-1])).astype(
        jnp.int32
    )


def _successors(transitions: Any) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and next states, (S, A, K) each, with K as small as it can be."""
    table = np.asarray(transitions)
    if table.ndim == 2:
        states = table.shape[0]
        if not (np.issubdtype(table.dtype, np.integer) and (table >= 0).all()):
            raise ValueError("transitions: (S, A) must be next states, whole numbers >= 0")
        if table.max() >= states:
            raise ValueError(
                f"transitions: next state {table.max()}, but there are {states} states"
            )
        return np.ones((*table.shape, 1)), table[:, :, None].astype(np.int32)
    if table.ndim != 3 or table.shape[0] != table.shape[2]:
        raise ValueError(f"transitions: shape {table.shape}, expected (S, A, S) or (S, A)")
    sums = table.sum(axis=2)
    bad = ~((table >= 0).all(axis=2) & (np.abs(sums - 1) <= ROW_SUM_TOLERANCE))
    if bad.any():
        s, a = np.argwhere(bad)[0]
        raise ValueError(f"transitions[{s}, {a}] is no distribution (it sums to {sums[s, a]:.6g})")
    most = int((table > 0).sum(axis=2).max())
    next_state = np.argsort(-table, axis=2, kind="stable")[:, :, :most]
    probability = np.take_along_axis(table, next_state, axis=2) / sums[:, :, None]
    return probability, next_state.astype(np.int32)


def _rewards(rewards: Any, next_state: np.ndarray) -> np.ndarray:
    states, actions, _ = next_state.shape
    table = np.asarray(rewards, float)
    if not np.isfinite(table).all():
        raise ValueError("rewards: not all are finite")
    if table.shape == (states,):
        table = np.broadcast_to(table[:, None], (states, actions))
    if table.shape == (states, actions):
        return np.array(np.broadcast_to(table[:, :, None], next_state.shape))
    if table.shape == (states, actions, states):
        return np.take_along_axis(table, next_state.astype(int), axis=2)
    raise ValueError(
        f"rewards: shape {table.shape}, expected {(states,)}, {(states, actions)} "
        f"or {(states, actions, states)}"
    )


def _ends(terminal: Any | None, states: int) -> np.ndarray:
    if terminal is None:
        return np.zeros(states, bool)
    table = np.asarray(terminal)
    if table.shape != (states,):
        raise ValueError(f"terminal: shape {table.shape}, expected {(states,)}, one a state")
    if not np.isin(table, (0, 1)).all():
        raise ValueError("terminal: use True or False for each state, not the states' indices")
    return table.astype(bool)


def _start(start: Any, states: int) -> np.ndarray:
    table = np.asarray(start)
    if table.ndim == 0 and np.issubdtype(table.dtype, np.integer) and 0 <= table < states:
        return np.eye(states)[int(table)]
    table = table.astype(float)
    if table.shape != (states,) or not (table >= 0).all() or not abs(table.sum() - 1) <= 1e-5:
        raise ValueError(f"start: expected a state's index or a distribution over {states} states")
    return table / table.sum()
