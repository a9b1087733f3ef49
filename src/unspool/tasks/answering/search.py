"""The best span of a context, of scores of its windows; and when to answer at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LOWEST = -1e30


class Found(NamedTuple):
    """The best span of a context.

    start, stop   its first and last token
    span          start + end score
    none          that of no answer, the lowest of all windows
    """

    start: int
    stop: int
    span: float
    none: float

    @property
    def margin(self) -> float:
        """By how much the span is better than no answer."""
        return self.span - self.none


def best_span(starts: np.ndarray, stops: np.ndarray, longest: int) -> tuple[int, int, float]:
    """i ≤ j < i + longest with the largest starts[i] + stops[j]; (T,) and (T,)"""
    total = starts[:, None].astype(np.float64) + stops
    steps = np.arange(len(starts))
    length = steps - steps[:, None]
    total[(length < 0) | (length >= longest)] = 2 * LOWEST
    at = int(total.argmax())
    i, j = divmod(at, len(starts))
    return i, j, float(total[i, j])


def best_of_windows(
    scores: Sequence[np.ndarray], firsts: Sequence[int], starts: Sequence[int], longest: int
) -> Found:
    """Of the windows of one context.

    scores   (T, 2) of each, no answer at step 0, the context from step `firsts` on
    starts   the token of the context that each begins with
    """
    best: Found | None = None
    none = min(float(own[0].astype(np.float64).sum()) for own in scores)
    for own, first, start in zip(scores, firsts, starts):
        i, j, span = best_span(own[first:, 0], own[first:, 1], longest)
        if best is None or span > best.span:
            best = Found(start + i, start + j, span, none)
    assert best is not None
    return best


def best_threshold(margins: np.ndarray, answered: np.ndarray, silent: np.ndarray) -> float:
    """The margin above which to answer, so that the mean score is largest: (N,) the scores of each
    row where it is answered, and where it is not. Between two margins, in the middle."""
    order = np.argsort(-margins, kind="stable")
    gains = np.concatenate([[0.0], np.cumsum((answered - silent)[order])])
    best = int(gains.argmax())  # so many are answered, those of the largest margins
    sorted_margins = margins[order]
    if best == 0:
        return float(sorted_margins[0]) + 1.0
    if best == len(margins):
        return float(sorted_margins[-1]) - 1.0
    return float(sorted_margins[best - 1] + sorted_margins[best]) / 2
