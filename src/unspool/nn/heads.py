"""Output layers.

In: vectors (..., size). Out: scores (..., vocab) before the softmax.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.errors import ConfigError, choose
from unspool.nn import init
from unspool.nn.activations import ACTIVATIONS
from unspool.nn.cross_entropy import linear_cross_entropy, linear_token_losses
from unspool.nn.inputs import OneHot, SharedEmbedding, TokenEmbedding
from unspool.nn.transformer_blocks import FEED_FORWARDS


class Dense(nn.Module):
    """A hidden layer: y = relu(W v + b), (B, size) -> (B, units)"""

    def __init__(self, size: int, units: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, units)
        init.linear_(self.linear)

    def forward(self, v: Tensor) -> Tensor:
        return torch.relu(self.linear(v))

    def describe(self) -> str:
        return f"dense, {self.linear.out_features} units, relu"


class LabelOutput(nn.Module):
    """Scores (B, C) for C classes from vectors (B, size).

    y = V v + b            C > 2
    y = (0, vᵀw + b)       C = 2: one logistic unit, p = σ(vᵀw + b)
    """

    def __init__(self, size: int, classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, 1 if classes == 2 else classes)
        init.linear_(self.linear)

    def forward(self, v: Tensor) -> Tensor:
        y = self.linear(v)
        return torch.cat([torch.zeros_like(y), y], -1) if y.shape[-1] == 1 else y

    def describe(self) -> str:
        units = self.linear.out_features
        return "sigmoid unit" if units == 1 else f"softmax over {units} classes"


class MultilabelOutput(nn.Module):
    """Scores of K labels from vectors: y = V v + b, p = σ(y), (B, size) -> (B, K)"""

    def __init__(self, size: int, labels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, labels)
        init.linear_(self.linear)

    def forward(self, v: Tensor) -> Tensor:
        return self.linear(v)

    def describe(self) -> str:
        return f"{self.linear.out_features} sigmoid units"


class NumberOutput(nn.Module):
    """K numbers from vectors: y = V v + b, (B, size) -> (B, K)"""

    def __init__(self, size: int, numbers: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, numbers)
        init.linear_(self.linear)

    def forward(self, v: Tensor) -> Tensor:
        return self.linear(v)

    def describe(self) -> str:
        units = self.linear.out_features
        return "linear unit" if units == 1 else f"{units} linear units"


class TagScores(nn.Module):
    """x_t = W h_t + c: a score for each tag, (B, T, size) -> (B, T, C)."""

    def __init__(self, size: int, tags: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, tags)
        init.linear_(self.linear)

    def forward(self, h: Tensor) -> Tensor:
        return self.linear(h)

    def describe(self) -> str:
        return f"scores of {self.linear.out_features} tags"


class TokenOutput(nn.Module):
    """A score for each token of the vocabulary.

        y = V h + b
        y = E (Q h) + b        tied: E is the matrix of the embedding `tied_to`

    Tying (Press & Wolf 2017) saves V's parameters. Q, without bias, is there only where `size` is
    not the embedding's.
    """

    def __init__(
        self,
        size: int,
        vocab: int,
        *,
        tied_to: TokenEmbedding | SharedEmbedding | OneHot | None = None,
    ) -> None:
        super().__init__()
        if isinstance(tied_to, OneHot):
            raise ConfigError(
                "one-hot vectors have no embedding matrix to tie the output layer to",
                remedy="set model.embedding above 0, or model.tied=false",
            )
        if tied_to is not None and tied_to.vocab != vocab:
            raise ConfigError(f"cannot tie {vocab} outputs to an embedding of {tied_to.vocab}")
        self.V = nn.Parameter(torch.empty(vocab, size)) if tied_to is None else None
        self.b = nn.Parameter(torch.zeros(vocab))
        project = tied_to is not None and tied_to.size != size
        self.Q = nn.Parameter(torch.empty(tied_to.size, size)) if tied_to and project else None
        # In a tuple, so that the embedding stays registered once, with its owner: a saved model
        # then holds the matrix once.
        self._tied_to = (tied_to,)
        for matrix in (self.V, self.Q):
            if matrix is not None:
                init.input_matrix_(matrix, blocks=1)

    def forward(self, h: Tensor) -> Tensor:
        """Scores (..., vocab), for a search; the reference for `loss` and `token_losses`."""
        h, V = self._inputs(h)
        return F.linear(h, V, self.b)

    def loss(self, h: Tensor, targets: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
        """Mean cross-entropy of h (..., size) against targets (...), in little memory."""
        h, V = self._inputs(h)
        return linear_cross_entropy(
            h.flatten(0, -2), V, self.b, targets.flatten(), label_smoothing=label_smoothing
        )

    def token_losses(self, h: Tensor, targets: Tensor) -> Tensor:
        """The loss of each target (...), without a gradient."""
        h, V = self._inputs(h)
        return linear_token_losses(h.flatten(0, -2), V, self.b, targets.flatten()).view_as(targets)

    def _inputs(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Factors of the product: h or Q h, and V or the embedding's matrix."""
        return (h if self.Q is None else F.linear(h, self.Q)), self.matrix()

    def folded(self) -> tuple[Tensor, Tensor]:
        """V or E Q, and b: scores are V h + b."""
        V = self.matrix()
        return (V if self.Q is None else V @ self.Q), self.b

    def matrix(self) -> Tensor:
        """V or the embedding's, (vocab, size)."""
        (embedding,) = self._tied_to
        if embedding is not None:
            return embedding.weight
        assert self.V is not None
        return self.V

    def describe(self) -> str:
        tied = "" if self.V is not None else ", tied to the embedding"
        return f"softmax over {len(self.b)} tokens{tied}"


class MaskedOutput(nn.Module):
    """A score for each token at each step, where some steps are masked (Devlin et al. 2018).

    y = E norm(f(W h + b)) + c,      E the matrix of the embedding, f the Transformer's activation

    With "swiglu", W has twice the rows.
    """

    def __init__(
        self, embedding: TokenEmbedding, *, activation: str = "gelu", epsilon: float = 1e-5
    ) -> None:
        super().__init__()
        f = FEED_FORWARDS[choose("activation", activation, FEED_FORWARDS)]
        self.f = f.function
        self.dense = nn.Linear(embedding.size, f.pieces * embedding.size)
        self.norm = nn.LayerNorm(embedding.size, eps=epsilon)
        self.output = TokenOutput(embedding.size, embedding.vocab, tied_to=embedding)
        init.linear_(self.dense)

    def forward(self, h: Tensor) -> Tensor:
        """(..., E) -> (..., V)"""
        return self.output(self.vectors(h))

    def vectors(self, h: Tensor) -> Tensor:
        """The inputs of `output`, whose `loss` needs no (..., V)."""
        return self.norm(self.f(self.dense(h)))

    def describe(self) -> str:
        return "dense layer and norm before the softmax"


class FirstVector(nn.Module):
    """BERT's pooler: f(W h_0 + b) of the vector of the first token, (B, T, E) -> (B, E)."""

    def __init__(self, size: int, *, activation: str = "tanh") -> None:
        super().__init__()
        self.f = ACTIVATIONS[activation].function
        self.dense = nn.Linear(size, size)
        init.linear_(self.dense)

    def forward(self, h: Tensor) -> Tensor:
        return self.f(self.dense(h[:, 0]))
