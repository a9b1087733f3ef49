"""The vectors of documents that every kind of model gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import unspool
from unspool.errors import UserError
from unspool.nn.pooling import MeanPooling
from unspool.tasks import document_vectors
from unspool.topic_model.vectors import open_vectors, read_vectors

WORDS = "the a film plot cast music was is felt seemed very good great fine lovely bad poor dull"
TEXTS = ["the film was good", "a plot", "", "the music seemed very very fine and the cast dull"]
TINY = {"hidden": 8, "max_steps": 2, "quiet": True, "threads": 1, "valid_share": 0.1}
MODELS = {
    "elmo": {"projection": 4, "filters": 4},
    "generate": {"embedding": 4, "kind": "word"},
    "classify": {"model": "transformer", "pooling": "cls", "heads": 2},
}


@pytest.mark.parametrize("task", MODELS)
def test_a_run_gives_vectors_that_batches_do_not_change(task: str, tmp_path: Path) -> None:
    labels = ["good", "bad"] * 20
    data = {"text": [" ".join(WORDS.split()[i % 9 :]) for i in range(40)], "label": labels}
    own = {"baseline": False} if task == "classify" else {}
    run = unspool.train(data, task=task, out=tmp_path / task, **TINY, **MODELS[task], **own)
    read = open_vectors(run.path, max_length=6)
    found = read_vectors(read, iter(TEXTS), total=4)
    assert found.ndim == 2
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 0, 1], atol=1e-5)
    for text, vector in zip(TEXTS, found):
        np.testing.assert_allclose(read([text])[0], vector, atol=1e-5)
    cut = " ".join(TEXTS[3].split()[:6])  # only so many tokens are read
    np.testing.assert_allclose(read([cut])[0], found[3], atol=1e-5)


def test_a_pretrained_folder_gives_the_library_s_mean(tmp_path: Path, monkeypatch) -> None:
    transformers = pytest.importorskip("transformers")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split()]
    (tmp_path / "vocab.txt").write_text("\n".join(tokens))
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(tokens), hidden_size=16, max_position_embeddings=24, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=32,
    )  # fmt: skip
    theirs = transformers.BertModel(config).eval()
    theirs.save_pretrained(tmp_path)
    tokenizer = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    texts = [text for text in TEXTS if text]
    batch = tokenizer(texts, padding=True, truncation=True, max_length=8, return_tensors="pt")
    with torch.no_grad():
        states = theirs(**batch).last_hidden_state
    mean = MeanPooling(16)(states, batch["attention_mask"].sum(1))
    monkeypatch.setattr(document_vectors, "BATCH_TOKENS", 10)
    ours = open_vectors(tmp_path, max_length=8)(texts)
    np.testing.assert_allclose(ours, torch.nn.functional.normalize(mean).numpy(), atol=1e-5)


def test_a_model_of_series_has_no_vectors_of_texts(tmp_path: Path) -> None:
    data = {"series": [np.random.default_rng(i).normal(size=(5, 1)) for i in range(20)],
            "label": ["a", "b"] * 10}  # fmt: skip
    run = unspool.train(data, out=tmp_path / "series", baseline=False, **TINY)
    with pytest.raises(UserError, match="no encoder that makes a vector of a text alone"):
        open_vectors(run.path, max_length=6)
