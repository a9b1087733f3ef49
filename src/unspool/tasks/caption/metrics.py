"""CIDEr-D of captions with several references each, as the COCO evaluation has it.

In: captions and their references, as tokens. Out: a score for each caption.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np

ORDER = 4  # of the longest n-gram
SIGMA = 6.0  # of CIDEr-D: how far lengths may differ
SINGLE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # written without spaces
WORD = re.compile(rf"[{SINGLE}]|[^\W{SINGLE}]+(?:['’-][^\W{SINGLE}]+)*")

Tokens = Sequence[str]
Counts = Counter[tuple[str, ...]]


def words_of(text: str) -> list[str]:
    """The words of a caption as they are compared: case and punctuation do not count."""
    return WORD.findall(text.lower())


def ngrams(tokens: Tokens) -> list[Counts]:
    """How often each n-gram occurs, n = 1 to 4."""
    return [
        Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
        for n in range(1, ORDER + 1)
    ]


def cider_d(candidates: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> np.ndarray:
    """(N,) CIDEr-D (Vedantam et al. 2015), 0 to 10, of each caption:

        10/4 Σ_n mean_j exp(-(|c| - |r_j|)² / 2σ²) min(g(c), g(r_j)) · g(r_j) / (‖g(c)‖ ‖g(r_j)‖)

    where g_w = count of the n-gram w · ln(N / number of the N items with w in a reference): what is
    said of every image counts nothing.
    """
    counted = [[ngrams(own) for own in each] for each in references]
    seen = [Counter[tuple[str, ...]]() for _ in range(ORDER)]
    for grams in counted:
        for n in range(ORDER):
            seen[n].update(set(chain.from_iterable(own[n] for own in grams)))
    items = math.log(max(1, len(references)))

    def weighted(counts: list[Counts]) -> list[dict[tuple[str, ...], float]]:
        return [
            {w: k * (items - math.log(max(1, seen[n][w]))) for w, k in own.items()}
            for n, own in enumerate(counts)
        ]

    found = np.zeros(len(candidates))
    for i, (candidate, each) in enumerate(zip(candidates, references)):
        c = weighted(ngrams(candidate))
        for r_tokens, r_counts in zip(each, counted[i]):
            near = math.exp(-((len(candidate) - len(r_tokens)) ** 2) / (2 * SIGMA**2))
            found[i] += near * sum(map(clipped_cosine, c, weighted(r_counts))) / len(each)
    return 10 / ORDER * found


def clipped_cosine(c: dict[tuple[str, ...], float], r: dict[tuple[str, ...], float]) -> float:
    """min(c, r) · r / (‖c‖ ‖r‖): nothing is won by saying a word more often than the reference."""
    norms = math.sqrt(sum(x * x for x in c.values()) * sum(x * x for x in r.values()))
    if not norms:
        return 0.0
    return sum(min(x, r[w]) * r[w] for w, x in c.items() if w in r) / norms
