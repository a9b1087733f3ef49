"""Passes over large arrays against plain arithmetic, and dropout against what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from rounding import rounding
from unspool import native
from unspool.native import arrays
from unspool.nn.cross_entropy import softmax_gradient_
from unspool.nn.dropout import Dropout, dropout

if native.INSTRUCTIONS is None:
    pytest.skip(native.ABOUT, allow_module_level=True)

BITS = 0xFFFFFFFF


def hashed(place: int, key: int) -> int:
    """`hash` of passes.cpp."""
    x = ((place * 0x9E3779B9) ^ key) & BITS
    x = ((x ^ (x >> 16)) * 0x7FEB352D + (key >> 32)) & BITS
    x = ((x ^ (x >> 15)) * 0x846CA68B) & BITS
    return x ^ (x >> 16)


@settings(deadline=None)
@given(size=st.integers(0, 100), key=st.integers(0, 2**64 - 1), rate=st.floats(0.01, 0.99))
def test_dropout_keeps_what_the_hash_says(size: int, key: int, rate: float) -> None:
    x = torch.arange(1.0, size + 1)
    keep = torch.tensor(
        [hashed(i, key) >= round(rate * 2**32) for i in range(size)], dtype=torch.bool
    )
    scale = torch.tensor(1 / (1 - rate), dtype=torch.float32)
    assert torch.equal(arrays.dropout(x, rate, key), torch.where(keep, x * scale, 0.0))


def test_threads_and_instruction_sets_draw_the_same_mask() -> None:
    code = (
        "import torch; from unspool.native import arrays\n"
        "for threads in (2, 1):\n"
        "    torch.set_num_threads(threads)\n"
        "    print(arrays.dropout(torch.ones(100_003), 0.3, 7).nonzero().sum().item())"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "UNSPOOL_NATIVE": set_, "OMP_NUM_THREADS": "2"},
        ).stdout.split()
        for set_ in native._kernels.instruction_sets()
    ]
    assert len({mask for two in found for mask in two}) == 1
    assert all(len(two) == 2 for two in found)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_is_unbiased_and_independent(p: float) -> None:
    torch.manual_seed(1)
    first, second = (dropout(torch.ones(400, 1000), p) for _ in range(2))
    deviation = ((1 - p) * p) ** 0.5
    for kept in (first != 0, second != 0):
        share = kept.double()
        assert abs(share.mean() - (1 - p)) < 4 * deviation / 400_000**0.5
        assert (share.mean(0) - (1 - p)).abs().max() < 5 * deviation / 400**0.5  # no favoured place
        neighbours = (share[:, 1:] - share.mean()) * (share[:, :-1] - share.mean())
        assert abs(neighbours.mean()) < 4 * deviation**2 / 400_000**0.5
    both = ((first != 0) & (second != 0)).double().mean()
    assert abs(both - (1 - p) ** 2) < 0.01
    torch.testing.assert_close(first, (first != 0) / torch.tensor(1 - p))


@pytest.mark.parametrize("time_first", [False, True])
def test_gradient_of_dropout_has_the_same_mask(time_first: bool, monkeypatch) -> None:
    x = torch.randn(7, 5, 33)
    x = (x.transpose(0, 1).contiguous().transpose(0, 1) if time_first else x).requires_grad_()
    monkeypatch.setattr(F, "dropout", None)  # is not needed
    y = dropout(x, 0.4)
    assert y.stride() == x.stride()
    weights = torch.randn(33, 5, 7).permute(2, 1, 0)  # a gradient that is not contiguous
    y.backward(weights)
    torch.testing.assert_close(x.grad, weights * (y != 0) / 0.6)


def test_dropout_follows_the_seed_and_the_mode() -> None:
    x, layer = torch.randn(50, 50), Dropout(0.5)
    torch.manual_seed(3)
    first, next_ = layer(x), layer(x)
    torch.manual_seed(3)
    assert torch.equal(layer(x), first)
    assert not torch.equal(first, next_)
    assert layer.eval()(x) is x
    assert Dropout(0.0)(x) is x
    assert torch.equal(dropout(x, 1.0), torch.zeros_like(x))


@settings(deadline=None)
@given(
    rows=st.integers(0, 9),
    classes=st.integers(1, 70),
    smoothing=st.sampled_from([0.0, 0.1, 1.0]),
    large=st.sampled_from([1.0, 30.0, 1e4]),
)
def test_softmax_gradient(rows: int, classes: int, smoothing: float, large: float) -> None:
    torch.manual_seed(rows * 100 + classes)
    logits = torch.randn(rows, classes) * large
    targets = torch.randint(classes, (rows,))
    exact = logits.double().requires_grad_()
    loss = F.cross_entropy(exact, targets, reduction="sum", label_smoothing=smoothing)
    (2 * loss).backward()
    with native.switched_off():
        plain = logits.clone()
        plain_loss = softmax_gradient_(plain, targets, smoothing=smoothing, scale=2.0)
    found = softmax_gradient_(logits, targets, smoothing=smoothing, scale=2.0)
    assert exact.grad is not None
    torch.testing.assert_close(logits.double(), exact.grad, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        plain.double(), exact.grad, rtol=1e-4, atol=1e-3 if large > 99 else 1e-5
    )
    for total in (found, float(plain_loss)):
        assert total == pytest.approx(loss.item(), rel=1e-5, abs=1e-5 * large)


def test_softmax_gradient_shares_rows_among_threads() -> None:
    torch.manual_seed(1)
    logits, targets = torch.randn(301, 1000), torch.randint(1000, (301,))
    before = torch.get_num_threads()
    losses, gradients = [], []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            gradients.append(logits.clone())
            losses.append(arrays.softmax_gradient_(gradients[-1], targets, smoothing=0, scale=1))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*gradients)
    assert losses[0] == pytest.approx(losses[1])


def test_not_a_number_is_seen_and_bad_targets_are_refused() -> None:
    logits = torch.zeros(2, 20)
    logits[1, 3] = torch.nan
    assert torch.tensor(
        arrays.softmax_gradient_(logits, torch.tensor([0, 1]), smoothing=0, scale=1)
    ).isnan()
    for wrong in (torch.tensor([0, 20]), torch.tensor([-1, 0])):
        with pytest.raises(IndexError, match="not one of the 20 classes"):
            arrays.softmax_gradient_(torch.zeros(2, 20), wrong, smoothing=0, scale=1)
    with pytest.raises(
        TypeError, match=r"takes targets as contiguous int64 \(N\) = \(2\), not float32"
    ):
        arrays.softmax_gradient_(torch.zeros(2, 20), torch.tensor([1.0, 2.0]), smoothing=0, scale=1)


def mixed(vocab: int, steps: int, *, large: float = 1.0, sources: int = 3) -> dict[str, Any]:
    """What `log_mixture` reads: some tokens of the sources beyond the vocabulary, some twice, some
    padding; one row has no real step."""
    torch.manual_seed(vocab * 100 + steps)
    rows, size = 5, vocab + 4
    tokens = torch.randint(-1, size, (sources, steps))
    tokens[1] = -1
    alignment = (torch.randn(rows, steps) * large).softmax(-1)
    return {
        "scores": torch.randn(rows, vocab + 7) * large,
        "alignment": alignment,
        "tokens": tokens,
        "sources": torch.tensor([0, 2, 0, 1, 2], dtype=torch.int32),
        "vocab": vocab,
        "size": size,
    }


@settings(deadline=None)
@given(
    vocab=st.integers(1, 70),
    steps=st.integers(1, 9),
    large=st.sampled_from([0.1, 1.0, 30.0, 1e3]),
)
def test_log_mixture_is_that_of_single_tokens(vocab: int, steps: int, large: float) -> None:
    """The sum over positions, term by term, in double precision."""
    given = mixed(vocab, steps, large=large)
    scores, alignment = given["scores"].double(), given["alignment"].double()
    gate = torch.sigmoid(scores[:, vocab])
    p = torch.zeros(len(scores), given["size"], dtype=torch.double)
    p[:, :vocab] = gate[:, None] * scores[:, :vocab].softmax(-1)
    tiny = torch.finfo(torch.float32).tiny  # what keeps every token of a source possible
    there = p > 0
    for row, source in enumerate(given["sources"].tolist()):
        for j, token in enumerate(given["tokens"][source].tolist()):
            if token >= 0:
                p[row, token] += torch.sigmoid(-scores[row, vocab]) * (alignment[row, j] + tiny)
                there[row, token] = True
    found = arrays.log_mixture(**given)
    assert (found[:, vocab:][~there[:, vocab:]] == -torch.inf).all()
    wanted, shown = p.log(), p > 1e-300  # smaller ones have few digits, or none, in double
    bound = rounding(vocab + 2 * steps, size=max(1.0, 20 * large))
    torch.testing.assert_close(found.double()[shown], wanted[shown], rtol=0, atol=bound)


def test_log_mixture_with_a_nan_is_nan_in_its_row_alone() -> None:
    given = mixed(40, 6)
    given["scores"][2, 33] = torch.nan
    found = arrays.log_mixture(**given)
    assert found[2, :40].isnan().all()
    assert not found[[0, 1, 3, 4]].isnan().any()


def test_log_mixture_shares_rows_among_threads() -> None:
    given = mixed(20_000, 30)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(arrays.log_mixture(**given))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*found)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tokens": torch.full((3, 6), 44)}, "token 44 is not one of the 44 of the extended"),
        ({"sources": torch.tensor([0, 0, 3, 0, 0], dtype=torch.int32)}, "sources must be of the 3"),
        ({"sources": torch.tensor([0, 0, -1, 0, 0], dtype=torch.int32)}, "must be of the 3 there"),
        ({"vocab": 47}, "has no 47 tokens and a gate in 47 scores, for 44"),
        ({"vocab": 45}, "has no 45 tokens and a gate in 47 scores, for 44"),
        ({"alignment": torch.zeros(5, 7)}, r"takes tokens as contiguous .* \(M, S\) = \(3, 7\)"),
        ({"scores": torch.zeros(4, 47)}, r"takes alignment as contiguous .* \(R, S\) = \(4, \?\)"),
    ],
)
def test_log_mixture_refuses_what_does_not_fit(changed: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError, IndexError), match=message):
        arrays.log_mixture(**{**mixed(40, 6), **changed})
