"""Reading the source of a sequence-to-sequence model, whatever it is read with.

In: ids (B, S) and their lengths (B,). Out: an `Encoded` source, which any decoder starts from:

    state = decoder.start(*encoder.encode(ids, lengths))
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

from torch import Tensor, nn

from unspool.nn.embeddings import TokenEmbedding
from unspool.nn.encoders import TextEncoder
from unspool.nn.masks import keep_mask, reverse
from unspool.nn.recurrent import check_lengths
from unspool.nn.state import RecurrentState, map_state
from unspool.nn.transformer import TransformerEncoder
from unspool.nn.transformer_blocks import TransformerOptions


def scaled(embedding: TokenEmbedding, ids: Tensor) -> Tensor:
    """√E times the vectors of ids (Vaswani et al. 2017, section 3.4): with a matrix as small as an
    output layer needs it, vectors as large as the positions that are added to them."""
    return embedding(ids) * math.sqrt(embedding.size)


class Encoded(NamedTuple):
    """What an encoder has read: memory (B, S, D_m); keep (B, S), None where all is real; and of a
    recurrent encoder its final state."""

    memory: Tensor
    keep: Tensor | None = None
    state: RecurrentState | None = None

    def select(self, rows: Tensor) -> Encoded:
        """Some rows of the batch."""
        return Encoded(
            self.memory[rows],
            None if self.keep is None else self.keep[rows],
            None if self.state is None else map_state(self.state, lambda s: s[rows]),
        )


class SourceEncoder(nn.Module, ABC):
    """The one face: `encode`. `size` is D_m, that of the vectors of the memory."""

    size: int

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Encoded:
        return self.encode(ids, lengths)

    @abstractmethod
    def encode(self, ids: Tensor, lengths: Tensor | None = None) -> Encoded:
        """ids (B, S), lengths (B,), None: all are S. The memory is zero at padding."""


class RecurrentEncoder(SourceEncoder):
    """An embedding and recurrent layers, in one direction or both.

    reverse_source  read the source last to first (Sutskever et al. 2014), so that its first words
                    stand next to the first that are to be written. The memory is in the order of
                    the source all the same: place j belongs to token j.
    """

    def __init__(self, text: TextEncoder, *, reverse_source: bool = False) -> None:
        super().__init__()
        self.text = text
        self.size = text.size
        self.reverse_source = reverse_source

    def encode(self, ids: Tensor, lengths: Tensor | None = None) -> Encoded:
        lengths = check_lengths(lengths, ids)
        keep = None if lengths is None else keep_mask(lengths, ids.shape[1])
        memory, state = self.text(reverse(ids, lengths) if self.reverse_source else ids, lengths)
        return Encoded(reverse(memory, lengths) if self.reverse_source else memory, keep, state)

    def describe(self) -> str:
        backwards = ", last token first" if self.reverse_source else ""
        return f"{self.text.recurrent.describe()}{backwards}"


class TransformerSeqEncoder(SourceEncoder):
    """An embedding and a `TransformerEncoder`; there is no state."""

    def __init__(self, vocab: int, options: TransformerOptions) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocab, options.width, std=options.width**-0.5)
        self.transformer = TransformerEncoder(options)
        self.size = options.width

    def encode(self, ids: Tensor, lengths: Tensor | None = None) -> Encoded:
        lengths = check_lengths(lengths, ids)
        keep = None if lengths is None else keep_mask(lengths, ids.shape[1])
        return Encoded(self.transformer(scaled(self.embedding, ids), keep), keep)

    def describe(self) -> str:
        return self.transformer.describe()
