"""The tensors of an embedding and a Transformer under the names of a checkpoint: `model.py` in
reverse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from unspool.nn.pretrained.layouts import CheckpointLayout, Source


def stored_tensors(layout: CheckpointLayout, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename `embedding.weight`, `transformer.*` and `segments.S` to what the layout calls them.

    A layout with token types gets a row of zeros for the first where there are no segments.
    """
    stored = dict[str, Tensor]()
    for ours, source in layout.tensors.items():
        stored |= named(layout.prefix, source, tensors[ours])
    if layout.first_position:
        name = layout.prefix + str(layout.tensors["transformer.positions.P"])
        unread = torch.zeros(layout.first_position, layout.options.width)
        stored[name] = torch.cat([unread, stored[name]])
    if layout.token_types is not None:
        segments = tensors.get("segments.S", torch.zeros(2, layout.options.width))
        stored[layout.prefix + layout.token_types] = segments
    for number in range(layout.options.layers):
        before = layout.prefix + layout.layer.format(number)
        for ours, source in layout.block.items():
            tensor = tensors[f"transformer.layers.{number}.{ours}"]
            if layout.transposed and tensor.dim() == 2:
                tensor = tensor.T
            stored |= named(before, source, tensor)
    return {name: tensor.detach().float().contiguous() for name, tensor in stored.items()}


def named(before: str, source: Source, tensor: Tensor) -> Iterator[tuple[str, Tensor]]:
    """One tensor, or the parts that it is made of, by their names."""
    names = (source,) if isinstance(source, str) else source
    return zip((before + name for name in names), tensor.chunk(len(names)), strict=True)
