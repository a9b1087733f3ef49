"""The conclusion of a report: which model to use, and why."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import unspool
from unspool import cli
from unspool.cli.train import next_command
from unspool.tasks import Report
from unspool.tasks.metrics import Metric
from unspool.tasks.regress import RegressReport
from unspool.training.comparison import BaselineComparison, mcnemar, mean_interval, paired_interval


class Scored(Report):
    """A report whose metric is the mean of its scores."""

    def __init__(self, scores: np.ndarray, weights: np.ndarray | None = None) -> None:
        value = float(np.average(scores, weights=weights))
        self.scores, self.weights = scores, weights
        self.metrics, self.interval = {"score": value}, (value, value)

    def to_json(self) -> dict:
        return self.metrics

    def lines(self) -> list[str]:
        return []


def compared(
    model: np.ndarray, linear: np.ndarray, *, higher: bool = True, choice: str | None = None
):
    task = SimpleNamespace(
        metric=Metric("score", higher), config=SimpleNamespace(model_name="lstm")
    )
    worst = Scored(np.zeros(len(model)) if higher else np.full(len(model), 9.0))
    baselines = {"majority": worst, "linear": Scored(linear)}
    return BaselineComparison(task, Scored(model), baselines, choice)


RNG = np.random.default_rng(0)
HARD = RNG.random(400)  # shared difficulty of rows: pairing removes it


def right(share: float, hard: np.ndarray = HARD) -> np.ndarray:
    return (hard < share).astype(float)


@pytest.mark.parametrize(
    ("model", "linear", "preferred", "begins"),
    [
        (0.9, 0.8, "lstm", "use lstm: better than linear by 0."),
        (0.8, 0.9, "linear", "use linear: better than lstm by 0."),
        (0.8, 0.8, "linear", "use linear, the simpler model: lstm is not reliably better"),
    ],
)
def test_the_better_model_is_named(model, linear, preferred, begins) -> None:
    comparison = compared(right(model), right(linear))
    assert comparison.preferred == preferred
    assert comparison.conclusion.startswith(begins)
    assert comparison.lines()[-1] == comparison.conclusion
    assert comparison.to_json()["conclusion"] == comparison.conclusion


def test_errors_are_compared_the_other_way_round() -> None:
    comparison = compared(HARD, HARD + 1, higher=False)
    assert (comparison.rival, comparison.preferred) == ("linear", "lstm")
    assert comparison.gain == pytest.approx(1)
    assert comparison.interval == pytest.approx((1, 1))


def test_few_rows_prove_little() -> None:
    comparison = compared(right(0.9, HARD[:20]), right(0.2, HARD[:20]))
    assert comparison.conclusion.endswith("; 20 rows prove little")


def test_a_search_has_chosen_already() -> None:
    comparison = compared(right(0.8), right(0.9), choice="lstm: the best on 5 folds")
    begins = "use linear, though the search kept lstm: the best on 5 folds; -0.1"
    assert comparison.preferred == "linear"
    assert comparison.conclusion.startswith(begins)
    assert "against linear on these rows (95 % interval -0." in comparison.conclusion
    assert comparison.to_json()["conclusion"] == comparison.lines()[-1] == comparison.conclusion
    as_good = compared(right(0.8), right(0.8), choice="lstm: the best on 5 folds")
    assert as_good.preferred == "lstm"
    assert as_good.conclusion.startswith("use this run, lstm: the best on 5 folds; +0.0000")


def test_answers_without_a_model_are_not_recommended() -> None:
    task = SimpleNamespace(metric=Metric("score"), config=SimpleNamespace(model_name="lstm"))
    for share, begins in (
        (0.8, "train lstm for longer or on more data"),
        (0.2, "use lstm: better"),
    ):
        usual = {"most frequent tag": Scored(right(share))}
        comparison = BaselineComparison(task, Scored(right(0.5)), usual, None, set(usual))
        assert comparison.conclusion.startswith(begins)
        run = SimpleNamespace(
            comparison=comparison, config=task.config, path="runs/a",
            task=SimpleNamespace(usage="unspool predict {run}"),
        )  # fmt: skip
        more = "with more --set epochs · unspool predict runs/a" in next_command(run)
        assert more == (share > 0.5)


def test_paired_interval_is_that_of_plain_resampling() -> None:
    one, other = RNG.random(60), RNG.random(60)
    weights = RNG.integers(1, 9, 60).astype(float)
    low, high = paired_interval(Scored(one, weights), Scored(other))
    rng, differences = np.random.default_rng(1), []
    for _ in range(4000):
        rows = rng.integers(0, 60, 60)
        differences.append(np.average(one[rows], weights=weights[rows]) - other[rows].mean())
    assert (low, high) == pytest.approx(np.quantile(differences, [0.025, 0.975]), abs=0.02)
    assert paired_interval(Scored(one), Scored(other[:50])) is None


@pytest.mark.parametrize("metric", ["rmse", "mae"])
@pytest.mark.parametrize("count", [1, 3])
def test_paired_interval_of_errors_is_in_their_units(metric, count) -> None:
    """The difference of root mean squares, not of squares."""
    rng = np.random.default_rng(0)
    field = SimpleNamespace(
        names=[str(i) for i in range(count)], std=np.full(count, 2.0), mean=np.zeros(count),
        median=np.zeros(count),
    )  # fmt: skip
    truth = 9 * rng.normal(size=(80, count))
    guesses = [truth + scale * rng.normal(size=truth.shape) for scale in (3, 4)]
    one, other = (RegressReport(truth, g, field, metric=metric, loss=0.0) for g in guesses)

    def value(guess: np.ndarray, rows: np.ndarray) -> float:
        wrong = (guess - truth)[rows] / (2 if count > 1 else 1)
        errors = np.abs(wrong).mean(0) if metric == "mae" else np.sqrt((wrong**2).mean(0))
        return errors.mean()

    samples = [rng.integers(0, 80, 80) for _ in range(3000)]
    differences = [value(guesses[0], rows) - value(guesses[1], rows) for rows in samples]
    expected = np.quantile(differences, [0.025, 0.975])
    assert paired_interval(one, other) == pytest.approx(expected, abs=0.1)
    assert expected[0] < one.metrics[metric] - other.metrics[metric] < expected[1]


def test_next_is_the_model_that_is_better(tmp_path, capsys) -> None:
    rng = np.random.default_rng(2)
    words = [f"w{i}" for i in range(300)]
    rows = [
        f"{' '.join(rng.choice(words, 12))} {'good' if i % 2 else 'bad'},{i % 2}"
        for i in range(600)
    ]
    (tmp_path / "a.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    run = tmp_path / "run"
    command = ["train", str(tmp_path / "a.csv"), "--out", str(run)]
    assert cli.run([*command, "--set", "epochs=1", "--set", "hidden=4"]) == 0
    shown = capsys.readouterr()
    assert "use linear: better than bilstm by" in shown.out
    assert "next: the same command with --model linear or --model auto" in shown.err
    assert "use linear" in (run / "README.md").read_text()
    assert unspool.load(run).config.model_name == "bilstm"


def test_next_names_the_settings_of_a_baseline() -> None:
    task = SimpleNamespace(usage="unspool predict {run}")
    comparison = SimpleNamespace(preferred="linear, center=none", references=())
    run = SimpleNamespace(
        comparison=comparison, task=task, path="r", config=SimpleNamespace(model_name="gru")
    )
    command = "the same command with --model linear --set center=none · unspool predict r"
    assert next_command(run) == command


@pytest.mark.parametrize(("naive", "told"), [(0.5, True), (0.9, False)])
def test_a_method_that_needs_no_training_is_named_where_it_is_best(naive, told) -> None:
    model, linear = (Scored(np.full(100, error)) for error in (0.8, 0.7))
    model.untrained = {"naive": naive, "drift": 2.0}
    task = SimpleNamespace(
        metric=Metric("score", higher_is_better=False), config=SimpleNamespace(model_name="gru")
    )
    conclusion = BaselineComparison(task, model, {"linear": linear}).conclusion
    assert conclusion.startswith("use linear: better than gru by 0.1000")
    assert conclusion.endswith("; naive, which needs no training, has 0.5000") == told
    assert ("naive" in conclusion) == told


def test_the_conclusion_says_that_new_speakers_may_fare_worse(tmp_path) -> None:
    words = {"yes": ["good", "fine"], "no": ["bad", "dull"]}
    rows = [
        f"{words[label][i % 2]} {i},{label},{speaker}"
        for speaker in "abcdef" for label in words for i in range(30)
    ]  # fmt: skip
    path = tmp_path / "a.csv"
    path.write_text("text,label,speaker\n" + "\n".join(rows) + "\n")
    small = {"model": "gru", "hidden": 4, "epochs": 1, "embedding": 4, "threads": 1, "quiet": True}
    run = unspool.train(path, out=tmp_path / "run", **small)
    end = "each speaker is in training too, so new ones may fare worse"
    assert run.comparison.conclusion.endswith(end)
    run = unspool.train(path, out=tmp_path / "new", group="speaker", **small)
    assert end not in run.comparison.conclusion


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [  # statsmodels 0.14: mcnemar([[50, a], [b, 20]], exact=True)
        (12, 5, 0.143463134765625),
        (30, 10, 0.0022214337732293643),
        (0, 0, 1.0),
        (7, 7, 1.0),
        (1, 9, 0.021484375),
    ],
)
def test_the_test_of_mcnemar(a, b, p) -> None:
    first = np.repeat([1.0, 1.0, 0.0, 0.0], [50, a, b, 20])
    second = np.repeat([1.0, 0.0, 1.0, 0.0], [50, a, b, 20])
    assert mcnemar(Scored(first), Scored(second)) == pytest.approx(p)
    assert mcnemar(Scored(second), Scored(first)) == pytest.approx(p)
    assert mcnemar(Scored(first + 0.5), Scored(second)) is None
    assert mcnemar(Scored(first[1:]), Scored(second)) is None


def test_the_interval_of_several_seeds() -> None:
    """That of the difference of means: narrower than that of one seed."""
    models = [Scored(right(0.9, RNG.permutation(HARD))) for _ in range(4)]
    linear = Scored(right(0.7))
    one, all_four = mean_interval(models[:1], [linear]), mean_interval(models, [linear])
    assert one == paired_interval(models[0], linear)
    gain = np.mean([model.metrics["score"] for model in models]) - linear.metrics["score"]
    assert all_four[0] < gain < all_four[1]
    assert all_four[1] - all_four[0] < one[1] - one[0]
