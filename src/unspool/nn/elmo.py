"""Contextual vectors of words (Peters et al. 2018, ELMo).

In: the spelling of the words of B texts. Out: for every word a vector from each layer of a forward
and a backward language model, or one mix of them all.

Nothing is kept from one text to the next, so a text has the same vectors alone and in any batch. A
word is known by its spelling, so there are no unknown ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.convolution import Convolution
from unspool.nn.dropout import Dropout
from unspool.nn.heads import TokenOutput
from unspool.nn.inputs import TokenEmbedding
from unspool.nn.masks import keep_mask, reverse, where_kept
from unspool.nn.pooling import MaxPooling
from unspool.nn.recurrent import Recurrent

CARRY_BIAS = -2.0  # of the gate: at first most of the input passes


class Highway(nn.Module):
    """A highway layer (Srivastava et al. 2015), (..., size) -> (..., size).

    g = σ(W_g x + b_g),    y = g ⊙ relu(W x + b) + (1 - g) ⊙ x
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.linear = nn.Linear(size, 2 * size)  # W and W_g
        init.input_matrix_(self.linear.weight, blocks=2)
        nn.init.zeros_(self.linear.bias)
        nn.init.constant_(self.linear.bias.detach()[size:], CARRY_BIAS)

    def forward(self, x: Tensor) -> Tensor:
        y, g = self.linear(x).chunk(2, -1)
        return torch.lerp(x, torch.relu(y).to(x.dtype), torch.sigmoid(g).to(x.dtype))

    def describe(self) -> str:
        return f"highway, {self.size} units"


class ElmoOptions(NamedTuple):
    """The shape of an `Elmo`.

    symbols    that words are spelled with, padding included
    character  size of a symbol's vector
    filters    of each of the `widths`, over the symbols of a word
    highways   highway layers after them
    size       P, of the vectors that a direction has of a word
    hidden     units of a recurrent layer, before their projection to P
    layers     in each direction
    """

    symbols: int
    character: int = 16
    filters: int = 64
    widths: Sequence[int] = (1, 2, 3, 4, 5)
    highways: int = 1
    size: int = 128
    hidden: int = 256
    layers: int = 2
    cell: str = "lstm"
    cell_options: Mapping[str, Any] | None = None
    dropout: float = 0.0


class SpellingEncoder(nn.Module):
    """Spellings (U, L) as vectors (U, P): convolution, largest value over the word, highway layers,
    projection (Kim et al. 2016; Józefowicz et al. 2016)."""

    def __init__(self, options: ElmoOptions) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(options.symbols, options.character, std=0.3)
        self.convolution = Convolution(options.character, options.filters, options.widths)
        self.pooling = MaxPooling(self.convolution.size)
        self.highways = nn.Sequential(
            *(Highway(self.convolution.size) for _ in range(options.highways))
        )
        self.projection = OutputProjection(self.convolution.size, options.size)

    def forward(self, spellings: Tensor, sizes: Tensor) -> Tensor:
        features = self.convolution(self.embedding(spellings), sizes)  # (U, L, C)
        return self.projection(self.highways(self.pooling(features, sizes)))  # (U, P)


class OutputProjection(nn.Module):
    """y = W x + b, to a smaller size."""

    def __init__(self, inputs: int, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, size)
        init.linear_(self.linear)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)

    def describe(self) -> str:
        return f"projection {self.linear.in_features} -> {self.linear.out_features}"


class ProjectedStack(nn.Module):
    """The layers of one direction, from the vectors of words x = h_0 (B, T, P) on:

    h_1 = P_1 rnn_1(h_0),        h_j = h_{j-1} + P_j rnn_j(h_{j-1})
    """

    def __init__(self, options: ElmoOptions) -> None:
        super().__init__()
        self.dropout = Dropout(options.dropout)
        self.layers = nn.ModuleList(
            Recurrent(options.cell, options.size, options.hidden, options=options.cell_options)
            for _ in range(options.layers)
        )
        self.projections = nn.ModuleList(
            OutputProjection(options.hidden, options.size) for _ in range(options.layers)
        )

    def forward(self, x: Tensor, lengths: Tensor) -> list[Tensor]:
        """[h_1, ..., h_L], each (B, T, P)"""
        layers: list[Tensor] = []
        for layer, projection in zip(self.layers, self.projections):
            h = projection(layer(self.dropout(x), lengths).outputs)
            x = x + h if layers else h
            layers.append(x)
        return layers


class ElmoOutput(NamedTuple):
    """Vectors of each word in L layers of each direction: h_0, the same in both, and h_1 .. h_L."""

    words: Tensor  # (B, T, P)
    forwards: list[Tensor]  # L times (B, T, P); at step t after reading the words up to t
    backwards: list[Tensor]  # L times (B, T, P); at step t after reading the words from t on


