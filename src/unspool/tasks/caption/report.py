"""Report on captions: CIDEr-D, BLEU-1 to 4, ROUGE-L, chrF over all references of
each item, the loss, and the captions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from unspool.tasks.metrics import bootstrap_ratio, perplexity
from unspool.tasks.task import Report
from unspool.tasks.text_metrics import (
    ORDER,
    bleu_of,
    bleu_statistics,
    bootstrap_bleu,
    corpus_chrf,
    rouge_l,
)

SIGMA = 6.0  # of CIDEr-D: how far lengths may differ
SINGLE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # written without spaces
WORD = re.compile(rf"[{SINGLE}]|[^\W{SINGLE}]+(?:['’-][^\W{SINGLE}]+)*")

Tokens = Sequence[str]
Counts = Counter[tuple[str, ...]]


def words_of(text: str) -> list[str]:
    """The words of a caption as they are compared: case and punctuation do not count."""
    return WORD.findall(text.lower())


def ngrams(tokens: Tokens) -> list[Counts]:
    """Counts of the n-grams, n = 1 to 4."""
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
    counted = [[ngrams(text) for text in texts] for texts in references]
    seen = [Counter[tuple[str, ...]]() for _ in range(ORDER)]
    for grams in counted:
        for n in range(ORDER):
            seen[n].update(set(chain.from_iterable(own[n] for own in grams)))
    items = math.log(max(1, len(references)))

    def weighted(counts: list[Counts]) -> list[dict[tuple[str, ...], float]]:
        return [
            {w: k * (items - math.log(max(1, seen[n][w]))) for w, k in weights.items()}
            for n, weights in enumerate(counts)
        ]

    scores = np.zeros(len(candidates))
    for i, (candidate, texts) in enumerate(zip(candidates, references)):
        c = weighted(ngrams(candidate))
        for r_tokens, r_counts in zip(texts, counted[i]):
            near = math.exp(-((len(candidate) - len(r_tokens)) ** 2) / (2 * SIGMA**2))
            scores[i] += near * sum(map(clipped_cosine, c, weighted(r_counts))) / len(texts)
    return 10 / ORDER * scores


def clipped_cosine(c: dict[tuple[str, ...], float], r: dict[tuple[str, ...], float]) -> float:
    """min(c, r) · r / (‖c‖ ‖r‖): nothing is won by saying a word more often than the reference."""
    norms = math.sqrt(sum(x * x for x in c.values()) * sum(x * x for x in r.values()))
    if not norms:
        return 0.0
    return sum(min(x, r[w]) * r[w] for w, x in c.items() if w in r) / norms


BETA = 1.2  # of ROUGE-L, as the COCO evaluation has it


class CaptionScores:
    """Scores of N captions, each with its references.

    statistics   (N, 10) of BLEU
    cider, rouge (N,) of each caption
    exact        (N,) whether it has the words of a reference, in their order
    figures      by name
    """

    def __init__(self, texts: Sequence[str], references: Sequence[Sequence[str]]) -> None:
        words = [words_of(text) for text in texts]
        wanted = [[words_of(own) for own in each] for each in references]
        joined = [[" ".join(own) for own in each] for each in wanted]
        plain = [" ".join(caption) for caption in words]
        self.statistics = bleu_statistics(plain, joined, tokenize="none")
        self.cider = cider_d(words, wanted)
        self.rouge = np.array([rouge_l(pair, each, BETA) for pair, each in zip(words, wanted)])
        self.exact = np.array([own in each for own, each in zip(words, wanted)], dtype=float)
        self.distinct = len(set(plain))
        total = self.statistics.sum(0)
        self.figures = {
            "cider": float(self.cider.mean()),
            **{
                f"bleu{n}": float(bleu_of(total, order=n, smoothed=False))
                for n in range(1, ORDER + 1)
            },
            "rouge_l": 100 * float(self.rouge.mean()),
            "chrf": corpus_chrf(plain, joined).value,
        }


class CaptionReport(Report):
    """CIDEr-D with its interval; keeps the captions and their references."""

    def __init__(
        self,
        names: Sequence[str],
        texts: Sequence[str],
        references: Sequence[Sequence[str]],
        summed_loss: float,
        tokens: int,
    ) -> None:
        self.names, self.texts, self.references = names, texts, references
        self.tokens = tokens
        self.parts = CaptionScores(texts, references)
        self.scores = self.parts.cider
        self.interval = bootstrap_ratio(self.scores[:, None], np.ones((len(texts), 1)))
        self.bleu_interval = bootstrap_bleu([self.parts.statistics], smoothed=False)
        self.metrics = {
            **self.parts.figures,
            "exact": float(self.parts.exact.mean()),
            "loss": summed_loss / max(1, tokens),
            "perplexity": perplexity(summed_loss / max(1, tokens)),
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "caption",
            "items": len(self.texts),
            "references": sum(map(len, self.references)),
            "tokens": self.tokens,
            **self.metrics,
            "distinct": self.parts.distinct,
            "cider_interval": list(self.interval),
            "bleu4_interval": list(self.bleu_interval),
            "captions": [
                {"name": name, "caption": text, "references": list(row)}
                for name, text, row in zip(self.names, self.texts, self.references)
            ],
        }

    def lines(self) -> list[str]:
        figures, (low, high), (least, most) = self.metrics, self.interval, self.bleu_interval
        several = "  ".join(f"{figures[f'bleu{n}']:.2f}" for n in range(1, ORDER))
        return [
            f"{len(self.texts):,} captions, {self.parts.distinct:,} of them different, and"
            f" {sum(map(len, self.references)):,} references; words are compared without case and"
            " punctuation",
            f"CIDEr-D      {figures['cider']:6.3f}   95 % interval {low:.3f} to {high:.3f}"
            " (bootstrap); 10 at most",
            f"BLEU-4       {figures['bleu4']:6.2f}   95 % interval {least:.2f} to {most:.2f};"
            f" BLEU-1, 2, 3: {several}",
            f"ROUGE-L      {figures['rouge_l']:6.2f}",
            f"chrF         {figures['chrf']:6.2f}",
            f"exact match  {100 * figures['exact']:6.2f} %",
            f"loss         {figures['loss']:6.4f} nats a token, perplexity"
            f" {figures['perplexity']:.2f}",
        ]
