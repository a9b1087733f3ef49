"""Outputs, final states and every gradient against torch.nn in float64 at 1e-10."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch_weights import from_torch, gradient_pairs, to_torch

from unspool.nn import Recurrent

IN, H, B, T = 4, 5, 6, 7
RAGGED = [7, 3, 5, 1, 7, 2]

CASES = {
    "elman-tanh": ("elman", {"activation": "tanh"}, nn.RNN, {"nonlinearity": "tanh"}),
    "elman-relu": ("elman", {"activation": "relu"}, nn.RNN, {"nonlinearity": "relu"}),
    "irnn": ("irnn", {}, nn.RNN, {"nonlinearity": "relu"}),
    "lstm": ("lstm", {}, nn.LSTM, {}),
    "gru": ("gru", {"reset": "after"}, nn.GRU, {}),
}


def build(case: str, layers: int, bidirectional: bool, fast: bool) -> tuple[Recurrent, nn.RNNBase]:
    cell, options, module, arguments = CASES[case]
    shape = {"bidirectional": bidirectional}
    ours = Recurrent(cell, IN, H, layers=layers, fast=fast, options=options, **shape).double()
    theirs = module(IN, H, num_layers=layers, batch_first=True, **shape, **arguments).double()
    return ours, theirs


def close(a: Tensor, b: Tensor, what: str) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=1e-10, msg=lambda m: f"{what}: {m}")


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "loop"])
@pytest.mark.parametrize("lengths", [None, RAGGED], ids=["full", "ragged"])
@pytest.mark.parametrize("bidirectional", [False, True], ids=["one-way", "both-ways"])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_outputs_states_and_gradients(
    case: str, layers: int, bidirectional: bool, lengths: list[int] | None, fast: bool
) -> None:
    torch.manual_seed(1)
    ours, theirs = build(case, layers, bidirectional, fast)
    from_torch(ours, theirs)
    both = 2 if case == "lstm" else 1
    n_cells = layers * (1 + bidirectional)
    x = torch.randn(B, T, IN, dtype=torch.double)
    starts = [torch.randn(n_cells, B, H, dtype=torch.double) for _ in range(both)]
    weight = torch.randn(B, T, H * (1 + bidirectional), dtype=torch.double)
    weights = [torch.randn_like(start) for start in starts]
    sizes = None if lengths is None else torch.tensor(lengths)

    x1 = x.clone().requires_grad_()
    starts1 = [start.clone().requires_grad_() for start in starts]
    state = tuple(
        tuple(
            tuple(s[k * (1 + bidirectional) + d] for s in starts1) for d in range(1 + bidirectional)
        )
        for k in range(layers)
    )
    outputs1, final = ours(x1, sizes, state)
    finals1 = [
        torch.stack([cell[j] for layer in final for cell in layer]) for j in range(both)
    ]  # (layers * D, B, H)

    x2 = x.clone().requires_grad_()
    starts2 = [start.clone().requires_grad_() for start in starts]
    given = tuple(starts2) if both == 2 else starts2[0]
    if sizes is None:
        outputs2, finals2 = theirs(x2, given)
    else:
        packed = pack_padded_sequence(x2, sizes, batch_first=True, enforce_sorted=False)
        packed, finals2 = theirs(packed, given)
        outputs2, _ = pad_packed_sequence(packed, batch_first=True, total_length=T)
    finals2 = list(finals2) if both == 2 else [finals2]

    for outputs, finals in ((outputs1, finals1), (outputs2, finals2)):
        loss = (outputs * weight).sum() + sum((f * w).sum() for f, w in zip(finals, weights))
        loss.backward()

    close(outputs1, outputs2, "outputs")
    close(x1.grad, x2.grad, "gradient by x")
    for j in range(both):
        close(finals1[j], finals2[j], "final state")
        close(starts1[j].grad, starts2[j].grad, "gradient by the initial state")
    for name, gradient1, gradient2 in gradient_pairs(ours, theirs):
        close(gradient1, gradient2, f"gradient by {name}")


@pytest.mark.parametrize("case", CASES)
def test_weights_go_to_torch_and_back(case: str) -> None:
    torch.manual_seed(2)
    ours, theirs = build(case, 2, True, True)
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.5)
    to_torch(ours, theirs)
    x = torch.randn(B, T, IN, dtype=torch.double)
    close(ours(x).outputs, theirs(x)[0], "outputs")
    again, _ = build(case, 2, True, True)
    from_torch(again, theirs)
    for name, parameter in ours.named_parameters():
        assert torch.equal(parameter, again.get_parameter(name)), name
