"""Cross-validation: what is trained on what, what is written, and going on after a stop."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import ttest_1samp
from sklearn.metrics import log_loss

import unspool
from unspool.api.folds import SCORES, unseen_rows
from unspool.errors import ConfigError, RunError
from unspool.tasks.calibration import fit_temperature, reliability
from unspool.training import trainer
from unspool.training.fold_report import corrected_interval
from unspool.training.signals import Interrupted
from unspool.training.tensors import load_tensors

SMALL = {"model": "gru", "hidden": 6, "embedding": 6, "epochs": 2, "threads": 1, "batch": 16}
WORDS = {"yes": ["good", "fine", "great"], "no": ["bad", "dull", "poor"]}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("folds") / "some.csv"
    rows = []
    for i in range(90):
        label = ("yes", "no")[i % 2]
        rows.append(f"the {rng.choice(WORDS[label])} film {i % 7},{label},author{i % 11}")
    path.write_text("text,label,author\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    return unspool.train(data, folds=3, out=tmp_path_factory.mktemp("run") / "run", **SMALL)


def test_every_row_has_one_prediction(run, data) -> None:
    with open(run.path / "out-of-fold.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["line"]) for row in rows] == list(range(2, 92))
    with open(data, newline="") as file:
        given = list(csv.DictReader(file))
    assert [row["true label"] for row in rows] == [row["label"] for row in given]
    assert [row["text"] for row in rows] == [row["text"] for row in given]
    right = np.mean([row["label"] == row["true label"] for row in rows])
    assert right == pytest.approx(np.mean([fold.metrics["accuracy"] for fold in run.report.folds]))


def test_the_report_is_the_mean_of_the_folds(run) -> None:
    values = [fold.metrics["accuracy"] for fold in run.report.folds]
    assert run.report_part == "folds"
    assert run.report.metrics["accuracy"] == pytest.approx(np.mean(values))
    stored = json.loads((run.path / "evaluation.json").read_text())
    assert stored["part"] == "folds"
    assert stored["accuracy_std"] == pytest.approx(np.std(values, ddof=1))
    assert set(stored["baselines"]) == {"majority", "linear"}
    assert "cross-validation" in (run.path / "README.md").read_text()


def test_the_interval_is_students_but_for_the_correction() -> None:
    values = [0.7, 0.74, 0.69, 0.8, 0.77]
    low, high = corrected_interval(values)
    plain = ttest_1samp(values, 0).confidence_interval(0.95)
    assert (low + high) / 2 == pytest.approx(np.mean(values))
    wider = math.sqrt(1 / 5 + 1 / 4) / math.sqrt(1 / 5)
    assert high - low == pytest.approx((plain.high - plain.low) * wider)


def test_the_model_is_trained_on_all_rows_for_the_median_epoch(run) -> None:
    config = run.config
    assert (config.data.folds, config.data.fold, config.data.valid_share) == (3, 0, 0.0)
    assert config.train.stop_epoch == sorted(fold.epochs for fold in run.report.folds)[1]
    assert run.counters.epoch == config.train.stop_epoch
    assert unspool.load(run.path).predict("the good film")[0].label in ("yes", "no")


def test_a_fold_is_judged_by_what_had_no_part_in_it(run) -> None:
    """Each fold's own report, made again by its own run from the rows of the others."""
    for number in (1, 2, 3):
        config = json.loads((run.path / "folds" / str(number) / "config.json").read_text())
        assert config["config"]["data"]["fold"] == number
        stored = json.loads((run.path / "folds" / str(number) / "evaluation.json").read_text())
        assert stored["part"] == "test"
        assert stored["examples"] == 30


def test_the_model_of_all_rows_is_calibrated_by_the_folds(run) -> None:
    """The temperature is that of the raw scores of all folds; what it reaches is judged in each
    fold by the temperature of the others."""
    parts = unseen_rows(run.path, 3)
    assert [own.labels for own in parts] == [["no", "yes"]] * 3
    z, y = np.concatenate([own.scores for own in parts]), np.concatenate([o.truth for o in parts])

    def fitted(z, y) -> float:
        return fit_temperature(z, np.eye(2)[y], lambda z: softmax(z, 1))

    stored = json.loads((run.path / "calibration.json").read_text())
    assert stored["temperature"] == pytest.approx(fitted(z, y), rel=1e-6)
    assert unspool.load(run.path).task.temperature == stored["temperature"]
    p = []
    for i, own in enumerate(parts):
        others = [other for j, other in enumerate(parts) if j != i]
        t = fitted(
            np.concatenate([o.scores for o in others]), np.concatenate([o.truth for o in others])
        )
        p.append(softmax(own.scores / t, 1))
    p = np.concatenate(p)
    found = run.report.to_json()["calibration"]
    assert found["temperature"] == stored["temperature"]
    assert found["after"]["ece"] == pytest.approx(reliability(p.max(1), p.argmax(1) == y).error)
    assert found["before"]["nll"] == pytest.approx(log_loss(y, softmax(z, 1)), rel=1e-5)
    assert any(line.startswith("ECE") for line in run.report.lines())
    assert any(line.startswith("ECE") for line in unspool.load(run.path).report.lines())


