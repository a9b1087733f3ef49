"""From a file to a trained, evaluated model, through the Python interface."""

import json
import math
import shutil

import numpy as np
import pytest
import torch

import unspool
from unspool.errors import ConfigError
from unspool.nn.cells import CELLS
from unspool.tasks import TASKS
from unspool.tasks.generate import Generation

SMALL = {"hidden": 8, "embedding": 6, "threads": 1, "lr": 0.01, "batch": 16}
TRANSFORMER = {"hidden": 8, "heads": 2, "threads": 1, "lr": 0.01, "batch": 16}


def test_a_classifier_learns_and_its_folder_is_the_model(classifier, reviews, tmp_path) -> None:
    moved = shutil.copytree(classifier, tmp_path / "elsewhere")
    shutil.rmtree(moved / "checkpoints")
    run = unspool.load(moved)
    report = run.evaluate(reviews)
    assert report.metrics["accuracy"] > 0.95
    low, high = report.interval
    assert low <= report.metrics["accuracy"] <= high
    answers = run.predict(["a great film", "the plot was awful"])
    assert [a.label for a in answers] == ["pos", "neg"]
    assert sum(answers[0].probabilities.values()) == pytest.approx(1)
    stored = json.loads((classifier / "evaluation.json").read_text())
    assert stored["part"] == "test"


def test_the_folder_holds_what_it_should(classifier) -> None:
    names = {p.name for p in classifier.iterdir()}
    assert names == {
        "config.json", "model.safetensors", "tokenizer.json", "labels.json", "metrics.jsonl",
        "evaluation.json", "README.md", "checkpoints", "rows.npy", "calibration.json",
        "hashes.json", "examples.json", "answers.json",
    }  # fmt: skip
    record = json.loads((classifier / "config.json").read_text())
    assert record["config"]["train"]["lr"] == 0.01
    assert len(record["data"]["train"]["sha256"]) == 64
    assert record["threads"] == 1
    card = (classifier / "README.md").read_text()
    assert "accuracy" in card
    assert "unspool predict" in card
    log = [json.loads(line) for line in (classifier / "metrics.jsonl").read_text().splitlines()]
    assert any("grad_norm" in r for r in log)
    assert any("valid_accuracy" in r for r in log)


def test_batching_never_changes_an_answer(classifier) -> None:
    run = unspool.load(classifier)
    texts = ["good", "the plot was awful and very very very dull", "", "a b c", "fine"] * 9
    together = run.predict(texts)
    for text, answer in zip(texts, together):
        alone = run.predict([text])[0]
        for label, p in answer.probabilities.items():
            assert p == pytest.approx(alone.probabilities[label], abs=1e-5)


def test_a_language_model_learns_and_writes(writer, book) -> None:
    run = unspool.load(writer)
    report = run.evaluate(book)
    assert report.metrics["loss"] < math.log(len(run.task.tokenizer.vocab)) - 0.5
    assert report.metrics["perplexity"] == pytest.approx(math.exp(report.metrics["loss"]))
    assert report.metrics["bits_per_character"] == pytest.approx(
        report.metrics["loss"] / math.log(2), rel=0.01
    )
    text = run.generate("the film ", length=40, seed=3)
    assert text.startswith("the film ")
    assert len(text) == len("the film ") + 40
    assert text == run.generate("the film ", length=40, seed=3)
    assert text != run.generate("the film ", length=40, seed=4)
    assert run.generate("the ", length=20, temperature=0) == run.generate(
        "the ", length=20, temperature=0, seed=9
    )


def test_evaluation_does_not_depend_on_the_window(writer, book, monkeypatch) -> None:
    from unspool.tasks import generate

    run = unspool.load(writer)
    whole = run.evaluate(book).metrics["loss"]
    monkeypatch.setattr(generate, "WINDOW", 7)
    assert run.evaluate(book).metrics["loss"] == pytest.approx(whole, abs=1e-5)


