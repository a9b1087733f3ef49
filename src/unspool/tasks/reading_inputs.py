"""Views of the inputs that several tasks read: texts, pairs of texts, tokens, series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from unspool.data.part import Part
from unspool.data.read.recording import Recording
from unspool.data.store.ragged import Windows, cut_windows
from unspool.nn.efficientnet import EncoderInput
from unspool.nn.images import ConvolutionalInput
from unspool.nn.models.causal import TransformerCausal
from unspool.tasks.reading import (
    InputView,
    longest,
    named,
    names_before,
    nothing,
    shown,
    token_batch,
    unknown,
)


class DocumentView(InputView):
    """A text. `pieces`: its tokens, where the model reads their characters."""

    pieces: list[str] | None = None

    def __init__(self, task: Any, model: Any, text: str) -> None:
        tokenizer = task.tokenizer
        ids = Part.of(task.fields, **{task.input: [text]})[task.input][0]
        self.ids: np.ndarray = ids[: longest(model)]
        self.before = names_before(model.encoder)
        names = tokenizer.pieces(text) or [""]
        if task.config.embedding.contextual is not None:
            self.pieces = names = names[: len(self.ids)]
        else:
            names = named(tokenizer, ids.tolist(), names, first=len(tokenizer.frame.before))
        tokens = [*self.before, *names[: len(self.ids)]]
        super().__init__(task, model, text, tokens, len(ids) + len(self.before))

    def batch(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        pieces = None if self.pieces is None else [view.pieces for view in inputs]
        return token_batch(self.task.input_field, [view.ids for view in inputs], pieces).inputs

    @property
    def sides(self) -> list[range]:
        """The indices in `ids` of each text, without the special tokens around it."""
        frame = self.task.tokenizer.frame
        return [range(len(frame.before), len(self.ids) - len(frame.after))]

    def removable(self) -> list[int]:
        """The tokens of each text, as long as one of it is left."""
        return [len(self.before) + t for side in self.sides if len(side) > 1 for t in side]

    def without(self, token: int) -> Self:
        at = token - len(self.before)
        pieces = self.pieces and self.pieces[:at] + self.pieces[at + 1 :]
        tokens = self.tokens_without(token)
        return self.changed(ids=np.delete(self.ids, at), pieces=pieces, tokens=tokens)

    def blank(self) -> Self:
        ids = self.ids.copy()
        for side in self.sides:
            ids[side.start : side.stop] = unknown(self.task.tokenizer)
        return self.changed(ids=ids, pieces=self.pieces and [""] * len(self.pieces))


class PairView(DocumentView):
    """Two texts as one sequence of tokens; `first`: where the second begins."""

    def __init__(self, task: Any, model: Any, text: Any) -> None:
        tokenizer, field = task.tokenizer, task.input_field
        pair = field.form.texts(text)
        values = Part.of(task.fields, **{task.input: [pair]})[task.input]
        ids, first = values[0], int(values.firsts[0])
        before, between, after = values.pair_frame
        a, b = (tokenizer.pieces(side)[:n] for side, n in zip(pair, values.kept[0]))
        names = [
            *shown(tokenizer, before),
            *named(tokenizer, ids[len(before) :].tolist(), a)[: len(a)],
            *shown(tokenizer, between),
            *named(tokenizer, ids[first:].tolist(), b)[: len(ids) - first - len(after)],
            *shown(tokenizer, after),
        ]
        self.ids = ids[: longest(model)]
        self.first = min(first, len(self.ids) - 1)
        self.before = names_before(model.encoder)
        tokens = [*self.before, *names[: len(self.ids)]]
        full_length = len(ids) + len(self.before)
        InputView.__init__(self, task, model, field.form.shown(pair), tokens, full_length)

    def batch(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return *id_rows(inputs), torch.tensor([view.first for view in inputs])

    @property
    def sides(self) -> list[range]:
        before, between, after = self.task.tokenizer.pair_frame
        return [
            range(len(before), self.first - len(between)),
            range(self.first, len(self.ids) - len(after)),
        ]

    def without(self, token: int) -> Self:
        first = self.first - (token - len(self.before) < self.first)
        return super().without(token).changed(first=first)

    @property
    def input_module(self) -> nn.Module:
        return reader_of_both(self)


class TokensView(InputView):
    """Tokens by their ids alone; `pieces` name those outside of the vocabulary."""

    def __init__(
        self,
        task: Any,
        model: Any,
        text: str,
        ids: np.ndarray | None = None,
        pieces: Sequence[str] = (),
        limit: int | None = None,
    ) -> None:
        if ids is None:
            ids, pieces = task.tokenizer.encode(text), task.tokenizer.pieces(text)
        self.ids: np.ndarray = ids[: limit or steps_read(model)]
        tokens = named(task.tokenizer, self.ids.tolist(), pieces)
        super().__init__(task, model, text, tokens, len(ids))

    def batch(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return id_rows(inputs)

    def without(self, token: int) -> Self:
        return self.changed(ids=np.delete(self.ids, token), tokens=self.tokens_without(token))

    def blank(self) -> Self:
        return self.changed(ids=np.full_like(self.ids, unknown(self.task.tokenizer)))


class SeriesView(InputView):
    """The steps of a series; `vectors` (T, size) are read by the input layer."""

    keeps_length = True

    def __init__(self, task: Any, model: Any, item: Any) -> None:
        field, data = task.input_field, task.config.data
        self.item: Recording = field.recording(item, "the series")
        if not len(self.item):
            if field.form.display.audible:
                field.refuse(self.item, "the sound")  # reports that it is silent
            raise nothing()
        field.refuse(self.item, "the series")
        names, values = field.labels(self.item), field.encode([self.item])
        if data.window:
            windows = cut_windows(values.lengths, data.window, data.window_stride)
            self.windows = len(windows.origin)
            values = values.windows(Windows(*(column[:1] for column in windows)))
        self.vectors: np.ndarray = field.vectors(values, 0)[: steps_read(model)]
        # Where a convolution makes other steps, the vectors of its grid are explained.
        self.convolved = isinstance(model.encoder.input, ConvolutionalInput | EncoderInput)
        self.before = names_before(model.encoder)
        self.step_cost = field.source.cost
        self.elements = [] if self.convolved else field.inputs
        self.first_step = -len(self.before)
        steps = names if self.convolved else names[: len(self.vectors)]
        tokens = [*self.before, *steps]
        super().__init__(task, model, str(self.item), tokens, len(names) + len(self.before))

    @property
    def input_module(self) -> nn.Module:
        """The input layer, which reads channels; after a convolution, the network."""
        return self.network if self.convolved else self.model.encoder.input

    @property
    def token_spans(self) -> list[tuple[int, int]]:
        """The columns of the image that each column of a convolution stands for."""
        layer, spans = self.model.encoder.input, super().token_spans
        if not self.convolved or not layer.by_columns:
            return spans
        return spans[: len(self.before)] + strides(len(self.vectors), layer.stride)

    def batch(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        x = torch.from_numpy(np.stack([view.vectors for view in inputs]))
        number = next(self.model.parameters()).dtype
        return x.to(number), torch.full((len(inputs),), len(self.vectors))

    def without(self, token: int) -> Self:
        """Replace a step by means: time goes on without it."""
        vectors = self.vectors.copy()
        self.task.input_field.source.hide(vectors, token - len(self.before), self.mean())
        return self.changed(vectors=vectors)

    def blank(self) -> Self:
        return self.changed(vectors=np.tile(self.mean(), (len(self.vectors), 1)))

    def mean(self) -> np.ndarray:
        """(size,) a step at which every channel has its mean, which is 0 after scaling."""
        mean = np.zeros(self.vectors.shape[1], dtype=np.float32)
        field = self.task.input_field
        first = len(field.channels)
        mean[first : first + len(field.gappy)] = 1  # observed
        return mean


def steps_read(model: nn.Module) -> int:
    """Steps that are read of an input: a causal transformer has positions for so many."""
    limit = longest(model)
    return min(limit, model.length) if isinstance(model, TransformerCausal) else limit


def id_rows(inputs: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """The ids (B, T) of inputs of one length, and that length (B,)."""
    rows = torch.from_numpy(np.stack([view.ids for view in inputs]))
    return rows, torch.full((len(rows),), rows.shape[1])


def reader_of_both(view: InputView) -> nn.Module:
    """The module that reads the vectors of two texts."""
    between = view.model.encoder.between
    return view.network if between is None else between


def strides(length: int, stride: int) -> list[tuple[int, int]]:
    """The stretches [first, stop) that steps of `stride` cover."""
    return [(at, min(length, at + stride)) for at in range(0, length, stride)]
