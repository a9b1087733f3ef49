"""BLEU: our sums of statistics give what sacrebleu gives, so the bootstrap resamples its figure."""

from __future__ import annotations

import random

import numpy as np
import pytest

from unspool.tasks.text_metrics import (
    bleu_of,
    bleu_statistics,
    bootstrap_bleu,
    corpus_bleu,
    corpus_chrf,
)

WORDS = ["a", "the", "man", "woman", "dog", "plays", "runs", "in", "park", ",", "red", "blue"]


def sentences(count: int, seed: int, noise: float) -> tuple[list[str], list[list[str]]]:
    rng = random.Random(seed)
    references = [" ".join(rng.choices(WORDS, k=rng.randint(1, 15))) for _ in range(count)]
    noisy = [
        " ".join(word for word in text.split() if rng.random() > noise) or "x"
        for text in references
    ]
    return noisy, [[text] for text in references]


@pytest.mark.parametrize(
    ("count", "seed", "noise"), [(1, 1, 0.1), (3, 2, 0.6), (40, 3, 0.3), (40, 4, 0.9), (5, 5, 1.0)]
)
def test_sums_of_statistics_give_the_figure_of_sacrebleu(count, seed, noise) -> None:
    hypotheses, references = sentences(count, seed, noise)
    expected = corpus_bleu(hypotheses, references).value
    statistics = bleu_statistics(hypotheses, references)
    assert statistics.shape == (count, 10)
    assert float(bleu_of(statistics.sum(0))) == pytest.approx(expected, abs=1e-9)
    again = bleu_of(np.stack([statistics.sum(0)] * 2))
    assert again.tolist() == pytest.approx([expected] * 2)


def test_texts_too_short_for_four_words_have_none() -> None:
    assert corpus_bleu(["a b"], [["a b"]]).value == 0
    assert float(bleu_of(bleu_statistics(["a b"], [["a b"]]).sum(0))) == 0


def test_the_interval_holds_the_figure() -> None:
    hypotheses, references = sentences(60, 6, 0.2)
    statistics = bleu_statistics(hypotheses, references)
    low, high = bootstrap_bleu([statistics])
    value = corpus_bleu(hypotheses, references).value
    assert low < value < high
    perfect = bleu_statistics([own for (own,) in references], references)
    assert bootstrap_bleu([perfect]) == pytest.approx((100, 100))
    both = bootstrap_bleu([statistics, perfect])
    assert both == pytest.approx(((low + 100) / 2, (high + 100) / 2))


def test_signatures_say_how() -> None:
    assert corpus_bleu(["a"], [["a"]]).signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|")
    assert corpus_chrf(["a"], [["a"]]).signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|")
