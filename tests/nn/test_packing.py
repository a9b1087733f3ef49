"""Packing takes the real tokens out of a padded batch and puts them back."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from unspool.nn.packing import Packing

LENGTHS = torch.tensor([2, 4, 1, 4])
BATCH = torch.arange(4 * 5).view(4, 5)  # token t of sequence b is 5·b + t


@pytest.mark.parametrize(
    ("by_time", "lengths", "tokens", "offsets"),
    [
        (True, LENGTHS, [5, 15, 0, 10, 6, 16, 1, 7, 17, 8, 18], [0, 4, 7, 9, 11]),
        (False, LENGTHS, [0, 1, 5, 6, 7, 8, 10, 15, 16, 17, 18], [0, 2, 6, 7, 11]),
        (True, None, BATCH.t().flatten().tolist(), [0, 4, 8, 12, 16, 20]),
        (False, None, list(range(20)), [0, 5, 10, 15, 20]),
    ],
    ids=["ragged by time", "ragged by sequence", "full by time", "full by sequence"],
)
def test_order(by_time: bool, lengths: Tensor | None, tokens: list[int], offsets: list) -> None:
    packing = Packing.of(4, 5, lengths, by_time=by_time)
    packed = packing.pack(BATCH)
    assert packed.tolist() == tokens
    assert packing.offsets.tolist() == offsets
    restored = packing.unpack(packed)
    for b, length in enumerate([5] * 4 if lengths is None else lengths.tolist()):
        assert restored[b, :length].tolist() == BATCH[b, :length].tolist()
        assert not restored[b, length:].any()
    state = torch.tensor([[10.0], [11.0], [12.0], [13.0]])
    assert torch.equal(packing.unsort(packing.sort(state)), state)
    if by_time and lengths is not None:
        assert packing.sort(state).flatten().tolist() == [11.0, 13.0, 10.0, 12.0]


@pytest.mark.parametrize("by_time", [True, False])
@pytest.mark.parametrize("lengths", [LENGTHS, None], ids=["ragged", "full"])
def test_gradients(by_time: bool, lengths: Tensor | None) -> None:
    packing = Packing.of(4, 5, lengths, by_time=by_time)
    x = torch.randn(4, 5, 2, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: packing.unpack(packing.pack(x).sin()), x)
