"""What an evaluation of translations gives: BLEU, chrF, exact matches, loss, and the texts.

BLEU and chrF are sacrebleu's, of texts as people read them, with the signatures that record how
they were computed; intervals are by bootstrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sacrebleu.metrics import BLEU, CHRF

from unspool.tasks.metrics import perplexity
from unspool.tasks.task import Report
from unspool.tasks.translate.answer import Translation

ORDER = 4  # of the longest n-gram


class Score(NamedTuple):
    value: float
    signature: str


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """BLEU (Papineni et al. 2002) of the whole, 0 to 100, with the tokens of mteval-13a."""
    metric = BLEU()
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score(min(100.0, float(value)), str(metric.get_signature()))


def corpus_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """chrF (Popović 2015): character n-grams, 0 to 100."""
    metric = CHRF()
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score(float(value), str(metric.get_signature()))


def bleu_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """(N, 10): of each sentence the matching n-grams, n = 1 to 4, the n-grams there are, and the
    tokens of the hypothesis and of the reference."""
    metric = BLEU(effective_order=True)  # the counts are the same; it only spares a warning
    found = [metric.sentence_score(h, [r]) for h, r in zip(hypotheses, references)]
    return np.array([[*s.counts, *s.totals, s.sys_len, s.ref_len] for s in found], dtype=float)


def bleu_of(statistics: np.ndarray) -> np.ndarray:
    """BLEU of summed statistics (..., 10), smoothed as sacrebleu does: an order without a match
    counts half a match, the next one a quarter, and so on.

        BLEU = 100 · min(1, exp(1 − r/c)) · (p_1 p_2 p_3 p_4)^(1/4)
    """
    matches, totals = statistics[..., :ORDER], statistics[..., ORDER : 2 * ORDER]
    c, r = statistics[..., -2], statistics[..., -1]
    missing = (matches == 0) & (totals > 0)
    smoothed = np.where(missing, 0.5 ** np.cumsum(missing, -1), matches)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(smoothed / totals).mean(-1)
        brevity = np.minimum(0.0, 1 - r / c)
    scores = 100 * np.minimum(1.0, np.exp(brevity + logs))
    return np.where((matches[..., 0] > 0) & (totals > 0).all(-1), scores, 0.0)


def bootstrap_bleu(
    statistics: Sequence[np.ndarray], *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval of BLEU, sentences resampled (Koehn 2004); of several systems
    on the same sentences that of their mean."""
    n = len(statistics[0])
    draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)  # (R, N)
    scores = np.mean([bleu_of(draws @ s) for s in statistics], axis=0)
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


class TranslateReport(Report):
    """BLEU with its interval and signature, chrF, exact matches, loss; keeps the translations."""

    def __init__(
        self, translations: Sequence[Translation], references: list[str], nats: float, tokens: int
    ) -> None:
        texts = [found.translation for found in translations]
        self.translations, self.references, self.tokens = translations, references, tokens
        self.statistics = bleu_statistics(texts, references)
        self.interval = bootstrap_bleu([self.statistics])
        bleu, chrf = corpus_bleu(texts, references), corpus_chrf(texts, references)
        self.signatures = {"bleu": bleu.signature, "chrf": chrf.signature}
        self.scores = np.array([text == wanted for text, wanted in zip(texts, references)], float)
        self.metrics = {
            "bleu": bleu.value,
            "chrf": chrf.value,
            "exact": float(self.scores.mean()),
            "loss": nats / tokens,
            "perplexity": perplexity(nats / tokens),
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
