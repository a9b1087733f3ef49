"""Several labels a row: thresholds by brute force, figures as those of scikit-learn, weights."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, average_precision_score, f1_score
from sklearn.utils.class_weight import compute_class_weight
from torch.nn import functional as F

from unspool.config import TrainConfig
from unspool.data.batching import oversample
from unspool.data.fields.label import LabelField
from unspool.data.fields.labels import LabelsField
from unspool.tasks.calibration import Unseen
from unspool.tasks.decision import balanced
from unspool.tasks.metrics import (
    average_precision,
    best_threshold,
    bootstrap_precision,
    bootstrap_ratio,
    f1_scores,
    label_counts,
    widest,
    wilson_f1,
)
from unspool.tasks.multiclass import OneLabel
from unspool.tasks.multilabel import SeveralLabels


def some(seed: int, rows: int = 80, labels: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Scores and truth (N, K); some scores are equal."""
    rng = np.random.default_rng(seed)
    z = np.round(rng.normal(size=(rows, labels)) * 2, 1)
    return z, rng.random((rows, labels)) < 1 / (1 + np.exp(-z))


def several(names: list[str], **train) -> SeveralLabels:
    field = LabelsField("labels")
    field.names = names
    return SeveralLabels(field, TrainConfig(**train))


probabilities = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 1.0]), st.booleans()),
    min_size=1,
    max_size=12,
)


@given(probabilities)
def test_a_threshold_has_the_largest_f1(rows) -> None:
    p, y = np.array([x for x, _ in rows]), np.array([own for _, own in rows])
    found = best_threshold(p, y)
    if not y.any():
        assert found == 0.5
        return
    reached = f1_score(y, p >= found, zero_division=0)
    cuts = [*p, 1.01]  # between two of them nothing changes
    assert reached == pytest.approx(max(f1_score(y, p >= t, zero_division=0) for t in cuts))
    assert not np.isin(found, p) or found == 0.0  # in the middle between two


@given(probabilities)
def test_average_precision(rows) -> None:
    p, y = np.array([x for x, _ in rows]), np.array([own for _, own in rows])
    wanted = average_precision_score(y, p) if y.any() else 0.0
    assert average_precision(p, y) == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(3))
def test_figures_as_those_of_scikit_learn(seed) -> None:
    z, truth = some(seed)
    decision = several(["a", "b", "c", "d"])
    decision.fit(z, truth)
    report = decision.report(z, truth)
    p = decision.probabilities(z)
    guess = p >= decision.thresholds
    for key, average in (("micro_f1", "micro"), ("macro_f1", "macro")):
        wanted = f1_score(truth, guess, average=average)
        assert report.metrics[key] == pytest.approx(wanted)
        low, high = report.intervals[key]
        assert low <= wanted <= high
    assert report.metrics["subset_accuracy"] == pytest.approx(accuracy_score(truth, guess))
    for average in ("micro", "macro"):
        wanted = average_precision_score(truth, p, average=average)
        assert report.metrics[f"{average}_average_precision"] == pytest.approx(wanted)
        low, high = report.intervals[f"{average}_average_precision"]
        assert low < wanted < high
    assert [own.f1 for own in report.table] == pytest.approx(f1_score(truth, guess, average=None))
    assert [own.support for own in report.table] == truth.sum(0).tolist()
    assert decision.metrics(z, truth)["micro_f1"] == report.metrics["micro_f1"]
    assert report.interval == report.interval_over([report])
    found = label_counts(truth, guess)
    wanted = bootstrap_ratio(2 * found.hits.sum(1)[:, None], found.both.sum(1)[:, None])
    independent = wilson_f1(report.metrics["micro_f1"], found.both.sum())
    assert report.interval == pytest.approx(widest(wanted, independent), abs=1e-9)
    assert json.loads(json.dumps(report.to_json()))["labels"]["b"]["threshold"] > 0
    assert "threshold" in "\n".join(report.lines())


def test_a_label_that_does_not_occur_is_left_out_of_means() -> None:
    z, truth = some(5)
    truth[:, 3] = False
    z[:, 3] = -9.0
    decision = several(["a", "b", "c", "d"])
    notes = decision.fit(z, truth)
    assert decision.thresholds[3] == 0.5
    assert notes[-1] == "labels that no validation row has keep the threshold 0.5: d"
    report, three = decision.report(z, truth), several(["a", "b", "c"])
    three.temperature, three.thresholds = decision.temperature, decision.thresholds[:3]
    same = three.report(z[:, :3], truth[:, :3]).metrics
    for key in ("macro_f1", "macro_average_precision"):
        assert report.metrics[key] == pytest.approx(same[key])


