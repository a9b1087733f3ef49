"""What an evaluation of captions gives: CIDEr-D, BLEU-1 to 4, ROUGE-L, chrF over all references of
each item, the loss, and the captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unspool.tasks.bleu import ORDER, bleu_of, bleu_statistics, bootstrap_bleu, corpus_chrf
from unspool.tasks.caption.metrics import cider_d, words_of
from unspool.tasks.metrics import bootstrap_ratio, perplexity
from unspool.tasks.rouge import rouge_l
from unspool.tasks.task import Report

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
        plain = [" ".join(own) for own in words]
        self.statistics = bleu_statistics(plain, joined, tokenize="none")
        self.cider = cider_d(words, wanted)
        self.rouge = np.array([rouge_l(own, each, BETA) for own, each in zip(words, wanted)])
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
                {"name": name, "caption": text, "references": list(own)}
                for name, text, own in zip(self.names, self.texts, self.references)
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
