"""An attention decoder and a language model that write together (shallow fusion, Gulcehre et al.
2015): a decoder in, another one with the same interface out."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from unspool.nn.encoder import Encoded
from unspool.search.batched import SearchDecoder
from unspool.tasks.transcribe.language import LanguageScores
from unspool.text.vocab import BEGIN_ID, END_ID


class FusedState(NamedTuple):
    """That of the decoder, and that of the language model."""

    inner: Any
    language: Any

    @property
    def alignment(self) -> Tensor | None:
        return getattr(self.inner, "alignment", None)


class FusedDecoder:
    """Scores of the next token, up to a constant that a search normalises away at each step:

        ln p(y_t | y_<t, x) + w ln p_language(y_t | y_<t) + bonus, which the end has not

    The language model reads the end of a line where the decoder begins, and where it ends.
    """

    def __init__(
        self, decoder: SearchDecoder, language: LanguageScores, *, weight: float, bonus: float
    ) -> None:
        self.decoder, self.language, self.weight = decoder, language, weight
        self.read = language.ids.clone()
        self.read[BEGIN_ID] = language.newline
        self.written, self.known = language.ids.clone(), language.known.clone()
        self.written[END_ID], self.known[END_ID] = language.newline, True
        self.bonus = torch.full((len(self.read),), bonus)
        self.bonus[END_ID] = 0.0

    def start(self, encoded: Encoded, *, aligned: bool = False) -> FusedState:
        language = self.language.model.start(len(encoded.outputs))
        return FusedState(self.decoder.start(encoded, aligned=aligned), language)

    def step(self, ids: Tensor, state: FusedState) -> tuple[Tensor, FusedState]:
        logits, inner = self.decoder.step(ids, state.inner)
        following, language = self.language.model.step(self.read[ids.cpu()], state.language)
        own = self.language.of_tokens(following.log_softmax(-1)[:, self.written], self.known)
        added = (self.weight * own + self.bonus).to(logits.device)
        return logits.float().log_softmax(-1) + added, FusedState(inner, language)

    def select(self, state: FusedState, rows: Tensor) -> FusedState:
        language = self.language.model.select(state.language, rows.cpu())
        return FusedState(self.decoder.select(state.inner, rows), language)