class Elmo(nn.Module):
    """A forward and a backward language model over the same vectors of words.

    The two share no weights but those of the word vectors; the backward one reads last to first.
    `vectors` gives 1 + L vectors of size 2P for a word: [h_0; h_0], [h_j forwards; h_j backwards].
    """

    def __init__(self, options: ElmoOptions) -> None:
        super().__init__()
        self.size = options.size
        self.count = 1 + options.layers
        self.spelling = SpellingEncoder(options)
        self.dropout = Dropout(options.dropout)
        self.forwards = ProjectedStack(options)
        self.backwards = ProjectedStack(options)

    def forward(
        self, spellings: Tensor, sizes: Tensor, indices: Tensor, lengths: Tensor
    ) -> ElmoOutput:
        """spellings (U, L) of sizes (U,); indices (B, T + 2) of the words with their frame; lengths
        (B,), without it. Out: the same with the frame."""
        x = nn.functional.embedding(indices, self.spelling(spellings, sizes))  # (B, T + 2, P)
        framed = lengths + 2
        forwards = self.forwards(x, framed)
        backwards = [reverse(h, framed) for h in self.backwards(reverse(x, framed), framed)]
        return ElmoOutput(x, forwards, backwards)

    def vectors(
        self, spellings: Tensor, sizes: Tensor, indices: Tensor, lengths: Tensor
    ) -> list[Tensor]:
        """1 + L times (B, T, 2P), without the frame."""
        out = self(spellings, sizes, indices, lengths)
        layers = [torch.cat([out.words, out.words], -1)]
        layers += [torch.cat(both, -1) for both in zip(out.forwards, out.backwards)]
        return [layer[:, 1:-1] for layer in layers]


class Mix(nn.Module):
    """Weighted sum of the layers (Peters et al. 2018, equation 1); s and γ are learnt.

    v_t = γ Σ_j s_j norm(h_{t,j}),        s = softmax(w)

    norm gives each vector mean 0 and variance 1 (section 3.2: the layers differ in scale, and the
    largest would dominate).
    """

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """1 + L times (B, T, 2P) -> (B, T, 2P)"""
        mixed = torch.zeros_like(layers[0])
        for s, h in zip(self.shares(), layers):
            mixed = mixed + s * nn.functional.layer_norm(h, h.shape[-1:])
        return self.gamma * mixed

    def shares(self) -> Tensor:
        """s, which adds up to 1."""
        return self.w.softmax(0)

    def describe(self) -> str:
        shares = ", ".join(f"{s:.2f}" for s in self.shares().tolist())
        return f"mix of {len(self.w)} layers: {shares}; times {self.gamma.item():.2f}"


class Contextual(nn.Module):
    """The vectors of an `Elmo`, mixed for one task; only the mix learns unless `tuned`."""

    def __init__(self, options: ElmoOptions, *, tuned: bool = False, dropout: float = 0.0) -> None:
        super().__init__()
        self.tuned = tuned
        self.elmo = Elmo(options).requires_grad_(tuned)
        self.mix = Mix(self.elmo.count)
        self.dropout = Dropout(dropout)
        self.size = 2 * options.size

    def forward(self, spellings: Tensor, sizes: Tensor, indices: Tensor, lengths: Tensor) -> Tensor:
        with torch.set_grad_enabled(self.tuned and torch.is_grad_enabled()):
            layers = self.elmo.vectors(spellings, sizes, indices, lengths)
        return self.dropout(self.mix(layers))  # (B, T, 2P)

    def streaming_unsupported_reason(self) -> str:
        return "its contextual vectors are read in both directions"

    def train(self, mode: bool = True) -> Contextual:
        """Keep frozen layers in evaluation mode: no dropout."""
        super().train(mode)
        self.elmo.train(mode and self.tuned)
        return self


class Predicted(NamedTuple):
    """N states of one direction, and the words that they are to predict."""

    h: Tensor  # (N, P)
    targets: Tensor  # (N,)
    rows: Tensor  # (N,) of the batch; on the CPU


class ElmoModel(nn.Module):
    """The language models of both directions, and the softmax that they share."""

    def __init__(self, encoder: Elmo, *, vocab: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.output = TokenOutput(encoder.size, vocab)

    def forward(self, spellings: Tensor, sizes: Tensor, indices: Tensor, lengths: Tensor) -> Tensor:
        """Scores (B, T + 2, 2, V), forwards and backwards, for small inputs."""
        read = self.encoder(spellings, sizes, indices, lengths)
        return self.output(torch.stack([read.forwards[-1], read.backwards[-1]], 2))

    def read(
        self, words: Tensor, spellings: Tensor, sizes: Tensor, indices: Tensor, lengths: Tensor
    ) -> tuple[Predicted, Predicted]:
        """Targets of the forward and the backward model, and their inputs: the ids of the
        words (B, T + 2) in their frame; then what an `Elmo` reads."""
        read = self.encoder(spellings, sizes, indices, lengths)
        keep = keep_mask(lengths + 1, words.shape[1] - 1)  # (B, T + 1)
        rows = keep.nonzero()[:, 0]
        return (
            Predicted(
                where_kept(read.forwards[-1][:, :-1], keep), where_kept(words[:, 1:], keep), rows
            ),
            Predicted(
                where_kept(read.backwards[-1][:, 1:], keep), where_kept(words[:, :-1], keep), rows
            ),
        )
