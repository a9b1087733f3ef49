"""Baselines: parts in, a linear model of TF-IDF or of features of series, or a constant one, out.

Weights come from scikit-learn, which is not needed to predict with them. How strongly they are held
small, and whether n-grams of characters are read beside those of words, is chosen on the validation
part.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import nn

from unspool.config import Config, ModelConfig, TokenizerConfig
from unspool.data.fields.bags import Bags, NgramField
from unspool.data.fields.features import FeatureField, Features
from unspool.data.part import Part
from unspool.data.split import HoldOut, stratified
from unspool.data.store.ragged import gather
from unspool.nn.models.linear import Constant, Linear
from unspool.tasks.calibration import Probabilities, fit_temperature

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from unspool.tasks.decision import Decision
    from unspool.tasks.document import DocumentTask

LINEAR: dict[str, Any] = {
    "model.network": "linear",
    "tokenizer.lowercase": True,
    "tokenizer.min_count": 2,
    "tokenizer.vocab": 1_000_000,
}
NB_LINEAR: dict[str, Any] = {**LINEAR, "model.log_count_ratios": True}
ROCKET: dict[str, Any] = {**LINEAR, "model.rocket": True}
CONSTANT: dict[str, Any] = {**LINEAR, "model.network": "constant"}
PENALTIES = np.logspace(-3, 5, 13)
MOST_GROUPS = 5  # in which groups of rows are left out
STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0)  # C of scikit-learn: one over the penalty
USUAL = 10.0  # where there is too little to choose by
FEWEST = 50  # rows that are worth holding some out, where there is no validation part
SHOWN = 15  # n-grams of a class in a model card


def baseline_config(config: Config, name: str, preset: Mapping[str, Any]) -> Config:
    """A baseline on the data of another config: the same rows, of which all of the text is read."""
    settings, model = (
        {key.split(".")[1]: value for key, value in preset.items() if key.startswith(section)}
        for section in ("tokenizer.", "model.")
    )
    kind = config.tokenizer.kind
    return config.model_copy(
        update={
            "model_name": name,
            "data": config.data.model_copy(update={"max_length": 0, "window": 0, "stride": 0}),
            "tokenizer": TokenizerConfig(
                **settings,
                kind=kind if kind in ("word", "char") else "auto",
                split=config.tokenizer.split,
                normalize=config.tokenizer.normalize,
            ),
            "model": ModelConfig(**model),
            "embedding": type(config.embedding)(),
        }
    )


class LinearWeights(NamedTuple):
    W: np.ndarray  # (F, K)
    b: np.ndarray  # (K,)

    def scores(self, x: csr_matrix, outputs: int) -> np.ndarray:
        """(N, outputs) as `LinearText` gives them."""
        y = x @ self.W + self.b
        return y if y.shape[1] == outputs else np.concatenate([np.zeros_like(y), y], 1)


class Solver(ABC):
    """Weights of standardised features for the targets of a part; larger strengths fit closer.

    self_tuned   whether it chooses the strength itself, on the rows that it is fitted to
    """

    self_tuned: ClassVar[bool] = False

    @abstractmethod
    def solve(
        self, x: csr_matrix, part: Part, rows: np.ndarray, strength: float
    ) -> LinearWeights: ...

    @abstractmethod
    def strata(self, part: Part) -> np.ndarray:
        """(N,) the class of each row, of which a hold-out gets its share."""

    @abstractmethod
    def constant(self, part: Part) -> np.ndarray:
        """The scores that suit all rows best."""


class Logistic(Solver):
    """Logistic regression with an L2 penalty: multinomial for one label a row, one regression a
    label for several.

    With `ratios` x_f r_f is read instead of x_f (Wang & Manning 2012), by one regression a label:

        r_f = ln (p_f / Σ p) − ln (q_f / Σ q),    p_f = 1 + rows with the label that have feature f,
                                                  q_f = 1 + rows without it that have f

    What is found are weights W_f r_f of x_f, so that the model is linear in the same features.
    """

    def __init__(self, decision: Decision, *, ratios: bool = False) -> None:
        self.decision, self.ratios = decision, ratios
        self.model: Any = None  # scikit-learn's, of the latest fit

    def solve(self, x: csr_matrix, part: Part, rows: np.ndarray, strength: float) -> LinearWeights:
        truth = self.decision.truth(part["label"])[rows]
        weights = part.weights_of(rows)
        if truth.ndim == 1 and self.ratios and truth.max() > 1:
            truth = truth[:, None] == np.arange(truth.max() + 1)
        if truth.ndim == 1:
            return self._weighed(x, truth, strength, weights)
        self.model = None
        fits = [self._weighed(x, labels, strength, weights) for labels in truth.T]
        return LinearWeights(*(np.concatenate(column, -1) for column in zip(*fits)))

    def _weighed(
        self, x: csr_matrix, truth: np.ndarray, strength: float, weights: np.ndarray | None
    ) -> LinearWeights:
        if not self.ratios:
            return self._solve(x, truth, strength, weights)
        r = log_count_ratios(x, truth > 0)
        W, b = self._solve(x.multiply(r).tocsr(), truth, strength, weights)
        return LinearWeights(W * r[:, None], b)

    def _solve(
        self, x: csr_matrix, truth: np.ndarray, strength: float, rows: np.ndarray | None
    ) -> LinearWeights:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits

        if (truth == truth[0]).all():  # a label that every row has, or none
            return LinearWeights(np.zeros((x.shape[1], 1)), np.array([10.0 if truth[0] else -10.0]))
        if self.model is None or self.model.coef_.shape[1] != x.shape[1]:
            weights = "balanced" if self.decision.train.class_weights == "balanced" else None
            self.model = LogisticRegression(max_iter=1000, warm_start=True, class_weight=weights)
        self.model.C = strength  # from the weights of the strength before
        # Threads would only wait for each other in products of vectors.
        with threadpool_limits(1, "blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            self.model.fit(x, truth, sample_weight=rows)
        return LinearWeights(self.model.coef_.T.copy(), self.model.intercept_.copy())

    def strata(self, part: Part) -> np.ndarray:
        truth = self.decision.truth(part["label"])
        return truth if truth.ndim == 1 else np.zeros(len(part), dtype=np.int64)

    def constant(self, part: Part) -> np.ndarray:
        truth = self.decision.multi_hot(self.decision.truth(part["label"]))
        share = np.average(truth, 0, weights=part.weights)
        one = self.decision.truth(part["label"]).ndim == 1
        return np.log(share) if one else np.log(share) - np.log(np.maximum(1 - share, 1e-9))


def log_count_ratios(x: csr_matrix, labels: np.ndarray) -> np.ndarray:
    """(F,) of features (N, F) how much more often they occur in rows that are a label's `own`."""
    p, q = (1.0 + np.asarray((x[rows] > 0).sum(0)).ravel() for rows in (labels, ~labels))
    return np.log(p / p.sum()) - np.log(q / q.sum())