def test_no_labels_at_all_have_figures() -> None:
    nothing = np.zeros((3, 2), dtype=bool)
    assert f1_scores(label_counts(nothing, nothing)) == {
        "micro_f1": 0.0, "macro_f1": 0.0, "subset_accuracy": 1.0,
    }  # fmt: skip
    several(["a", "b"]).report(np.full((3, 2), -5.0), nothing).lines()


def test_intervals_of_average_precision_are_those_of_plain_resampling() -> None:
    """One after the other, by scikit-learn; a rare label is missing in some resamples."""
    z, truth = some(8, rows=60, labels=3)
    truth[:, 0] &= np.random.default_rng(0).random(60) < 0.05
    p = 1 / (1 + np.exp(-z))
    found = bootstrap_precision(p, truth, seed=3)
    rng, macro, micro = np.random.default_rng(3), [], []
    for _ in range(2000):
        rows = rng.integers(0, 60, 60)
        own = average_precision_score(truth[rows], p[rows], average="micro")
        each = [average_precision_score(y, x) for x, y in zip(p[rows].T, truth[rows].T) if y.any()]
        macro.append(np.mean(each))
        micro.append(own)
    np.testing.assert_allclose(found.macro, np.quantile(macro, [0.025, 0.975]), rtol=1e-6)
    np.testing.assert_allclose(found.micro, np.quantile(micro, [0.025, 0.975]), rtol=1e-6)


def test_a_row_is_oversampled_by_its_rarest_label() -> None:
    truth = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0]], dtype=bool)
    classes = several(["a", "b", "c"]).sampled_by(truth)
    assert classes.tolist() == [0, 1, -1, 2, 0, 1]
    rows = oversample(classes, np.random.default_rng(0))
    assert np.bincount(rows).tolist() == [1, 1, 1, 2, 1, 1]


@pytest.mark.parametrize("thresholds", ["label", "one", "none"])
def test_where_thresholds_come_from(thresholds) -> None:
    z, truth = some(7)
    decision = several(["a", "b", "c", "d"], thresholds=thresholds, calibrate=False)
    decision.fit(z, truth)
    assert decision.temperature == 1
    p = decision.probabilities(z)
    if thresholds == "label":
        wanted = [best_threshold(p[:, k], truth[:, k]) for k in range(4)]
    elif thresholds == "one":
        wanted = [best_threshold(p.ravel(), truth.ravel())] * 4
    else:
        wanted = [0.5] * 4
    assert decision.thresholds.tolist() == wanted
    assert decision.fitted == (thresholds != "none")


def test_folds_fit_what_their_rows_together_fit() -> None:
    """But for those that know other labels: their models were trained on rows without some."""
    names = ["a", "b", "c", "d"]
    folds = [Unseen(*some(seed), names) for seed in range(3)]
    other = Unseen(*some(9, labels=3), names[:3])
    decision, wanted = several(names), several(names)
    found, notes = decision.fit_folds([*folds, other])
    z, truth = (np.concatenate([own[i] for own in folds]) for i in range(2))
    told = wanted.fit(z, truth, rows="out-of-fold")
    assert notes == [*told, "1 of 4 folds lacked some labels and did not calibrate"]
    assert "by F1 on the out-of-fold rows" in notes[1]
    assert (decision.temperature, decision.thresholds.tolist()) == (
        wanted.temperature, wanted.thresholds.tolist(),
    )  # fmt: skip
    assert found.before.nll == wanted.calibration(z, truth).before.nll
    assert found.after.nll >= wanted.calibration(z, truth).after.nll  # by temperatures of others
    assert several(names).fit_folds([folds[0], other]) == (None, several(names).unfitted())


def test_without_a_validation_part_it_is_said() -> None:
    assert several(["a", "b"]).unfitted() == [
        "no validation part: the probabilities are not calibrated",
        "no validation part: the threshold of every label is 0.5",
    ]
    assert several(["a", "b"], calibrate=False, thresholds="none").unfitted() == []


