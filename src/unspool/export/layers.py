"""Layers whose ONNX form is not that of their equations, one after the other.

A convolution is ONNX's. Masks are made of sizes that are known when the graph runs. Recurrent
layers are in `recurrence.py`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from unspool.export import elementwise as elementwise
from unspool.export import products as products
from unspool.export import windows as windows
from unspool.export.graph import Graph, Symbol
from unspool.export.operators import operator
from unspool.export.recurrence import loop, one_hot, whole_lengths
from unspool.export.shapes import select
from unspool.nn.convolution import Convolution
from unspool.nn.crf import CRF
from unspool.nn.dot_product import HeadAttention, dot_product_weights
from unspool.nn.frames import FrameInput
from unspool.nn.linear_attention import LinearAttention, phi
from unspool.nn.masks import keep_mask, visible, zero_padding
from unspool.nn.pairs import Side, put_together, take_apart
from unspool.nn.pooling import PositionPooling
from unspool.nn.positions import BASE, Learned


def count(graph: Graph, start: Any, stop: Any) -> Any:
    """start, ..., stop - 1 as int64"""
    bounds = [graph.constant(bound, torch.int64) for bound in (start, stop, 1)]
    return graph.add("Range", *bounds, dtype=torch.int64, sizes=[None])


@operator("check_lengths")
def _check_lengths(lengths: Any, x: Any) -> Any:
    return lengths


@operator("check_keep")
def _check_keep(keep: Any, *shapes: Any) -> None:
    return None


@operator("keep_mask")
def _keep_mask(lengths: Symbol, steps: Any, *, device: Any = None) -> Any:
    return count(lengths.graph, 0, steps) < lengths[:, None]


@operator("causal_mask")
def _causal_mask(steps: Symbol, *, device: Any = None) -> Any:
    t = count(steps.graph, 0, steps)
    return t[:, None] >= t


@operator("visible")
def _visible(q: Symbol, k: Symbol, keep: Any, *, causal: bool, window: int | None = None) -> Any:
    mask = keep
    if keep is not None:
        mask = keep[:, None, None] if keep.dim() == 2 else keep[:, None]
    if window is None and not causal:
        return mask
    T, S = q.shape[2], k.shape[2]
    age = count(q.graph, S - T, S)[:, None] - count(q.graph, 0, S)
    near = age >= 0
    if window is not None:
        near = (near if causal else age >= -window) & (age <= window)
    return near[None, None] if mask is None else mask & near


@operator("at_last")
def _at_last(x: Symbol, lengths: Any) -> Any:
    """x (B, T, D) at the last real step: the sum over time of x where it is, else 0."""
    steps = count(x.graph, 0, x.shape[1])
    last = steps == (lengths - 1)[:, None]
    return zero_padding(x, last).sum(1)


@operator("reverse")
def _reverse(x: Symbol, lengths: Any) -> Symbol:
    graph = x.graph
    if lengths is None:
        lengths = whole_lengths(x)
    return graph.add(
        "ReverseSequence", x, lengths, dtype=x.dtype, sizes=x.sizes, batch_axis=0, time_axis=1
    )


@operator("angles")
def _angles(steps: Any, width: int, *, offset: Any = 0, like: Symbol) -> Any:
    """In float64, as the reference."""
    frequencies = BASE ** (-torch.arange(0, width, 2, dtype=torch.double) / width)
    pos = count(like.graph, offset, offset + steps).double()
    return pos[:, None] * frequencies


@operator("Learned.forward")
def _learned(layer: Learned, x: Symbol, offset: Any = 0) -> Any:
    positions = x.graph.constant(layer.P)
    return x + positions[offset : offset + x.shape[1]]


@operator("HeadAttention.attend")
def _attend(
    layer: HeadAttention, q: Symbol, k: Symbol, v: Symbol, keep: Any = None, *, causal: bool = False
) -> Any:
    mask = visible(q, k, keep, causal=causal, window=getattr(layer, "window", None))
    if not isinstance(layer, LinearAttention):
        return dot_product_weights(q, k, mask) @ v
    scores: Any = phi(q) @ phi(k).mT
    scores = scores if mask is None else scores.masked_fill(~mask, 0)
    total = scores.sum(-1, keepdim=True)
    return scores / total.masked_fill(total == 0, 1) @ v


@operator("Convolution.forward")
def _convolution(layer: Convolution, x: Any, lengths: Any = None) -> Any:
    keep = None if lengths is None else keep_mask(lengths, x.shape[1])
    x = one_hot(x, layer.inputs)
    x = x if keep is None else zero_padding(x, keep)
    time_last = x.transpose(1, 2)  # (B, I, T)
    outputs: list[Any] = []
    for filters in layer.by_width():
        W = filters.W.detach().unflatten(1, (filters.width, filters.inputs)).transpose(1, 2)
        outputs.append(
            x.graph.add(
                "Conv",
                time_last,
                x.graph.constant(W.contiguous()),
                x.graph.constant(filters.b),
                dtype=x.dtype,
                sizes=[x.sizes[0], len(filters.b), x.sizes[1]],
                kernel_shape=[filters.width],
                pads=[filters.before, filters.after],
            )
        )
    y: Any = torch.relu(torch.cat(outputs, 1)).transpose(1, 2)
    return y if keep is None else zero_padding(y, keep)


@operator("FrameInput.forward")
def _frames(layer: FrameInput, x: Symbol, lengths: Any = None) -> Any:
    """Every frame by itself; those of padding are cleared."""
    frames = x.flatten(0, 1)
    y = layer._vectors(frames).reshape(x.shape[0], x.shape[1], layer.size)
    return y if lengths is None else zero_padding(y, keep_mask(lengths, x.shape[1]))


@operator("PositionPooling.weights")
def _position_weights(layer: PositionPooling, first: int, outputs: Symbol) -> Any:
    steps = count(outputs.graph, first, outputs.shape[1] + first)
    return outputs.graph.constant(layer.f)[steps.clamp(max=layer.POSITIONS - 1)]


@operator("take_apart")
def _take_apart(x: Symbol, lengths: Any, firsts: Symbol) -> tuple[Side, Side]:
    steps = x.shape[1]
    second: Any = (firsts * 0 + steps if lengths is None else lengths) - firsts
    index = firsts[:, None] + count(x.graph, 0, second.amax())
    index = torch.minimum(index, steps - 1)
    return Side(x[:, : firsts.amax()], firsts), Side(rows_at(x, index), second)


@operator("put_together")
def _put_together(first: Symbol, second: Symbol, firsts: Symbol, steps: Any) -> Any:
    t, size = count(first.graph, 0, steps), first.shape[1]
    index = torch.where(t < firsts[:, None], t, size + t - firsts[:, None])
    index = torch.minimum(index, size + second.shape[1] - 1)
    return rows_at(torch.cat([first, second], 1), index)


@operator("read_apart")
def _read_apart(network: Any, x: Symbol, lengths: Any, firsts: Any) -> Any:
    first, second = (network(*side) for side in take_apart(x, lengths, firsts))
    return put_together(first.outputs, second.outputs, firsts, x.shape[1])


def rows_at(x: Any, index: Any) -> Any:
    """x (B, T, ...) at the steps index (B, S): (B, S, ...)"""
    return x.graph.add(
        "GatherND",
        x,
        index[..., None],
        dtype=x.dtype,
        sizes=[x.sizes[0], None, *x.sizes[2:]],
        batch_dims=1,
    )


@operator("CRF.best")
def _viterbi(layer: CRF, x: Any, lengths: Any) -> Any:
    """Viterbi's algorithm as two loops over time: the best scores and where they came from, then
    back along these from the end. As the reference, in float64."""
    graph = x.graph
    A, a, b = (scores.detach().double() for scores in layer.chain())
    x, steps = x.double(), x.shape[1]
    keep = keep_mask(lengths, steps)
    first = a + select(x, 1, 0)

    def forward(best: Any, x_t: Any, keep_t: Any) -> tuple[list[Any], list[Any]]:
        paths = best[:, :, None] + A
        new = torch.where(keep_t[:, None], x_t + paths.amax(1), best)
        return [new], [paths.argmax(1)]

    # A step of padding at the end: a Scan has one step at least.
    rest = F.pad(x, (0, 0, 0, 1))[:, 1:]
    real = F.pad(keep.long(), (0, 1))[:, 1:] > 0
    (best,), (came_from,) = loop(graph, [first], [rest, real], forward)
    last = (best + b).argmax(1)

    def backward(tag: Any, came: Any, keep_t: Any) -> tuple[list[Any], list[Any]]:
        before = torch.where(keep_t, came.gather(1, tag[:, None]).squeeze(1), tag)
        return [before], [tag]

    # The tag at step t + 1 is read while going back from there; the last to come out is the first.
    (start,), (later,) = loop(graph, [last], [came_from, real], backward, backwards=True)
    return torch.cat([start[:, None], later[:, :-1]], 1).masked_fill(~keep, 0)
