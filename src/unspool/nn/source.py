"""Reading the source of a sequence-to-sequence model, whatever it is read with.

In: ids (B, S) and their lengths (B,). Out: an `Encoded` source, which any decoder starts from:

    state = decoder.start(*encoder.encode(ids, lengths))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from torch import Tensor, nn

from unspool.nn.embeddings import SharedEmbedding, TokenEmbedding
from unspool.nn.encoders import TextEncoder
from unspool.nn.masks import keep_mask, reverse
from unspool.nn.recurrent import check_lengths
from unspool.nn.state import RecurrentState, map_state
from unspool.nn.transformer import TransformerEncoder
from unspool.nn.transformer_blocks import TransformerOptions


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
    def share(self, embedding: TokenEmbedding) -> None:
        """Read with the vectors of a decoder's embedding instead of vectors of its own."""

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

    def share(self, embedding: TokenEmbedding) -> None:
        self.text.embedding = SharedEmbedding(embedding)

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
        self.embedding: TokenEmbedding | SharedEmbedding = options.embedding(vocab)
        self.transformer = TransformerEncoder(options)
        self.size = options.width

    def share(self, embedding: TokenEmbedding) -> None:
        self.embedding = SharedEmbedding(embedding)

    def encode(self, ids: Tensor, lengths: Tensor | None = None) -> Encoded:
        lengths = check_lengths(lengths, ids)
        keep = None if lengths is None else keep_mask(lengths, ids.shape[1])
        return Encoded(self.transformer(self.embedding(ids), keep), keep)

    def describe(self) -> str:
        return self.transformer.describe()
