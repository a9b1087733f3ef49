"""Estimators of scikit-learn: lists, arrays and data frames in, fitted models out.

    from unspool.sklearn import SequenceClassifier
    SequenceClassifier(hidden=64).fit(texts, labels).predict(texts)

They can be cloned, searched over, put into pipelines and pickled. A pickle has the bytes of a run
folder (`unspool.training.pack`), and no code.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    check_random_state,
    column_or_1d,
)

from unspool.api.run import Run, load
from unspool.api.train import train
from unspool.data.read.memory import is_table
from unspool.training.pack import unpack, write_archive

__all__ = ["SequenceClassifier", "SequenceForecaster", "SequenceRegressor", "SequenceTagger"]

TARGET = "y"  # column of the answers, beside those of a data frame
INSIDE = "settings__"
NUMBERS = "biufc"  # kinds of dtypes
FEW = 20  # rows of which none is held out for validation


class SequenceEstimator(BaseEstimator):
    """Base of the estimators. A parameter that is None has the default of its task.

    model          lstm, bigru, transformer, cnn, linear, rocket ...; None: the best of several, as
                   `unspool.train` chooses it
    random_state   of the weights, the order of the rows and what is held out for validation
    settings       all further settings by name: {"min_count": 3, "kind": "char"}; each is also a
                   parameter, `settings__min_count`
    verbose        show decisions and progress
    """

    task: ClassVar[str]
    rowwise: ClassVar[bool] = True  # X has an example in each row

    def __init__(
        self,
        model: str | None = None,
        *,
        hidden: int | None = None,
        layers: int | None = None,
        embedding: int | None = None,
        dropout: float | None = None,
        epochs: int | None = None,
        batch: int | None = None,
        lr: float | None = None,
        valid_share: float | None = None,
        random_state: Any = None,
        settings: Mapping[str, Any] | None = None,
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.hidden = hidden
        self.layers = layers
        self.embedding = embedding
        self.dropout = dropout
        self.epochs = epochs
        self.batch = batch
        self.lr = lr
        self.valid_share = valid_share
        self.random_state = random_state
        self.settings = settings
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params: dict[str, Any] = super().get_params(deep)
        inside = self.settings if deep and isinstance(self.settings, Mapping) else {}
        return params | {f"{INSIDE}{name}": value for name, value in inside.items()}

    def set_params(self, **params: Any) -> Self:
        inside = {name: params.pop(name) for name in list(params) if name.startswith(INSIDE)}
        super().set_params(**params)
        if inside:
            changed = {name.removeprefix(INSIDE): value for name, value in inside.items()}
            self.settings = {**(self.settings or {}), **changed}
        return self

    def _chosen(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        shared = (
            "hidden",
            "layers",
            "embedding",
            "dropout",
            "epochs",
            "batch",
            "lr",
            "valid_share",
        )
        chosen = {name: getattr(self, name) for name in shared if getattr(self, name) is not None}
        if self.random_state is not None:
            seed = self.random_state
            if not isinstance(seed, int | np.integer):
                seed = check_random_state(seed).randint(2**31 - 1)
            chosen |= {"seed": int(seed), "split_seed": int(seed)}
        return chosen | dict(self.settings or {})

    def _train(self, items: Any, labels: Any = None, **settings: Any) -> None:
        chosen = {**self._chosen(), **settings}
        if self.rowwise and len(rows_of(items)) < FEW:
            chosen.setdefault("valid_share", 0.0)
        quiet = not self.verbose

        def fitted(home: Path) -> Run:
            return train(
                items, labels, task=self.task, model=self.model, out=home, quiet=quiet, **chosen
            )

        self.run_ = in_temporary_folder(fitted)

    def _items(self, X: Any, *, fitting: bool = False) -> Any:
        """Sequences as `unspool.train` takes them: a list, or a data frame with several columns."""
        if is_table_of_texts(X):
            names = list(getattr(X, "columns", range(X.shape[1])))
            columns = [X[name] if hasattr(X, "columns") else X[:, name] for name in names]
            if len(names) > 1:
                return {str(name): column.tolist() for name, column in zip(names, columns)}
            X = columns[0]
        if not is_numeric_array(X):
            items = X.tolist() if hasattr(X, "tolist") else list(X)
            if not items:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            return items
        X = check_array(X, allow_nd=True, ensure_all_finite="allow-nan", estimator=self)
        if X.ndim == 2:
            _check_n_features(self, X, reset=fitting)
        return list(X)

    def _answers(self, X: Any) -> list[Any]:
        check_is_fitted(self, "run_")
        return list(self.run_.predict(self._items(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # gaps of series
        tags.input_tags.string = tags.input_tags.three_d_array = True
        tags.non_deterministic = False
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__().copy()
        if "run_" in state:
            content = io.BytesIO()
            write_archive(state["run_"].path, content)
            state["run_"] = content.getvalue()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "run_" in state:

            def unpacked(home: Path) -> Run:
                unpack(state["run_"], home, f"a pickled {type(self).__name__}")
                return load(home)

            state = {**state, "run_": in_temporary_folder(unpacked)}
        super().__setstate__(state)


class SequenceClassifier(ClassifierMixin, SequenceEstimator):
    """A label for each text or series: `classify`."""

    task = "classify"
    run_: Run

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on texts, series (arrays of steps or of steps by channels), or a data frame.

        sample_weight   (N,) how much each counts in the loss; those of weight 0 are left out
        """
        items = self._items(X, fitting=True)
        y = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=None, input_name="y")
        check_consistent_length(rows_of(items), y)
        items, y, weights = weighted(self, items, y, sample_weight)
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes, and the data have one"
                f" class: {self.classes_[0]!r}"
            )
        self._names = class_names(self.classes_)
        fit_table(self, items, [self._names[i] for i in index], weights)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, classes) in the order of `classes_`"""
        answers = self._answers(X)
        return np.array([[a.probabilities[name] for name in self._names] for a in answers])

    def predict(self, X: Any) -> np.ndarray:
        """(N,) the most probable class of each"""
        answers = self._answers(X)
        index = {name: i for i, name in enumerate(self._names)}
        return self.classes_[[index[answer.label] for answer in answers]]


class SequenceRegressor(RegressorMixin, SequenceEstimator):
    """A number, or several, for each text or series: `regress`."""

    task = "regress"
    run_: Run

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on sequences as of `SequenceClassifier` and numbers (N,) or (N, K)."""
        items = self._items(X, fitting=True)
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=self)
        check_consistent_length(rows_of(items), y)
        items, y, weights = weighted(self, items, y, sample_weight)
        if len(y) < 2:
            raise ValueError("Found array with 1 sample(s) while a minimum of 2 is required.")
        self._one = y.ndim == 1
        fit_table(self, items, y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y, weights)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """(N,) or (N, K)"""
        numbers = np.array([list(answer.numbers.values()) for answer in self._answers(X)])
        return numbers[:, 0] if self._one else numbers

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class SequenceTagger(SequenceEstimator):
    """A tag for each word of a text, or for each step of a series: `tag`."""

    task = "tag"
    run_: Run

    def fit(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> Self:
        """Train on lists of words, or arrays (steps, channels), with a list of tags for each."""
        items, tags = self._items(X, fitting=True), [list(map(str, row)) for row in y]
        check_consistent_length(rows_of(items), tags)
        self.classes_ = np.unique([tag for row in tags for tag in row])
        self._train(items, tags)
        return self

    def predict(self, X: Sequence[Any]) -> list[list[str]]:
        """The tags of each sequence, in the scheme of those that were given."""
        return [tags_of(answer) for answer in self._answers(X)]

    def score(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> float:
        """The share of right tags, over all steps."""
        pairs = [pair for row, tags in zip(y, self.predict(X)) for pair in zip(row, tags)]
        return float(np.mean([str(true) == tag for true, tag in pairs]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags


class SequenceForecaster(SequenceEstimator):
    """The next `horizon` steps of a series: `forecast`."""

    task = "forecast"
    rowwise = False
    run_: Run

    def __init__(
        self,
        model: str | None = None,
        *,
        horizon: int | None = None,
        hidden: int | None = None,
        layers: int | None = None,
        dropout: float | None = None,
        epochs: int | None = None,
        batch: int | None = None,
        lr: float | None = None,
        random_state: Any = None,
        settings: Mapping[str, Any] | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            model, hidden=hidden, layers=layers, dropout=dropout, epochs=epochs, batch=batch,
            lr=lr, random_state=random_state, settings=settings, verbose=verbose,
        )  # fmt: skip
        self.horizon = horizon

    def fit(self, X: Any, y: None = None) -> Self:
        """Train on a series: an array (steps,) or (steps, channels), a Series or data frame with
        an index of dates; or on a list of series."""
        self._train(X, **({} if self.horizon is None else {"horizon": self.horizon}))
        self.series_ = X
        return self

    def predict(self, X: Any = None) -> Any:
        """The next steps of each series, (horizon,) or (horizon, channels); of a list a list.
        X: None for what follows the training series."""
        return self._steps(X, "center")

    def predict_interval(self, X: Any = None) -> tuple[Any, Any]:
        """The lower and upper bounds of the steps."""
        return self._steps(X, "low"), self._steps(X, "high")

    def _steps(self, X: Any, name: str) -> Any:
        check_is_fitted(self, "run_")
        X = self.series_ if X is None else X
        one = not isinstance(X, list | tuple)
        items = [X] if one and not is_table(X) else X
        steps = [getattr(answer, name) for answer in self.run_.predict(items)]
        narrow = [each[:, 0] if each.shape[1] == 1 else each for each in steps]
        return narrow[0] if one and len(narrow) == 1 else narrow

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def in_temporary_folder(make: Callable[[Path], Run]) -> Run:
    """A run whose folder is removed when the run is no longer used."""
    home = tempfile.mkdtemp(prefix="unspool-")
    try:
        run = make(Path(home))
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)
        raise
    weakref.finalize(run, shutil.rmtree, home, ignore_errors=True)
    return run


def rows_of(items: Any) -> Any:
    """A list of items itself; the first column of a table."""
    return next(iter(items.values())) if isinstance(items, dict) else items


def weighted(
    estimator: SequenceEstimator, items: Any, y: np.ndarray, sample_weight: Any
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """The items and answers whose weight is not 0, and their weights; None where all are alike."""
    if sample_weight is None:
        return items, y, None
    weights = _check_sample_weight(sample_weight, rows_of(items), ensure_non_negative=True)
    rows = np.flatnonzero(weights)
    if not len(rows):
        raise ValueError("all sample weights are zero")
    weights = weights[rows]
    if len(rows) < len(y):
        columns = items if isinstance(items, dict) else {"": items}
        kept = {name: [column[i] for i in rows] for name, column in columns.items()}
        items, y = kept if isinstance(items, dict) else kept[""], y[rows]
    return items, y, None if (weights == weights[0]).all() else weights


def fit_table(
    estimator: SequenceEstimator, items: Any, y: Any, weights: np.ndarray | None = None
) -> None:
    """Train on items with their answers; of a data frame on all its columns."""
    if isinstance(items, list) and np.ndim(y) == 1:
        estimator._train(items, list(y), weights=weights)
        return
    columns = {"x": items} if isinstance(items, list) else items
    if np.ndim(y) == 1:
        answers = {TARGET: list(y)}
    else:
        answers = {f"{TARGET}{k + 1}": column for k, column in enumerate(np.asarray(y).T.tolist())}
    if taken := sorted(columns.keys() & answers.keys()):
        raise ValueError(
            f"X has a column {taken[0]!r}, which is the name of the answers: rename it"
        )
    estimator._train(columns | answers, label=",".join(answers), weights=weights)


def tags_of(answer: Any) -> list[str]:
    """Tags of the words of a text, or labels of the steps of a series."""
    words = getattr(answer, "words", None)
    return list(answer.labels) if words is None else [word.tag for word in words]


def class_names(classes: np.ndarray) -> list[str]:
    """Name the classes in a run: by themselves, or by numbers where those are not distinct."""
    names = [str(name) for name in classes]
    plain = all(name.strip() == name and name for name in names)
    return (
        names
        if plain and len(set(names)) == len(names)
        else [f"class {i}" for i in range(len(names))]
    )


def is_table_of_texts(X: Any) -> bool:
    """Return whether X has columns, of which one has no numbers."""
    if hasattr(X, "dtypes") and getattr(X, "ndim", 0) == 2:
        return not all(getattr(kind, "kind", "O") in NUMBERS for kind in X.dtypes)
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    return kind in ("O", "U") and X.ndim == 2 and any(isinstance(x, str) for x in X[:1].flat)


def is_numeric_array(X: Any) -> bool:
    """Return whether X should be numbers in an array, sparse or otherwise unfit ones included."""
    if hasattr(X, "dtype"):
        return X.dtype.kind in NUMBERS or (X.dtype.kind == "O" and X.ndim > 1)
    if not isinstance(X, list | tuple):
        return True
    if not X or not isinstance(X[0], list | tuple):
        return False
    try:
        return np.asarray(X).dtype.kind in NUMBERS
    except ValueError:  # of rows that differ in length
        return False
