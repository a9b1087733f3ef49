"""Two texts in one sequence: taken apart and put together, attention between them, padding."""

from __future__ import annotations

import pytest
import torch

from unspool.nn.pairs import (
    BidirectionalAttention,
    DecomposableAttention,
    SegmentVectors,
    put_together,
    read_apart,
    take_apart,
)
from unspool.nn.recurrent import Recurrent
from unspool.nn.taps import record

LENGTHS, FIRSTS = torch.tensor([7, 5, 4]), torch.tensor([4, 1, 3])


def test_taken_apart_and_put_together() -> None:
    x = torch.randn(3, 7, 2)
    first, second = take_apart(x, LENGTHS, FIRSTS)
    assert first.lengths.tolist() == [4, 1, 3]
    assert second.lengths.tolist() == [3, 4, 1]
    assert torch.equal(second.x[1, :4], x[1, 1:5])
    again = put_together(first.x, second.x, FIRSTS, 7)
    for row, length in enumerate(LENGTHS.tolist()):
        assert torch.equal(again[row, :length], x[row, :length])


def test_each_text_is_read_by_itself() -> None:
    network = Recurrent("gru", 3, 4, bidirectional=True)
    x = torch.randn(3, 7, 3)
    found = read_apart(network, x, LENGTHS, FIRSTS)
    for row, (length, first) in enumerate(zip(LENGTHS.tolist(), FIRSTS.tolist())):
        one, other = network(x[row : row + 1, :first]), network(x[row : row + 1, first:length])
        torch.testing.assert_close(found[row, :first], one.outputs[0])
        torch.testing.assert_close(found[row, first:length], other.outputs[0])


def test_segments() -> None:
    segments = SegmentVectors(2)
    found = segments(torch.zeros(3, 7, 2), FIRSTS)
    assert torch.equal(found[1, 0], segments.S[0])
    assert torch.equal(found[1, 1], segments.S[1])


def made(kind: str) -> tuple[torch.nn.Module, Recurrent]:
    network = Recurrent("gru", 3, 4)
    if kind == "bidaf":
        return BidirectionalAttention(3, 4, Recurrent("gru", 5, 6), layers=1), network
    return DecomposableAttention(3, 4, 6), network


@pytest.mark.parametrize("kind", ["bidaf", "decomposable"])
def test_attention_sees_the_other_text_alone(kind: str) -> None:
    between, network = made(kind)
    x = torch.randn(3, 7, 3)
    with record(between, "weights") as trace:
        found = between(x, LENGTHS, FIRSTS, network)
    weights = trace["weights"][:, 0]  # (B, T, T)
    for row, (length, first) in enumerate(zip(LENGTHS.tolist(), FIRSTS.tolist())):
        own = weights[row]
        assert not own[:first, :first].any()
        assert not own[first:length, first:].any()
        torch.testing.assert_close(own[:length].sum(1), torch.ones(length))
        assert not found[row, length:].any()
        alone = between(x[row : row + 1, :length], None, FIRSTS[row : row + 1], network)
        torch.testing.assert_close(found[row, :length], alone[0])


def test_bidaf_equals_its_equations() -> None:
    """One pair, step by step as the docstring has it."""
    between, network = made("bidaf")
    x = torch.randn(1, 5, 3)
    found = between(x, None, torch.tensor([2]), network)
    h = torch.cat([network(x[:, :2]).outputs, network(x[:, 2:]).outputs], 1)[0]
    w1, w2, w3 = between.w
    m = []
    for own, other in ((range(2), range(2, 5)), (range(2, 5), range(2))):
        e = torch.stack(
            [torch.stack([w1 @ h[i] + w2 @ h[j] + w3 @ (h[i] * h[j]) for j in other]) for i in own]
        )
        beta = e.amax(1).softmax(0)
        g = beta @ h[list(own)]
        for row, i in zip(e, own):
            c = row.softmax(0) @ h[list(other)]
            m.append(torch.relu(between.W(torch.cat([h[i], c, h[i] * c, h[i] * g]))))
    m = torch.stack(m)[None]
    above = between.get_submodule("above_1")
    wanted = torch.cat([above(m[:, :2]).outputs, above(m[:, 2:]).outputs], 1)
    torch.testing.assert_close(found, wanted)
