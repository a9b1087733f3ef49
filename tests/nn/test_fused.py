"""What padding could do to torch's kernels, which know no lengths."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from unspool import native
from unspool.nn import Recurrent

FUSED = ["elman", "irnn", "lstm", "coupled", "gru"]


@pytest.fixture(autouse=True)
def without_native() -> Iterator[None]:
    with native.switched_off():
        yield


@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("cell", FUSED)
def test_states_survive_a_thousand_steps_of_padding(cell: str, precision: str) -> None:
    torch.manual_seed(1)
    model = Recurrent(cell, 3, 8, fast=True, bidirectional=True)
    tolerance = {"float64": 1e-12, "float32": 1e-6, "bfloat16": 0.02}[precision]
    dtype = torch.double if precision == "float64" else torch.float
    model.to(dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.3)
    x = torch.randn(3, 1003, 3, dtype=dtype)
    lengths = torch.tensor([3, 1, 2])
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        padded = model(x, lengths)
        for row, length in enumerate(lengths):
            alone = model(x[row : row + 1, :length])
            for way in range(2):
                for a, b in zip(padded.state[0][way], alone.state[0][way]):
                    torch.testing.assert_close(a[row], b[0], rtol=0, atol=tolerance)


@pytest.mark.parametrize("options", [{"activation": "relu"}, {"activation": "tanh"}], ids=str)
def test_padding_cannot_explode(options: dict[str, str]) -> None:
    """A state that doubles at each step would be infinite after 128 steps of padding."""
    model = Recurrent("elman", 1, 2, fast=True, options=options)
    ((cell,),) = model.cells()
    with torch.no_grad():
        cell.U.copy_(2 * torch.eye(2))
        cell.W.fill_(1)
        cell.b.fill_(0.1)
    x = torch.ones(2, 400, 1, requires_grad=True)
    outputs, state = model(x, torch.tensor([2, 5]))
    (outputs.sum() + state[0][0][0].sum()).backward()
    assert outputs.isfinite().all()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert not x.grad[:, 5:].any()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_one_hot_integers_go_through_the_loop() -> None:
    ids = torch.tensor([[1, 2, 0]])
    with pytest.raises(ValueError, match="fused kernels take no one-hot integers"):
        Recurrent("lstm", 3, 4, fast=True)(ids)
    assert Recurrent("lstm", 3, 4, layers=2)(ids).outputs.shape == (1, 3, 4)
    assert Recurrent("mingru", 3, 4, fast=True)(ids).outputs.shape == (1, 3, 4)
