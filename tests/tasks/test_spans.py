"""Span F1 against seqeval and against sets of spans; its interval."""

from __future__ import annotations

import random

import numpy as np
import pytest

from unspool.data.schemes import parse_tags
from unspool.tasks.metrics import bootstrap_mean, bootstrap_ratio
from unspool.tasks.tag.report import PlainReport, TaggedSpanReport, count_spans, span_score

NAMES = {
    "iob2": ["O", *(f"{letter}-{kind}" for letter in "BI" for kind in ("LOC", "PER"))],
    "iobes": ["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in ("LOC", "PER"))],
}


def draw(scheme: str, sentences: int, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """True and guessed tags, any sequence of them, alike in most places."""
    rng = random.Random(seed)
    truth, guess = [], []
    for _ in range(sentences):
        tags = [rng.randrange(len(NAMES[scheme])) for _ in range(rng.randint(1, 10))]
        other = [t if rng.random() < 0.8 else rng.randrange(len(NAMES[scheme])) for t in tags]
        truth.append(np.array(tags))
        guess.append(np.array(other))
    return truth, guess


def named(scheme: str, sentences: list[np.ndarray]) -> list[list[str]]:
    return [[NAMES[scheme][i] for i in tags] for tags in sentences]


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize("convention", ["strict", "conlleval"])
def test_against_seqeval(scheme, convention) -> None:
    pytest.importorskip("seqeval")
    from seqeval.metrics import f1_score, precision_score, recall_score
    from seqeval.scheme import IOB2, IOBES

    truth, guess = draw(scheme, 2000, 1)
    marks = parse_tags(NAMES[scheme], scheme)
    counts = count_spans(truth, guess, marks, scheme=scheme, convention=convention)
    ours = span_score(*(int(part.sum()) for part in counts))
    options = {"zero_division": 0}
    if convention == "strict":
        options |= {"mode": "strict", "scheme": {"iob2": IOB2, "iobes": IOBES}[scheme]}
    sides = named(scheme, truth), named(scheme, guess)
    assert ours.precision == pytest.approx(precision_score(*sides, **options), abs=1e-12)
    assert ours.recall == pytest.approx(recall_score(*sides, **options), abs=1e-12)
    assert ours.f1 == pytest.approx(f1_score(*sides, **options), abs=1e-12)


def test_a_report_of_spans() -> None:
    truth, guess = draw("iobes", 300, 2)
    marks = parse_tags(NAMES["iobes"], "iobes")
    unknown = [np.zeros(len(tags), dtype=bool) for tags in truth]
    report = TaggedSpanReport(truth, guess, unknown, 0.5, marks)
    hits, guessed, true = count_spans(truth, guess, marks)
    assert report.metrics["f1"] == pytest.approx(2 * hits.sum() / (guessed.sum() + true.sum()))
    low, high = report.interval
    assert low < report.metrics["f1"] < high
    assert report.interval_over([report, report]) == pytest.approx(report.interval)
    assert list(report.table) == ["LOC", "PER"]
    assert sum(score.support for score in report.table.values()) == true.sum()
    assert "F1" in report.lines()[1]
    assert report.to_json()["types"]["PER"]["support"] == report.table["PER"].support
    assert "accuracy_unknown" not in report.metrics


def test_nothing_to_find_and_nothing_found() -> None:
    tags = [np.zeros(3, dtype=np.int64)] * 2
    marks = parse_tags(["O", "S-X"], "iobes")
    report = TaggedSpanReport(tags, tags, [np.zeros(3, dtype=bool)] * 2, 0.0, marks)
    assert report.metrics["f1"] == 0
    assert report.metrics["accuracy"] == 1
    assert report.interval == (0, 1)  # nothing is known


def test_a_report_of_plain_tags() -> None:
    truth = [np.array([0, 1, 1]), np.array([2])]
    guess = [np.array([0, 1, 0]), np.array([2])]
    unknown = [np.array([False, False, True]), np.array([True])]
    report = PlainReport(truth, guess, unknown, 0.1, ["A", "B", "C"])
    assert report.metrics["accuracy"] == 0.75
    assert report.metrics["accuracy_unknown"] == 0.5
    assert float((report.scores * report.weights).sum() / report.weights.sum()) == 0.75
    assert report.table["B"].recall == 0.5
    assert "of unknown words" in "\n".join(report.lines())


def test_the_interval_of_a_ratio_is_that_of_a_weighted_mean() -> None:
    rng = np.random.default_rng(1)
    values, weights = rng.integers(0, 2, 200).astype(float), rng.integers(1, 5, 200).astype(float)
    both = bootstrap_ratio((values * weights)[:, None], weights[:, None])
    assert bootstrap_mean(values, weights) == both
    assert bootstrap_ratio(np.ones((5, 2)), np.ones((5, 2))) == (1, 1)
