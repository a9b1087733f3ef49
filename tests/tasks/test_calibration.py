"""Temperature, calibration error, Brier score, likelihood: as scikit-learn and brute force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit as sigmoid
from scipy.special import log_expit, log_softmax
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from unspool.config import TrainConfig
from unspool.data.fields.label import LabelField
from unspool.data.fields.labels import LabelsField
from unspool.tasks.calibration import (
    COLDEST,
    HOTTEST,
    fit_temperature,
    quality_of_one,
    quality_of_several,
    reliability,
)
from unspool.tasks.decision import Decision
from unspool.tasks.multiclass import OneLabel
from unspool.tasks.multilabel import SeveralLabels


def softmax(z: np.ndarray) -> np.ndarray:
    return np.exp(log_softmax(z, 1))


def labelled(seed: int, rows: int, classes: int, sharp: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and labels that come with the probabilities softmax(scores / sharp)."""
    rng = np.random.default_rng(seed)
    z = 2 * rng.normal(size=(rows, classes))
    p = softmax(z / sharp)
    return z, np.array([rng.choice(classes, p=row) for row in p])


def smoothed_nll(t: float, z: np.ndarray, y: np.ndarray, kind: str) -> float:
    """What the temperature is to make least."""
    n = len(z)
    if kind == "softmax":
        return float(-((n * y + 1 / z.shape[1]) / (n + 1) * log_softmax(z / t, 1)).sum())
    target = (n * y + 1 / 2) / (n + 1)
    return float(-(target * log_expit(z / t) + (1 - target) * log_expit(-z / t)).sum())


@pytest.mark.parametrize("kind", ["softmax", "sigmoid"])
@pytest.mark.parametrize(("rows", "classes"), [(3, 2), (40, 3), (500, 5)])
def test_the_temperature_is_the_minimum(kind, rows, classes) -> None:
    z, truth = labelled(rows, rows, classes, 1.7)
    y = np.eye(classes)[truth]
    function = softmax if kind == "softmax" else sigmoid
    found = fit_temperature(z, y, function)
    grid = np.geomspace(COLDEST * 3, HOTTEST / 3, 4001)
    best = grid[np.argmin([smoothed_nll(t, z, y, kind) for t in grid])]
    assert found == pytest.approx(best, rel=3e-3)


@pytest.mark.parametrize("sharp", [0.5, 1.0, 3.0])
def test_the_temperature_that_made_the_labels_is_found(sharp) -> None:
    z, truth = labelled(1, 20_000, 4, sharp)
    assert fit_temperature(z, np.eye(4)[truth], softmax) == pytest.approx(sharp, rel=0.03)


def test_as_the_temperature_scaling_of_scikit_learn() -> None:
    calibration = pytest.importorskip("sklearn.calibration")
    if not hasattr(calibration, "_TemperatureScaling"):
        pytest.skip("this scikit-learn has no temperature scaling")
    z, truth = labelled(2, 300, 3, 2.0)
    # Each row once for each class, weighed as the smoothed target has it.
    weights = (300 * np.eye(3)[truth] + 1 / 3) / 301
    scaling = calibration._TemperatureScaling()
    scaling.fit(np.repeat(z, 3, 0), np.tile(np.arange(3), 300), weights.ravel())
    assert fit_temperature(z, np.eye(3)[truth], softmax) == pytest.approx(
        1 / scaling.beta_, rel=1e-3
    )


def test_a_part_without_an_error_makes_no_answer_certain() -> None:
    z = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [0.5, 0.0]])
    found = fit_temperature(z, np.eye(2)[z.argmax(1)], softmax)
    assert COLDEST < found < 1
    assert softmax(z / found).max() < 0.999


def decision(kind: str, classes: int) -> Decision:
    names = [f"label {i}" for i in range(classes)]
    if kind == "sigmoid":
        several = LabelsField("labels")
        several.names = names
        return SeveralLabels(several, TrainConfig())
    one = LabelField("label")
    one.names = names
    return OneLabel(one, TrainConfig())


@pytest.mark.parametrize("kind", ["softmax", "sigmoid"])
def test_rows_that_are_all_right_and_sure_keep_their_loss(kind) -> None:
    """The row that is spread over all labels alone would make them less sure."""
    rng = np.random.default_rng(5)
    y = np.eye(4)[rng.integers(0, 4, 60)]
    z = np.where(y > 0, 6.0, -6.0) + 0.3 * rng.normal(size=y.shape)
    assert fit_temperature(z, y, softmax if kind == "softmax" else sigmoid) > 1
    own = decision(kind, 4)
    own.fit(z, y.argmax(1) if kind == "softmax" else y.astype(bool))
    assert own.temperature == 1
    assert own.fitted  # what is stored is that there is none


