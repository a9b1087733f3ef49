"""Any recurrent cell as a decoder, with attention or without.

In: an `Encoded` source, whose outputs are the memory (B, S, D_m); the tokens (B, T) so far. Out:
scores (B, T, V) for the next ones; and where it looked, the alignment (B, T, S).

Whole targets whose cell has to wait for the attention go through native kernels
(`native/attention_decoder.py`) where these can take them; the loop over `_advance` is the readable
reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from unspool.errors import choose
from unspool.native import attention_decoder
from unspool.native.attention_weights import DecoderWeights, SourceWeights
from unspool.nn import init
from unspool.nn.attention import Additive, Memory, Multiplicative
from unspool.nn.cells import Cell
from unspool.nn.copying import CopyOutput, CopyTable
from unspool.nn.decoders import DecodedTargets, Decoder
from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoded
from unspool.nn.heads import TokenOutput
from unspool.nn.inputs import TokenEmbedding
from unspool.nn.masks import check_lengths, zero_padding
from unspool.nn.network import RecurrentState, map_state
from unspool.nn.packing import Packing
from unspool.nn.recurrent import Recurrent
from unspool.nn.recurrent_paths import Fast
from unspool.nn.taps import Tap, recording

DecoderAttention = Literal["none", "additive", "dot", "scaled", "general", "concat"]
DECODER_ATTENTIONS: tuple[DecoderAttention, ...] = (
    "none", "additive", "dot", "scaled", "general", "concat",
)  # fmt: skip


class RecurrentDecoderState(NamedTuple):
    """State of a `RecurrentDecoder` after some steps.

    cells      s_t of each layer
    memory     what is attended to; None without attention
    vector     (B, ·) c without attention; h~_t with input feeding; otherwise None
    alignment  α_t (B, S) of the latest step; None before the first, and without attention
    coverage   (B, S) Σ α of all steps before; None where attention does not read it
    table      what may be copied; None: nothing
    """

    cells: RecurrentState
    memory: Memory | None
    vector: Tensor | None
    alignment: Tensor | None
    coverage: Tensor | None = None
    table: CopyTable | None = None


class RecurrentDecoder(Decoder):
    """Any cell as a decoder, with the attention of Bahdanau, of Luong, or none.

        none        s_t = g([y_t; c], s_{t-1})                 c = h, what the encoder ended with
        additive    c_t = attend(s_{t-1}), s_t = g([y_t; c_t], s_{t-1})
        the others  s_t = g(y_t, s_{t-1}), c_t = attend(s_t)

        gated       c_t = β_t attend(s_{t-1}), β_t = σ(w_β · s_{t-1} + b_β)

        h~_t   = tanh(W_c [c_t; s_t])
        logits = V h~_t + b

    where y_t is the embedding of the latest token. None is the course's s_t = g_U(y_t, s_{t-1}, c)
    (Cho et al. 2014); additive is Bahdanau et al. (2015); "dot", "scaled", "general" and "concat"
    are the scores of Luong et al. (2015), where `input_feeding` gives the cell [y_t; h~_{t-1}]
    instead of y_t (section 3.3). The output layer is Luong's in all of them.

    Every layer begins with s_0 = tanh(W_s h + b_s), each with its own W_s. h (B, D_m) is the final
    state of the encoder's layer at the same distance from the top, both directions of it side by
    side; without such a state the mean of the memory (Xu et al. 2015).

    memory     D_m, the size of the encoder's vectors
    units      of additive attention; None: `hidden`
    gated      of additive attention: how much of the context counts is learnt (Xu et al. 2015,
               section 4.2.1), so that words that follow from those before need not look
    tied       the output layer shares the matrix of the embedding
    copying    tokens of the source may be copied, by the alignment (`nn/copying.py`)
    coverage   additive attention reads what it has attended to, and repeating it costs
               `coverage_weight` in the loss; with copying alone
    dropout    on the token vectors, between layers and on h~, in training

    The tap `alignment` passes α (B, T, S), or (B, 1, S) in a step.
    """

    beta: nn.Linear | None

    def __init__(
        self,
        vocab: int,
        *,
        memory: int,
        embedding: int,
        cell: str | type[Cell],
        hidden: int,
        layers: int = 1,
        attention: DecoderAttention = "additive",
        units: int | None = None,
        input_feeding: bool = False,
        gated: bool = False,
        tied: bool = False,
        copying: bool = False,
        coverage: bool = False,
        dropout: float = 0.0,
        fast: Fast = "auto",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        choose("attention", attention, DECODER_ATTENTIONS)
        if input_feeding and attention in ("none", "additive"):
            raise ValueError(
                f"input_feeding is for multiplicative attention: with {attention!r} the cell reads "
                "the context anyway"
            )
        if copying and attention == "none":
            raise ValueError(
                "a decoder without attention cannot copy: nothing points at the source"
            )
        if coverage and not (copying and attention == "additive"):
            raise ValueError(f"coverage is for copying by additive attention; got {attention!r}")
        if gated and attention != "additive":
            raise ValueError(f"gated is for additive attention, not for {attention!r}")
        self.memory = memory
        self.kind = attention
        self.coverage_weight = float(coverage)
        self.input_feeding = input_feeding
        self.size = hidden
        self.embedding = TokenEmbedding(vocab, embedding, dropout=dropout)
        self.attention: Additive | Multiplicative | None = None
        if attention == "additive":
            units = units or hidden
            self.attention = Additive(hidden, memory, units=units, coverage=coverage)
        elif attention != "none":
            self.attention = Multiplicative(hidden, memory, score=attention)
        if self.attention is not None:
            self.alignment = Tap()
        self.beta = nn.Linear(hidden, 1) if gated else None
        more = memory if attention in ("none", "additive") else hidden * input_feeding
        self.recurrent = Recurrent(
            cell,
            embedding + more,
            hidden,
            layers=layers,
            dropout=dropout,
            fast=fast,
            options=options,
        )
        parts = [len(cells[0].state_names) for cells in self.recurrent.cells()]
        self.W_s = nn.ModuleList(nn.Linear(memory, n * hidden) for n in parts)
        self.W_c = nn.Linear(memory + hidden, hidden, bias=False)
        self.dropout = Dropout(dropout)
        kind = CopyOutput if copying else TokenOutput
        self.output = kind(hidden, vocab, tied_to=self.embedding if tied else None)
        for layer, blocks in zip(self.W_s, parts):
            assert isinstance(layer, nn.Linear)
            init.input_matrix_(layer.weight, blocks)
            nn.init.zeros_(layer.bias)
        init.linear_(self.W_c)
        if self.beta is not None:
            init.linear_(self.beta)

    def start(
        self, encoded: Encoded | None = None, *, aligned: bool = False
    ) -> RecurrentDecoderState:
        """With attention every state after a step has its alignment, asked for or not."""
        return self.initial_state(encoded)._replace(table=self.copy_table(encoded))

    def initial_state(self, encoded: Encoded | None) -> RecurrentDecoderState:
        """The state before the first token, without what may be copied."""
        if encoded is None:
            raise ValueError("a RecurrentDecoder reads a memory: give what an encoder has read")
        memory, keep = encoded.outputs, encoded.keep
        h = self._summaries(memory, keep, encoded.state)
        # What is carried through time stays precise under autocast, and is what kernels take.
        cells = tuple(
            (tuple(s.contiguous() for s in torch.tanh(W(h_k)).to(h_k.dtype).split(self.size, -1)),)
            for W, h_k in zip(self.W_s, h)
        )
        if self.attention is None:
            return RecurrentDecoderState(cells, None, h[-1], None)
        ready = self.attention.prepare(memory, keep)
        vector = memory.new_zeros(memory.shape[0], self.size) if self.input_feeding else None
        coverage = memory.new_zeros(memory.shape[:2]) if self.coverage_weight else None
        return RecurrentDecoderState(cells, ready, vector, None, coverage)

    def _summaries(
        self, memory: Tensor, keep: Tensor | None, state: RecurrentState | None
    ) -> list[Tensor]:
        """h (B, D_m) for each layer of this decoder."""
        layers = len(self.recurrent.cells())
        if state is None:
            if keep is None:
                return [memory.mean(1)] * layers
            total = zero_padding(memory, keep).sum(1)
            return [total / keep.sum(1, keepdim=True).clamp(min=1)] * layers
        if len(state) < layers:
            raise ValueError(
                f"the encoder has {len(state)} layers, too few for {layers} of the decoder"
            )
        return [torch.cat([cell[0] for cell in layer], -1) for layer in state[-layers:]]

    def step(
        self, ids: Tensor, state: RecurrentDecoderState
    ) -> tuple[Tensor, RecurrentDecoderState]:
        y = self.embedding(self.known(ids))
        vector, state = self._advance(y, state, self._mask(ids.shape[0]))
        if state.alignment is not None:
            self.alignment(state.alignment[:, None])
        return self.mixed(self.output(vector), state.alignment, state.table), state

    def read(
        self, ids: Tensor, encoded: Encoded | None = None, *, lengths: Tensor | None = None
    ) -> DecodedTargets:
        state = self.initial_state(encoded)
        y = self.embedding(self.known(ids))  # (B, T, E)
        lengths = check_lengths(lengths, y)
        mask = self._mask(*y.shape[:2])
        if self._waits() and self.unsupported_reason(y) is None:
            return self._run_native(y, state, lengths, mask)
        if self.kind == "additive" or self.input_feeding:
            return self._run_loop(y, state, mask)
        # The cell does not wait for what attention finds: all steps at once.
        if state.vector is not None:
            y = torch.cat([y, state.vector[:, None].expand(-1, y.shape[1], -1)], -1)
        s = self.recurrent(y, lengths, state=state.cells).outputs  # (B, T, H)
        if self.attention is None or state.memory is None:
            assert state.vector is not None
            return DecodedTargets(
                self._join(state.vector[:, None].expand(-1, s.shape[1], -1), s, mask)
            )
        context, weights = self.attention.read(s, state.memory)
        self.alignment(weights)
        return DecodedTargets(self._join(context, s, mask), weights)

    def _waits(self) -> bool:
        """Whether steps are best made one by one: what attention finds goes into the cell, or its
        (B, T, S, H) of all steps at once would be large."""
        return self.kind in ("additive", "concat") or self.input_feeding

    def unsupported_reason(self, y: Tensor) -> str | None:
        """None where native kernels can read whole targets with vectors like y, otherwise why not:
        the loop runs then."""
        if self.attention is None:
            return "it has no attention"
        if self.recurrent.fast is False:
            return "fast=False"
        if self.beta is not None:
            return "its context has a gate"
        if recording(self):
            return "a tap is recorded"
        cells = [cells[0] for cells in self.recurrent.cells()]
        reasons = (cell.native_unsupported_reason(y) for cell in cells)
        first = next((reason for reason in reasons if reason is not None), None)
        return first or attention_decoder.unsupported_reason([cell.native() for cell in cells])

    def _run_native(
        self, y: Tensor, state: RecurrentDecoderState, lengths: Tensor | None, mask: Tensor | None
    ) -> DecodedTargets:
        """All steps by the kernels, of real tokens alone: y (B, T, E) -> h~ (B, T, H)."""
        memory = state.memory
        assert memory is not None
        batch, steps = y.shape[:2]
        packing = Packing.of(batch, steps, lengths, by_time=True, device=y.device)
        source = SourceWeights.of(*memory[:3], packing.order)
        packed = None if mask is None else packing.pack(mask)
        between = [self._mask(batch, steps, module=self.recurrent.dropout) for _ in state.cells[1:]]
        result = attention_decoder.run(
            packing.pack(y),
            source,
            self.native_weights(),
            [tuple(map(packing.sort, layer[0])) for layer in state.cells],
            packing.offsets,
            mask=packed if self.input_feeding else None,
            masks=[None, *(None if m is None else packing.pack(m) for m in between)],
        )
        h = result.output
        if h is None:
            h = self._join(result.context, result.states, packed)
        return DecodedTargets(
            packing.unpack(h), packing.unpack(result.alignment) if self.copying else None
        )

    def native_weights(self) -> DecoderWeights:
        """Weights in the layout of the kernels."""
        attention, W_q, b_q, v, w_k = self.attention, None, None, None, None
        if isinstance(attention, Additive):
            W_q, b_q, v = attention.W.weight, attention.W.bias, attention.v.weight[0]
            w_k = attention.w_k
        elif attention is not None and attention.v is not None and attention.W is not None:
            W_q, v = attention.W[:, : attention.query], attention.v[0]
        cells = [w for (cell,) in self.recurrent.cells() if (w := cell.native()) is not None]
        return DecoderWeights(
            cells, self.kind == "additive", self.input_feeding, W_q, b_q, v, self.W_c.weight, w_k
        )

    def _run_loop(
        self, y: Tensor, state: RecurrentDecoderState, mask: Tensor | None
    ) -> DecodedTargets:
        """Step by step, the reference: y (B, T, E) -> h~ (B, T, H)."""
        vectors, alignments = [], []
        for t, y_t in enumerate(y.unbind(1)):
            vector, state = self._advance(y_t, state, None if mask is None else mask[:, t])
            vectors.append(vector)
            assert state.alignment is not None
            alignments.append(state.alignment)
        alignment = self.alignment(torch.stack(alignments, 1))
        return DecodedTargets(torch.stack(vectors, 1), alignment)

    def _advance(
        self, y: Tensor, state: RecurrentDecoderState, mask: Tensor | None
    ) -> tuple[Tensor, RecurrentDecoderState]:
        """One step: y_t (B, E) -> h~_t (B, H)"""
        cells, memory, vector, alignment, coverage, _ = state
        context = vector
        if self.kind == "additive" and self.attention is not None and memory is not None:
            s = cells[-1][0][0]
            context, alignment = self.attention.read(s, memory, coverage)
            coverage = None if coverage is None else coverage + alignment
            if self.beta is not None:
                context = torch.sigmoid(self.beta(s)) * context
        x = y if context is None else torch.cat([y, context], -1)
        outputs, cells = self.recurrent(x[:, None], state=cells)
        s = outputs[:, 0]
        if self.kind != "additive" and self.attention is not None and memory is not None:
            context, alignment = self.attention.read(s, memory)
        assert context is not None
        h = self._join(context, s, mask)
        vector = h if self.input_feeding else vector
        return h, RecurrentDecoderState(cells, memory, vector, alignment, coverage, state.table)

    def _mask(self, *shape: int, module: Dropout | None = None) -> Tensor | None:
        """Dropout mask (..., H), the same for the loop and the kernels; None: no dropout."""
        dropout = module or self.dropout
        if not (dropout.training and dropout.p):
            return None
        return dropout(self.W_c.weight.new_ones(*shape, self.size))

    def _join(self, context: Tensor, s: Tensor, mask: Tensor | None) -> Tensor:
        h = torch.tanh(self.W_c(torch.cat([context, s], -1)))
        return h if mask is None else h * mask

    def export_start(self, encoded: Encoded) -> Any:
        return self.initial_state(encoded.ragged())

    def export_step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        logits, state = self.step(ids, state)
        return logits, state._replace(alignment=None)

    def select(self, state: RecurrentDecoderState, rows: Tensor) -> RecurrentDecoderState:
        return RecurrentDecoderState(
            map_state(state.cells, lambda s: s[rows]),
            None if state.memory is None else state.memory.select(rows),
            None if state.vector is None else state.vector[rows],
            None if state.alignment is None else state.alignment[rows],
            None if state.coverage is None else state.coverage[rows],
            None if state.table is None else state.table.select(rows),
        )

    def describe(self) -> str:
        """Description of what the decoder adds to its cells."""
        attention = "no attention" if self.attention is None else self.attention.describe()
        feeding = ", input feeding" if self.input_feeding else ""
        gate = ", a gate β" if self.beta is not None else ""
        return f"{attention}{feeding}{gate}, W_s, W_c"
