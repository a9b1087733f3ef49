"""What an evaluation of summaries gives: ROUGE with intervals, the lead baseline, the loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unspool.tasks.metrics import bootstrap_mean, perplexity
from unspool.tasks.rouge import METRICS, rouge, tokens
from unspool.tasks.task import Report
from unspool.tasks.translate.answer import Translation

TITLES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}


def lead(documents: Sequence[str], words: int) -> list[str]:
    """The first words of each document."""
    return [" ".join(document.split()[:words]) for document in documents]


class SummarizeReport(Report):
    """ROUGE of the summaries, of the beginning of each document ("lead"), and of the difference.

    The lead is as long as the references are on average, which nobody knows beforehand: it is no
    weaker than it has to be. All are 0 to 100; of several references the best one counts.
    """

    def __init__(
        self,
        summaries: Sequence[Translation],
        references: Sequence[Sequence[str]],
        summed_loss: float,
        count: int,
    ) -> None:
        self.summaries, self.references, self.tokens = summaries, references, count
        self.words = max(1, round(np.mean([len(own[0].split()) for own in references])))
        documents = [found.text for found in summaries]
        self.each = 100 * rouge([found.translation for found in summaries], references)  # (N, 3)
        self.lead = 100 * rouge(lead(documents, self.words), references)
        self.scores = self.each[:, METRICS.index("rougeL")]
        self.intervals = {name: bootstrap_mean(self.each[:, k]) for k, name in enumerate(METRICS)}
        self.interval = self.intervals["rougeL"]
        self.metrics = {
            **dict(zip(METRICS, self.each.mean(0).tolist())),
            **{f"lead_{name}": own for name, own in zip(METRICS, self.lead.mean(0).tolist())},
            "loss": summed_loss / count,
            "perplexity": perplexity(summed_loss / count),
        }
        blank = sum(not any(map(tokens, own)) for own in references)
        cut = sum(bool(found.cut) for found in summaries)
        if blank:
            self.notes += (
                f"{blank:,} references have no a-z or 0-9, which is all that ROUGE compares",
            )
        if cut:
            self.notes += (f"{cut:,} documents are longer than the model reads, and were cut",)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "summarize",
            "documents": len(self.references),
            "tokens": self.tokens,
            **self.metrics,
            "intervals": {name: list(own) for name, own in self.intervals.items()},
            "lead_words": self.words,
            "summaries": [
                {"text": found.text, "summary": found.translation, "references": list(wanted)}
                for found, wanted in zip(self.summaries, self.references)
            ],
        }

    def lines(self) -> list[str]:
        several = max(map(len, self.references))
        of = f", up to {several} references each, the best counts" if several > 1 else ""
        figures = self.metrics
        found = [f"{len(self.references)} documents, {self.tokens} summary tokens{of}"]
        for name, title in TITLES.items():
            low, high = self.intervals[name]
            found.append(
                f"{title}      {figures[name]:6.2f}   95 % interval {low:.2f} to {high:.2f}"
                f" (bootstrap)   lead {figures[f'lead_{name}']:.2f}"
            )
        return [
            *found,
            f"lead         the first {self.words} words of a document, as many as references have",
            f"loss         {figures['loss']:6.4f} nats a token, perplexity "
            f"{figures['perplexity']:.2f}",
        ]
