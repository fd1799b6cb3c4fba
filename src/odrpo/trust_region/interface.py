"""The public edge of the solvers: checks, precision, and the kind of array that goes back."""

from dataclasses import fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from odrpo.trust_region.checks import check_shapes, check_values, resolve_metric
from odrpo.trust_region.problem import Array, Metric, Problem, Solution


def solve(
    advantages: Array,
    policy: Array,
    radius: Array,
    metric: str | Metric = "kl",
    weights: Array | None = None,
    mask: Array | None = None,
) -> Solution:
    """Maximise E_rho E_pi'[A] over all policies pi' with E_rho d(pi', pi) <= radius, exactly.

    Args:
        advantages: (S, N), one row a state.
        policy: (S, N), the old policy; each row sums to one.
        radius: delta >= 0; infinity gives the greedy policy.
        metric: "kl", "wasserstein", "sinkhorn", or `KL()`, `Wasserstein(cost)`,
            `Sinkhorn(cost, strength)`.
        weights: (S,), how much each state counts; made to sum to one. None: all the same.
        mask: (S, N), True where an action is allowed. None: all are.

    Returns:
        The optimal policy with its certificate. NumPy input is solved in its own precision
        (float64 unless all of it is float32), whatever JAX's setting, and comes back as NumPy; JAX
        input, also under jit, vmap and grad, stays JAX.

    Raises:
        ValueError: what is wrong, where, and what would be right. Under jit only shapes are known,
            and only they are checked.

    >>> import odrpo
    >>> step = odrpo.solve([[1.0, 0.0, -1.0]], [[0.2, 0.3, 0.5]], radius=0.1, metric="wasserstein")
    >>> step.policy.round(3)
    array([[0.3, 0.3, 0.4]])
    >>> print(f"beta {step.beta:.3f}, distance {step.distance:.3f}, gap {step.gap:.0e}")
    beta 2.000, distance 0.100, gap 0e+00
    """
    chosen = resolve_metric(metric)
    inputs = {"advantages": advantages, "policy": policy, "radius": radius}
    inputs |= {"weights": weights, "mask": mask}
    inputs |= {field.name: getattr(chosen, field.name) for field in fields(chosen)}
    for name in ("advantages", "policy", "radius", "strength"):
        if name in inputs and inputs[name] is None:
            raise ValueError(f"{name}: None; it must be given")
    arrays = {name: as_array(name, value) for name, value in inputs.items() if value is not None}
    check_shapes(arrays)

    if any(isinstance(value, jax.Array) for value in arrays.values()):
        arrays = _cast(arrays, _device_precision(arrays), jnp)
        if not any(isinstance(value, jax.core.Tracer) for value in arrays.values()):
            check_values({name: np.asarray(value) for name, value in arrays.items()})
        return _solve(*_split(arrays, chosen))

    single = all(arrays[name].dtype == np.float32 for name in ("advantages", "policy"))
    arrays = _cast(arrays, np.dtype(np.float32 if single else np.float64), np)
    check_values(arrays)
    # Concrete input has a concrete answer, also while something around it is traced.
    with jax.enable_x64(not single), jax.ensure_compile_time_eval():
        return jax.tree.map(_as_numpy, _solve(*_split(arrays, chosen)))


def distance(
    new: Array, old: Array, metric: str | Metric = "kl", weights: Array | None = None
) -> float:
    """E_rho d(new, old): how far a policy is from another, as the metric of a trust region has it.

    Args:
        new: (S, N), one row a state.
        old: (S, N), the policy at the centre of the ball.
        metric: As for `solve`.
        weights: (S,), how much each state counts; made to sum to one. None: all the same.

    With a cost, or with Sinkhorn's entropy, it is that of a plan which is within about a thousandth
    of the largest cost from the best one.

    >>> import odrpo
    >>> step = odrpo.solve([[1.0, 0.0, -1.0]], [[0.2, 0.3, 0.5]], radius=0.1, metric="kl")
    >>> print(f"{odrpo.distance(step.policy, [[0.2, 0.3, 0.5]], 'wasserstein'):.4f}")
    0.1904
    """
    chosen = resolve_metric(metric)
    parts = {field.name: getattr(chosen, field.name) for field in fields(chosen)}
    given = {"new": new, "old": old, "weights": weights, **parts}
    arrays = {name: as_array(name, value) for name, value in given.items() if value is not None}
    arrays = {name: np.asarray(value, float) for name, value in arrays.items()}
    for name in ("old", "new"):
        table = {**arrays, "advantages": arrays["old"], "policy": arrays[name]}
        table["radius"] = np.zeros(())
        try:
            check_shapes(table)
            check_values(table)
        except ValueError as error:
            text = str(error).replace("policy", name, 1).replace("the advantages have", "old has")
            raise ValueError(text.replace("advantages", "old")) from None
    with jax.enable_x64(True), jax.ensure_compile_time_eval():
        measure = replace(chosen, **{name: arrays.get(name) for name in parts})
        share = arrays.get("weights", np.ones(len(arrays["old"])))
        return float(measure.distance(arrays["new"], arrays["old"], share / share.sum()))


@jax.jit
def _solve(metric: Metric, arrays: dict[str, Array]) -> Solution:
    return metric.solve(Problem.create(**arrays))


def as_array(name: str, value: Any) -> Array:
    """Anything that is real numbers as an array, a JAX one as it is."""
    try:
        array = value if isinstance(value, jax.Array) else np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: rows of different lengths; use a rectangular array") from error
    kind = array.dtype.kind
    if kind not in "biuf" and not jnp.issubdtype(array.dtype, jnp.floating):
        found = {"U": "text", "S": "bytes", "O": "objects", "c": "complex numbers"}
        raise ValueError(f"{name}: {found.get(kind, str(array.dtype))}; use real numbers")
    return array


def _as_numpy(value: jax.Array) -> Any:
    """A NumPy scalar, or an array of the user's own to write to."""
    return np.asarray(value)[()] if value.ndim == 0 else np.array(value)


def _device_precision(arrays: dict[str, Array]) -> np.dtype:
    """float64 where JAX allows it and a table is no shorter float, else float32."""
    short = (np.float16, jnp.bfloat16, np.float32)
    tables = (arrays["advantages"].dtype, arrays["policy"].dtype)
    wide = jnp.asarray(0.0).dtype == np.float64 and any(dtype not in short for dtype in tables)
    return np.dtype(np.float64 if wide else np.float32)


def _cast(arrays: dict[str, Array], dtype: np.dtype, library: Any) -> dict[str, Array]:
    """Every array in the precision of the solve; what that can't hold becomes infinite."""
    with np.errstate(over="ignore"):
        return {
            name: value if name == "mask" else library.asarray(value, dtype)
            for name, value in arrays.items()
        }


def _split(arrays: dict[str, Array], metric: Any) -> tuple[Metric, dict[str, Array]]:
    """The metric with its own arrays, and the rest."""
    own = {field.name: arrays.get(field.name) for field in fields(metric)}
    rest = {name: value for name, value in arrays.items() if name not in own}
    return replace(metric, **own), rest
