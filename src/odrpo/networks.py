"""Multilayer perceptrons and their training: the only file that knows layers."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from odrpo.envs.env import Array

Layers = list[tuple[Array, Array]]

# All parameters in one vector: on a CPU Adam's many small kernels would cost more than the network.
adam = optax.flatten(optax.scale_by_adam(eps=1e-5))


def init_layers(key: jax.Array, sizes: tuple[int, ...], last_scale: float) -> Layers:
    """Normal weights (in, out) of variance 2/in, the last ones times `last_scale`; no biases."""
    scales = [2**0.5] * (len(sizes) - 2) + [last_scale]
    keys = jax.random.split(key, len(scales))
    return [
        (scale * jax.random.normal(k, (rows, columns)) / rows**0.5, jnp.zeros(columns))
        for k, scale, rows, columns in zip(keys, scales, sizes[:-1], sizes[1:], strict=True)
    ]


def apply_layers(layers: Layers, features: Array) -> Array:
    """(N, in) to (N, out), tanh between the layers."""
    for weights, bias in layers[:-1]:
        features = jnp.tanh(features @ weights + bias[None, :])
    weights, bias = layers[-1]
    return features @ weights + bias[None, :]


def fit(
    loss: Callable[[Any, Any], Array],
    params: Any,
    optimiser: Any,
    data: Any,
    key: jax.Array,
    rate: Array,
    epochs: int,
    minibatch: int,
) -> tuple[Any, Any]:
    """Go over the data (N, ...) `epochs` times in shuffled minibatches, with Adam."""
    size = jax.tree.leaves(data)[0].shape[0]
    minibatch = min(minibatch, size)
    count = size // minibatch

    # Shuffled once, begun anew elsewhere in each epoch: sorting is slow on a CPU.
    order_key, start_key = jax.random.split(key)
    order = jax.random.permutation(order_key, size)
    start = jax.random.randint(start_key, (epochs, 1), 0, size)
    places = (start + jnp.arange(count * minibatch)[None, :]) % size

    def step(carry: tuple, rows: Array) -> tuple[tuple, None]:
        params, optimiser = carry
        gradient = jax.grad(loss)(params, jax.tree.map(lambda x: x[rows], data))
        with jax.numpy_dtype_promotion("standard"):  # optax mixes counts and floats
            update, optimiser = adam.update(gradient, optimiser)
        return (jax.tree.map(lambda p, u: p - rate * u, params, update), optimiser), None

    batches = order[places].reshape(-1, minibatch)
    (params, optimiser), _ = jax.lax.scan(step, (params, optimiser), batches)
    return params, optimiser
