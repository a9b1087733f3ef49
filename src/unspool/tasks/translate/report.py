"""What an evaluation of translations gives: BLEU, chrF, exact matches, loss, and the texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unspool.tasks.bleu import bleu_statistics, bootstrap_bleu, corpus_bleu, corpus_chrf
from unspool.tasks.metrics import perplexity
from unspool.tasks.task import Report
from unspool.tasks.translate.answer import Translation


class TranslateReport(Report):
    """BLEU with its interval and signature, chrF, exact matches, loss; keeps the translations."""

    def __init__(
        self,
        translations: Sequence[Translation],
        references: list[str],
        summed_loss: float,
        tokens: int,
    ) -> None:
        texts = [found.translation for found in translations]
        self.translations, self.references, self.tokens = translations, references, tokens
        alone = [[wanted] for wanted in references]
        self.statistics = bleu_statistics(texts, alone)
        self.interval = bootstrap_bleu([self.statistics])
        bleu, chrf = corpus_bleu(texts, alone), corpus_chrf(texts, alone)
        self.signatures = {"bleu": bleu.signature, "chrf": chrf.signature}
        self.scores = np.array([text == wanted for text, wanted in zip(texts, references)], float)
        self.metrics = {
            "bleu": bleu.value,
            "chrf": chrf.value,
            "exact": float(self.scores.mean()),
            "loss": summed_loss / tokens,
            "perplexity": perplexity(summed_loss / tokens),
        }

    def interval_over(self, reports: Sequence[Report]) -> tuple[float, float]:
        found = [r.statistics for r in reports if isinstance(r, TranslateReport)]
        return bootstrap_bleu(found)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "translate",
            "pairs": len(self.references),
            "tokens": self.tokens,
            **self.metrics,
            "bleu_interval": list(self.interval),
            "signatures": self.signatures,
            "translations": [
                {"text": found.text, "translation": found.translation, "reference": wanted}
                for found, wanted in zip(self.translations, self.references)
            ],
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        figures = self.metrics
        return [
            f"{len(self.references)} pairs, {self.tokens} target tokens",
            f"BLEU         {figures['bleu']:6.2f}   "
            f"95 % interval {low:.2f} to {high:.2f} (bootstrap)",
            f"             {self.signatures['bleu']}",
            f"chrF         {figures['chrf']:6.2f}",
            f"             {self.signatures['chrf']}",
            f"exact match  {100 * figures['exact']:6.2f} %",
            f"loss         {figures['loss']:6.4f} nats a token, perplexity "
            f"{figures['perplexity']:.2f}",
        ]
