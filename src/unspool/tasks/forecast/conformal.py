"""Intervals that hold whatever the model: split conformal prediction, from the validation part.

Scores e_i of n forecasts that nothing was learnt from, larger is worse, give for the next one

    P(e ≤ q) ≥ 1 - α     with q the ⌈(n + 1)(1 - α)⌉-th smallest of them

as long as the next comes like those before (Vovk et al. 2005). The score is that of conformalised
quantile regression (Romano, Patterson and Candès 2019): how far the truth lies outside of the
model's own interval, negative inside, in units of a scale that is known in advance; where the model
has no interval of its own it is |y - ŷ|. One quantile for each step ahead.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from unspool.errors import RunError
from unspool.io.files import AGAIN, read_json, write_json

FILE = "intervals.json"
COVERAGES = (0.5, 0.8, 0.9, 0.95)


class Margins:
    """Margins (H,) by which intervals are widened, for each coverage and step ahead; without a
    validation part, intervals stay as the model gives them."""

    def __init__(self) -> None:
        self.by_coverage: dict[float, np.ndarray] = {}

    def at(self, coverage: float, horizon: int) -> np.ndarray:
        return self.by_coverage.get(coverage, np.zeros(horizon))

    def save(self, folder: Path) -> None:
        stored = {
            str(coverage): [None if math.isinf(x) else x for x in margins.tolist()]
            for coverage, margins in self.by_coverage.items()
        }
        write_json(folder / FILE, stored)

    def load(self, folder: Path, horizon: int) -> None:
        stored = read_json(folder / FILE)
        try:
            self.by_coverage = {
                float(coverage): np.array([math.inf if x is None else float(x) for x in margins])
                for coverage, margins in stored.items()
            }
            shapes = {margins.shape for margins in self.by_coverage.values()}
            fine = shapes <= {(horizon,)} and set(self.by_coverage) <= set(COVERAGES)
            fine &= not any(np.isnan(margins).any() for margins in self.by_coverage.values())
        except (AttributeError, TypeError, ValueError, OverflowError):
            fine = False
        if not fine:
            raise RunError("not the margins of intervals", where=folder / FILE, remedy=AGAIN)


def scores(y: np.ndarray, low: np.ndarray, high: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(N, H), scale (N, 1) or (N, H) > 0. A point forecast has low = high = ŷ."""
    return np.maximum(low - y, y - high) / scale


def margins(scores: np.ndarray, coverage: float) -> np.ndarray:
    """(H,) the conformal quantile of scores (N, H) for each step, NaN where the truth is missing.
    Of fewer than `needed` scores the largest, which promises n / (n + 1); infinite of none."""
    result = np.full(scores.shape[1], np.inf)
    for step, column in enumerate(scores.T):
        known = np.sort(column[~np.isnan(column)])
        if len(known):
            rank = math.ceil((len(known) + 1) * coverage)
            result[step] = known[min(rank, len(known)) - 1]
    return result


def needed(coverage: float) -> int:
    """Scores without which a coverage cannot be promised: n / (n + 1) is at least that."""
    return math.ceil(coverage / (1 - coverage) - 1e-9)


def widened(
    low: np.ndarray, high: np.ndarray, margin: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The interval moved out by the margin (H,), or in; it never turns inside out."""
    middle = (low + high) / 2
    return np.minimum(low - margin * scale, middle), np.maximum(high + margin * scale, middle)
