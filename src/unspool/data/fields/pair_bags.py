"""pair_bags: two texts a row, as the counts of the n-grams of each, for a linear model.

raw: as of `pair`. values: `Bags`. tensors: `BagBatch`. Words of the second text are other features
than those of the first; texts of characters are one bag.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unspool.data.fields.bags import Bags, NgramField
from unspool.data.fields.pair import OfPairs, as_pair
from unspool.data.store.columns import Progress
from unspool.data.store.tokens import TokenColumn

SECOND = "›"  # before the words of a second text


class PairNgramField(OfPairs, NgramField):
    kind = "pair_bags"

    def fit(
        self, column: TokenColumn, rows: np.ndarray, *, where: str, progress: Progress | None = None
    ) -> list[str]:
        return NgramField.fit(self, self.sided(column), rows, where=where, progress=progress)

    def values(self, column: TokenColumn, progress: Progress | None = None) -> Bags:  # type: ignore[override]
        return NgramField.values(self, self.sided(column), progress)

    def sided(self, column: TokenColumn) -> TokenColumn:
        """A column of N texts, each of two, of which the words of the second are marked."""
        found = replace(
            column,
            offsets=column.offsets[::2],
            characters=column.characters.reshape(-1, 2).sum(1),
        )
        if self.settings.kind != "word":
            return found
        types = len(column.types)
        second = np.repeat(np.arange(len(column)) % 2, np.diff(column.offsets))
        ids = column.ids.astype(np.int64) + types * second
        return replace(
            found,
            ids=ids,
            types=[*column.types, *(SECOND + own for own in column.types)],
            counts=np.bincount(ids, minlength=2 * types),
        )

    def _pieces(self, text: Any) -> list[str]:
        first, second = (self.fitted.pieces(own) for own in as_pair(text))
        mark = SECOND if self.fitted.kind == "word" else ""
        return [*first, *(mark + own for own in second)][: self.max_length or None]

    def encode(self, raw: Sequence[Any]) -> Bags:  # type: ignore[override]
        return NgramField.encode(self, raw)
