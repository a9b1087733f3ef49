"""Answers to questions, and their report: exact match and F1, as SQuAD computes them."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unspool.tasks.answer import Answer, one_line
from unspool.tasks.task import Report

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
    """Lower case, without punctuation, articles and spaces that are not needed."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


class SquadScore(NamedTuple):
    exact: float
    f1: float


def f1_of(answer: str, wanted: str) -> float:
    """2 p r / (p + r) over the words that both have; of an empty one, whether both are."""
    one, other = normalized(answer).split(), normalized(wanted).split()
    if not one or not other:
        return float(one == other)
    common = sum((Counter(one) & Counter(other)).values())
    return 2 * common / (len(one) + len(other))


def score(answer: str, wanted: Sequence[str]) -> SquadScore:
    """Against the best of several right answers; none of them: "" is right."""
    answers = [reference for reference in wanted if normalized(reference)] or [""]
    exact = max(float(normalized(answer) == normalized(own)) for own in answers)
    return SquadScore(exact, max(f1_of(answer, own) for own in answers))


NONE = "(no answer)"


@dataclass(frozen=True)
class SpanAnswer(Answer):
    """An answer and where it stands: context[start:stop] == answer; "" where there is none.

    probability   that of the answer against no answer, σ(score - threshold)
    """

    plural = "answers"
    question: str
    context: str
    answer: str
    start: int
    stop: int
    probability: float

    repeats = "question"

    def __str__(self) -> str:
        shown = one_line(self.answer) or NONE
        return f"{shown}\t{self.probability:.4f}\t{one_line(self.question)}"

    def header(self) -> list[str]:
        return ["answer", "probability", "start", "stop", "question"]

    def rows(self, number: int) -> list[list[Any]]:
        places = [self.start, self.stop] if self.answer else ["", ""]
        return [[self.answer, f"{self.probability:.4f}", *places, self.question]]

    @property
    def warning(self) -> str | None:
        if not self.question.strip():
            return "without a question"
        return None if self.context.strip() else "without a context"

    def to_json(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "probability": self.probability,
            "start": self.start if self.answer else None,
            "stop": self.stop if self.answer else None,
            "question": self.question,
            "context": self.context,
        }


class SpanReport(Report):
    """Exact match and F1, in per cent as SQuAD gives them, of all questions, of those with an
    answer and of those without; beside what saying nothing would reach."""

    def __init__(
        self, scores: Sequence[SquadScore], has: np.ndarray, answered: np.ndarray, *, loss: float
    ) -> None:
        """has, given   (N,) bool: whether a question has an answer, and was given one"""
        exact, f1 = (np.array(values) for values in zip(*scores))
        self.scores, self.has, self.count = f1, has, len(has)
        self.interval = self.interval_over([self])
        self.metrics = {
            "f1": float(f1.mean()),
            "exact": float(exact.mean()),
            "loss": loss,
            "no_answer_f1": float((~has).mean()),
        }
        self.parts = {
            name: {
                "count": int(which.sum()),
                "exact": float(exact[which].mean()),
                "f1": float(f1[which].mean()),
                "answered": float(answered[which].mean()),
            }
            for name, which in (("with an answer", has), ("without one", ~has))
            if which.any()
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "answer",
            "examples": self.count,
            **self.metrics,
            "f1_interval": list(self.interval),
            "parts": self.parts,
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        m = self.metrics
        rows = [
            f"{self.count} questions",
            f"F1           {100 * m['f1']:.2f}   95 % interval {100 * low:.2f} to {100 * high:.2f}"
            " (bootstrap)",
            f"exact match  {100 * m['exact']:.2f}",
            f"never answering would reach F1 and exact match {100 * m['no_answer_f1']:.2f}",
            "",
            "questions       count  exact     F1  answered",
        ]
        rows += [
            f"{name:<14}  {part['count']:>5}  {100 * part['exact']:5.2f}  {100 * part['f1']:5.2f}"
            f"  {100 * part['answered']:7.1f}%"
            for name, part in self.parts.items()
        ]
        return rows
