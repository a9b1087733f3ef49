"""ROUGE (Lin 2004): how much a summary has in common with those that people wrote, 0 to 1.

Tokens are runs of a-z and 0-9 after lowercasing, and no word is stemmed: what the package
rouge-score gives with use_stemmer=False. It is written here since that package brings nltk along.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

METRICS = ("rouge1", "rouge2", "rougeL")
_TOKEN = re.compile(r"[a-z0-9]+")


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


def f1(hits: int, found: int, wanted: int) -> float:
    """2 hits / (found + wanted), the harmonic mean of precision and recall; 0 where nothing is."""
    return 2 * hits / (found + wanted) if hits else 0.0


def rouge_n(summary: Sequence[str], reference: Sequence[str], n: int) -> float:
    """F1 of the n-grams, each counted as often as both have it."""
    a, b = (Counter(zip(*(words[i:] for i in range(n)))) for words in (summary, reference))
    return f1((a & b).total(), a.total(), b.total())


def common_length(a: Sequence[str], b: Sequence[str]) -> int:
    """The length of the longest common subsequence, a word of `b` at a time: bit i of `row` is 0
    where the best of a[:i + 1] is longer than that of a[:i] (Hyyrö 2004)."""
    positions: dict[str, int] = {}
    for i, word in enumerate(a):
        positions[word] = positions.get(word, 0) | 1 << i
    whole = (1 << len(a)) - 1
    row = whole
    for word in b:
        same = row & positions.get(word, 0)
        row = (row + same | row - same) & whole
    return len(a) - row.bit_count()


def rouge_l(
    candidate: Sequence[str], references: Sequence[Sequence[str]], beta: float = 1.0
) -> float:
    """F_β of the longest common subsequence, 0 to 1; recall counts β times as much as precision:

    P = max LCS / |candidate|,  R = max LCS / |reference|,  F = (1 + β²) P R / (R + β² P)
    """
    lengths = [(common_length(candidate, words), len(words)) for words in references if words]
    precision = max((common / len(candidate) for common, _ in lengths if common), default=0.0)
    recall = max((common / size for common, size in lengths), default=0.0)
    if not precision or not recall:
        return 0.0
    return (1 + beta**2) * precision * recall / (recall + beta**2 * precision)


def rouge(summaries: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    """(N, 3) ROUGE-1, -2 and -L of each summary; of several references the best one counts, for
    each of the three."""
    found = np.zeros((len(summaries), len(METRICS)))
    for row, summary, own in zip(found, summaries, references):
        words = tokens(summary)
        for other in map(tokens, own):
            scores = rouge_n(words, other, 1), rouge_n(words, other, 2), rouge_l(words, [other])
            np.maximum(row, scores, out=row)
    return found
