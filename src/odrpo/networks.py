"""Multilayer perceptrons and their training: the only file that knows layers."""

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from odrpo.envs.env import Array
from odrpo.randomness import permutation

Layers = list[tuple[Array, Array]]

# All parameters in one vector: on a CPU Adam's many small kernels would cost more than the network.
adam = optax.flatten(optax.scale_by_adam(eps=1e-5))


def init_layers(key: jax.Array, sizes: tuple[int, ...], last_scale: float) -> Layers:
    """Normal weights (in, out) of variance 2/in, the last ones times `last_scale`; no biases."""
    scales = [2**0.5] * (len(sizes) - 2) + [last_scale]
    shapes = list(itertools.pairwise(sizes))
    counts = [rows * columns for rows, columns in shapes]
    # One draw for all: each call of a generator takes as long to compile as a layer.
    draws = jnp.split(jax.random.normal(key, (sum(counts),)), np.cumsum(counts)[:-1])
    return [
        (scale / shape[0] ** 0.5 * draw.reshape(shape), jnp.zeros(shape[1]))
        for scale, shape, draw in zip(scales, shapes, draws, strict=True)
    ]


def apply_layers(
    layers: Layers, features: Array, activation: Callable[[Array], Array] = jnp.tanh
) -> Array:
    """(..., in) to (..., out), with the activation between the layers."""
    for weights, bias in layers[:-1]:
        features = activation(_affine(features, weights, bias))
    return _affine(features, *layers[-1])


def first_layer(layer: tuple[Array, Array], states: Array, actions: Array) -> Array:
    """Of every state with each of its actions, (S, F) and (S, N, D) to (S N, out).

    What a state adds is the same for all its actions, and is computed once.
    """
    weights, bias = layer
    features, count = states.shape[1], actions.shape[1]
    own = actions.reshape(-1, actions.shape[2]) @ weights[features:]
    return jnp.repeat(_affine(states, weights[:features], bias), count, axis=0) + own


def of_mean_size_one(x: Array) -> Array:
    """(..., N) divided by the mean of its absolute values."""
    return x / jnp.maximum(jnp.mean(jnp.abs(x), axis=-1, keepdims=True), 1e-6)


def _affine(features: Array, weights: Array, bias: Array) -> Array:
    return features @ weights + jnp.expand_dims(bias, tuple(range(features.ndim - 1)))


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

    def step(carry: tuple, data: Any) -> tuple[tuple, None]:
        params, optimiser = carry
        params, optimiser, _ = descend(lambda p: (loss(p, data), None), params, optimiser, rate)
        return (params, optimiser), None

    if count * epochs == 1:
        return step((params, optimiser), data)[0]

    # Shuffled once, begun anew elsewhere in each epoch: sorting is slow on a CPU.
    order_key, start_key = jax.random.split(key)
    order = permutation(order_key, size)
    start = jax.random.randint(start_key, (epochs, 1), 0, size)
    places = (start + jnp.arange(count * minibatch)[None, :]) % size

    def one(carry: tuple, rows: Array) -> tuple[tuple, None]:
        return step(carry, jax.tree.map(lambda x: x[rows], data))

    batches = order[places].reshape(-1, minibatch)
    return jax.lax.scan(one, (params, optimiser), batches)[0]


def descend(
    loss: Callable[[Any], tuple[Array, Any]], params: Any, optimiser: Any, rate: Array
) -> tuple[Any, Any, Any]:
    """One step of Adam; also what the loss gives beside its value."""
    gradient, beside = jax.grad(loss, has_aux=True)(params)
    with jax.numpy_dtype_promotion("standard"):  # optax mixes counts and floats
        update, optimiser = adam.update(gradient, optimiser)
    return jax.tree.map(lambda p, u: p - rate * u, params, update), optimiser, beside


def some_rows(key: jax.Array, data: Any, count: int | None) -> Any:
    """`count` of the rows of data (N, ...), drawn at random; None, or no fewer than N: all."""
    size = jax.tree.leaves(data)[0].shape[0]
    if count is None or count >= size:
        return data
    rows = permutation(key, size)[:count]
    return jax.tree.map(lambda x: x[rows], data)
