"""The estimators keep scikit-learn's conventions, and answer as a run does."""

from __future__ import annotations

import csv
import pickle
import pickletools

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_regressors_train, parametrize_with_checks

import unspool
from unspool.errors import ConfigError, RunError
from unspool.sklearn import (
    SequenceClassifier,
    SequenceForecaster,
    SequenceRegressor,
    SequenceTagger,
)

QUICK = {"hidden": 4, "epochs": 3, "batch": 16, "lr": 0.02, "settings": {"threads": 1}}
LEARNING = {"model": "gru", "hidden": 8, "epochs": 4, "lr": 0.02, "settings": {"threads": 1}}

NOT_LEARNT = {"check_regressors_train": "three epochs do not learn it: see the test below"}
OTHER_BATCHES = {
    "check_sample_weight_equivalence_on_dense_data": "repeated rows make other batches, and other"
    " steps: see the tests of weights below"
}


def expected_failures(estimator) -> dict[str, str]:
    return OTHER_BATCHES | (NOT_LEARNT if isinstance(estimator, SequenceRegressor) else {})


@parametrize_with_checks(
    [SequenceClassifier("gru", **QUICK), SequenceRegressor("gru", **QUICK)],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning", "ignore:Can't check")
def test_checks_of_scikit_learn(estimator, check) -> None:
    """A table of numbers is read as a series of one channel in each row."""
    check(estimator)


@pytest.mark.parametrize("model", ["linear", "nb_linear"])
def test_heavy_rows_decide_a_linear_model(model) -> None:
    X = ["one and the same text", "and another one"] * 20
    y = np.array(["a", "a", "b", "b"] * 10)
    weights = np.where(y == "a", 1.0, 9.0)
    chosen = {"valid_share": 0.0, "settings": {"calibrate": False}}
    p = SequenceClassifier(model, **chosen).fit(X, y, weights).predict_proba(X[:2])
    assert p[:, 1] == pytest.approx(0.9, abs=0.02)
    numbers = np.where(y == "a", 0.0, 10.0)
    if model == "linear":
        fitted = SequenceRegressor(model, valid_share=0.0).fit(X, numbers, weights)
        assert fitted.predict(X[:2]) == pytest.approx(9, abs=0.1)


def test_heavy_rows_decide() -> None:
    """One series with both labels: the heavier one wins; a number is the weighted mean."""
    X = np.tile([0.0, 1.0, 0.0, 2.0, 1.0], (40, 1))
    y = np.array(["a", "b"] * 20)
    weights = np.where(y == "a", 1.0, 9.0)
    settings = {**QUICK, "epochs": 30, "dropout": 0.0, "valid_share": 0.0, "random_state": 1}
    quiet = {**settings, "settings": {"threads": 1, "calibrate": False}}
    p = SequenceClassifier("gru", **quiet).fit(X, y, weights).predict_proba(X[:1])[0]
    assert p[1] == pytest.approx(0.9, abs=0.05)
    numbers = np.where(y == "a", 0.0, 10.0)
    model = SequenceRegressor("gru", **settings).fit(X, numbers, weights)
    assert model.predict(X[:1])[0] == pytest.approx(9, abs=0.5)


def test_a_weighted_loss_is_that_of_repeated_rows(texts) -> None:
    """Of one batch: Σ w ℓ / N, as Σ ℓ over rows that occur w times / N."""
    import torch

    from unspool.data.part import Part

    X, y = texts[0][:8], texts[1][:8]
    for kind, target in ((SequenceClassifier, y), (SequenceRegressor, np.arange(8.0))):
        run = kind("gru", **QUICK).fit(X, target).run_
        name = run.task.input_field.name
        answers = (
            {"label": list(y)} if kind is SequenceClassifier else {"number": [[v] for v in target]}
        )
        part = Part.of(run.task.fields, **{name: X, **answers})
        weights = np.array([1, 2, 3, 1, 1, 2, 1, 1])
        rows = np.repeat(np.arange(8), weights)
        repeated = run.task.loss(run.model, part.collate(rows), None).loss
        part.weights = weights * 8 / weights.sum()
        weighted = run.task.loss(run.model, part.collate(np.arange(8)), None).loss
        torch.testing.assert_close(weighted, repeated)


def test_weights_that_are_refused(texts, tmp_path) -> None:
    X, y = texts[0][:40], list(texts[1][:40])
    options = {"model": "gru", "hidden": 4, "epochs": 1, "quiet": True}
    for weights, match in (
        ([1.0] * 39, r"weights must have shape \(40,\)"),
        ([1.0, -1.0] * 20, "weight 2 is not above 0"),
    ):
        with pytest.raises(ConfigError, match=match):
            unspool.train(X, y, weights=weights, out=tmp_path / "run", **options)
    with pytest.raises(ConfigError, match="weights of rows are for classify and regress"):
        unspool.train(
            {"words": [["a"], ["b"]] * 9, "tags": [["x"], ["y"]] * 9}, weights=[1.0] * 18,
            out=tmp_path / "run", task="tag",
        )  # fmt: skip
    unspool.train(X, y, weights=[1.0, 2.0] * 20, out=tmp_path / "run", **options)
    with pytest.raises(ConfigError, match="weights of rows cannot be resumed with"):
        unspool.train(X, y, out=tmp_path / "run", resume=True)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_a_regressor_learns_what_scikit_learn_asks() -> None:
    chosen = {**QUICK, "hidden": 16, "epochs": 40, "dropout": 0.0}
    check_regressors_train("SequenceRegressor", SequenceRegressor("gru", **chosen))


@pytest.fixture(scope="module")
def texts(reviews) -> tuple[list[str], np.ndarray]:
    frame = pd.read_csv(reviews)
    return frame["text"].tolist(), frame["label"].to_numpy()


@pytest.fixture(scope="module")
def fitted(texts) -> SequenceClassifier:
    return SequenceClassifier(random_state=3, **LEARNING).fit(*texts)


def test_a_classifier_answers_as_a_run(texts, fitted, tmp_path) -> None:
    X, y = texts
    run = unspool.train(
        X, list(y), task="classify", model="gru", hidden=8, epochs=4, lr=0.02, threads=1, seed=3,
        split_seed=3, out=tmp_path / "run", quiet=True,
    )  # fmt: skip
    answers = run.predict(X[:20])
    assert fitted.classes_.tolist() == ["neg", "pos"]
    assert fitted.predict(X[:20]).tolist() == [answer.label for answer in answers]
    expected = [[answer.probabilities[name] for name in ("neg", "pos")] for answer in answers]
    assert np.allclose(fitted.predict_proba(X[:20]), expected, atol=1e-6)
    assert fitted.score(X, y) > 0.9


@pytest.mark.parametrize(
    "classes",
    [[0, 1], [2.0, -1.0], [True, False], ["", " a "], ["a", "b"], [10, 9]],
)
def test_classes_come_back_as_they_were_given(texts, classes) -> None:
    X, y = texts
    labels = np.array(classes, dtype=object if isinstance(classes[0], str) else None)
    labels = labels[(y == "pos").astype(int)]
    model = SequenceClassifier(**LEARNING).fit(X, labels)
    assert model.predict(X[:9]).dtype == labels.dtype
    assert model.score(X, labels) > 0.9


def same(one, other, X) -> bool:
    return np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_pickles_answer_the_same_and_hold_no_code(texts, fitted, tmp_path) -> None:
    X = texts[0][:10]
    content = pickle.dumps(fitted)
    names = {text for code, text, _ in pickletools.genops(content) if code.name == "GLOBAL"}
    strings = [text for _, text, _ in pickletools.genops(content) if isinstance(text, str)]
    assert not names
    assert {text.split(".")[0] for text in strings if text.startswith(("unspool", "torch"))} == {
        "unspool"
    }
    assert same(pickle.loads(content), fitted, X)
    joblib.dump(fitted, tmp_path / "model.joblib")
    assert same(joblib.load(tmp_path / "model.joblib"), fitted, X)


def test_a_damaged_pickle_is_refused(fitted) -> None:
    state = fitted.__getstate__()
    state["run_"] = state["run_"][:-1]
    with pytest.raises(RunError, match="a pickled SequenceClassifier: damaged or no pack"):
        SequenceClassifier.__new__(SequenceClassifier).__setstate__(state)


def test_skops_keeps_it(texts, fitted, tmp_path) -> None:
    skops = pytest.importorskip("skops.io")
    skops.dump(fitted, tmp_path / "model.skops")
    types = skops.get_untrusted_types(file=tmp_path / "model.skops")
    assert types == ["unspool.sklearn.SequenceClassifier"]
    again = skops.load(tmp_path / "model.skops", trusted=types)
    assert same(again, fitted, texts[0][:10])


def test_parameters_of_all_settings() -> None:
    model = SequenceClassifier("gru", settings={"min_count": 2})
    model.set_params(hidden=7, settings__kind="char", settings__min_count=3)
    assert model.settings == {"min_count": 3, "kind": "char"}
    assert model.get_params()["settings__kind"] == "char"
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(ValueError, match="Invalid parameter 'hiden'"):
        model.set_params(hiden=3)


def test_a_setting_that_does_not_exist_is_refused(texts) -> None:
    with pytest.raises(ConfigError, match=r"unknown setting.*hiden"):
        SequenceClassifier(settings={"hiden": 3}).fit(*texts)


def test_a_grid_search_in_a_pipeline_with_two_processes(texts) -> None:
    X, y = texts
    steps = [("lower", FunctionTransformer(lower)), ("model", SequenceClassifier(**LEARNING))]
    grid = {"model__hidden": [1, 8], "model__settings__min_count": [1, 2]}
    search = GridSearchCV(Pipeline(steps), grid, cv=2, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.8
    assert len(search.cv_results_["params"]) == 4
    assert search.predict(X[:3]).shape == (3,)


def lower(texts: list[str]) -> list[str]:
    return [text.lower() for text in texts]


def test_a_column_of_a_frame(texts) -> None:
    X, y = texts
    frame = pd.DataFrame({"id": range(len(X)), "text": X})
    columns = ColumnTransformer([("text", "passthrough", ["text"])])
    model = Pipeline([("columns", columns), ("model", SequenceClassifier(**LEARNING))])
    model.fit(frame, y)
    assert model.score(frame, y) > 0.9
    assert np.array_equal(
        model.predict(frame),
        SequenceClassifier(**LEARNING).fit(frame["text"], y).predict(frame["text"]),
    )


def test_a_frame_of_two_texts() -> None:
    rng = np.random.default_rng(4)
    words = np.array(["red", "green", "blue"])
    pairs = pd.DataFrame({"one": rng.choice(words, 200), "other": rng.choice(words, 200)})
    y = pairs["one"] == pairs["other"]
    settings = {"threads": 1, "text": "one", "text_pair": "other"}
    model = SequenceClassifier("gru", hidden=32, epochs=25, lr=0.02, settings=settings)
    assert model.fit(pairs, y).score(pairs, y) > 0.9
    with pytest.raises(ValueError, match="X has a column 'y', which is the name of the answers"):
        model.fit(pairs.rename(columns={"one": "y"}), y)


def waves() -> tuple[list[np.ndarray], np.ndarray]:
    """Random walks of different lengths that rise or fall."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1, 1], 80)
    walks = [np.cumsum(rng.normal(size=(4 + n, 2)) + 0.8 * s, 0) for n, s in enumerate(signs)]
    return walks, np.where(signs > 0, "up", "down")


@pytest.mark.parametrize("model", ["linear", "gru"])
def test_cross_validation_is_that_of_folds(model, texts, tmp_path) -> None:
    """Of texts the linear model: ids of words follow the order of all rows in one case, and of the
    training rows in the other, and so do the initial vectors of a network."""
    X, y = texts if model == "linear" else waves()
    settings = {} if model == "linear" else {"hidden": 8, "epochs": 3, "lr": 0.02}
    unspool.train(
        X, list(y), task="classify", model=model, folds=3, threads=1, out=tmp_path / "run",
        quiet=True, **settings,
    )  # fmt: skip
    with open(tmp_path / "run" / "out-of-fold.csv") as file:
        rows = list(csv.DictReader(file))
    fold = np.array([int(row["fold"]) for row in rows])
    right = np.array([row["true label"] == row["label"] for row in rows])
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in (1, 2, 3)]
    estimator = SequenceClassifier(model, settings={"threads": 1}, **settings)
    as_array = np.empty(len(X), dtype=object)
    as_array[:] = X
    scores = cross_val_score(estimator, as_array, y, cv=splits)
    assert scores == pytest.approx([right[test].mean() for _, test in splits])


def test_series_of_different_lengths() -> None:
    X, y = waves()
    train, test = train_test_split(np.arange(80), random_state=0)
    model = SequenceClassifier("gru", hidden=8, epochs=15, lr=0.02, settings={"threads": 1})
    model.fit([X[i] for i in train], y[train])
    assert model.score([X[i] for i in test], y[test]) > 0.9


def test_several_numbers() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6, 2))
    Y = X.mean(1)
    settings = {"threads": 1, "pooling": "mean"}
    model = SequenceRegressor("gru", hidden=16, epochs=30, lr=0.02, settings=settings)
    assert model.fit(X, Y).predict(X[:5]).shape == (5, 2)
    assert model.score(X, Y) > 0.8


def test_tags_of_words_and_of_steps(sentences) -> None:
    blocks = sentences.read_text().strip().split("\n\n")
    rows = [[line.split() for line in block.split("\n")] for block in blocks]
    X, y = [[r[0] for r in row] for row in rows], [[r[-1] for r in row] for row in rows]
    model = SequenceTagger(
        "bilstm", hidden=16, epochs=12, batch=16, lr=0.02, dropout=0.1, settings={"threads": 1}
    )
    assert model.fit(X, y).score(X, y) > 0.9
    assert [len(tags) for tags in model.predict(X[:5])] == [len(words) for words in X[:5]]
    assert set(model.classes_) == {"O", "B-PER", "I-PER", "B-LOC"}
    steps = [np.random.default_rng(i).normal(size=(9, 2)) for i in range(60)]
    signs = [["up" if step[0] > 0 else "down" for step in series] for series in steps]
    model = SequenceTagger("gru", hidden=8, epochs=8, batch=16, lr=0.02, settings={"threads": 1})
    assert model.fit(steps, signs).score(steps, signs) > 0.9


def test_forecasts() -> None:
    t = np.arange(300)
    series = np.sin(2 * np.pi * t / 12)
    model = SequenceForecaster(
        "gru", horizon=6, hidden=8, epochs=6, lr=0.02, settings={"threads": 1}
    )
    following = model.fit(series).predict()
    assert following.shape == (6,)
    assert np.allclose(following, np.sin(2 * np.pi * np.arange(300, 306) / 12), atol=0.4)
    low, high = model.predict_interval()
    assert (low <= following).all()
    assert (following <= high).all()
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(), following)
    dated = pd.Series(series, index=pd.date_range("2024-01-01", periods=300, freq="h"))
    assert clone(model).fit(dated).predict().shape == (6,)
    both = np.stack([series, -series], 1)
    model = clone(model).fit([both, both[:200]])
    assert [each.shape for each in model.predict([both, both, both])] == [(6, 2)] * 3


@pytest.mark.parametrize(
    "kind", [SequenceClassifier, SequenceRegressor, SequenceTagger, SequenceForecaster]
)
def test_nothing_is_predicted_before_fit(kind) -> None:
    with pytest.raises(NotFittedError):
        kind().predict(["a"])


def test_one_class_and_no_rows() -> None:
    with pytest.raises(ValueError, match="needs samples of at least 2 classes"):
        SequenceClassifier().fit(["a", "b"], [1, 1])
    with pytest.raises(ValueError, match="0 sample"):
        SequenceClassifier().fit([], [])
