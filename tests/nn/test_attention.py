"""Attention between encoder and decoder, against the papers' scores in plain loops."""

from __future__ import annotations

import math

import pytest
import torch
from closeness import NAN, close, gradients, normal
from torch import Tensor, nn

from unspool.errors import ConfigError
from unspool.nn.attention import Additive, Attention, Multiplicative
from unspool.nn.masks import keep_mask
from unspool.nn.taps import record

B, T, S = 3, 5, 7
LENGTHS = torch.tensor([7, 2, 4])


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(1)


def score(module: Attention, s: Tensor, h: Tensor) -> Tensor:
    """One score in the letters of the papers."""
    if isinstance(module, Additive):
        inner = module.W.weight @ s + module.U.weight @ h
        if module.W.bias is not None:
            inner = inner + module.W.bias
        return module.v.weight[0] @ torch.tanh(inner)
    assert isinstance(module, Multiplicative)
    if module.score == "concat":
        return module.v[0] @ torch.tanh(module.W @ torch.cat([s, h]))
    product = s @ module.W @ h if module.score == "general" else s @ h
    return product / math.sqrt(len(h)) if module.score == "scaled" else product


ENCODER_DECODER = {
    "additive": lambda: Additive(3, 4, units=5),
    "additive-bias": lambda: Additive(3, 4, units=5, bias=True),
    "dot": lambda: Multiplicative(4, 4, score="dot"),
    "scaled": lambda: Multiplicative(4, 4, score="scaled"),
    "general": lambda: Multiplicative(3, 4, score="general"),
    "concat": lambda: Multiplicative(3, 4, score="concat"),
}


@pytest.fixture(params=ENCODER_DECODER)
def between(request: pytest.FixtureRequest) -> Attention:
    module: Attention = ENCODER_DECODER[request.param]().double()
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


def test_context_and_weights_are_the_loop(between: Attention) -> None:
    s, h = normal(B, T, between.query), normal(B, S, between.memory)
    context, weights = between(s, h, keep_mask(LENGTHS, S))
    for i, length in enumerate(LENGTHS.tolist()):
        for t in range(T):
            e = torch.stack([score(between, s[i, t], h[i, j]) for j in range(length)])
            alpha = e.exp() / e.exp().sum()
            close(weights[i, t, :length], alpha)
            assert not weights[i, t, length:].any()
            close(context[i, t], sum(alpha[j] * h[i, j] for j in range(length)))
    close(between(s, h).weights.sum(-1), torch.ones(B, T, dtype=torch.double))


def test_one_query_many_queries_and_a_prepared_memory_agree(between: Attention) -> None:
    s, h, keep = normal(B, T, between.query), normal(B, S, between.memory), keep_mask(LENGTHS, S)
    context, weights = between(s, h, keep)
    memory = between.prepare(h, keep)
    for t in range(T):
        one = between.read(s[:, t], memory)
        assert one.context.shape == (B, between.memory)
        close(one.context, context[:, t])
        close(one.weights, weights[:, t])
    rows = torch.tensor([2, 0, 0])
    close(between.read(s[rows, 0], memory.select(rows)).context, context[rows, 0])


def test_padding_never_matters_between(between: Attention) -> None:
    s, h = normal(B, between.query), normal(B, S, between.memory)
    keep = keep_mask(torch.tensor([7, 0, 4]), S)
    weight = normal(B, between.memory)
    results = []
    for content in (0.0, NAN, 1e4):
        memory = h.masked_fill(~keep[..., None], content).requires_grad_()
        query = s.clone().requires_grad_()
        context, weights = between(query, memory, keep)
        assert not context[1].any()
        assert not weights[1].any()
        found = gradients(context, weight, query, memory, *between.parameters())
        assert not found[0][1].any()
        assert not found[1][~keep].any()
        results.append([context, *found])
    for other in results[1:]:
        for a, b in zip(results[0], other):
            assert torch.equal(a, b)


def test_gradcheck_between(between: Attention) -> None:
    s, h = normal(2, 2, between.query, grad=True), normal(2, 3, between.memory, grad=True)
    keep = keep_mask(torch.tensor([3, 1]), 3)
    assert torch.autograd.gradcheck(lambda s, h: tuple(between(s, h, keep)), [s, h])
    weight = normal(2, 2, between.memory)
    for parameter in between.parameters():
        (found,) = gradients(between(s, h, keep).context, weight, parameter)
        assert found.any()


def test_weights_between_can_be_tapped(between: Attention) -> None:
    s, h = normal(B, between.query), normal(B, S, between.memory)
    with record(between) as trace:
        weights = between(s, h).weights
    close(trace["weights"][:, 0], weights)


def test_counts_and_names_between() -> None:
    def count(module: nn.Module) -> int:
        return sum(p.numel() for p in module.parameters())

    assert count(Additive(3, 4, units=5)) == 5 * (3 + 4 + 1)
    assert count(Multiplicative(4, 4, score="dot")) == 0
    assert count(Multiplicative(3, 4)) == 12
    assert count(Multiplicative(3, 4, score="concat")) == 3 * (3 + 4 + 1)
    assert Additive(3, 4, units=5).describe() == "additive attention, 5 units"
    assert Multiplicative(3, 4).describe() == "multiplicative attention, score general"


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(ValueError, match="as large as the memory; got 3 and 4"):
        Multiplicative(3, 4, score="dot")
    with pytest.raises(ConfigError, match="Did you mean 'general'"):
        Multiplicative(3, 4, score="generl")
    attention = Additive(3, 4, units=5)
    with pytest.raises(ValueError, match=r"shape \(batch, steps, 4\); got \(2, 4\)"):
        attention(torch.zeros(2, 3), torch.zeros(2, 4))
    with pytest.raises(ValueError, match="query must have 3 elements; got 4"):
        attention(torch.zeros(2, 4), torch.zeros(2, 6, 4))
    with pytest.raises(ValueError, match=r"boolean.*shape \(2, 6\); got float32 \(2, 6\)"):
        attention(torch.zeros(2, 3), torch.zeros(2, 6, 4), torch.ones(2, 6))
