"""Steps in, what follows each of them out: the interface of a language model, whatever a step is.

In: values (B, T) of ids, or (B, T, C) of vectors; perhaps the state after those before them. Out:
scores (B, T, V) for what comes after each, and the new state. `read` stops before the output layer;
`start`, `step` and `select` are for a search.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoder
from unspool.nn.network import NextSteps, map_state
from unspool.nn.recurrent import Recurrent
from unspool.nn.transformer import DecoderState, TransformerDecoder


class Next(NamedTuple):
    """The scores of what follows each step, and the state after the last."""

    logits: Tensor  # (B, T, V)
    state: Any


class CausalModel(nn.Module, ABC):
    """A subclass has an `encoder` that reads forwards, and an `output` layer."""

    encoder: Encoder
    output: nn.Module

    def forward(self, values: Tensor, state: Any = None) -> Next:
        outputs, state = self.read(values, state)
        return Next(self.output(outputs), state)

    @abstractmethod
    def read(self, values: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The inputs (B, T, H) of the output layer, and the new state; state None: nothing came
        before."""

    @abstractmethod
    def start(self, batch: int) -> Any:
        """The state before the first step."""

    def step(self, values: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One step a row, (B, ...) -> logits (B, V) for the next, and the new state."""
        logits, state = self(values[:, None], state)
        return logits[:, 0], state

    def streaming_unsupported_reason(self) -> str | None:
        """A language model reads forwards."""
        return None

    def extend(self, carried: Any, values: Tensor, *rest: Any) -> NextSteps:
        """The logits (B, T, V) of sequences whose next steps are `values`; `carried`: of those
        before, None where there are none."""
        return NextSteps(*self(values, self.start(len(values)) if carried is None else carried))

    @abstractmethod
    def select(self, state: Any, rows: Tensor) -> Any:
        """The state of some rows of the batch, for search."""

    by_prefix: ClassVar[bool] = False  # as of `Decoder`

    def export_step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        """For a graph: the latest step (B,) of ids, or all so far (B, T), -> scores (B, V), and
        the new state, of tensors in tuples."""
        logits, state = self(ids[:, None], state)
        return logits[:, 0], state


class RecurrentCausal(CausalModel):
    """A recurrent encoder, whose state is carried."""

    dropout: Dropout

    def read(self, values: Tensor, state: Any) -> tuple[Tensor, Any]:
        encoded = self.encoder(values, state=state)
        return self.dropout(encoded.outputs), encoded.state

    def start(self, batch: int) -> Any:
        assert isinstance(self.encoder.network, Recurrent)
        return self.encoder.network.start(batch)

    def select(self, state: Any, rows: Tensor) -> Any:
        return map_state(state, lambda tensor: tensor[rows])


class Context(NamedTuple):
    """Inputs read so far (B, ≤ length, ...), and their keys and values."""

    values: Tensor
    decoder: DecoderState


class TransformerCausal(CausalModel):
    """A Transformer whose steps see those before them, `length` at most.

    A context that is full begins anew with its last half, which is read again. So step by step
    everything is predicted from at least half a context, as `StridedBatches` arranges evaluation.
    """

    length: int
    by_prefix = True

    def export_step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        return self(ids)[0][:, -1], ()

    def read(self, values: Tensor, state: Context | None) -> tuple[Tensor, Context | None]:
        """Without a state, as in training, a window is read at once and leaves none."""
        if state is None:
            return self.encoder(values).outputs, None
        read = []
        while values.shape[1]:
            if state.values.shape[1] == self.length:
                half = state.values[:, self.length - self.length // 2 :]
                _, state = self._append(half, self.start(len(values)))
            room = self.length - state.values.shape[1]
            outputs, state = self._append(values[:, :room], state)
            read.append(outputs)
            values = values[:, room:]
        return torch.cat(read, 1), state

    def _append(self, values: Tensor, state: Context) -> tuple[Tensor, Context]:
        """Read what there is room for."""
        encoded = self.encoder(values, state=state.decoder)
        return encoded.outputs, Context(torch.cat([state.values, values], 1), encoded.state)

    @property
    def transformer(self) -> TransformerDecoder:
        assert isinstance(self.encoder.network, TransformerDecoder)
        return self.encoder.network

    @abstractmethod
    def nothing(self, batch: int) -> Tensor:
        """(B, 0, ...) values of no step"""

    def start(self, batch: int) -> Context:
        return Context(self.nothing(batch), self.transformer.start())

    def select(self, state: Context, rows: Tensor) -> Context:
        return Context(state.values[rows], self.transformer.select(state.decoder, rows))