def test_step_by_step_equals_all_at_once(writer) -> None:
    model = unspool.load(writer).model
    ids = torch.randint(2, 9, (3, 12))
    with torch.inference_mode():
        whole = model(ids).logits
        state = model.start(3)
        for t in range(12):
            logits, state = model.step(ids[:, t], state)
            torch.testing.assert_close(logits, whole[:, t], atol=1e-5, rtol=1e-5)
        rows = torch.tensor([2, 0])
        chosen, _ = model.step(ids[rows, 0], model.select(state, rows))
        every, _ = model.step(ids[:, 0], state)
        torch.testing.assert_close(chosen, every[rows], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("task", ["classify", "generate"])
def test_every_cell_trains_in_every_task(cell, task, reviews, book, tmp_path) -> None:
    data = reviews if task == "classify" else book
    model = f"bi{cell}" if task == "classify" else cell
    small = {**SMALL, **({"bptt": 16} if task == "generate" else {})}
    run = unspool.train(
        data, task=task, model=model, out=tmp_path / "run", max_steps=4, layers=2, **small
    )
    losses = [r["valid_loss"] for r in run.metrics() if "valid_loss" in r]
    assert np.isfinite(losses).all() or run.report is not None
    assert unspool.load(tmp_path / "run").task.name == task


@pytest.mark.parametrize("task", ["classify", "generate", "pretrain"])
def test_a_transformer_trains_in_every_task(task, reviews, book, tmp_path) -> None:
    data = reviews if task == "classify" else book
    small = {**TRANSFORMER, **({"bptt": 16} if task == "generate" else {})}
    unspool.train(data, task=task, model="transformer", out=tmp_path / "run", max_steps=4, **small)
    run = unspool.load(tmp_path / "run")
    assert run.config.model.network == "transformer"
    assert run.config.train.warmup > 0.02
    assert math.isfinite(run.evaluate(data).metrics["loss"])


def test_a_transformer_learns_to_classify(reviews, tmp_path) -> None:
    small = {**TRANSFORMER, "hidden": 16, "layers": 1, "epochs": 12}
    run = unspool.train(reviews, model="transformer", out=tmp_path / "run", **small)
    assert run.report.metrics["accuracy"] > 0.9
    texts = ["the film was awful", "lovely", "a great cast is very very very fine music"]
    together = run.predict(texts)
    for text, answer in zip(texts, together):
        (alone,) = run.predict([text])
        assert alone.label == answer.label
        assert alone.probabilities["pos"] == pytest.approx(answer.probabilities["pos"], abs=1e-5)


@pytest.mark.parametrize("pooling", ["last", "mean", "max", "attention"])
def test_every_pooling(pooling, reviews, tmp_path) -> None:
    run = unspool.train(reviews, out=tmp_path / "r", pooling=pooling, epochs=1, **SMALL)
    assert run.report is not None


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "word"},
        {"kind": "bpe", "vocab": 300},
        {"tied": True, "embedding": 8, "hidden": 8},
        {"tied": True},
        {"embedding": 0, "model": "elman"},
        {"optimizer": "sgd", "momentum": 0.9, "schedule": "linear"},
        {"label_smoothing": 0.1, "precision": "bf16"},
        {"layers": 2, "word_dropout": 0.1, "precision": "auto"},
    ],
    ids=lambda s: ",".join(f"{k}={v}" for k, v in s.items()),
)
def test_settings_of_a_language_model(settings, book, tmp_path) -> None:
    run = unspool.train(
        book, task="generate", out=tmp_path / "r", bptt=16, **{**SMALL, "epochs": 1, **settings}
    )
    assert math.isfinite(run.report.metrics["loss"])
    assert isinstance(run.generate("the", length=5), str)


