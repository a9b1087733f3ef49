"""Attention between a decoder and what an encoder has read.

In: a query, the state of a decoder, (B, D_q), or several of them (B, T, D_q); a memory (B, S, D_m),
the outputs of an encoder; keep (B, S), True where the memory is real. Out: an `AttentionOutput`.

What depends on the memory alone is computed once by `prepare` and passed to each `read`:

    memory = attention.prepare(outputs, keep)
    for ...:
        context, weights = attention.read(s, memory)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.errors import choose
from unspool.nn import init
from unspool.nn.masks import masked_softmax, zero_padding
from unspool.nn.taps import Tap, overridable

Score = Literal["dot", "scaled", "general", "concat"]
SCORES: tuple[Score, ...] = ("dot", "scaled", "general", "concat")


class AttentionOutput(NamedTuple):
    """context (B, D_m) or (B, T, D_m); weights (B, S) or (B, T, S), which sum to 1 over S."""

    context: Tensor
    weights: Tensor


class Readers(NamedTuple):
    """Memory of each of R rows, and the row's rank among its at most `most` readers."""

    memory: Tensor  # (R,) sorted
    rank: Tensor  # (R,)
    most: int


class Memory(NamedTuple):
    """A memory that is ready to be read: keys and values (B, ..., S, ...) and keep (B, S).

    readers   None where row b reads memory b. The rows of a beam all read the same memory, which
              is not copied for them: `join` lays the rows of each memory side by side in time, and
              `part` takes them apart again.
    """

    keys: Tensor
    values: Tensor
    keep: Tensor | None = None
    readers: Readers | None = None

    def select(self, rows: Tensor) -> Memory:
        """Some rows of the batch, those of one memory side by side; memories that none reads
        are dropped."""
        memory = rows if self.readers is None else self.readers.memory[rows]
        read, memory, counts = memory.unique_consecutive(return_inverse=True, return_counts=True)
        keys, values, keep = self.keys, self.values, self.keep
        if len(read) != len(keys) or not torch.equal(
            read, torch.arange(len(read), device=read.device)
        ):
            keys, values = keys.index_select(0, read), values.index_select(0, read)
            keep = None if keep is None else keep[read]
        most = int(counts.max())
        if most == 1:
            return Memory(keys, values, keep)
        rank = torch.arange(len(rows), device=rows.device) - (counts.cumsum(0) - counts)[memory]
        return Memory(keys, values, keep, Readers(memory, rank, most))

    def join(self, x: Tensor) -> Tensor:
        """Rows (R, T, D) -> (B, most · T, D), with zeros where a memory has fewer readers."""
        if self.readers is None:
            return x
        memory, rank, most = self.readers
        joined = x.new_zeros(len(self.keys), most, *x.shape[1:])
        joined[memory, rank] = x
        return joined.flatten(1, 2)

    def part(self, y: Tensor) -> Tensor:
        """Inverse of `join`: (B, most · T, ...) -> (R, T, ...)."""
        if self.readers is None:
            return y
        memory, rank, most = self.readers
        return y.unflatten(1, (most, -1))[memory, rank]


@overridable
def check_keep(keep: Tensor | None, *shapes: tuple[int, ...]) -> None:
    """ValueError unless `keep` is boolean and of one of `shapes`."""
    if keep is None:
        return
    if keep.dtype != torch.bool or tuple(keep.shape) not in shapes:
        wanted = " or ".join(map(str, shapes))
        got = f"{str(keep.dtype).removeprefix('torch.')} {tuple(keep.shape)}"
        raise ValueError(f"keep must be boolean, True = keep, of shape {wanted}; got {got}")


class Attention(nn.Module, ABC):
    """A score for each step of the memory, and the mean of the memory weighted by them.

        e_tj = score(s_t, h_j)
        α_t  = softmax(e_t) over the real steps j
        c_t  = Σ_j α_tj h_j

    with a tap on the `weights` α. Where no step is real, α and c are zero.
    """

    def __init__(self, query: int, memory: int) -> None:
        super().__init__()
        self.query = query
        self.memory = memory
        self.size = memory
        self.weights = Tap()

    def forward(self, query: Tensor, memory: Tensor, keep: Tensor | None = None) -> AttentionOutput:
        return self.read(query, self.prepare(memory, keep))

    def prepare(self, memory: Tensor, keep: Tensor | None = None) -> Memory:
        """Precompute what every `read` of this memory (B, S, D_m) needs."""
        if memory.dim() != 3 or memory.shape[-1] != self.memory:
            shape = tuple(memory.shape)
            raise ValueError(
                f"the memory must have shape (batch, steps, {self.memory}); got {shape}"
            )
        check_keep(keep, tuple(memory.shape[:2]))
        if keep is not None:
            memory = zero_padding(memory, keep)
        return Memory(self.keys(memory), memory, keep)

    def read(
        self, query: Tensor, memory: Memory, coverage: Tensor | None = None
    ) -> AttentionOutput:
        """coverage (B, S), of `Additive` attention to one query a row alone."""
        if query.shape[-1] != self.query:
            raise ValueError(f"the query must have {self.query} elements; got {query.shape[-1]}")
        s = memory.join(query[:, None] if query.dim() == 2 else query)  # (B, T, D_q)
        if coverage is not None:
            e = self.covered_scores(s, memory.keys, memory.join(coverage[:, None]))
        else:
            e = self.scores(s, memory.keys)  # (B, T, S)
        if memory.keep is None:
            weights = torch.softmax(e, -1)
        else:
            weights = masked_softmax(e, memory.keep[:, None])
        weights = self.weights(weights)
        context = memory.part(weights.to(memory.values.dtype) @ memory.values)  # (B, T, D_m)
        weights = memory.part(weights)
        if query.dim() == 2:
            return AttentionOutput(context[:, 0], weights[:, 0])
        return AttentionOutput(context, weights)

    @abstractmethod
    def keys(self, memory: Tensor) -> Tensor:
        """The part of the score that the memory alone decides: (B, S, D_m) -> (B, S, ...)"""

    @abstractmethod
    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """query (B, T, D_q), keys (B, S, ...) -> e (B, T, S)"""

    def covered_scores(self, query: Tensor, keys: Tensor, coverage: Tensor) -> Tensor:
        """The same with what was attended to before, coverage (B, T, S)."""
        raise ValueError("coverage is for additive attention")


