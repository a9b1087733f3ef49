"""The answer `positions` of the page: how a model knows the position of a token.

In: a model. Out: a vector for each of the first positions. Of rotary positions, which are no
vectors but turn them, it is what becomes of (1, 0, 1, 0, ...). A model without positions has the
sinusoidal ones for its answer, marked as not its own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from unspool.insight.trace import rounded
from unspool.nn.positions import Learned, Rotary, Sinusoidal
from unspool.page.query import Query
from unspool.page.subject import Subject

WIDTH = 64  # of the vectors for a model without positions
LONGEST = 512
KINDS: dict[type[Any], str] = {Sinusoidal: "sinusoidal", Learned: "learned", Rotary: "rotary"}


@torch.no_grad()
def positions(subject: Subject, query: Query) -> dict[str, Any]:
    length = query.number("length", least=2, most=LONGEST)
    found = next((m for m in subject.trained.modules() if isinstance(m, tuple(KINDS))), None)
    layer: Any = Sinusoidal(WIDTH) if found is None else found
    values = vectors(layer, length)
    return {
        "kind": "none" if found is None else KINDS[type(found)],
        "limit": layer.length if isinstance(layer, Learned) else None,
        "values": rounded(values.numpy()),
    }


def vectors(layer: Sinusoidal | Learned | Rotary, length: int) -> Tensor:
    """(T, E)"""
    if isinstance(layer, Learned):
        return layer.P[:length]
    if isinstance(layer, Rotary):
        return layer(torch.tensor([1.0, 0.0]).repeat(length, layer.width // 2))
    return layer.encoding(length, like=torch.zeros(1))