def test_folds_can_be_left_uncalibrated(data, tmp_path) -> None:
    off = unspool.train(data, folds=3, calibrate=False, out=tmp_path / "off", **SMALL)
    assert off.report.calibration is None
    assert not (off.path / "calibration.json").exists()


def test_damaged_scores_of_a_fold(run, tmp_path) -> None:
    home = tmp_path / "folds" / "1"
    home.mkdir(parents=True)
    (home / SCORES).write_bytes((run.path / "folds" / "1" / SCORES).read_bytes()[:-1])
    with pytest.raises(RunError, match="Remove the folder of this fold"):
        unseen_rows(tmp_path, 3)


def weights(path) -> dict:
    return {k: v.tolist() for k, v in load_tensors(path / "model.safetensors").tensors.items()}


@pytest.mark.parametrize("steps", [5, 13, 27])
def test_stopped_and_resumed(run, data, tmp_path, monkeypatch, steps) -> None:
    """In the first fold, in the second, and while all rows are trained on: finished folds stay."""
    real, done = trainer.Trainer._step, []

    def step(self):
        if len(done) == steps:
            raise Interrupted(2, self.folder.path, 0)
        done.append(1)
        return real(self)

    out = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(trainer.Trainer, "_step", step)
        with pytest.raises(Interrupted, match=f"{out}[^/]"):
            unspool.train(data, folds=3, out=out, checkpoint_seconds=0, **SMALL)
    finished = [n for n in "123" if (out / "folds" / n / "fold.json").exists()]
    kept = {n: (out / "folds" / n / "fold.json").stat().st_mtime_ns for n in finished}
    again = unspool.train(resume=True, out=out)
    assert {n: (out / "folds" / n / "fold.json").stat().st_mtime_ns for n in finished} == kept
    assert again.report.metrics == run.report.metrics
    assert weights(out) == weights(run.path)
    kept_too = ("calibration.json", "out-of-fold.csv")
    assert all((out / name).read_bytes() == (run.path / name).read_bytes() for name in kept_too)


def test_groups_and_a_linear_model(data, tmp_path) -> None:
    run = unspool.train(data, model="linear", folds=3, group="author", out=tmp_path / "run")
    assert run.report.metrics["accuracy"] == 1.0
    assert run.config.train.stop_epoch == 0
    with open(run.path / "out-of-fold.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    homes: dict[int, set[str]] = {}
    for row in rows:
        homes.setdefault((int(row["line"]) - 2) % 11, set()).add(row["fold"])
    assert all(len(own) == 1 for own in homes.values())


def test_models_are_compared_by_folds(data, tmp_path) -> None:
    small = {k: v for k, v in SMALL.items() if k != "model"}
    table = unspool.compare(data, models=["gru"], folds=3, out=tmp_path / "c", **small)
    assert {row.model for row in table} == {"gru", "linear", "majority"}
    assert all(row.seeds == 3 for row in table)
    assert table.part == "folds"
    assert table[0].model == "linear"
    with pytest.raises(ConfigError, match="trains each model once a fold"):
        unspool.compare(data, models=["gru"], folds=3, seeds=2, out=tmp_path / "d", **small)


def test_what_folds_are_not_for(data, book, tmp_path) -> None:
    with pytest.raises(ConfigError, match="folds= makes its own test parts"):
        unspool.train(data, folds=3, test=data, out=tmp_path / "a", **SMALL)
    with pytest.raises(ConfigError, match="has two folds or more"):
        unspool.train(data, folds=1, out=tmp_path / "b", **SMALL)
    with pytest.raises(unspool.errors.DataError, match="no rows to make folds"):
        unspool.train(book, task="generate", folds=3, out=tmp_path / "c", **SMALL)