class Additive(Attention):
    """Bahdanau et al. (2015), appendix A.1.2; the course's fully connected layer on [s, h].

        e_tj = vᵀ tanh(W s_t + U h_j + b)

    with `units` elements inside the tanh. The paper has no b.

        e_tj = vᵀ tanh(W s_t + U h_j + w_k k_tj + b)              with `coverage`

    (See et al. 2017, equation 11), where k_tj = Σ_{t' < t} α_t'j is what j has had before.
    Parameters: units · (D_q + D_m + 1), and as many as `units` with the bias, and with coverage.
    """

    def __init__(
        self, query: int, memory: int, *, units: int, bias: bool = False, coverage: bool = False
    ) -> None:
        super().__init__(query, memory)
        self.units = units
        self.w_k = nn.Parameter(torch.zeros(units)) if coverage else None
        self.W = nn.Linear(query, units, bias=bias)
        self.U = nn.Linear(memory, units, bias=False)
        self.v = nn.Linear(units, 1, bias=False)
        for layer in (self.W, self.U, self.v):
            init.linear_(layer)

    def keys(self, memory: Tensor) -> Tensor:
        return self.U(memory)  # (B, S, units)

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        inner = self.W(query)[:, :, None] + keys[:, None]  # (B, T, S, units)
        return self.v(torch.tanh(inner)).squeeze(-1)

    def covered_scores(self, query: Tensor, keys: Tensor, coverage: Tensor) -> Tensor:
        assert self.w_k is not None
        inner = self.W(query)[:, :, None] + keys[:, None] + coverage[..., None] * self.w_k
        return self.v(torch.tanh(inner)).squeeze(-1)

    def describe(self) -> str:
        covered = "" if self.w_k is None else ", coverage"
        return f"additive attention, {self.units} units{covered}"


class Multiplicative(Attention):
    """Luong et al. (2015), section 3.1.

        dot       e_tj = s_tᵀ h_j                      needs D_q = D_m
        scaled    e_tj = s_tᵀ h_j / √D_m               the same, after Vaswani et al. (2017)
        general   e_tj = s_tᵀ W h_j
        concat    e_tj = vᵀ tanh(W [s_t; h_j])         with D_q elements inside the tanh

    Parameters: none for dot and scaled; D_q · D_m; D_q · (D_q + D_m + 1).
    """

    def __init__(self, query: int, memory: int, *, score: Score = "general") -> None:
        super().__init__(query, memory)
        self.score = choose("score", score, SCORES)
        self.W: nn.Parameter | None = None
        self.v: nn.Parameter | None = None
        if score in ("dot", "scaled") and query != memory:
            raise ValueError(
                f"score {score!r} needs a query as large as the memory; got {query} and {memory}. "
                "Use score 'general'"
            )
        if score == "general":
            self.W = nn.Parameter(torch.empty(query, memory))
        elif score == "concat":
            self.W = nn.Parameter(torch.empty(query, query + memory))
            self.v = nn.Parameter(torch.empty(1, query))
        for matrix in (self.W, self.v):
            if matrix is not None:
                init.input_matrix_(matrix, blocks=1)

    def keys(self, memory: Tensor) -> Tensor:
        if self.W is None:
            return memory / math.sqrt(self.memory) if self.score == "scaled" else memory
        # Of "concat" the columns that meet h; of "general" all.
        return F.linear(memory, self.W[:, -self.memory :])  # (B, S, D_q)

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        if self.W is None or self.v is None:
            return query @ keys.mT
        inner = F.linear(query, self.W[:, : self.query])[:, :, None] + keys[:, None]
        return F.linear(torch.tanh(inner), self.v).squeeze(-1)

    def describe(self) -> str:
        return f"multiplicative attention, score {self.score}"