class Ridge(Solver):
    """Least squares with an L2 penalty, of standardised numbers."""

    def __init__(self, field: Any) -> None:
        self.field = field
        self.model: Any = None  # scikit-learn's, of the latest fit

    def solve(self, x: csr_matrix, part: Part, rows: np.ndarray, strength: float) -> LinearWeights:
        from sklearn.linear_model import Ridge as Regression

        y = (part["number"].array[rows] - self.field.mean) / self.field.std
        self.model = Regression(alpha=1 / strength, solver="sparse_cg", tol=1e-6)
        self.model.fit(x, y, sample_weight=part.weights_of(rows))
        return LinearWeights(
            self.model.coef_.reshape(y.shape[1], -1).T, np.atleast_1d(self.model.intercept_)
        )

    def strata(self, part: Part) -> np.ndarray:
        return np.zeros(len(part), dtype=np.int64)

    def constant(self, part: Part) -> np.ndarray:
        return np.zeros(len(self.field.names))


class LeaveOneOutRidge(Solver):
    """Least squares of many features for few rows: the penalty by leave-one-out error, or by the
    error of whole groups of rows where they are to stay together.

    targets        (N, K) of a part
    probabilities  of scores (N, C), where they are of labels: scores are then scaled so that the
                   left-out rows are as likely as can be
    groups         (N,) of a part
    """

    self_tuned = True

    def __init__(
        self,
        targets: Callable[[Part], np.ndarray],
        probabilities: Probabilities | None = None,
        groups: Callable[[Part], np.ndarray | None] = lambda part: None,
    ) -> None:
        self.targets, self.probabilities, self.groups = targets, probabilities, groups

    def solve(self, x: csr_matrix, part: Part, rows: np.ndarray, strength: float) -> LinearWeights:
        from sklearn.linear_model import RidgeCV

        y, dense, penalties = self.targets(part)[rows], x.toarray(), PENALTIES
        groups, left_out = self.groups(part), None
        if groups is not None and len(set(groups[rows].tolist())) > 1:
            errors, left_out = leave_groups_out(dense, y, groups[rows])
            penalties = PENALTIES[[int(errors.argmin())]]
        ridge = RidgeCV(penalties, scoring="neg_mean_squared_error", store_cv_results=True)
        ridge.fit(dense, y, sample_weight=part.weights_of(rows))
        W, b = ridge.coef_.reshape(y.shape[1], -1).T, np.zeros(y.shape[1]) + ridge.intercept_
        if self.probabilities is None:
            return LinearWeights(W, b)
        if left_out is None:
            left_out = ridge.cv_results_[..., np.argmin(np.abs(PENALTIES - ridge.alpha_))]
        left_out, truth = left_out.reshape(y.shape), y > 0
        if y.shape[1] == 1:  # of a pair of classes one is scored
            left_out = np.concatenate([np.zeros_like(left_out), left_out], 1)
            truth = np.concatenate([~truth, truth], 1)
        scale = 1 / fit_temperature(left_out, truth, self.probabilities)
        return LinearWeights(scale * W, scale * b)

    def strata(self, part: Part) -> np.ndarray:
        return np.zeros(len(part), dtype=np.int64)

    def constant(self, part: Part) -> np.ndarray:
        return self.targets(part).mean(0)


