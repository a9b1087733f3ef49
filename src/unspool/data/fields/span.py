"""span: the answers to a question as stretches of its context; none where it has no answer.

raw: a list of [first character, character after the last]. values: `AnswerSpans`. tensors:
`SpanBatch`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.field import Field
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.ragged import Ragged


class SpanBatch(NamedTuple):
    """The steps of a sequence that an answer begins and ends with; 0 where there is none."""

    starts: Tensor  # (B,) int64
    stops: Tensor  # (B,) int64


class AnswerSpans:
    """`all`: the answers of N rows, (·, 2) characters."""

    def __init__(self, all: Ragged) -> None:
        self.all = all

    def __len__(self) -> int:
        return len(self.all)

    @property
    def answered(self) -> np.ndarray:
        """(N,) bool"""
        return self.all.lengths > 0

    def prints(self, common: dict[str, int]) -> np.ndarray:
        return np.array([hash(self.all[row].tobytes()) for row in range(len(self))], np.int64)

    def select(self, rows: np.ndarray) -> AnswerSpans:
        return AnswerSpans(self.all.select(rows))


class StepSpans:
    """The steps of sequences where answers begin and end, (W,) each; 0 where there is none."""

    def __init__(self, starts: np.ndarray, stops: np.ndarray) -> None:
        self.starts, self.stops = starts, stops

    def __len__(self) -> int:
        return len(self.starts)

    def select(self, rows: np.ndarray) -> StepSpans:
        return StepSpans(self.starts[rows], self.stops[rows])


class SpanWriter:
    def __init__(self, folder: Path, name: str) -> None:
        self.file = folder / f"{name}.npz"
        self.values, self.lengths = array("q"), array("q")

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        for spans in values:
            self.lengths.append(len(spans))
            self.values.extend(number for span in spans for number in span)

    def close(self) -> None:
        values = np.array(self.values, np.int64).reshape(-1, 2)
        np.savez(self.file, values=values, lengths=np.array(self.lengths, np.int64))


class SpanField(Field):
    kind = "span"
    unit = "answers"
    is_target = True

    def storage_key(self) -> Any:
        return self.kind

    def writer(self, folder: Path) -> SpanWriter:
        return SpanWriter(folder, self.name)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> Ragged:
        with np.load(folder / f"{self.name}.npz") as stored:
            return Ragged.of_lengths(stored["values"], stored["lengths"])

    def strata(self, column: Ragged) -> np.ndarray:
        return (column.lengths > 0).astype(np.int64)

    def fit(
        self, column: Ragged, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        without = int((column.lengths[rows] == 0).sum())
        return [f"{without:,} of {len(rows):,} training questions have no answer"]

    def invent(self, *, vocab: int, classes: int) -> None:
        return

    def values(self, column: Ragged, progress: Progress = None) -> AnswerSpans:
        return AnswerSpans(column)

    def encode(self, raw: Sequence[Any]) -> AnswerSpans:
        return AnswerSpans(Ragged.of([np.array(spans, np.int64).reshape(-1, 2) for spans in raw]))

    def collate(self, values: Any, rows: np.ndarray) -> SpanBatch:
        if isinstance(values, AnswerSpans):  # characters, of which no model knows
            first = [values.all[row][:1].reshape(-1) for row in rows.tolist()]
            pairs = np.array([span if len(span) else (0, 0) for span in first], np.int64)
            return SpanBatch(*torch.from_numpy(pairs).unbind(1))
        return SpanBatch(
            torch.from_numpy(values.starts[rows]), torch.from_numpy(values.stops[rows])
        )

    def tally(self, values: AnswerSpans) -> dict[str, int]:
        answered = int(values.answered.sum())
        return {"answer": answered, "no answer": len(values) - answered}

    def save(self, folder: Path) -> None:
        return

    def load(self, folder: Path) -> None:
        return
