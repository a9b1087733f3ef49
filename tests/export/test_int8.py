"""Exported weights as integers: smaller, nearly the same answers, and the loss is what it says."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import onnx
import pandas as pd
import pytest

import unspool
from unspool.cli import run as command
from unspool.errors import ConfigError
from unspool.export.standalone import Model

SMALL = {"epochs": 3, "threads": 1, "quiet": True, "hidden": 32}


def test_a_classifier(reviews, classifier, tmp_path, capsys) -> None:
    out = tmp_path / "small"
    assert command(["export", str(classifier), "--int8", str(reviews), "--out", str(out)]) == 0
    line = capsys.readouterr().out.splitlines()[2]
    exported = unspool.load(classifier).export(tmp_path / "again", int8=reviews)
    assert exported.int8.line() == line
    frame = pd.read_csv(reviews)
    texts, labels = frame["text"].tolist(), frame["label"].tolist()
    answers = [answer["label"] for answer in Model(out).answers(texts)]
    before = [answer.label for answer in unspool.load(classifier).predict(texts)]
    assert exported.int8.after == pytest.approx(np.mean(np.array(answers) == labels))
    assert exported.int8.before == pytest.approx(np.mean(np.array(before) == labels))
    assert exported.int8.same == pytest.approx(np.mean(np.array(answers) == before))
    assert exported.int8.rows == len(texts)
    assert exported.int8.same > 0.97
    graph = onnx.load(out / "model.onnx")
    assert {tensor.data_type for tensor in graph.graph.initializer} & {
        onnx.TensorProto.INT8,
        onnx.TensorProto.UINT8,
    }
    checked = subprocess.run([sys.executable, out / "predict.py", "--check"], capture_output=True)
    assert checked.returncode == 0


def test_tags_and_numbers(sentences, reviews, tmp_path) -> None:
    chosen = {**SMALL, "epochs": 8, "batch": 16, "lr": 0.02}
    run = unspool.train(sentences, model="bilstm", out=tmp_path / "tags", **chosen)
    lost = run.export(tmp_path / "a", int8=sentences).int8
    assert lost.measure == "accuracy"
    assert lost.before > 0.95
    assert lost.after > 0.95
    frame = pd.read_csv(reviews)
    frame["label"] = frame["text"].str.len() / 10
    run = unspool.train(frame, task="regress", model="cnn", out=tmp_path / "n", epochs=3, threads=1,
                        quiet=True)  # fmt: skip
    lost = run.export(tmp_path / "b", int8=frame).int8
    truth = frame["label"].to_numpy()
    numbers = [a.numbers["label"] for a in run.predict(frame["text"])]
    assert lost.measure == "error"
    error = np.sqrt(np.mean((np.array(numbers) - truth) ** 2))
    assert lost.before == pytest.approx(error, rel=1e-4)
    assert lost.after == pytest.approx(lost.before, rel=0.2)


def test_what_is_refused(writer, book, classifier, tmp_path) -> None:
    with pytest.raises(ConfigError, match="integers are for models that answer with one label"):
        unspool.load(writer).export(tmp_path / "a", int8=book)
    assert not (tmp_path / "a").exists()
    missing = tmp_path / "nothing.csv"
    assert command(["export", str(classifier), "--int8", str(missing)]) == 2
    json.dumps(unspool.load(classifier).export(tmp_path / "b").to_json())
