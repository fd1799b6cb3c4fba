"""CartPole and Acrobot on the device, equal to Gymnasium's step by step."""

from dataclasses import dataclass
from typing import NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from odrpo.arguments import whole
from odrpo.envs.env import Array, Step


class Motion(NamedTuple):
    """Positions and speeds, (4,), and the steps taken so far."""

    state: Array
    steps: Array


@jax.tree_util.register_static
@dataclass(frozen=True)
class CartPole:
    """Keep a pole upright on a cart that is pushed left or right: CartPole-v1."""

    max_steps: int = 500

    def __post_init__(self) -> None:
        """Refuse a limit that leaves no step."""
        whole("max_steps", self.max_steps, 1)

    @property
    def observation_space(self) -> gymnasium.spaces.Box:
        """Position and speed of the cart, angle and speed of the pole."""
        high = np.array([4.8, np.inf, 2 * ANGLE_LIMIT, np.inf], np.float32)
        return gymnasium.spaces.Box(-high, high)

    @property
    def action_space(self) -> gymnasium.spaces.Discrete:
        """Push left or right."""
        return gymnasium.spaces.Discrete(2)

    def reset(self, key: jax.Array) -> tuple[Motion, Array]:
        """Begin near the upright position."""
        state = jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)
        return Motion(state, jnp.zeros((), jnp.int32)), state

    def step(self, key: jax.Array, motion: Motion, action: Array) -> Step:
        """Euler's method over 0.02 s; every step pays one, the last included."""
        _, speed, angle, spin = motion.state
        push = jnp.where(action == 1, PUSH, -PUSH).astype(motion.state.dtype)
        sine, cosine = jnp.sin(angle), jnp.cos(angle)
        drive = (push + POLE_MOMENT * spin**2 * sine) / TOTAL_MASS
        inertia = HALF_LENGTH * (4 / 3 - POLE_MASS * cosine**2 / TOTAL_MASS)
        spin_up = (GRAVITY * sine - cosine * drive) / inertia
        speed_up = drive - POLE_MOMENT * spin_up * cosine / TOTAL_MASS
        state = motion.state + 0.02 * jnp.stack([speed, speed_up, spin, spin_up])
        fallen = (jnp.abs(state[0]) > 2.4) | (jnp.abs(state[2]) > ANGLE_LIMIT)
        steps = motion.steps + 1
        late = (steps >= self.max_steps) & ~fallen
        return Step(Motion(state, steps), state, jnp.ones((), state.dtype), fallen, late)


GRAVITY, POLE_MASS, TOTAL_MASS, HALF_LENGTH, PUSH = 9.8, 0.1, 1.1, 0.5, 10.0
POLE_MOMENT = POLE_MASS * HALF_LENGTH
ANGLE_LIMIT = 12 * 2 * np.pi / 360


@jax.tree_util.register_static
@dataclass(frozen=True)
class Acrobot:
    """Swing two links up over a line by a torque at the joint between them: Acrobot-v1."""

    max_steps: int = 500

    def __post_init__(self) -> None:
        """Refuse a limit that leaves no step."""
        whole("max_steps", self.max_steps, 1)

    @property
    def observation_space(self) -> gymnasium.spaces.Box:
        """Cosine and sine of both angles, and both speeds."""
        high = np.array([1, 1, 1, 1, *SPEED_LIMITS], np.float32)
        return gymnasium.spaces.Box(-high, high)

    @property
    def action_space(self) -> gymnasium.spaces.Discrete:
        """A torque of -1, 0 or 1."""
        return gymnasium.spaces.Discrete(3)

    def reset(self, key: jax.Array) -> tuple[Motion, Array]:
        """Begin near hanging down."""
        state = jax.random.uniform(key, (4,), minval=-0.1, maxval=0.1)
        return Motion(state, jnp.zeros((), jnp.int32)), _swing_observation(state)

    def step(self, key: jax.Array, motion: Motion, action: Array) -> Step:
        """Runge and Kutta's method over 0.2 s; every step but the last costs one."""
        torque = (action - 1).astype(motion.state.dtype)
        start, step = motion.state, 0.2
        k1 = _swing(start, torque)
        k2 = _swing(start + step / 2 * k1, torque)
        k3 = _swing(start + step / 2 * k2, torque)
        k4 = _swing(start + step * k3, torque)
        state = start + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        angles = (state[:2] + np.pi) % (2 * np.pi) - np.pi
        limits = jnp.asarray(SPEED_LIMITS, state.dtype)
        state = jnp.concatenate([angles, jnp.clip(state[2:], -limits, limits)])
        up = -jnp.cos(state[0]) - jnp.cos(state[0] + state[1]) > 1
        steps = motion.steps + 1
        reward = jnp.where(up, 0, -jnp.ones((), state.dtype))
        late = (steps >= self.max_steps) & ~up
        return Step(Motion(state, steps), _swing_observation(state), reward, up, late)


SPEED_LIMITS = (4 * np.pi, 9 * np.pi)


def _swing(state: Array, torque: Array) -> Array:
    """The time derivative of angles and speeds (Sutton and Barto)."""
    angle1, angle2, speed1, speed2 = state
    cosine, sine = jnp.cos(angle2), jnp.sin(angle2)
    d1 = 3.5 + cosine
    d2 = 1.25 + 0.5 * cosine
    phi2 = 0.5 * GRAVITY * jnp.sin(angle1 + angle2)
    phi1 = -0.5 * speed2 * (speed2 + 2 * speed1) * sine + 1.5 * GRAVITY * jnp.sin(angle1) + phi2
    push2 = torque + d2 / d1 * phi1 - 0.5 * speed1**2 * sine - phi2
    faster2 = push2 / (1.25 - d2**2 / d1)
    faster1 = -(d2 * faster2 + phi1) / d1
    return jnp.stack([speed1, speed2, faster1, faster2])


def _swing_observation(state: Array) -> Array:
    angle1, angle2, speed1, speed2 = state
    angles = [jnp.cos(angle1), jnp.sin(angle1), jnp.cos(angle2), jnp.sin(angle2)]
    return jnp.stack([*angles, speed1, speed2])
