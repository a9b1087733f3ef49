"""Spans of a context: the search for the best one, and what `look` shows of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from unspool.data.fields.pair import as_pair
from unspool.tasks.answering.answer import NONE
from unspool.tasks.reading import AnswerText, Reading, longest, named, unknown

if TYPE_CHECKING:
    from unspool.tasks.task import Task

LOWEST = -1e30


class BestSpan(NamedTuple):
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
) -> BestSpan:
    """The best span over the windows of one context.

    scores   (T, 2) of each, no answer at step 0, the context from step `firsts` on
    starts   the token of the context that each begins with
    """
    best: BestSpan | None = None
    none = min(float(own[0].astype(np.float64).sum()) for own in scores)
    for own, first, start in zip(scores, firsts, starts):
        i, j, span = best_span(own[first:, 0], own[first:, 1], longest)
        if best is None or span > best.span:
            best = BestSpan(start + i, start + j, span, none)
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


class SpanReading(Reading):
    """Two steps, the start and the end of an answer; what is answered is one of the T tokens, the
    first standing for no answer. Of a long context the window with the best span is read."""

    def __init__(
        self, task: Task, model: Any, text: Any, ids: np.ndarray | None = None, first: int = 0
    ) -> None:
        self.task, self.model = task, model
        pair, tokenizer = as_pair(text), task.tokenizer
        field: Any = task.input_field
        self.context, self.offsets = pair[1], np.empty((0, 2), np.int64)
        asked: list[str] = []
        told: list[str] = []
        before, between, _ = field.pair_frame
        if ids is None:
            part = task.part(question=[pair])
            ids, first, begin = best_window(task, model, part)
            self.offsets = part["question"].token_offsets[0][begin:]
            asked = tokenizer.pieces(pair[0])[: first - len(before) - len(between)]
            told = tokenizer.pieces(pair[1])[begin:]
        self.ids, self.first = ids[: longest(model)], first
        own = self.ids.tolist()
        names = [
            *named(tokenizer, own, asked, first=len(before))[:first],
            *named(tokenizer, own, told, first=first)[first:],
        ]
        super().__init__(field.shown(pair), names, len(ids))

    @property
    def asked(self) -> Sequence[str]:
        return ["start", "end"]

    def default_step(self) -> int:
        return 0

    def together(self, readings: Sequence[SpanReading]) -> Tensor:
        rows = torch.from_numpy(np.stack([each.ids for each in readings]))
        lengths = torch.full((len(rows),), rows.shape[1])
        firsts = torch.tensor([each.first for each in readings])
        return self.model(rows, lengths, firsts).transpose(1, 2)  # (R, 2, T)

    def chosen(self, scores: Tensor) -> list[int]:
        """The best span; 0 and 0 where no answer is better."""
        task: Any = self.task
        x = scores.double().cpu().numpy()
        i, j, span = best_span(x[0, self.first :], x[1, self.first :], len(self.ids))
        if span - float(x[:, 0].sum()) <= task.threshold:
            return [0, 0]
        return [self.first + i, self.first + j]

    def name(self, answer: int) -> str:
        """A token that occurs several times, with its number in the sequence."""
        if answer == 0:
            return NONE
        token = self.tokens[answer]
        return token if self.tokens.count(token) == 1 else f"{token} (token {answer + 1})"

    def answer_text(self, scores: Tensor) -> AnswerText:
        start, stop = self.chosen(scores)
        p = self.values(scores)
        first, last = float(p[0, start]), float(p[1, stop])
        note = f"probability {first:.4f} of its start, {last:.4f} of its end"
        if start == 0 or not len(self.offsets):
            return AnswerText(NONE, note)
        a, b = (min(step - self.first, len(self.offsets) - 1) for step in (start, stop))
        return AnswerText(self.context[self.offsets[a, 0] : self.offsets[b, 1]], note)

    def removable(self, step: int) -> list[int]:
        return []  # the answers are the tokens themselves

    def without(self, token: int) -> SpanReading:
        raise NotImplementedError

    def blank(self) -> SpanReading:
        ids = np.full_like(self.ids, unknown(self.task.tokenizer))
        return SpanReading(self.task, self.model, self.text, ids, self.first)

    @property
    def input_module(self) -> nn.Module:
        between = self.model.encoder.between
        return self.network if between is None else between


@torch.no_grad()
def best_window(task: Any, model: Any, part: Any) -> tuple[np.ndarray, int, int]:
    """The ids of the window with the best span, the step where its context begins, and which token
    of the whole context that is."""
    values = task.windowed(part, training=False)["question"]
    best, found = -np.inf, 0
    for row in range(len(values)) if len(values) > 1 else ():
        ids = torch.from_numpy(values[row])[None]
        first = torch.tensor([int(values.firsts[row])])
        y = model(ids, torch.tensor([ids.shape[1]]), first)[0].double().numpy()
        span = best_span(y[first:, 0], y[first:, 1], len(y))[2]
        if span > best:
            best, found = span, row
    return values[found], int(values.firsts[found]), int(values.windows.first[found])