def test_a_language_model_may_not_read_backwards(book, tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"may not read in both directions.*Use model=.lstm."):
        unspool.train(book, task="generate", model="bilstm", out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_cell_from_outside_trains_by_name(reviews, tmp_path, monkeypatch) -> None:
    from unspool.nn import Cell

    class Leaky(Cell):
        def __init__(self, inputs, hidden, *, alpha=0.5):
            super().__init__(inputs, hidden)
            self.W = torch.nn.Linear(inputs, hidden)
            self.U = torch.nn.Linear(hidden, hidden, bias=False)
            self.alpha = alpha

        def project(self, x):
            return self.W(x)

        def step(self, u, state):
            (h,) = state
            h = (1 - self.alpha) * h + self.alpha * torch.tanh(u + self.U(h))
            return h, (h,)

    monkeypatch.setitem(CELLS, "leaky", Leaky)
    unspool.train(reviews, model="bileaky", alpha=0.3, epochs=1, out=tmp_path / "r", **SMALL)
    run = unspool.load(tmp_path / "r")
    assert run.config.model.options == {"alpha": 0.3}
    assert run.model.encoder.network.layers[0].forwards.alpha == 0.3
    monkeypatch.delitem(CELLS, "leaky")
    with pytest.raises(ConfigError, match="unknown cell; got 'leaky'"):
        unspool.load(tmp_path / "r")


def test_compare_gives_a_table_with_intervals(reviews, tmp_path) -> None:
    table = unspool.compare(
        reviews, models=["elman", "transformer"], seeds=2, out=tmp_path / "c", epochs=2, **SMALL
    )
    seeds = {row.model: row.seeds for row in table}
    assert seeds == {"majority": 1, "linear": 1, "elman": 2, "transformer": 2}
    assert table.part == "test"
    for row in table:
        assert row.low <= row.value <= row.high
        assert row.parameters > 0
    assert table[0].difference is None
    for row in table[1:]:
        assert row.difference_low <= row.difference <= row.difference_high
        assert row.difference == pytest.approx(row.value - table[0].value)
        assert (row.p is None) == (2 in {row.seeds, table[0].seeds})
    assert (tmp_path / "c" / "compare.csv").read_text().startswith("model,metric,value,low,high")
    assert (tmp_path / "c" / "compare.md").read_text().count("\n") == 6
    splits = [
        json.loads((tmp_path / "c" / f"elman-seed{s}" / "evaluation.json").read_text())["examples"]
        for s in (1, 2)
    ]
    assert splits[0] == splits[1] == 24


def test_tables_in_a_notebook(classifier, writer, reviews) -> None:
    run = unspool.load(classifier)
    assert "<table>" in run.predict(["a <b> film"])._repr_html_()
    assert "&lt;b&gt;" in run.predict(["a <b> film"])._repr_html_()
    assert "parameters" in run._repr_html_()
    assert "accuracy" in run.evaluate(reviews)._repr_html_()


def test_a_language_model_predicts_continuations(classifier, writer) -> None:
    run = unspool.load(writer)
    (answer,) = run.predict(["the film "], Generation(length=40, seed=3))
    assert answer.text == run.generate("the film ", length=40, seed=3)
    assert answer.to_json() == {"prompt": "the film ", "text": answer.text, "seed": 3}
    with pytest.raises(ConfigError, match="generate needs a language model"):
        unspool.load(classifier).generate("x")


def test_importing_unspool_does_not_import_torch() -> None:
    import subprocess
    import sys

    code = "import sys, unspool, unspool.cli.app; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_training_builds_its_task_and_its_model_once(reviews, tmp_path, monkeypatch) -> None:
    built = {"task": 0, "model": 0}
    kind = TASKS["classify"]
    make, build = kind.__init__, kind.build

    def count_task(self, *given) -> None:
        built["task"] += 1
        make(self, *given)

    def count_model(self):
        built["model"] += 1
        return build(self)

    monkeypatch.setattr(kind, "__init__", count_task)
    monkeypatch.setattr(kind, "build", count_model)
    unspool.train(reviews, out=tmp_path / "run", max_steps=2, baseline=False, **SMALL)
    assert built == {"task": 1, "model": 1}
