"""Our figures against scikit-learn's, and the bootstrap against plain resampling."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from unspool.data.fields.label import natural_order
from unspool.tasks.class_metrics import cohen_kappa, matthews, roc_auc, weighted_f1
from unspool.tasks.metrics import (
    bits_per_character,
    bootstrap_mean,
    class_scores,
    confusion_matrix,
    macro_f1,
    perplexity,
)
from unspool.tasks.multiclass import confusion_lines

pairs = st.integers(2, 6).flatmap(
    lambda c: st.lists(
        st.tuples(st.integers(0, c - 1), st.integers(0, c - 1)), min_size=1, max_size=60
    ).map(lambda rows: (c, np.array(rows)))
)


@given(pairs)
def test_confusion_and_f1_are_scikit_learns(case: tuple[int, np.ndarray]) -> None:
    classes, rows = case
    truth, guess = rows[:, 0], rows[:, 1]
    confusion = confusion_matrix(truth, guess, classes)
    names = list(range(classes))
    assert (confusion == sk.confusion_matrix(truth, guess, labels=names)).all()
    precision, recall, f1, count = sk.precision_recall_fscore_support(
        truth, guess, labels=names, zero_division=0
    )
    ours = class_scores(confusion)
    np.testing.assert_allclose([s.precision for s in ours], precision)
    np.testing.assert_allclose([s.recall for s in ours], recall)
    np.testing.assert_allclose([s.f1 for s in ours], f1)
    assert [s.support for s in ours] == count.tolist()
    assert macro_f1(confusion) == pytest.approx(
        sk.f1_score(truth, guess, average="macro", zero_division=0)
    )


def test_bootstrap_of_losses_that_are_infinite_warns_of_nothing() -> None:
    _, high = bootstrap_mean(np.array([1.0, np.inf, 2.0]))
    assert not math.isfinite(high)


def test_bootstrap_of_right_and_wrong_is_the_binomial_interval() -> None:
    values = np.array([1.0] * 80 + [0.0] * 20)
    low, high = bootstrap_mean(values)
    half = 1.96 * math.sqrt(0.8 * 0.2 / 100)
    assert low == pytest.approx(0.8 - half, abs=0.015)
    assert high == pytest.approx(0.8 + half, abs=0.015)


def test_bootstrap_equals_plain_resampling_of_weighted_values() -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=200), rng.integers(1, 5, 200).astype(float)
    rows = rng.integers(0, 200, (4000, 200))
    means = (values[rows] * weights[rows]).sum(1) / weights[rows].sum(1)
    expected = np.quantile(means, [0.025, 0.975])
    np.testing.assert_allclose(bootstrap_mean(values, weights), expected, atol=0.02)


def test_bootstrap_is_repeatable() -> None:
    values = np.arange(50.0)
    assert bootstrap_mean(values) == bootstrap_mean(values)


def test_language_model_figures() -> None:
    assert perplexity(math.log(50)) == pytest.approx(50)
    assert perplexity(1e6) == math.inf
    assert bits_per_character(math.log(2) * 30, 10) == pytest.approx(3)


def test_the_names_over_a_confusion_matrix_are_whole() -> None:
    names = ["comp.graphics", "comp.windows.x", "sci"]
    lines = confusion_lines(np.array([[1, 2, 3], [40, 50, 60], [7, 8, 123456]]), names)
    assert lines[1].split() == names
    assert [line.split() for line in lines[2:]] == [
        ["comp.graphics", "1", "2", "3"],
        ["comp.windows.x", "40", "50", "60"],
        ["sci", "7", "8", "123456"],
    ]
    assert len({len(line) for line in lines[1:]}) == 1
    long = [f"a class with a rather long name, number {i}" for i in range(12)]
    lines = confusion_lines(np.arange(144).reshape(12, 12), long)
    assert lines[1].split() == [str(i) for i in range(1, 13)]
    assert lines[2].startswith(f" 1 {long[0]}")
    assert lines[13].startswith(f"12 {long[11]}")
    assert max(map(len, lines)) <= 110


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(2, 60))
def test_agreement_is_scikit_learns(seed: int, classes: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    truth, p = rng.integers(0, classes, rows), rng.random((rows, classes)).round(1) + 0.05
    p /= p.sum(1, keepdims=True)
    guess = p.argmax(1)
    confusion = confusion_matrix(truth, guess, classes)
    f1 = sk.f1_score(truth, guess, average="weighted", zero_division=0)
    assert weighted_f1(confusion) == pytest.approx(f1)
    if len({*truth, *guess}) > 1:
        assert matthews(confusion) == pytest.approx(sk.matthews_corrcoef(truth, guess))
        assert cohen_kappa(confusion) == pytest.approx(sk.cohen_kappa_score(truth, guess))
    if len({*truth}) == classes:
        auc = sk.roc_auc_score(truth, p[:, 1] if classes == 2 else p, multi_class="ovr")
        assert roc_auc(p, truth) == pytest.approx(auc)


def test_agreement_of_a_single_class() -> None:
    confusion = confusion_matrix(np.zeros(5, int), np.zeros(5, int), 2)
    assert (cohen_kappa(confusion), matthews(confusion)) == (0, 0)
    assert roc_auc(np.full((5, 2), 0.5), np.zeros(5, int)) is None


def test_labels_are_in_natural_order() -> None:
    names = ["10", "b2", "2", "b10", "a", "1", "x²", "-1", "1.5"]
    assert sorted(names, key=natural_order) == ["1", "1.5", "2", "10", "-1", "a", "b2", "b10", "x²"]
