"""Readings of tasks that answer with a label or a number to two texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from unspool.data.fields.pair import as_pair
from unspool.tasks.label_readings import (
    ClassifyReading,
    DocumentReading,
    MultilabelReading,
    RegressReading,
)
from unspool.tasks.reading import longest, named, names_before, shown, unknown

if TYPE_CHECKING:
    from unspool.tasks.task import Task


class PairReading(DocumentReading):
    """One step for both texts, which are one sequence of tokens; `first` of the second's."""

    def __init__(
        self,
        task: Task,
        model: Any,
        text: Any,
        ids: np.ndarray | None = None,
        first: int | None = None,
    ) -> None:
        tokenizer = task.tokenizer
        pair, whole, names = as_pair(text), 0, None
        if ids is None or first is None:
            values = task.part(**{task.input: [pair]})[task.input]
            ids, first = values[0], int(values.firsts[0])
            before, between, after = values.pair_frame
            kept = values.kept[0]
            own = [tokenizer.pieces(side)[:n] for side, n in zip(pair, kept)]
            names = [
                *shown(tokenizer, before),
                *named(tokenizer, ids[len(before) :].tolist(), own[0])[: len(own[0])],
                *shown(tokenizer, between),
                *named(tokenizer, ids[first:].tolist(), own[1])[: len(ids) - first - len(after)],
                *shown(tokenizer, after),
            ]
        limit = longest(model)
        self.task, self.model, self.ids = task, model, ids[:limit]
        self.first, self.pieces = min(first, len(self.ids) - 1), None
        self.before = names_before(model.encoder)
        names = names or shown(tokenizer, self.ids.tolist())
        whole = len(ids) + len(self.before)
        given = task.input_field.shown(pair)
        super(DocumentReading, self).__init__(given, [*self.before, *names[: len(self.ids)]], whole)

    def together(self, readings: Sequence[Any]) -> Tensor:
        rows = torch.from_numpy(np.stack([each.ids for each in readings]))
        lengths = torch.full((len(rows),), rows.shape[1])
        firsts = torch.tensor([each.first for each in readings])
        return self.model(rows, lengths, firsts)[:, None]

    @property
    def sides(self) -> list[range]:
        """The steps of each text in `ids`, without what stands around them."""
        before, between, after = self.task.tokenizer.pair_frame
        return [
            range(len(before), self.first - len(between)),
            range(self.first, len(self.ids) - len(after)),
        ]

    def removable(self, step: int) -> list[int]:
        """The tokens of both texts, as long as one of each is left."""
        return [len(self.before) + t for own in self.sides if len(own) > 1 for t in own]

    def without(self, token: int) -> Self:
        at = token - len(self.before)
        first = self.first - (at < self.first)
        return type(self)(self.task, self.model, self.text, np.delete(self.ids, at), first)

    def blank(self) -> Self:
        ids = self.ids.copy()
        for own in self.sides:
            ids[own.start : own.stop] = unknown(self.task.tokenizer)
        return type(self)(self.task, self.model, self.text, ids, self.first)

    @property
    def input_module(self) -> nn.Module:
        """What reads the vectors of both texts."""
        between = self.model.encoder.between
        return self.network if between is None else between


class PairClassifyReading(ClassifyReading, PairReading):
    pass


class PairMultilabelReading(MultilabelReading, PairReading):
    pass


class PairRegressReading(RegressReading, PairReading):
    pass


READINGS: dict[str, type[PairReading]] = {
    "label": PairClassifyReading,
    "labels": PairMultilabelReading,
    "number": PairRegressReading,
}
