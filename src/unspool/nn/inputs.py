"""Input layers: the values of a field as the vectors that a network reads.

In: token ids (B, T), or vectors over time (B, T, C). Out: vectors (B, T, E); or the ids themselves,
which a network takes as one-hot vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.dropout import Dropout

PAD = 0
UNKNOWN = 1


class TokenEmbedding(nn.Module):
    """A learned vector for each token, with dropout on its elements in training.

    std     standard deviation of the Gaussian that the matrix starts from
    scale   what the rows of the matrix are multiplied by. √E is Vaswani et al. (2017), section 3.4:
            a matrix as small as an output layer tied to it needs, and vectors as large as the
            sinusoids that are added to them
    """

    def __init__(
        self, vocab: int, size: int, *, dropout: float = 0.0, std: float = 0.1, scale: float = 1.0
    ) -> None:
        super().__init__()
        self.vocab = vocab
        self.size = size
        self.scale = scale
        self.weight = nn.Parameter(torch.empty(vocab, size))
        self.dropout = Dropout(dropout)
        init.embedding_(self.weight, std)

    def forward(self, ids: Tensor) -> Tensor:
        vectors = nn.functional.embedding(ids, self.weight)  # (B, T, E)
        return self.dropout(vectors if self.scale == 1 else vectors * self.scale)

    def describe(self) -> str:
        return f"embedding {self.vocab} x {self.size}"

    def extra_repr(self) -> str:
        return f"{self.vocab}, {self.size}"


class SharedEmbedding(nn.Module):
    """The vectors of an embedding that belongs to another module, where its matrix is registered
    once: a saved model holds it once."""

    def __init__(self, owner: TokenEmbedding) -> None:
        super().__init__()
        self.vocab, self.size = owner.vocab, owner.size
        self._owner = (owner,)  # in a tuple, so that it is not registered here too

    @property
    def owner(self) -> TokenEmbedding:
        return self._owner[0]

    @property
    def weight(self) -> Tensor:
        return self.owner.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.owner(ids)  # (B, T, E)

    def describe(self) -> str:
        return f"embedding {self.vocab} x {self.size}, shared"


class OneHot(nn.Module):
    """No embedding: ids pass through and stand for one-hot vectors of `size` = `vocab`.

    A cell turns them into rows of its input matrix; no vector and no product is ever made.
    """

    def __init__(self, vocab: int) -> None:
        super().__init__()
        self.vocab = vocab
        self.size = vocab

    def forward(self, ids: Tensor) -> Tensor:
        return ids

    def describe(self) -> str:
        return f"one-hot {self.vocab}"

    def extra_repr(self) -> str:
        return f"{self.vocab}"


class ClassToken(nn.Module):
    """A learned vector before the first token of each text, [CLS] in Devlin et al. (2019)."""

    def __init__(self, size: int, *, std: float = 0.02) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.empty(size))
        nn.init.normal_(self.vector, std=std)

    def forward(self, x: Tensor) -> Tensor:
        first = torch.zeros_like(x[:, :1]) + self.vector.to(x.dtype)  # (B, 1, E)
        return torch.cat([first, x], 1)  # (B, 1 + T, E)

    def describe(self) -> str:
        return "cls vector before the text"


class WordDropout(nn.Module):
    """In training, each token becomes <unk> with probability `rate` (Dai & Le 2015)."""

    def __init__(self, rate: float, *, unknown: int = UNKNOWN, padding: int = PAD) -> None:
        super().__init__()
        self.rate = rate
        self.unknown = unknown
        self.padding = padding

    def forward(self, ids: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return ids
        drop = torch.rand(ids.shape, device=ids.device) < self.rate
        return ids.masked_fill(drop & (ids != self.padding), self.unknown)

    def extra_repr(self) -> str:
        return f"{self.rate}"


class InputLayer(nn.Module, ABC):
    """size     of the vectors it gives
    stride   steps that it makes one of
    """

    size: int
    stride: int = 1

    @abstractmethod
    def forward(self, values: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, T, ...) -> (B, T', size); T' = T but where `steps` says otherwise"""

    def steps(self, lengths: Tensor | None) -> Tensor | None:
        """(B,) T' of the steps that are real; None: all"""
        return lengths


