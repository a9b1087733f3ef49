"""Contestants from elsewhere for bench/recurrent.py: each function makes a training step.

In: the batch x (B, T, H) and the number of layers of H units. Out: a function that computes the
outputs and the gradient of their sum with respect to the weights and x, and returns when all of it
is done. Making one may take long, as may its first call: both compile.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from timing import Work, installed
from unspool.nn import Recurrent


def compiled_loop(x: Tensor, layers: int) -> Work:
    """The peephole cell's step through torch.compile, the loop over time in Python."""
    torch._dynamo.reset()
    torch._dynamo.config.recompile_limit = 64  # beyond it torch would silently run eagerly
    size = x.shape[-1]
    model = Recurrent("peephole", size, size, layers=layers, fast=False)
    for (cell,) in model.cells():
        cell.step = torch.compile(cell.step, dynamic=False)

    def step() -> None:
        model.zero_grad()
        model(x).outputs.sum().backward()

    return step


def jax_scan(x: Tensor, layers: int, *, peepholes: bool) -> Work:
    """lax.scan over the step; the input product of all steps at once, time first."""
    import jax
    from jax import lax
    from jax import numpy as jnp

    size = x.shape[-1]
    shapes = {"W": (size, 4 * size), "U": (size, 4 * size), "b": (4 * size,), "P": (3, size)}
    rng = np.random.default_rng(1)
    weights = [
        {name: jnp.asarray(draw(rng, shape)) for name, shape in shapes.items()}
        for _ in range(layers)
    ]
    steps_first = jnp.asarray(x.detach().transpose(0, 1).contiguous().numpy())  # (T, B, H)

    def layer(w: dict[str, Any], below: Any) -> Any:
        P_i, P_f, P_o = w["P"] if peepholes else (0.0, 0.0, 0.0)

        def step(state: Any, u: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(u + h @ w["U"], 4, -1)
            c_new = jax.nn.sigmoid(f + P_f * c) * c + jax.nn.sigmoid(i + P_i * c) * jnp.tanh(g)
            h = jax.nn.sigmoid(o + P_o * c_new) * jnp.tanh(c_new)
            return (h, c_new), h

        start = jnp.zeros(below.shape[1:])
        return lax.scan(step, (start, start), below @ w["W"] + w["b"])[1]

    def loss(weights: list[dict[str, Any]], x: Any) -> Any:
        for w in weights:
            x = layer(w, x)
        return x.sum()

    both = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
    return lambda: jax.block_until_ready(both(weights, steps_first))


def keras_layer(x: Tensor, layers: int, *, name: str) -> Work:
    """A layer of Keras 3 on JAX, jitted as its own trainer does it."""
    os.environ["KERAS_BACKEND"] = "jax"
    import jax
    import keras

    batch = jax.numpy.asarray(x.detach().numpy())
    layer = getattr(keras.layers, name)
    model = keras.Sequential([layer(x.shape[-1], return_sequences=True) for _ in range(layers)])
    model.build(batch.shape)
    weights = [variable.value for variable in model.trainable_variables]
    others = [variable.value for variable in model.non_trainable_variables]

    def loss(weights: list[Any], x: Any) -> Any:
        return model.stateless_call(weights, others, x)[0].sum()

    both = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
    return lambda: jax.block_until_ready(both(weights, batch))


def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return (rng.standard_normal(shape) * shape[-1] ** -0.5).astype(np.float32)


class Peer(NamedTuple):
    cell: str  # whose equations it computes
    needs: tuple[str, ...]  # packages
    make: Callable[[Tensor, int], Work]


PEERS = {
    "peephole compiled loop": Peer("peephole", (), compiled_loop),
    "jax lstm": Peer("lstm", ("jax",), partial(jax_scan, peepholes=False)),
    "jax peephole": Peer("peephole", ("jax",), partial(jax_scan, peepholes=True)),
    "keras lstm": Peer("lstm", ("jax", "keras"), partial(keras_layer, name="LSTM")),
    "keras gru": Peer("gru", ("jax", "keras"), partial(keras_layer, name="GRU")),
}


def available() -> list[str]:
    """The names of the peers whose packages are installed."""
    ready = {package: installed(package) for package in ("jax", "keras")}
    return [name for name, peer in PEERS.items() if all(ready[each] for each in peer.needs)]


def prepare(name: str, x: Tensor, layers: int) -> Work | None:
    """The peer's training step, compiled; None, and a line with the reason, where that fails."""
    start = time.perf_counter()
    try:
        step = PEERS[name].make(x, layers)
        step()
    except Exception as error:  # whatever a compiler may find to complain about
        print(f"{name} skipped: {type(error).__name__}: {str(error).strip().splitlines()[0]}")
        return None
    print(f"{name} ready after {time.perf_counter() - start:.1f} s", flush=True)
    return step
