"""Words as vectors, from their characters.

In: the character ids (U, L) of U words and their lengths (U,). Out: a vector (U, size) for each
word, also for one that was never seen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from unspool.nn.convolution import Convolution
from unspool.nn.inputs import TokenEmbedding
from unspool.nn.pooling import LastPooling, MaxPooling
from unspool.nn.recurrent import Recurrent

WIDTH = 3  # characters that a filter reads
STD = 0.5  # spread of the initial vectors of characters: few, and each seen often


class CharacterEncoder(nn.Module, ABC):
    """An embedding of characters, and what makes one vector of `size` of a word's."""

    size: int

    def __init__(self, vocab: int, *, embedding: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocab, embedding, dropout=dropout, std=STD)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return self.read(self.embedding(ids), lengths)

    @abstractmethod
    def read(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(U, L, E) -> (U, size)"""


class CharacterLSTM(CharacterEncoder):
    """The final states of an LSTM that reads forwards, and of one that reads backwards (Lample et
    al. 2016, section 4.1)."""

    def __init__(self, vocab: int, *, embedding: int, size: int, dropout: float = 0.0) -> None:
        super().__init__(vocab, embedding=embedding, dropout=dropout)
        self.recurrent = Recurrent("lstm", embedding, size // 2, bidirectional=True)
        self.size = self.recurrent.size
        self.pooling = LastPooling(self.size, bidirectional=True)

    def read(self, x: Tensor, lengths: Tensor) -> Tensor:
        return self.pooling(self.recurrent(x, lengths).outputs, lengths)


class CharacterCNN(CharacterEncoder):
    """Filters over three characters, and the largest value of each (Ma & Hovy 2016, section
    2.1)."""

    def __init__(self, vocab: int, *, embedding: int, size: int, dropout: float = 0.0) -> None:
        super().__init__(vocab, embedding=embedding, dropout=dropout)
        self.convolution = Convolution(embedding, size, (WIDTH,))
        self.size = size
        self.pooling = MaxPooling(size)

    def read(self, x: Tensor, lengths: Tensor) -> Tensor:
        return self.pooling(self.convolution(x, lengths), lengths)


CHARACTER_ENCODERS: dict[str, type[CharacterLSTM] | type[CharacterCNN]] = {
    "lstm": CharacterLSTM,
    "cnn": CharacterCNN,
}