class TokenInput(InputLayer):
    """Token ids (B, T): word dropout, then an embedding (B, T, E).

    size           of the token vectors; 0 gives one-hot vectors, as ids (B, T)
    std, scale     of the embedding, see `TokenEmbedding`
    dropout        on the elements of the vectors, in training
    word_dropout   share of tokens that become <unk> (id 1) in training
    """

    def __init__(
        self,
        vocab: int,
        size: int,
        *,
        std: float = 0.1,
        scale: float = 1.0,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.word_dropout = WordDropout(word_dropout)
        self.embedding: TokenEmbedding | SharedEmbedding | OneHot = (
            TokenEmbedding(vocab, size, dropout=dropout, std=std, scale=scale)
            if size
            else OneHot(vocab)
        )
        self.size = self.embedding.size

    def share(self, embedding: TokenEmbedding) -> None:
        """Read with an embedding that belongs to another module, such as a decoder."""
        self.embedding = SharedEmbedding(embedding)
        self.size = embedding.size

    def forward(self, values: Tensor, lengths: Tensor | None = None) -> Tensor:
        return self.embedding(self.word_dropout(values))


class Masks(NamedTuple):
    """Number of masked stretches, the largest as a share of all, and the largest share by which
    bands are shifted."""

    times: int = 0
    time: float = 0.05
    bands: int = 0
    band: float = 0.2
    warp: float = 0.0

    @property
    def any(self) -> bool:
        return bool(self.times or self.bands or self.warp)


class Augment(nn.Module, ABC):
    """Augmentation: changes values in training only."""

    @abstractmethod
    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, T, C) -> the same"""


class SpecAugment(Augment):
    """Stretches of time, and of neighbouring channels, become 0 in training (Park et al. 2019).

    Each stretch is from 0 to `share` of all long, and lies anywhere; each sequence has its own.
    Before that its channels are moved, see `warped`.

    channels   C of a step; x (B, T, k · C) has k of them, one after the other
    """

    def __init__(self, channels: int, masks: Masks) -> None:
        super().__init__()
        self.channels, self.masks = channels, masks

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(B, T, k · C) -> the same"""
        if not self.training:
            return x
        times, time, bands, band, warp = self.masks
        if warp:
            x = warped(x, self.channels, 1 + warp * (2 * torch.rand(len(x), device=x.device) - 1))
        hidden = stretches(len(x), x.shape[1], times, time, x.device)[..., None]  # (B, T, 1)
        masked = x.masked_fill(hidden, 0.0)
        across = stretches(len(x), self.channels, bands, band, x.device)  # (B, C)
        across = across.repeat(1, x.shape[2] // self.channels)[:, None]
        return masked.masked_fill(across, 0.0)

    def extra_repr(self) -> str:
        moved = f", bands moved by up to {self.masks.warp:g}" if self.masks.warp else ""
        return f"{self.masks.times} of time, {self.masks.bands} of channels{moved}"


def warped(x: Tensor, channels: int, factors: Tensor) -> Tensor:
    """Neighbouring channels as bands of another pitch: channel c of each sequence becomes channel
    f · c, f of factors (B,), between two of them on a line, beyond the last the last. On a mel
    scale that is about what another length of the vocal tract does (Jaitly and Hinton 2013).

    x (B, T, k · C) -> the same
    """
    last = channels - 1
    at = (torch.arange(channels, device=x.device) * factors[:, None]).clamp(max=last)  # (B, C)
    low = at.floor().clamp(max=max(0, last - 1))
    weights = x.new_zeros(len(x), channels, channels)  # of channel i in the new one c: (B, i, c)
    weights.scatter_(1, low.long()[:, None], (1 - (at - low))[:, None].to(x.dtype))
    if last:
        weights.scatter_(1, low.long()[:, None] + 1, (at - low)[:, None].to(x.dtype))
    return (x.reshape(len(x), -1, channels) @ weights).view_as(x)


def stretches(batch: int, size: int, count: int, share: float, device: torch.device) -> Tensor:
    """(B, size) bool: what lies in one of `count` random stretches."""
    length = torch.rand(batch, count, 1, device=device) * (share * size + 1)
    first = torch.rand(batch, count, 1, device=device) * (size - length).clamp(min=0)
    at = torch.arange(size, device=device)
    return ((at >= first.floor()) & (at < (first.floor() + length.floor()))).any(1)


class VectorInput(InputLayer):
    """Vectors over time (B, T, C), such as those of sensors: x_t = W v_t + b, (B, T, E).

    size      E; 0: x_t = v_t
    dropout   on the elements of x, in training
    augment   what changes v in training
    """

    def __init__(
        self, channels: int, size: int, *, dropout: float = 0.0, augment: Augment | None = None
    ) -> None:
        super().__init__()
        self.channels, self.size = channels, size or channels
        self.augment = augment
        self.linear = nn.Linear(channels, size) if size else None
        self.dropout = Dropout(dropout)
        if self.linear is not None:
            init.linear_(self.linear)

    def forward(self, values: Tensor, lengths: Tensor | None = None) -> Tensor:
        if self.augment is not None:
            values = self.augment(values, lengths)
        return values if self.linear is None else self.dropout(self.linear(values))

    def describe(self) -> str:
        if self.linear is None:
            return f"{self.size} channels as they are"
        return f"linear {self.linear.in_features} -> {self.size}"


class ConcatFeatures(nn.Module):
    """[x_t; f_t]: vectors x (B, T, E), and extra features f (B, T, K) of the same steps.

    One-hot vectors, ids (B, T), are replaced by the features.
    """

    def __init__(self, input_layer: InputLayer, features: int) -> None:
        super().__init__()
        one_hot = isinstance(input_layer, TokenInput) and isinstance(input_layer.embedding, OneHot)
        self.size = features if one_hot else input_layer.size + features

    def forward(self, x: Tensor, features: Tensor) -> Tensor:
        return torch.cat([x, features], -1) if x.is_floating_point() else features


class AddFeatures(nn.Module):
    """x_t + W f_t: extra features f (B, T, K) of the steps, added as positions are."""

    def __init__(self, input_layer: InputLayer, features: int) -> None:
        super().__init__()
        self.size = input_layer.size
        self.W = nn.Linear(features, self.size, bias=False)
        init.linear_(self.W)

    def forward(self, x: Tensor, features: Tensor) -> Tensor:
        return x + self.W(features)

    def describe(self) -> str:
        return f"{self.W.in_features} extra features of each token, added"