class LeftOutGroups(NamedTuple):
    """Squared error of each of `PENALTIES`, and the scores (N, K) of rows without their group with
    the best one."""

    errors: np.ndarray
    scores: np.ndarray


def leave_groups_out(x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> LeftOutGroups:
    """Ridge regressions of rows x (N, F), y (N, K) without one group at a time; groups (N,) are
    joined to `MOST_GROUPS` at most.

    Of the other rows X, Y without their means, XᵀX = V diag(λ) Vᵀ or XXᵀ = U diag(λ) Uᵀ, whichever
    is smaller, and with Z = V, Q = VᵀXᵀY or Z = XᵀU, Q = UᵀY

        ŷ = ȳ + (x - x̄) Z diag(1 / (λ + α)) Q
    """
    numbers = np.unique(groups, return_inverse=True)[1] % MOST_GROUPS
    errors, parts = np.zeros(len(PENALTIES)), []

    def score(
        mean: np.ndarray, z: np.ndarray, values: np.ndarray, q: np.ndarray, penalty: float
    ) -> np.ndarray:
        return mean + z @ (q / (values + penalty)[:, None])

    for number in np.unique(numbers):
        out = numbers == number
        centre, mean = x[~out].mean(0), y[~out].mean(0)
        X, Y = x[~out] - centre, y[~out] - mean
        wide = X.shape[0] < X.shape[1]
        values, vectors = np.linalg.eigh(X @ X.T if wide else X.T @ X)
        Z, Q = (X.T @ vectors, vectors.T @ Y) if wide else (vectors, vectors.T @ (X.T @ Y))
        part = mean, (x[out] - centre) @ Z, values.clip(min=0), Q
        parts.append((out, part))
        errors += [np.square(score(*part, penalty) - y[out]).sum() for penalty in PENALTIES]
    scores = np.zeros(y.shape)
    for out, part in parts:
        scores[out] = score(*part, PENALTIES[errors.argmin()])
    return LeftOutGroups(errors / y.size, scores)


class Fitting(NamedTuple):
    """A model that was fitted at once, the log of what was tried, and a line about the choice."""

    model: nn.Module
    log: list[dict[str, Any]]
    note: str


class Trial(NamedTuple):
    """One choice of features, the first `size` of all, and of the strength; and what it reached."""

    features: str
    size: int
    strength: float
    weights: LinearWeights
    metrics: dict[str, float]


class ModelSelection(NamedTuple):
    """Rows of a part that choose between settings, and the training rows that are fitted to."""

    part: Part
    rows: np.ndarray
    x: csr_matrix
    fitted: np.ndarray
    where: str

    @classmethod
    def of(
        cls, task: DocumentTask, parts: Mapping[str, Part], x: csr_matrix
    ) -> ModelSelection | None:
        """The validation part, or else a tenth of the training part; of a few rows, none."""
        train, valid = parts["train"], parts.get("valid")
        if valid is not None:
            rows, every = np.arange(len(valid)), np.arange(len(train))
            held = features(valid[task.input], task.features)
            return cls(valid, rows, held, every, "the validation part")
        if len(train) < FEWEST:
            return None
        split = stratified(task.solver().strata(train), HoldOut(valid=0.1), where="")
        rows = split["valid"]
        return cls(train, rows, x[rows], split["train"], "a tenth of the training part")


def fit_constant(task: DocumentTask, parts: Mapping[str, Part]) -> Fitting:
    model = task.build()
    assert isinstance(model, Constant | Linear)
    scores = task.solver().constant(parts["train"])
    with torch.no_grad():
        model.b.copy_(torch.from_numpy(scores[-len(model.b) :] - scores[0] * model.pair))
    return Fitting(model, [], f"the same for every {task.input}")


def fit_linear(task: DocumentTask, parts: Mapping[str, Part]) -> Fitting:
    """The best of all features and strengths where there are rows to choose by."""
    field, train, solver = task.features, parts["train"], task.solver()
    x, every = features(train[task.input], field), np.arange(len(train))
    if solver.self_tuned:
        error = f"that of a {task.config.data.group}" if task.config.data.grouped else "one row's"
        note = f"{about(field, len(field))}, penalty by the error of what is left out: {error}"
        return Fitting(filled(task, solver.solve(x, train, every, USUAL)), [], note)
    judge = ModelSelection.of(task, parts, x)
    if judge is None:
        weights = solver.solve(x, train, every, USUAL)
        note = f"{about(field, len(field))}, C = {USUAL:g}: too few rows to choose by"
        return Fitting(filled(task, weights), [], note)
    trials = try_all(task, train, x, judge)
    best = max(trials, key=lambda trial: task.metric.rank(trial.metrics))
    weights = best.weights
    if len(judge.fitted) < len(train):
        weights = solver.solve(x[:, : best.size], train, every, best.strength)
    if best.size < len(field):
        assert isinstance(field, NgramField)
        field.without_spelling()
        for part in parts.values():
            part.values = {**part.values, task.input: part[task.input].below(best.size)}
    log = [
        {"features": trial.features, "strength": trial.strength, "metrics": trial.metrics}
        for trial in trials
    ]
    note = f"{best.features}, C = {best.strength:g}, chosen on {judge.where}"
    return Fitting(filled(task, weights), log, note)


def try_all(task: DocumentTask, train: Part, x: csr_matrix, judge: ModelSelection) -> list[Trial]:
    """Every strength, of n-grams of words alone and with those of characters."""
    field, trials = task.features, []
    sizes = {len(field)} | ({len(field.words)} if isinstance(field, NgramField) else set())
    for size in sorted(sizes):
        solver, features = task.solver(), x[judge.fitted][:, :size]
        for strength in STRENGTHS:
            weights = solver.solve(features, train, judge.fitted, strength)
            scores = weights.scores(judge.x[:, :size], len(task.outputs))
            metrics = task.metrics(judge.part, scores, judge.rows)
            trials.append(Trial(about(field, size), size, strength, weights, metrics))
    return trials


def about(field: NgramField | FeatureField, size: int) -> str:
    """A description of the first features."""
    if isinstance(field, FeatureField):
        return field.extractor.title
    kinds = [field.unit, *(["characters"] if size > len(field.words) else [])]
    return f"n-grams of {' and '.join(kinds)}"


def filled(task: DocumentTask, weights: LinearWeights) -> Linear:
    """The model of a task with these weights."""
    model = task.build()
    assert isinstance(model, Linear)
    with torch.no_grad():
        model.W.copy_(torch.from_numpy(np.ascontiguousarray(weights.W)))
        model.b.copy_(torch.from_numpy(weights.b))
    return model


def features(values: Bags | Features, field: NgramField | FeatureField) -> csr_matrix:
    """(N, F) as a linear model weighs them."""
    from scipy.sparse import csr_matrix

    if isinstance(values, Features):
        return csr_matrix(values.x)
    assert isinstance(field, NgramField)
    return tf_idf(values, field)


def tf_idf(bags: Bags, field: NgramField) -> csr_matrix:
    """(N, F) TF-IDF, normalised, as `LinearText` weighs them."""
    from scipy.sparse import csr_matrix

    assert field.idf is not None
    lengths = bags.features.lengths
    columns, counts = gather(bags.features), gather(bags.counts)
    x = (1 + np.log(counts)) * field.idf[columns]
    rows = np.repeat(np.arange(len(bags)), lengths)
    for block in (columns < len(field.words), columns >= len(field.words)):
        norm = np.sqrt(np.bincount(rows[block], x[block] ** 2, minlength=len(bags)))
        x[block] /= norm[rows[block]]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return csr_matrix((x, columns, offsets), shape=(len(bags), len(field)))


def largest_weights(model: Linear, names: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """The features that speak most for each class, or raise each number most."""
    W = model.W.detach().numpy()
    if model.pair:
        W = np.concatenate([-W, W], 1)
    lines = []
    for k, output in enumerate(outputs):
        best = [i for i in np.argsort(-W[:, k])[:SHOWN].tolist() if W[i, k] > 0]
        lines.append(f"{output}: " + ", ".join(f"{names[i]} {W[i, k]:+.2f}" for i in best))
    return lines
