"""Searches over real decoders: what comes out is scored again by the teacher-forced model."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from unspool.nn.decoders import Decoder, TransformerSeqDecoder
from unspool.nn.encoder import Encoder
from unspool.nn.inputs import TokenInput
from unspool.nn.models.language_model import LanguageModel
from unspool.nn.recurrent import Recurrent
from unspool.nn.recurrent_decoder import RecurrentDecoder
from unspool.nn.taps import record
from unspool.nn.transformer_blocks import TransformerOptions
from unspool.search import Hypothesis, SearchRules, beam, greedy, sample

V, START, END, B, S, M = 5, 1, 2, 4, 6, 8
RULES = SearchRules(end=END, max_length=4, forbidden=(0, START))
LENGTHS = torch.tensor([6, 1, 3, 4])
FIRST = torch.full((B,), START)


def recurrent(**more: Any) -> Decoder:
    return RecurrentDecoder(V, memory=M, embedding=4, cell="lstm", hidden=M, **more)


DECODERS = {
    "none": lambda: recurrent(attention="none"),
    "additive": lambda: recurrent(attention="additive"),
    "general": lambda: recurrent(attention="general"),
    "feeding": lambda: recurrent(attention="dot", input_feeding=True),
    "transformer": lambda: TransformerSeqDecoder(V, TransformerOptions(M, 2, layers=2)),
}


class Case:
    def __init__(self, name: str) -> None:
        torch.manual_seed(3)
        self.decoder = DECODERS[name]().double().eval()
        for parameter in self.decoder.parameters():
            torch.nn.init.normal_(parameter, std=0.7)
        network = Recurrent("lstm", 3, M // 2, bidirectional=True)
        self.encoder = Encoder(TokenInput(V, 3), network).double()
        with torch.no_grad():
            self.encoded = self.encoder(torch.randint(V, (B, S)), LENGTHS)

    def start(self, rows: list[int] | None = None) -> Any:
        rows = list(range(B)) if rows is None else rows
        return self.decoder.start(self.encoded.select(torch.tensor(rows)))

    def forced(self, place: int, tokens: tuple[int, ...]) -> tuple[float, Tensor | None]:
        """The log probability of a sentence and its alignment, all at once."""
        ids = torch.tensor([[START, *tokens]])
        given = self.encoded.select(torch.tensor([place]))
        with torch.no_grad(), record(self.decoder) as trace:
            log_p = self.decoder(ids, given).log_softmax(-1)[0]
        score = float(log_p.gather(-1, torch.tensor([*tokens, END])[:, None]).sum())
        alignment = trace["alignment"][0, :-1] if "alignment" in trace else None
        return score, alignment


@pytest.fixture(params=DECODERS)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def check(case: Case, place: int, found: Hypothesis) -> None:
    score, alignment = case.forced(place, found.tokens)
    assert found.log_probability == pytest.approx(score, abs=1e-9)
    if found.alignment is not None:
        torch.testing.assert_close(found.alignment, alignment)
        torch.testing.assert_close(found.alignment.sum(-1), torch.ones(len(found.tokens)).double())
    assert (found.alignment is None) == (alignment is None or not found.tokens)


def test_every_search_gives_what_the_whole_model_says(case: Case) -> None:
    ways = [
        [[h] for h in greedy(case.decoder, case.start(), FIRST, RULES)],
        [[h] for h in sample(case.decoder, case.start(), FIRST, RULES, temperature=2.0)],
        beam(case.decoder, case.start(), FIRST, RULES, width=3, best=3, alpha=0.6),
    ]
    for way in ways:
        for place, hypotheses in enumerate(way):
            for hypothesis in hypotheses:
                check(case, place, hypothesis)


def test_a_wide_beam_is_the_enumeration(case: Case) -> None:
    found = beam(case.decoder, case.start(), FIRST, RULES, width=40, best=3)
    for place, hypotheses in enumerate(found):
        scores = {
            tokens: case.forced(place, tokens)[0]
            for n in range(RULES.max_length + 1)
            for tokens in itertools.product((3, 4), repeat=n)
        }
        best = sorted(scores, key=lambda tokens: -scores[tokens])[:3]
        assert [h.tokens for h in hypotheses] == best


def test_a_batch_is_as_alone(case: Case) -> None:
    together = beam(case.decoder, case.start(), FIRST, RULES, width=2, best=2, alpha=1.0)
    one_way = greedy(case.decoder, case.start(), FIRST, RULES)
    for place in range(B):
        (alone,) = beam(
            case.decoder, case.start([place]), FIRST[:1], RULES, width=2, best=2, alpha=1.0
        )
        assert [h.tokens for h in alone] == [h.tokens for h in together[place]]
        (walked,) = greedy(case.decoder, case.start([place]), FIRST[:1], RULES)
        assert walked.tokens == one_way[place].tokens


def test_language_models_have_the_same_face() -> None:
    torch.manual_seed(0)
    encoder = Encoder(TokenInput(V, 4), Recurrent("gru", 4, 16))
    model = LanguageModel(encoder, vocab=V, tied=False, dropout=0.0).eval()
    alone = TransformerSeqDecoder(V, TransformerOptions(M, 2), cross=False)
    for decoder, state in ((model, model.start(2)), (alone, alone.start())):
        first = torch.tensor([START, 3])
        rules = SearchRules(end=END, max_length=6, no_repeat_ngram=2)
        assert [len(best) for best in beam(decoder, state, first, rules, width=3, best=3)] == [3, 3]
        walked = greedy(decoder, state, first, rules)
        narrow = beam(decoder, state, first, rules, width=1)
        assert [h.tokens for (h,) in narrow] == [h.tokens for h in walked]
        assert all(h.alignment is None for h in walked)