def test_few_rows_calibrate_nothing() -> None:
    rng = np.random.default_rng(7)
    z, truth = 9 * rng.normal(size=(49, 3)), rng.integers(0, 3, 49)
    few = decision("softmax", 3)
    assert few.fit(z, truth) == ["not calibrated: 49 validation rows are fewer than 50"]
    assert (few.temperature, few.fitted) == (1, False)
    enough = decision("softmax", 3)
    enough.fit(np.r_[z, z[:1]], np.r_[truth, truth[:1]])
    assert enough.temperature > 1


@pytest.mark.parametrize("kind", ["softmax", "sigmoid"])
@given(st.integers(0, 10_000), st.integers(50, 62), st.floats(0.01, 30))
def test_no_temperature_raises_the_loss_that_it_is_fitted_to(kind, seed, rows, scale) -> None:
    rng = np.random.default_rng(seed)
    z, truth = scale * rng.normal(size=(rows, 3)), rng.integers(0, 3, rows)
    y = np.eye(3, dtype=bool)[truth]
    if seed % 2:  # half of them are right
        z = np.where(y, abs(z), -abs(z))
    own = decision(kind, 3)
    own.fit(z, truth if kind == "softmax" else y)

    def loss(t: float) -> float:
        if kind == "softmax":
            return -log_softmax(z / t, 1)[y].mean()
        return -np.where(y, log_expit(z / t), log_expit(-z / t)).mean()

    assert loss(own.temperature) <= loss(1.0) + 1e-9


def test_scores_that_mislead_give_the_highest_temperature() -> None:
    z = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert fit_temperature(z, np.eye(2)[z.argmin(1)], softmax) == pytest.approx(HOTTEST)


@given(
    st.lists(
        st.lists(st.floats(-30, 30, allow_subnormal=False), min_size=3, max_size=3),
        min_size=1,
        max_size=9,
    ),
    st.floats(COLDEST, HOTTEST, allow_subnormal=False),
)
def test_no_temperature_changes_the_best_answer(rows, t) -> None:
    z = np.array(rows)
    before, after = softmax(z), softmax(z / t)
    best = before.argmax(1)
    at = np.arange(len(z))
    assert (after[at, best] >= after.max(1) - 1e-12).all()
    order = np.argsort(z[:, 0], kind="stable")
    assert (np.diff(sigmoid(z[order, 0] / t)) >= 0).all()


@pytest.mark.parametrize("bins", [1, 5, 15])
def test_bins_as_those_of_scikit_learn(bins) -> None:
    rng = np.random.default_rng(3)
    p = np.concatenate([rng.random(400), [0, 1, 0.2, 0.4, 1 / 15, 2 / 15, 0.6]])
    y = rng.random(len(p)) < p**2
    found = reliability(p, y, bins)
    accuracy, confidence = calibration_curve(y, p, n_bins=bins, strategy="uniform")
    np.testing.assert_allclose(found.accuracy, accuracy)
    np.testing.assert_allclose(found.confidence, confidence)
    assert found.rows.sum() == len(p)
    # Σ_b rows_b / N |accuracy_b - confidence_b|, bin by bin
    edges = np.linspace(0, 1, bins + 1)
    total = 0.0
    for low, high in pairwise(edges):
        own = (p > low) & (p <= high) if low else p <= high
        if own.any():
            total += own.mean() * abs(y[own].mean() - p[own].mean())
    assert found.error == pytest.approx(total)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_quality_of_one_label(classes) -> None:
    z, truth = labelled(classes, 200, classes, 1.3)
    p = softmax(z)
    found = quality_of_one(p, truth)
    names = np.arange(classes)
    assert found.nll == pytest.approx(log_loss(truth, p, labels=names))
    if classes == 2:
        assert found.brier == pytest.approx(brier_score_loss(truth, p[:, 1]))
    else:
        y = np.eye(classes)[truth]
        assert found.brier == pytest.approx(((p - y) ** 2).sum(1).mean())
    right = p.argmax(1) == truth
    assert found.ece == reliability(p.max(1), right).error


def test_quality_of_several_labels() -> None:
    rng = np.random.default_rng(4)
    p = rng.random((60, 4))
    truth = rng.random((60, 4)) < p
    found = quality_of_several(p, truth)
    assert found.nll == pytest.approx(log_loss(truth.ravel(), p.ravel()))
    assert found.brier == pytest.approx(brier_score_loss(truth.ravel(), p.ravel()))
    assert found.ece == reliability(p.ravel(), truth.ravel()).error
