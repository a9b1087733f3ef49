"""Intervals of proportions: Wilson's, against statsmodels' formula in scipy; never a point."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from unspool.data.schemes import parse_tags
from unspool.tasks.calibration import CalibrationReport, Quality, Reliability
from unspool.tasks.metrics import (
    bootstrap_ratio,
    macro_interval,
    wilson_f1,
    wilson_interval,
)
from unspool.tasks.multiclass import ClassifyReport
from unspool.tasks.multilabel import MultilabelReport
from unspool.tasks.tag.report import PlainReport, TaggedSpanReport
from unspool.training.fold_report import Fold, FoldsReport

ROWS = np.array([1.0])
QUALITY = Quality(0.1, 0.1, Reliability(ROWS, ROWS, ROWS))
CALIBRATION = CalibrationReport(1.0, QUALITY, QUALITY)


@pytest.mark.parametrize("n", [1, 2, 7, 50, 300, 100_000])
def test_wilson_is_that_of_scipy(n: int) -> None:
    for right in {0, 1, n // 3, n - 1, n}:
        theirs = binomtest(right, n).proportion_ci(method="wilson")
        ours = wilson_interval(right / n, n)
        assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)
        assert ours[0] <= right / n <= ours[1]


def test_of_nothing_nothing_is_known() -> None:
    assert wilson_interval(0.0, 0) == (0, 1)
    assert wilson_f1(0.0, 0) == (0, 1)


def classified(right: int, count: int) -> ClassifyReport:
    truth = np.arange(count) % 2
    guess = np.where(np.arange(count) < right, truth, 1 - truth)
    return ClassifyReport(truth, guess, ["a", "b"], CALIBRATION)


def test_300_right_out_of_300() -> None:
    report = classified(300, 300)
    theirs = binomtest(300, 300).proportion_ci(method="wilson")
    assert report.interval == pytest.approx((theirs.low, 1.0))
    assert "accuracy  1.0000   95 % interval 0.9874 to 1.0000 (Wilson)" in report.lines()
    assert report.to_json()["accuracy_interval"][0] < 0.99


def test_seeds_are_no_further_examples() -> None:
    one, other = classified(90, 100), classified(94, 100)
    theirs = binomtest(92, 100).proportion_ci(method="wilson")
    assert one.interval_over([one, other]) == pytest.approx((theirs.low, theirs.high))
    assert one.interval_over([one]) == one.interval


def test_several_labels_that_are_all_right() -> None:
    truth = np.random.default_rng(0).random((200, 3)) < 0.3
    labels = ["a", "b", "c"]
    report = MultilabelReport(truth, truth * 1.0, np.full(3, 0.5), labels, CALIBRATION)
    theirs = binomtest(200, 200).proportion_ci(method="wilson")
    assert report.intervals["subset_accuracy"] == pytest.approx((theirs.low, 1))
    for low, high in report.intervals.values():
        assert 0.9 < low < 0.999
        assert high == 1
    assert "(Wilson)" in report.lines()[3]


def test_tags_that_are_all_right() -> None:
    tags = [np.array([0, 1, 2, 1])] * 50
    known = [np.zeros(4, dtype=bool)] * 50
    plain = PlainReport(tags, tags, known, 0.0, ["A", "B", "C"])
    theirs = binomtest(200, 200).proportion_ci(method="wilson")
    assert plain.interval == pytest.approx((theirs.low, 1))
    spans = TaggedSpanReport(tags, tags, known, 0.0, parse_tags(["O", "S-X", "S-Y"], "iobes"))
    assert spans.interval[0] == pytest.approx(wilson_f1(1.0, 300)[0])
    assert 0.98 < spans.interval[0] < 0.999


def test_dependent_words_keep_the_wider_bootstrap() -> None:
    truth = [np.zeros(50, dtype=np.int64)] * 40
    guess = [np.full(50, int(i < 8)) for i in range(40)]  # whole sentences are wrong
    report = PlainReport(truth, guess, [np.zeros(50, dtype=bool)] * 40, 0.0, ["A", "B"])
    independent = wilson_interval(0.8, 2000)
    assert report.interval[0] < independent[0]
    assert report.interval[1] > independent[1]


def test_bounds_of_f1_hold_the_share_of_right_spans() -> None:
    """The bounds of J = hits / (true or guessed), and F1 = 2J / (1 + J)."""
    hits, wrong = 45, 15
    low, high = binomtest(hits, hits + wrong).proportion_ci(method="wilson")
    f1 = 2 * hits / (2 * hits + wrong)
    wanted = 2 * low / (1 + low), 2 * high / (1 + high)
    assert wilson_f1(f1, 2 * hits + wrong) == pytest.approx(wanted)


def test_macro_f1_keeps_the_bootstrap_where_it_has_a_width() -> None:
    rng = np.random.default_rng(1)
    hits = rng.integers(0, 2, (100, 2))
    both = 2 * hits + rng.integers(0, 2, (100, 2))
    assert macro_interval(hits, both) == bootstrap_ratio(2 * hits, both)


def test_folds_that_are_all_right() -> None:
    folds = [Fold(30, 1, {"accuracy": 1.0, "loss": 0.1}, {}) for _ in range(10)]
    report = FoldsReport("accuracy", folds)
    theirs = binomtest(300, 300).proportion_ci(method="wilson")
    assert report.interval == pytest.approx((theirs.low, 1))
    assert "Wilson" in report.to_json()["interval_formula"]
    uneven = [fold._replace(metrics={"accuracy": a}) for fold, a in zip(folds, (1, 0.7) * 5)]
    assert FoldsReport("accuracy", uneven).interval[1] == 1.0  # not 1.02
    plain = FoldsReport("loss", folds)
    assert plain.interval == pytest.approx((0.1, 0.1))
    assert "Wilson" not in plain.to_json()["interval_formula"]


def test_the_interval_covers_as_often_as_it_says() -> None:
    """Of all results of 100 answers, each right with p = 0.97; the bootstrap's cover is 0.82."""
    p, n = 0.97, 100
    counts = np.arange(n + 1)
    chances = binom.pmf(counts, n, p)
    covered = [low <= p <= high for low, high in (wilson_interval(k / n, n) for k in counts)]
    assert chances[covered].sum() > 0.93
