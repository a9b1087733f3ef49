"""Spans of a context: the search for the best one, and the views of them for `look`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from unspool.data.fields.pair import as_pair
from unspool.data.part import Part
from unspool.tasks.answering.answer import NONE
from unspool.tasks.reading import AnswerText, AnswerView, InputView, longest, named, unknown
from unspool.tasks.reading_inputs import id_rows, reader_of_both

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
        """The margin of the span over no answer."""
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
    none = min(float(window[0].astype(np.float64).sum()) for window in scores)
    for window, first, start in zip(scores, firsts, starts):
        i, j, span = best_span(window[first:, 0], window[first:, 1], longest)
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


class QuestionView(InputView):
    """A question and its context, of which, if it is long, the window with the best span is read.

    first     the step where the context begins
    offsets   (N, 2) characters of its tokens
    """

    def __init__(self, task: Any, model: Any, text: Any) -> None:
        tokenizer, field = task.tokenizer, task.input_field
        question, self.context = pair = as_pair(text)
        before, between, _ = field.pair_frame
        part = Part.of(task.fields, question=[pair])
        ids, self.first, begin = best_window(task, model, part)
        self.offsets = part["question"].token_offsets[0][begin:]
        self.ids: np.ndarray = ids[: longest(model)]
        kept = self.ids.tolist()
        words = tokenizer.pieces(question)[: self.first - len(before) - len(between)]
        context = tokenizer.pieces(self.context)[begin:]
        names = [
            *named(tokenizer, kept, words, first=len(before))[: self.first],
            *named(tokenizer, kept, context, first=self.first)[self.first :],
        ]
        super().__init__(task, model, field.form.shown(pair), names, len(ids))

    def batch(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return *id_rows(inputs), torch.tensor([view.first for view in inputs])

    def removable(self) -> list[int]:
        return []  # the answers are the tokens themselves

    def without(self, token: int) -> Self:
        raise NotImplementedError

    def blank(self) -> Self:
        return self.changed(ids=np.full_like(self.ids, unknown(self.task.tokenizer)))

    @property
    def input_module(self) -> nn.Module:
        return reader_of_both(self)


class SpanView(AnswerView):
    """Two steps, the start and the end of an answer, each one of the T tokens; the first token
    stands for no answer."""

    @property
    def steps(self) -> Sequence[str]:
        return ["start", "end"]

    def default_step(self) -> int:
        return 0

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        return self.model(*batch).transpose(1, 2)  # (B, 2, T)

    def chosen(self, scores: Tensor) -> list[int]:
        """The best span; 0 and 0 where no answer is better."""
        x, first = scores.double().cpu().numpy(), self.input.first
        i, j, span = best_span(x[0, first:], x[1, first:], len(self.input.ids))
        if span - float(x[:, 0].sum()) <= self.task.threshold:
            return [0, 0]
        return [first + i, first + j]

    def name(self, answer: int) -> str:
        """A token that occurs several times, with its number in the sequence."""
        if answer == 0:
            return NONE
        tokens = self.input.tokens
        token = tokens[answer]
        return token if tokens.count(token) == 1 else f"{token} (token {answer + 1})"

    def summary(self, scores: Tensor) -> AnswerText:
        start, stop = self.chosen(scores)
        p, offsets = self.values(scores), self.input.offsets
        first, last = float(p[0, start]), float(p[1, stop])
        note = f"probability {first:.4f} of its start, {last:.4f} of its end"
        if start == 0 or not len(offsets):
            return AnswerText(NONE, note)
        a, b = (min(step - self.input.first, len(offsets) - 1) for step in (start, stop))
        return AnswerText(self.input.context[offsets[a, 0] : offsets[b, 1]], note)


@torch.no_grad()
def best_window(task: Any, model: Any, part: Any) -> tuple[np.ndarray, int, int]:
    """The ids of the window with the best span, the step where its context begins, and which token
    of the whole context that is."""
    values = task.windowed(part, training=False)["question"]
    best, row_best = -np.inf, 0
    for row in range(len(values)) if len(values) > 1 else ():
        ids = torch.from_numpy(values[row])[None]
        first = torch.tensor([int(values.firsts[row])])
        y = model(ids, torch.tensor([ids.shape[1]]), first)[0].double().numpy()
        span = best_span(y[first:, 0], y[first:, 1], len(y))[2]
        if span > best:
            best, row_best = span, row
    return values[row_best], int(values.firsts[row_best]), int(values.windows.first[row_best])
