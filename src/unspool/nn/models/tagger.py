"""Words and their spelling in, the scores of a tag for each out (many-to-many)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from unspool.nn.characters import CharacterEncoder
from unspool.nn.crf import TagOutput
from unspool.nn.dropout import Dropout
from unspool.nn.elmo import Contextual
from unspool.nn.encoder import Encoder
from unspool.nn.heads import TagScores
from unspool.nn.network import NextSteps


class Tagger(nn.Module):
    """An encoder of words, perhaps one of their characters, and scores for each tag."""

    def __init__(
        self,
        encoder: Encoder,
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
        indices: Tensor | None = None,
        *words: Tensor,
    ) -> Tensor:
        """Scores (B, T, C) of the tags of words ids (B, T).

        The characters of U different words are spellings (U, L) with sizes (U,); indices (B, T)
        say which of them each word is. `words`: the same for contextual vectors."""
        return self.extend(None, ids, lengths, spellings, sizes, indices, *words).scores

    def streaming_unsupported_reason(self) -> str | None:
        """None where `extend` can read a sequence in chunks, otherwise the reason."""
        if self.contextual is not None:
            return self.contextual.streaming_unsupported_reason()
        return (
            self.encoder.network.streaming_unsupported_reason()
            or self.output.streaming_unsupported_reason()
        )

    def extend(
        self,
        carried: Any,
        ids: Tensor,
        lengths: Tensor,
        spellings: Tensor | None = None,
        sizes: Tensor | None = None,
        indices: Tensor | None = None,
        *words: Tensor,
    ) -> NextSteps:
        """`forward` of sequences whose next words are these; `carried`: of those before, None where
        there are none."""
        extra: list[Tensor] = []
        if self.characters is not None:
            assert indices is not None
            vectors = self.characters(spellings, sizes)  # (U, K)
            extra.append(self.character_dropout(nn.functional.embedding(indices, vectors)))
        if self.contextual is not None:
            extra.append(self.contextual(*words))
        joined = torch.cat(extra, -1) if extra else None  # (B, T, K)
        states = self.encoder(ids, lengths, carried, extra=joined)  # (B, T, D·H)
        return NextSteps(self.output(self.scores(self.dropout(states.outputs))), states.state)
