"""A decoder without a bias in its output layer that computes what one with a bias does.

GPT-2's output layer has no bias b. With A heads the width grows from E to E' = E + A, an element a
head; each new element of the residual stream is the mean μ of the others. That leaves the mean as
it is and makes the variance E / E' of what it was, which the norms make up for:

    γ' = γ √(E / E'),   ε' = ε E / E'

The last norm gives 1 in the first new element, whose column in the output layer is b. Queries grow
by √((d + 1) / d), since scores are divided by the root of the size of a head.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from unspool.nn.transformer_blocks import TransformerOptions


def widened_options(options: TransformerOptions) -> TransformerOptions:
    wide = options.width + options.heads
    return replace(
        options,
        width=wide,
        hidden=options.hidden or 4 * options.width,
        epsilon=options.epsilon * options.width / wide,
    )


def widened(tensors: Mapping[str, Tensor], options: TransformerOptions) -> dict[str, Tensor]:
    """`embedding.weight` and `transformer.*` of the wider decoder."""
    heads, width = options.heads, options.width
    size, shrink = width // heads, math.sqrt(width / (width + heads))

    def writes(x: Tensor) -> Tensor:
        """Rows (E, ...) that are added to the residual stream, with the means below them."""
        mean = x.double().mean(0, keepdim=True).to(x.dtype)
        return torch.cat([x, mean.expand(heads, *x.shape[1:])])

    def reads(x: Tensor) -> Tensor:
        """Columns (..., E) that the norms feed, with zeros for the new elements."""
        return torch.cat([x, x.new_zeros(*x.shape[:-1], heads)], -1)

    def by_head(x: Tensor) -> Tensor:
        """Rows (E, ...) of heads, each with a row of zeros after its own."""
        rows = x.unflatten(0, (heads, size))
        return torch.cat([rows, rows.new_zeros(heads, 1, *x.shape[1:])], 1).flatten(0, 1)

    def projections(x: Tensor) -> Tensor:
        """Queries, keys and values, (3 E, ...)."""
        q, k, v = map(by_head, x.chunk(3))
        return torch.cat([q * math.sqrt((size + 1) / size), k, v])

    forms = {
        "embedding.weight": lambda x: writes(x.T).T,
        "positions.P": lambda x: writes(x.T).T,
        "attention.W": lambda x: projections(reads(x)),
        "attention.b": projections,
        "attention.W_o": lambda x: by_head(writes(x).T).T,
        "attention.b_o": writes,
        "W_1.weight": reads,
        "W_1.bias": lambda x: x,
        "W_2.weight": writes,
        "W_2.bias": writes,
        "norm.weight": lambda x: reads(x * shrink),
        "norm.bias": reads,
    }
    wide = {}
    for name, tensor in tensors.items():
        stem = name.replace("norm1", "norm").replace("norm2", "norm")
        wide[name] = next(form for end, form in forms.items() if stem.endswith(end))(tensor)
    wide["transformer.norm.bias"][width] = 1
    return wide


def widened_output(weight: Tensor, bias: Tensor, heads: int) -> Tensor:
    """V (V, E) and b as one matrix (V, E')."""
    rest = weight.new_zeros(len(weight), heads - 1)
    return torch.cat([weight, bias[:, None], rest], 1)
