"""BLEU and chrF of texts with one or more references each, and intervals by bootstrap.

Both are sacrebleu's, with the signatures that record how they were computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sacrebleu.metrics import BLEU, CHRF

ORDER = 4  # of the longest n-gram

References = Sequence[Sequence[str]]  # of each text, those that it is compared with


class SacrebleuScore(NamedTuple):
    value: float
    signature: str


def corpus_bleu(hypotheses: Sequence[str], references: References) -> SacrebleuScore:
    """BLEU (Papineni et al. 2002) of the whole, 0 to 100, with the tokens of mteval-13a."""
    metric = BLEU()
    value = metric.corpus_score(list(hypotheses), streams(references)).score
    return SacrebleuScore(min(100.0, float(value)), str(metric.get_signature()))


def corpus_chrf(hypotheses: Sequence[str], references: References) -> SacrebleuScore:
    """chrF (Popović 2015): character n-grams, 0 to 100; of several references the best."""
    metric = CHRF()
    value = metric.corpus_score(list(hypotheses), streams(references)).score
    return SacrebleuScore(float(value), str(metric.get_signature()))


def streams(references: References) -> Any:
    """As sacrebleu takes them: the first of all texts, the second of all texts, ..."""
    most = max(map(len, references), default=0)
    return [[own[k] if k < len(own) else None for own in references] for k in range(most)]


def bleu_statistics(
    hypotheses: Sequence[str], references: References, *, tokenize: str = "13a"
) -> np.ndarray:
    """(N, 10): of each sentence the matching n-grams, n = 1 to 4, the n-grams there are, and the
    tokens of the hypothesis and of the reference that is nearest in length.

    tokenize   "none" where tokens stand with spaces between them
    """
    # The counts are the same; effective order only spares a warning, as `force` does.
    metric = BLEU(effective_order=True, tokenize=tokenize, force=True)
    found = [metric.sentence_score(h, list(own)) for h, own in zip(hypotheses, references)]
    return np.array([[*s.counts, *s.totals, s.sys_len, s.ref_len] for s in found], dtype=float)


def bleu_of(statistics: np.ndarray, *, order: int = ORDER, smoothed: bool = True) -> np.ndarray:
    """BLEU of summed statistics (..., 10), of n-grams up to an order; smoothed as sacrebleu does:
    an order without a match counts half a match, the next one a quarter, and so on.

        BLEU = 100 · min(1, exp(1 − r/c)) · (p_1 p_2 p_3 p_4)^(1/4)
    """
    matches, totals = statistics[..., :order], statistics[..., ORDER : ORDER + order]
    c, r = statistics[..., -2], statistics[..., -1]
    missing = (matches == 0) & (totals > 0)
    counted = np.where(missing, 0.5 ** np.cumsum(missing, -1), matches) if smoothed else matches
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(counted / totals).mean(-1)
        brevity = np.minimum(0.0, 1 - r / c)
    scores = 100 * np.minimum(1.0, np.exp(brevity + logs))
    return np.where((matches[..., 0] > 0) & (totals > 0).all(-1), scores, 0.0)


def bootstrap_bleu(
    statistics: Sequence[np.ndarray],
    *,
    smoothed: bool = True,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile bootstrap interval of BLEU, sentences resampled (Koehn 2004); of several systems
    on the same sentences that of their mean."""
    n = len(statistics[0])
    samples = np.random.default_rng(seed).multinomial(
        n, np.full(n, 1 / n), size=resamples
    )  # (R, N)
    scores = np.mean([bleu_of(samples @ s, smoothed=smoothed) for s in statistics], axis=0)
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
