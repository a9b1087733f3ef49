"""Filters over windows: against torch's convolution, ragged, short, one-hot."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from unspool.nn.convolution import Convolution, ConvolutionStack

WIDTHS = (1, 2, 3, 4, 5)
LENGTHS = torch.tensor([7, 1, 4])


def make(inputs: int = 6, filters: int = 5, widths=WIDTHS) -> Convolution:
    torch.manual_seed(1)
    convolution = Convolution(inputs, filters, widths).double()
    for each in convolution.by_width():
        torch.nn.init.normal_(each.b)
    return convolution


def reference(convolution: Convolution, x: Tensor, lengths: Tensor) -> Tensor:
    """One sequence at a time, by torch's convolution over a sequence with zeros around it."""
    result = x.new_zeros(*x.shape[:2], convolution.size)
    for i, n in enumerate(lengths.tolist()):
        found = []
        for each in convolution.by_width():
            kernel = each.W.unflatten(1, (each.width, -1)).transpose(1, 2)  # (F, I, k)
            around = F.pad(x[i : i + 1, :n].transpose(1, 2), (each.before, each.after))
            found.append(F.conv1d(around, kernel, each.b)[0].T)
        result[i, :n] = torch.relu(torch.cat(found, 1))
    return result


@pytest.mark.parametrize("widths", [WIDTHS, (2, 3, 4), (5,), (1,)])
def test_is_torchs_convolution(widths) -> None:
    convolution = make(widths=widths)
    x = torch.randn(3, 7, 6, dtype=torch.float64, requires_grad=True)
    ours, theirs = convolution(x, LENGTHS), reference(convolution, x, LENGTHS)
    torch.testing.assert_close(ours, theirs)
    weights = [x, *convolution.parameters()]
    for a, b in zip(*(torch.autograd.grad(y.square().sum(), weights) for y in (ours, theirs))):
        torch.testing.assert_close(a, b)


def test_padding_has_no_part_in_it() -> None:
    convolution = make()
    x = torch.randn(3, 7, 6, dtype=torch.float64)
    x[1, 1:], x[2, 4:] = torch.nan, torch.inf
    together = convolution(x, LENGTHS)
    for i, n in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(convolution(x[i : i + 1, :n])[0], together[i, :n])
        assert not together[i, n:].any()


def test_ids_are_one_hot_vectors() -> None:
    convolution = make()
    ids = torch.randint(0, 6, (3, 7))
    vectors = F.one_hot(ids, 6).double()
    for lengths in (LENGTHS, None):
        looked_up, multiplied = convolution(ids, lengths), convolution(vectors, lengths)
        torch.testing.assert_close(looked_up, multiplied)
        pairs = zip(
            *(
                torch.autograd.grad(y.square().sum(), list(convolution.parameters()))
                for y in (looked_up, multiplied)
            )
        )
        for a, b in pairs:
            torch.testing.assert_close(a, b)


def test_gradients_are_those_of_the_values() -> None:
    convolution = make(3, 2, (2, 3))
    x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: convolution(x, torch.tensor([4, 2])), (x,))


def test_parameters_are_counted_by_width() -> None:
    count = sum(p.numel() for p in make(6, 5, (2, 3, 4)).parameters())
    assert count == sum(5 * (width * 6 + 1) for width in (2, 3, 4))


def test_one_type_of_output_under_autocast() -> None:
    convolution = make().float()
    x = torch.randn(3, 7, 6)
    with torch.autocast("cpu", torch.bfloat16):
        rough = convolution(x, LENGTHS)
    assert rough.dtype == torch.float32
    torch.testing.assert_close(rough, convolution(x, LENGTHS), atol=0.05, rtol=0.05)


def test_a_stack_reads_wider() -> None:
    torch.manual_seed(1)
    stack = ConvolutionStack(4, 3, widths=(3,), layers=3)
    x = torch.randn(1, 9, 4, requires_grad=True)
    stack(x).outputs[0, 4].sum().backward()
    assert x.grad is not None
    seen = x.grad[0].any(1).nonzero().flatten()
    assert seen.min() >= 1
    assert seen.max() <= 7  # 1 + 3 (3 - 1) places


def test_lengths_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="between 1 and 7; got 0 to 7"):
        make()(torch.randn(2, 7, 6), torch.tensor([7, 0]))
