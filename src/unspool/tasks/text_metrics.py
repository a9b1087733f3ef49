"""Metrics of written texts: BLEU and chrF by sacrebleu, and ROUGE (Lin 2004), 0 to 1.

The tokens of ROUGE are runs of a-z and 0-9 after lowercasing, and no word is stemmed: what the
package rouge-score gives with use_stemmer=False. It is written here since that package brings nltk
along.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sacrebleu.metrics import BLEU, CHRF

ROUGE_METRICS = ("rouge1", "rouge2", "rougeL")
_TOKEN = re.compile(r"[a-z0-9]+")


def rouge_tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


def f1(hits: int, predicted: int, wanted: int) -> float:
    """2 hits / (found + wanted), the harmonic mean of precision and recall; 0 where nothing is."""
    return 2 * hits / (predicted + wanted) if hits else 0.0


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
    values = np.zeros((len(summaries), len(ROUGE_METRICS)))
    for row, summary, texts in zip(values, summaries, references):
        words = rouge_tokens(summary)
        for other in map(rouge_tokens, texts):
            scores = rouge_n(words, other, 1), rouge_n(words, other, 2), rouge_l(words, [other])
            np.maximum(row, scores, out=row)
    return values


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
    """References as sacrebleu takes them: the first of all texts, the second of all texts, ..."""
    most = max(map(len, references), default=0)
    return [[text[k] if k < len(text) else None for text in references] for k in range(most)]


def bleu_statistics(
    hypotheses: Sequence[str], references: References, *, tokenize: str = "13a"
) -> np.ndarray:
    """(N, 10): of each sentence the matching n-grams, n = 1 to 4, the n-grams there are, and the
    tokens of the hypothesis and of the reference that is nearest in length.

    tokenize   "none" where tokens stand with spaces between them
    """
    # The counts are the same; effective order only spares a warning, as `force` does.
    metric = BLEU(effective_order=True, tokenize=tokenize, force=True)
    statistics = [metric.sentence_score(h, list(texts)) for h, texts in zip(hypotheses, references)]
    return np.array([[*s.counts, *s.totals, s.sys_len, s.ref_len] for s in statistics], dtype=float)


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
