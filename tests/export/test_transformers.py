"""`unspool export --to transformers`, against the library that reads the folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import unspool
from unspool.cli import run as command
from unspool.errors import ConfigError
from unspool.nn import read_pretrained
from unspool.text.vocab import MASK

transformers = pytest.importorskip("transformers")

SMALL: dict[str, Any] = {
    "model": "transformer", "hidden": 16, "heads": 4, "layers": 2, "epochs": 1, "threads": 1,
    "quiet": True,
}  # fmt: skip
BERT = {"norm": "post", "embedding_norm": True, "positions": "learned", "max_length": 40}
MEGATRON = {"positions": "learned", "max_length": 40}
SINUSOIDAL = {"positions": "sinusoidal", "max_length": 40}
TEXTS = ["a good film , isn't it ?", "dull", "Café film and plot and film", "the worst of all"]


def trained(data: Any, out: Path, **settings: Any) -> unspool.Run:
    """A run whose weights were drawn anew, biases too: a trained one has small ones."""
    run = unspool.train(data, out=out, **{**SMALL, **settings})
    torch.manual_seed(4)
    for parameter in run.model.parameters():
        nn.init.normal_(parameter, std=0.2)
    return run


def read_by_auto(kind: str, folder: Path) -> tuple[Any, Any]:
    model = getattr(transformers, kind).from_pretrained(folder, local_files_only=True)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)


def logits(kind: str, folder: Path, texts: list[Any]) -> torch.Tensor:
    model, tokenizer = read_by_auto(kind, folder)
    sides = list(zip(*texts)) if isinstance(texts[0], tuple) else [texts]
    encoded = tokenizer(*map(list, sides), padding=True, return_tensors="pt")
    with torch.inference_mode():
        return model(**encoded).logits.double()


@pytest.mark.parametrize(
    ("settings", "architecture"),
    [
        (BERT, "BertForSequenceClassification"),
        (BERT | {"kind": "bpe", "vocab": 300, "activation": "gelu_tanh"}, "BertFor"),
        (MEGATRON | {"kind": "char", "lowercase": True}, "MegatronBertForSequenceClassification"),
        (
            SINUSOIDAL | {"activation": "relu", "normalize": "nfkc", "split": "space"},
            "MegatronBert",
        ),
        (MEGATRON | {"positions": "none", "multilabel": True}, "MegatronBert"),
    ],
)
def test_classifiers(settings: dict[str, Any], architecture: str, reviews, tmp_path: Path) -> None:
    run = trained(reviews, tmp_path / "run", pooling="cls", **settings)
    exported = run.export(tmp_path / "out", to="transformers")
    assert exported.architecture.startswith(architecture)
    assert exported.error < 1e-5
    assert exported.tokens is None
    scores = logits("AutoModelForSequenceClassification", exported.folder, TEXTS)
    several = "multilabel" in settings
    p = scores.sigmoid() if several else scores.softmax(1)
    expected = [list(answer.to_json()["probabilities"].values()) for answer in run.predict(TEXTS)]
    np.testing.assert_allclose(p, expected, atol=1e-5)
    model, _ = read_by_auto("AutoModelForSequenceClassification", exported.folder)
    names = list(run.predict(TEXTS)[0].to_json()["probabilities"])
    assert [model.config.id2label[i] for i in range(len(names))] == names


def test_numbers(reviews, tmp_path: Path) -> None:
    frame = pd.read_csv(reviews)
    frame["label"] = frame["text"].str.len() * 10
    run = trained(frame, tmp_path / "run", task="regress", pooling="cls", **MEGATRON)
    exported = run.export(tmp_path / "out", to="transformers")
    scores = logits("AutoModelForSequenceClassification", exported.folder, TEXTS)
    expected = [list(answer.numbers.values()) for answer in run.predict(TEXTS)]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)


def test_pairs(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "text": ["anna met carl", "dora saw eva", "eva left"] * 20,
            "text_pair": ["carl met anna", "nobody", "dora and eva met"] * 20,
            "label": ["yes", "no", "perhaps"] * 20,
        }
    )
    pairs = [("anna met eva", "carl"), ("dora", "nobody met dora and eva"), ("unheard", "of")]
    run = trained(frame, tmp_path / "run", pooling="cls", **BERT)
    exported = run.export(tmp_path / "out", to="transformers")
    p = logits("AutoModelForSequenceClassification", exported.folder, pairs).softmax(1)
    expected = [list(answer.to_json()["probabilities"].values()) for answer in run.predict(pairs)]
    np.testing.assert_allclose(p, expected, atol=1e-5)


@pytest.mark.parametrize(
    "settings", [BERT, MEGATRON, SINUSOIDAL, BERT | {"kind": "bpe", "vocab": 300}]
)
def test_masked_models(settings: dict[str, Any], reviews, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(pd.read_csv(reviews)["text"]))
    run = trained(texts, tmp_path / "run", task="pretrain", **settings)
    exported = run.export(tmp_path / "out", to="transformers")
    model, tokenizer = read_by_auto("AutoModelForMaskedLM", exported.folder)
    text = f"a good {MASK} , and {MASK} plot"
    encoded = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        scores = model(**encoded).logits[encoded.input_ids == tokenizer.mask_token_id].double()
    scores[:, run.task.tokenizer.special_ids()] = -torch.inf
    best = scores.softmax(1).topk(5)
    for ours, ids, values in zip(
        run.predict([text])[0].masks, best.indices, best.values, strict=True
    ):
        assert [c.token for c in ours] == [tokenizer.decode([i]).strip() for i in ids]
        np.testing.assert_allclose([c.probability for c in ours], values, atol=1e-5)


def test_what_was_written_can_be_read_again(reviews, tmp_path: Path) -> None:
    run = trained(reviews, tmp_path / "run", pooling="cls", **MEGATRON)
    folder = run.export(tmp_path / "out", to="transformers").folder
    again, (theirs, tokenizer) = read_pretrained(folder), read_by_auto("AutoModel", folder)
    ids = tokenizer(TEXTS[0], return_tensors="pt").input_ids
    with torch.inference_mode():
        torch.testing.assert_close(again(ids), theirs(ids).last_hidden_state, rtol=0, atol=1e-4)
    started = unspool.train(
        reviews, start=folder, out=tmp_path / "next", epochs=1, max_length=40, quiet=True
    )
    assert started.config.model.norm == "pre"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tied": False, "activation": "gelu_tanh"},
        {"positions": "sinusoidal", "activation": "relu"},
        {"positions": "none", "kind": "bpe", "vocab": 300, "heads": 1},
        {"kind": "word"},
    ],
)
def test_writers(settings: dict[str, Any], book, tmp_path: Path) -> None:
    run = trained(book, tmp_path / "run", task="generate", bptt=24, **settings)
    exported = run.export(tmp_path / "out", to="transformers")
    assert exported.architecture == "GPT2LMHeadModel"
    assert exported.error < 1e-5
    model, tokenizer = read_by_auto("AutoModelForCausalLM", exported.folder)
    prompt = "And the "
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    assert ids[0].tolist() == run.task.tokenizer.ids(prompt).tolist()
    written = model.generate(
        ids, max_new_tokens=10, do_sample=False, pad_token_id=0,
        suppress_tokens=run.task.tokenizer.special_ids(),
    )  # fmt: skip
    expected = run.generate(prompt, length=10, temperature=0.0)
    text = run.task.tokenizer.decode(written[0].tolist())
    assert text == (expected if settings.get("kind") != "word" else " ".join(expected.split()))


@pytest.mark.parametrize(
    ("settings", "got"),
    [
        ({"model": "bilstm"}, "model=bilstm"),
        ({"positions": "rotary"}, "positions=rotary"),
        ({"self_attention": "linear"}, "self_attention=linear"),
        ({"self_attention": "window"}, "self_attention=window"),
        ({"activation": "swiglu"}, "activation=swiglu"),
        ({"norm": "post"}, "norm=post, embedding_norm=false"),
        ({"embedding_norm": True}, "norm=pre, embedding_norm=true"),
        ({"pooling": "mean"}, "pooling=mean"),
        ({"dense": 8}, "dense=8"),
        ({"positions": "sinusoidal", "max_length": 0}, "positions=sinusoidal, max_length=0"),
    ],
)
def test_other_shapes_are_refused_by_the_setting(
    settings: dict[str, Any], got: str, reviews, tmp_path: Path, capsys
) -> None:
    chosen = {**SMALL, "pooling": "cls", **MEGATRON, **settings}
    if chosen["model"] == "bilstm":
        chosen = {"model": "bilstm", "hidden": 8, "epochs": 1, "quiet": True}
    unspool.train(reviews, out=tmp_path / "run", **chosen)
    capsys.readouterr()
    out = tmp_path / "out"
    run = str(tmp_path / "run")
    assert command(["export", run, "--to", "transformers", "--out", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"no BERT or GPT-2 of this shape; got '{got}'" in line
    assert not out.exists()


def test_refused_tasks(writer, sentences, reviews, classifier, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="got 'model=gru'"):
        unspool.load(writer).export(tmp_path / "a", to="transformers")
    with pytest.raises(ConfigError, match="int8 is for onnx"):
        unspool.load(classifier).export(tmp_path / "b", to="transformers", int8=reviews)
    run = unspool.train(sentences, out=tmp_path / "tags", **{**SMALL, "max_length": 0})
    with pytest.raises(ConfigError, match="got 'task tag'"):
        run.export(tmp_path / "c", to="transformers")


def test_a_folder_that_differs_is_not_written(reviews, tmp_path: Path, monkeypatch) -> None:
    from unspool.export import checkpoint

    run = trained(reviews, tmp_path / "run", pooling="cls", **MEGATRON)
    monkeypatch.setattr(checkpoint, "FLAT", 1.0)
    with pytest.raises(ConfigError, match="does not answer as the model does: scores differ"):
        run.export(tmp_path / "out", to="transformers")
    assert not (tmp_path / "out").exists()
