"""The network of a tagger: words and what is known of their spelling in, scores of tags out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unspool.nn.characters import CharacterEncoder
from unspool.nn.dropout import Dropout
from unspool.nn.elmo import Contextual
from unspool.nn.tags import TagOutput, TagScores
from unspool.tasks.encoder import AnyTextEncoder


class Tagger(nn.Module):
    """An encoder of words, perhaps one of their characters, and scores for each tag."""

    def __init__(
        self,
        encoder: AnyTextEncoder,
        *,
        characters: CharacterEncoder | None,
        contextual: Contextual | None = None,
        output: TagOutput,
        tags: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.characters = characters
        self.contextual = contextual
        self.character_dropout = Dropout(dropout)
        self.encoder = encoder
        self.dropout = Dropout(dropout)
        self.scores = TagScores(encoder.size, tags)
        self.output = output

    def forward(
        self,
        ids: Tensor,
        lengths: Tensor,
        spellings: Tensor | None = None,
        sizes: Tensor | None = None,
        places: Tensor | None = None,
        *words: Tensor,
    ) -> Tensor:
        """Scores (B, T, C). The characters of U different words are spellings (U, L) with sizes
        (U,); places (B, T) say which of them each word is. `words`: what contextual vectors are
        made of, in the order of `Words`."""
        beside: list[Tensor] = []
        if self.characters is not None:
            assert places is not None
            vectors = self.characters(spellings, sizes)  # (U, K)
            beside.append(self.character_dropout(nn.functional.embedding(places, vectors)))
        if self.contextual is not None:
            beside.append(self.contextual(*words))
        joined = torch.cat(beside, -1) if beside else None  # (B, T, K)
        states = self.encoder(ids, lengths, beside=joined).outputs  # (B, T, D·H)
        return self.output(self.scores(self.dropout(states)))
