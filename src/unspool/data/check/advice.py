"""Settings that suit the data: measurements in, suggestions with their reasons out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from unspool.errors import Setting

LONG = 400  # tokens beyond which a recurrent network is slow and forgets
FEW_ROWS, MANY_ROWS = 1_000, 200_000
SKEW = 10  # largest class over smallest
FEW_OF_LABEL = 20  # rows


Advice: TypeAlias = tuple[Setting | None, str]


@dataclass(frozen=True)
class Suggestion:
    """`setting` is ready to be used; some advice has none."""

    setting: str | None
    reason: str

    def __str__(self) -> str:
        return f"{self.setting}  ({self.reason})" if self.setting else self.reason


def about_pairs(lengths: np.ndarray, max_length: int, pairs: int) -> Iterator[Advice]:
    """`lengths` of the longer side of all pairs; `pairs` to train on."""
    if max_length and (left := (lengths > max_length).mean()) > 0.01:
        longest = int(-(-np.percentile(lengths, 99) // 50) * 50)
        yield (
            Setting(max_length=longest),
            f"max_length={max_length} leaves out {100 * left:.0f} % of the pairs",
        )
    if pairs < 10 * FEW_ROWS:
        yield (
            Setting(vocab=2000, hidden=128),
            f"{pairs:,} pairs are few: a smaller vocabulary and model learn more from them",
        )


def about_lengths(lengths: np.ndarray, max_length: int) -> Iterator[Advice]:
    cut = int(-(-np.percentile(lengths, 90) // 50) * 50)
    if max_length == 0 and lengths.max() > LONG and cut < lengths.max():
        saved = 1 - np.minimum(lengths, cut).sum() / lengths.sum()
        touched = (lengths > cut).mean()
        if saved > 0.05:
            yield (
                Setting(max_length=cut),
                f"cuts {100 * touched:.0f} % of the documents and saves {100 * saved:.0f} % of"
                " the tokens",
            )
    if max_length and (share := (lengths > max_length).mean()) > 0.2:
        yield (Setting(max_length=cut), f"max_length={max_length} cuts {100 * share:.0f} % of them")


def about_labels(labels: dict[str, int], *, several: bool) -> Iterator[Advice]:
    total, largest = sum(labels.values()), max(labels, key=lambda name: labels[name])
    smallest = min(labels, key=lambda name: labels[name])
    if several:
        rare = sum(count < FEW_OF_LABEL for count in labels.values())
        if rare:
            yield (
                None,
                f"{rare} of {len(labels)} labels are in fewer than {FEW_OF_LABEL} rows, the rarest,"
                f" {smallest!r}, in {labels[smallest]}: give more rows of them",
            )
    elif labels[largest] >= SKEW * max(1, labels[smallest]):
        yield (
            Setting(class_weights="balanced"),
            f"the labels are unbalanced: always answering {largest!r} scores"
            f" {100 * labels[largest] / total:.1f} %, so judge by macro F1, and give more rows of"
            f" {smallest!r} ({labels[smallest]:,} now)",
        )


def about_size(rows: int) -> Iterator[Advice]:
    if rows > MANY_ROWS:
        yield (Setting(batch=128), f"{rows:,} rows: larger batches pass over them faster")


def about_stream(tokens: int) -> Iterator[Advice]:
    if tokens < 32 * 128 * 10:
        yield (Setting(batch=8, bptt=64), f"{tokens:,} tokens are few: more updates an epoch")
