"""Scores of answers as SQuAD 2.0 has them (Rajpurkar et al. 2018): exact match and word F1."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
    """Lower case, without punctuation, articles and spaces that are not needed."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


class Score(NamedTuple):
    exact: float
    f1: float


def f1_of(given: str, wanted: str) -> float:
    """2 p r / (p + r) over the words that both have; of an empty one, whether both are."""
    one, other = normalized(given).split(), normalized(wanted).split()
    if not one or not other:
        return float(one == other)
    common = sum((Counter(one) & Counter(other)).values())
    return 2 * common / (len(one) + len(other))


def score(given: str, wanted: Sequence[str]) -> Score:
    """Against the best of several right answers; none of them: "" is right."""
    answers = [own for own in wanted if normalized(own)] or [""]
    exact = max(float(normalized(given) == normalized(own)) for own in answers)
    return Score(exact, max(f1_of(given, own) for own in answers))
