"""The answer of a tagger of series: a label for each step, and the stretches of one label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unspool.tasks.answer import Answer


class Stretch(NamedTuple):
    """Steps `first` to `last` have one label; both by their names."""

    first: str
    last: str
    label: str
    probability: float  # mean over its steps


@dataclass(frozen=True)
class TaggedSeries(Answer):
    """A series with a label for each step."""

    plural: ClassVar[str] = "series"
    repeats: ClassVar[str | None] = None

    text: str  # what people call it
    steps: list[str]
    labels: list[str]
    probabilities: list[float]

    @property
    def stretches(self) -> list[Stretch]:
        stretches, start = [], 0
        for label, group in groupby(self.labels):
            stop = start + len(list(group))
            p = float(np.mean(self.probabilities[start:stop]))
            stretches.append(Stretch(self.steps[start], self.steps[stop - 1], label, p))
            start = stop
        return stretches

    def __str__(self) -> str:
        return ", ".join(
            f"{stretch.label} {stretch.first} to {stretch.last}" for stretch in self.stretches
        )

    def header(self) -> list[str]:
        return ["number", "step", "label", "probability"]

    def rows(self, number: int) -> list[list[Any]]:
        steps = zip(self.steps, self.labels, self.probabilities)
        return [[number, step, label, f"{p:.6f}"] for step, label, p in steps]

    def to_json(self) -> dict[str, Any]:
        return {
            "series": self.text,
            "steps": self.steps,
            "labels": self.labels,
            "probabilities": self.probabilities,
        }


def tagged_series(
    shown: str, steps: Sequence[str], tags: np.ndarray, p: np.ndarray, labels: Sequence[str]
) -> TaggedSeries:
    return TaggedSeries(shown, list(steps), [labels[tag] for tag in tags], p.tolist())
