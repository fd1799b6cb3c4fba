"""What `solve` accepts: every complaint names the argument, the first bad place and the remedy."""

from typing import Any

import numpy as np

from odrpo.trust_region.kl import KL
from odrpo.trust_region.problem import Array, Metric
from odrpo.trust_region.sinkhorn import Sinkhorn
from odrpo.trust_region.wasserstein import Wasserstein

METRICS: dict[str, type] = {"kl": KL, "wasserstein": Wasserstein, "sinkhorn": Sinkhorn}
ROW_SUM_TOLERANCE = 1e-5


def resolve_metric(metric: str | Metric) -> Any:
    """The metric of a name, or the metric itself."""
    if isinstance(metric, str) and metric.lower() in METRICS:
        return METRICS[metric.lower()]()
    if isinstance(metric, tuple(METRICS.values())):
        return metric
    if isinstance(metric, type) and metric in METRICS.values():
        raise ValueError(f"metric: a class; call it, odrpo.{metric.__name__}()")
    known = ", ".join(f'"{name}"' for name in METRICS)
    raise ValueError(
        f"metric: {metric!r} is not known; use one of {known}, "
        "or odrpo.KL(), odrpo.Wasserstein(cost=...), odrpo.Sinkhorn(cost=..., strength=...)"
    )


def check_shapes(arrays: dict[str, Array]) -> None:
    """Shapes, which are known even under jit."""
    shape = arrays["advantages"].shape
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"advantages: shape {shape}, expected (states, actions) with at least one of each; "
            "a single state is advantages[None, :]"
        )
    states, actions = shape
    expected = {"policy": shape, "mask": shape, "weights": (states,), "radius": (), "strength": ()}
    for name, right in expected.items():
        if name in arrays and arrays[name].shape != right:
            meaning = f"{right}, as the advantages have it" if right else "a single number"
            raise ValueError(f"{name}: shape {arrays[name].shape}, expected {meaning}")
    one, each = (actions, actions), (states, actions, actions)
    if "cost" in arrays and arrays["cost"].shape not in (one, each):
        raise ValueError(
            f"cost: shape {arrays['cost'].shape}, expected {one}, or {each} for a cost per state"
        )


def check_values(arrays: dict[str, np.ndarray]) -> None:
    """Values, once the shapes are right and everything is concrete."""
    advantages, policy, radius = (arrays[name] for name in ("advantages", "policy", "radius"))
    # The difference of two advantages must not overflow either.
    limit = np.finfo(advantages.dtype).max / 4
    usable: Any = advantages.min() >= -limit and advantages.max() <= limit
    if not usable:
        usable = np.abs(advantages) <= limit
    if "mask" in arrays:
        mask = arrays["mask"]
        _require((mask == 0) | (mask == 1), "mask", mask, "is neither 0 nor 1", "use booleans")
        allowed = mask.astype(bool)
        _require(allowed.any(axis=1), "mask", allowed, "forbids all actions", "allow at least one")
        kept = allowed | (policy == 0)
        _require(kept, "policy", policy, "is on an action that the mask forbids", "set it to zero")
        usable = usable | ~allowed
    remedy = "use finite numbers; an action that must not be taken goes into the mask"
    _require(usable, "advantages", advantages, "is not finite or too large", remedy)
    usable = policy.min() >= 0 or policy >= 0
    _require(usable, "policy", policy, "is no probability", "use numbers >= 0")
    sums_to_one = np.abs(np.einsum("sn->s", policy) - 1) <= ROW_SUM_TOLERANCE
    _require(sums_to_one, "policy", policy, "does not sum to one", "make each row a distribution")
    _require(radius >= 0, "radius", radius, "is no radius", "use a number >= 0")
    if "weights" in arrays:
        weights = arrays["weights"]
        usable = (weights >= 0) & np.isfinite(weights)
        _require(usable, "weights", weights, "is no weight", "use finite numbers >= 0")
        with np.errstate(over="ignore"):
            total = weights.sum()
        if not np.finfo(weights.dtype).tiny <= total < np.inf:
            raise ValueError(f"weights: they sum to {total} in {weights.dtype}; scale them")
    if "cost" in arrays:
        cost = arrays["cost"]
        usable = (cost >= 0) & np.isfinite(cost)
        _require(usable, "cost", cost, "is no cost", "use finite numbers >= 0")
        free_to_stay = ~np.eye(cost.shape[-1], dtype=bool) | (cost == 0)
        _require(free_to_stay, "cost", cost, "is the cost of staying", "make the diagonal zero")
    if "strength" in arrays:
        strength = arrays["strength"]
        usable = (strength > 0) & np.isfinite(strength)
        _require(usable, "strength", strength, "is no strength", "use a finite number > 0")


def _require(good: Any, name: str, values: np.ndarray, problem: str, remedy: str) -> None:
    """Raise a ValueError for the first place that is not good; a place may be a whole row."""
    if np.all(good):
        return
    place = tuple(int(index) for index in np.argwhere(~np.asarray(good))[0])
    where = f"[{', '.join(map(str, place))}]" if place else ""
    raise ValueError(f"{name}{where} = {values[place]} {problem}; {remedy}")
