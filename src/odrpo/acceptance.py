"""Whether an update is taken: what came of it must be finite, and not far outside the ball."""

import jax
import jax.numpy as jnp

from odrpo.config import Config
from odrpo.envs.env import Array
from odrpo.exact_step import Info
from odrpo.learner import Learner

TAKEN, NOT_FINITE, TOO_FAR, UNSOUND = 0.0, 1.0, 2.0, 3.0
"""`Info.refused`."""
NEAR = 1e-3
"""No update is refused for a distance below this, however small its radius."""
CAUSES = {
    NOT_FINITE: "its result is not finite",
    TOO_FAR: "the fitted policy is farther from the old one than `farthest` times the radius",
}
REMEDY = (
    "lower policy_rate and critic_rate, scale rewards and observations to about 1 "
    "(normalise_observations), or look for what is wrong in the environment"
)


def accept(config: Config, old: Learner, new: Learner, info: Info) -> tuple[Learner, Info]:
    """The new learner, or the old one, and the report with the reason."""
    # Transitions that were counted are no result, and very many: they stay whatever comes of them.
    counted = config.critic == "model"
    result = new._replace(critic=None) if counted else new
    finite = _are_finite((result, info))
    reach = config.farthest * jnp.maximum(info.radius, info.distance)
    far = info.projected_distance > jnp.maximum(reach, NEAR)
    refused = jnp.where(finite, jnp.where(far, TOO_FAR, TAKEN), NOT_FINITE)
    before = old._replace(critic=None) if counted else old
    kept = jax.tree.map(lambda x, y: jnp.where(refused == TAKEN, x, y), result, before)
    if counted:
        kept = kept._replace(critic=new.critic)
    return kept, info._replace(refused=refused)


def _are_finite(tree: object) -> Array:
    numbers = [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.inexact)]
    return jnp.all(jnp.array([jnp.all(jnp.isfinite(x)) for x in numbers]))
