"""The packed recurrent decoder against the one that it is made of: scores, searches, alignments."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from unspool import native
from unspool.nn.encoder import Encoded
from unspool.nn.recurrent_decoder import RecurrentDecoder
from unspool.search import SearchRules, beam, greedy
from unspool.search.packed import PackedRecurrentSearch

pytestmark = pytest.mark.skipif(native.INSTRUCTIONS is None, reason=native.ABOUT)

B, S, VOCAB = 4, 6, 37
FORMS: dict[str, dict[str, Any]] = {
    "additive": {"attention": "additive", "units": 10},
    "dot": {"attention": "dot", "memory": 20},
    "concat": {"attention": "concat"},
    "feeding": {"attention": "general", "input_feeding": True},
    "stacked": {"attention": "additive", "cell": "lstm", "layers": 3},
    "stacked-feeding": {
        "attention": "scaled", "memory": 20, "cell": "lstm", "layers": 2, "input_feeding": True,
    },
    "before": {"attention": "general", "options": {"reset": "before"}},
    "elman": {"attention": "additive", "cell": "elman"},
    "tied": {"attention": "additive", "tied": True},
}  # fmt: skip


def decoder_of(form: str) -> RecurrentDecoder:
    torch.manual_seed(1)
    given = {"memory": 13, "embedding": 9, "cell": "gru", "hidden": 20, **FORMS[form]}
    decoder = RecurrentDecoder(VOCAB, **given).eval()
    for parameter in decoder.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return decoder


def encoded(decoder: RecurrentDecoder) -> Encoded:
    torch.manual_seed(2)
    return Encoded(torch.randn(B, S, decoder.memory), torch.tensor([S, 2, 0, 4]))


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return request.param


def test_steps_and_selection_are_the_same(form: str) -> None:
    decoder = decoder_of(form)
    packed = PackedRecurrentSearch(decoder)
    given = encoded(decoder)
    with torch.inference_mode():
        state, ours = decoder.start(given), packed.start(given)
        ids = torch.arange(B)
        for rows in (torch.arange(B), torch.tensor([0, 0, 1, 3, 3]), torch.tensor([2, 4])):
            state, ours = decoder.select(state, rows), packed.select(ours, rows)
            ids = ids[rows]
            wanted, state = decoder.step(ids, state)
            found, ours = packed.step(ids, ours)
            torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(ours.alignment, state.alignment, atol=1e-5, rtol=1e-5)
            ids = (ids + 1) % VOCAB


@pytest.mark.parametrize("threads", [1, 2])
def test_searches_find_the_same(form: str, threads: int) -> None:
    decoder = decoder_of(form)
    given, first = encoded(decoder), torch.ones(B, dtype=torch.int64)
    rules = SearchRules(end=2, max_length=12, forbidden=(0,))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        packed = PackedRecurrentSearch(decoder)
        with torch.inference_mode():
            pairs = list(
                zip(
                    greedy(packed, packed.start(given), first, rules),
                    greedy(decoder, decoder.start(given), first, rules),
                )
            )
            for ours, theirs in zip(
                beam(packed, packed.start(given), first, rules, width=4, best=3, alpha=0.6),
                beam(decoder, decoder.start(given), first, rules, width=4, best=3, alpha=0.6),
            ):
                assert len(ours) == len(theirs)
                pairs += zip(ours, theirs)
    finally:
        torch.set_num_threads(before)
    for found, wanted in pairs:
        assert found.tokens == wanted.tokens
        assert found.score == pytest.approx(wanted.score, abs=1e-5)
        if wanted.alignment is not None:
            torch.testing.assert_close(found.alignment, wanted.alignment, atol=1e-5, rtol=1e-5)


def test_what_cannot_be_packed_is_refused() -> None:
    with pytest.raises(ValueError, match="it has no attention"):
        PackedRecurrentSearch(
            RecurrentDecoder(5, memory=4, embedding=3, cell="gru", hidden=4, attention="none")
        )
