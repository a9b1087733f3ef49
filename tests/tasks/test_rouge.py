"""ROUGE against the package rouge-score, and by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest

from unspool.tasks.text_metrics import ROUGE_METRICS, common_length, rouge


def test_by_hand() -> None:
    (found,) = rouge(["The cat sat"], [["the cat is on the mat"]])
    assert found.tolist() == pytest.approx([2 * 2 / 9, 2 * 1 / 7, 2 * 2 / 9])
    assert common_length(["a", "b", "c", "d"], ["d", "a", "c", "b", "d"]) == 3
    best = rouge(["a b"], [["x", "a b", "b a"]])
    assert best.tolist() == [[1.0, 1.0, 1.0]]
    assert rouge(["", "a"], [["a"], [""]]).tolist() == [[0.0] * 3] * 2


def test_it_is_that_of_rouge_score() -> None:
    scorer_module = pytest.importorskip("rouge_score.rouge_scorer", reason="needs rouge-score")
    scorer = scorer_module.RougeScorer(list(ROUGE_METRICS), use_stemmer=False)
    rng = random.Random(1)
    pieces = [
        "the",
        "The",
        "cat",
        "dog's",
        "10:30",
        "re:",
        "naïve",
        "--",
        "b2b",
        "a",
        "Ünder",
        "x_y",
    ]

    def text() -> str:
        return rng.choice([" ", "\n", ", "]).join(rng.choices(pieces, k=rng.randrange(0, 14)))

    summaries = [text() for _ in range(3000)]
    references = [[text() for _ in range(rng.randrange(1, 4))] for _ in summaries]
    found = rouge(summaries, references)
    for summary, own, row in zip(summaries, references, found):
        scores = [scorer.score(reference, summary) for reference in own]
        wanted = [max(score[name].fmeasure for score in scores) for name in ROUGE_METRICS]
        np.testing.assert_allclose(row, wanted, atol=1e-12)