def test_answers_are_the_labels_above_their_thresholds() -> None:
    decision = several(["a", "b", "c"])
    decision.thresholds = np.array([0.5, 0.1, 0.9])
    answer = decision.answered("some\ttext", np.array([0.5, 0.8, 0.89]))
    assert answer.labels == ["b", "a"]
    assert str(answer) == "b,a\t0.8000,0.5000\tsome text"
    assert answer.rows(1) == [["b,a", "0.500000", "0.800000", "0.890000", "some\ttext"]]
    assert answer.header() == ["labels", "p(a)", "p(b)", "p(c)", "text"]
    assert answer.to_json()["labels"] == ["b", "a"]
    assert str(decision.answered("x", np.zeros(3))) == "(none)\t\tx"
    assert several(["a,b", "c"]).answered("x", np.ones(2)).rows(1)[0][0] == "a,b;c"


def test_weights_of_classes_as_those_of_scikit_learn() -> None:
    y = np.array(["x"] * 7 + ["y"] * 2 + ["z"])
    names, count = np.unique(y, return_counts=True)
    wanted = compute_class_weight("balanced", classes=names, y=y)
    np.testing.assert_allclose(balanced(count, len(y)), wanted)
    field = LabelField("label")
    field.names, field.counts = names.tolist(), count
    decision = OneLabel(field, TrainConfig(class_weights="balanced"))
    assert decision.weights is not None
    np.testing.assert_allclose(decision.weights, wanted, rtol=1e-6)
    scores = torch.randn(10, 3, generator=torch.Generator().manual_seed(1), requires_grad=True)
    targets = torch.tensor([names.tolist().index(own) for own in y])
    # torch divides by the weights of the batch; those of all training rows have a mean of 1.
    torch.testing.assert_close(
        decision.loss(scores, targets),
        F.cross_entropy(scores, targets, weight=torch.tensor(wanted, dtype=torch.float32)),
    )


def test_weights_of_labels_are_those_of_a_classifier_each() -> None:
    _, truth = some(8)
    field = LabelsField("labels")
    field.names, field.counts, field.rows = list("abcd"), truth.sum(0), len(truth)
    decision = SeveralLabels(field, TrainConfig(class_weights="balanced"))
    assert decision.weights is not None
    for k in range(4):
        wanted = compute_class_weight("balanced", classes=np.array([False, True]), y=truth[:, k])
        np.testing.assert_allclose(decision.weights[:, k], wanted, rtol=1e-6)
    scores = torch.zeros(len(truth), 4)
    loss = decision.loss(scores, torch.from_numpy(truth.astype(np.float32)))
    assert float(loss) == pytest.approx(np.log(2), rel=1e-5)  # the weights have a mean of 1


def test_the_weighted_loss_learns_what_scikit_learn_does() -> None:
    """Its minimum for a linear model is that of a balanced logistic regression."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=(120, 2))
    y = (x @ [2.0, -1.0] + rng.normal(size=120) > 1.5).astype(np.int64)
    wanted = LogisticRegression(C=1e6, class_weight="balanced", tol=1e-10, max_iter=1000).fit(x, y)
    field = LabelField("label")
    field.names, field.counts = ["n", "p"], np.bincount(y)
    decision = OneLabel(field, TrainConfig(class_weights="balanced"))
    w = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [w], max_iter=200, tolerance_grad=1e-10, line_search_fn="strong_wolfe"
    )
    inputs = torch.from_numpy(np.concatenate([x, np.ones((120, 1))], 1))

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        z = inputs @ w
        loss = decision.loss(torch.stack([torch.zeros_like(z), z], 1), torch.from_numpy(y))
        loss.backward()
        return loss

    optimizer.step(closure)
    found = w.detach().numpy()
    np.testing.assert_allclose(found, [*wanted.coef_[0], wanted.intercept_[0]], rtol=2e-3)


def test_smoothed_targets() -> None:
    decision = several(["a", "b"], label_smoothing=0.2)
    scores = torch.tensor([[1.0, -2.0]])
    wanted = F.binary_cross_entropy_with_logits(scores, torch.tensor([[0.9, 0.1]]))
    torch.testing.assert_close(decision.loss(scores, torch.tensor([[1.0, 0.0]])), wanted)
