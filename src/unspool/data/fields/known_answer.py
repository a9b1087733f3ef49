"""known_answer: a label a row, of which other data may have more than the training rows.

raw, values and tensors: as of `label`. What the training rows do not have is one more label, OTHER,
which none of them has: no model learns to give it, so that it counts as wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unspool.data.fields.field import Where
from unspool.data.fields.label import LabelColumn, LabelField, Labels
from unspool.data.store.columns import Progress

OTHER = "(another answer)"


class KnownAnswerField(LabelField):
    kind = "known_answer"

    def fit(
        self, column: LabelColumn, rows: np.ndarray, *, where: str, progress: Progress | None = None
    ) -> list[str]:
        notes = super().fit(column, rows, where=where, progress=progress)
        self.names = [*self.names, OTHER]
        self.counts = np.append(self.counts, self.counts.max())  # for weights of classes
        return notes

    def values(self, column: LabelColumn, progress: Progress | None = None) -> Labels:
        return self._known(super().values(column, progress))

    def encode(self, raw: Sequence[Any]) -> Labels:
        return self._known(super().encode(raw))

    def _known(self, found: Labels) -> Labels:
        return Labels(np.where(found.ids < 0, len(self.names) - 1, found.ids), found.unknown)

    def check(self, values: Labels, where: Where) -> list[str]:
        others = values.ids == len(self.names) - 1
        if not others.any():
            return []
        first = where(int(np.argmax(others)))
        return [
            f"{int(others.sum()):,} answers do not occur in the training data and count as wrong,"
            f" the first at {first}"
        ]
