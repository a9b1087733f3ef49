"""The elmo task: what it predicts, its report, and what other tasks make of its vectors."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import unspool
from small_tasks import make_task
from unspool.api.settings import make_config
from unspool.data.fields.tokens import TokenBatch
from unspool.data.part import Part
from unspool.errors import ConfigError
from unspool.insight.occurrences import nearest_occurrences
from unspool.nn.elmo import Contextual, ElmoModel
from unspool.tasks import build_model
from unspool.tasks.elmo import ElmoReport, ElmoTask, inputs
from unspool.text.tokenizers import WordTokenizer
from unspool.text.vocab import SENTENCE_SPECIALS, Vocab

SMALL = {
    "hidden": 16, "projection": 8, "filters": 4, "widths": "1,2", "character_embedding": 4,
    "threads": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def elmo(book, tmp_path_factory):
    """A run of `elmo`, on the sentences of a small book."""
    out = tmp_path_factory.mktemp("elmo") / "run"
    settings = {**SMALL, "max_length": 6, "batch": 16, "lr": 0.01, "epochs": 2, "valid_share": 0.1}
    return unspool.train(book, task="elmo", out=out, **settings)


def make() -> tuple[ElmoTask, ElmoModel, Part]:
    torch.manual_seed(1)
    config = make_config("elmo", settings={**SMALL, "dropout": 0.0})
    vocab = Vocab.of(["a", "b", "c"], specials=SENTENCE_SPECIALS)
    task = make_task(config, WordTokenizer(vocab))
    assert isinstance(task, ElmoTask)
    model = build_model(task)
    assert isinstance(model, ElmoModel)
    return task, model, Part.of(task.fields, text=["a b zebra c", "b"])


def test_a_text_has_a_beginning_and_an_end() -> None:
    task, _, part = make()
    batch: TokenBatch = part.collate(np.array([0, 1]))[task.input]
    framed, *_ = inputs(batch)
    assert framed.tolist() == [[2, 4, 5, 1, 6, 3], [2, 5, 3, 0, 0, 0]]


def test_each_direction_predicts_what_it_has_not_read() -> None:
    task, model, part = make()
    batch = part.collate(np.array([0, 1]))
    scores = model(*batch[task.input].words)  # (B, T + 2, 2, V)
    losses = []
    for row, words in enumerate([[2, 4, 5, 1, 6, 3], [2, 5, 3]]):
        for t in range(len(words) - 1):
            losses.append(F.cross_entropy(scores[row, t, 0], torch.tensor(words[t + 1])))
            losses.append(F.cross_entropy(scores[row, t + 1, 1], torch.tensor(words[t])))
    step = task.loss(model, batch, None)
    torch.testing.assert_close(step.loss, torch.stack(losses).mean())
    assert (step.targets, step.tokens) == (len(losses), 5)
    report = task.evaluate(model.eval(), part)
    assert report.metrics["loss"] == pytest.approx(float(step.loss.detach()), rel=1e-5)
    step.loss.backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []


def test_a_report_of_known_numbers() -> None:
    report = ElmoReport(np.array([[2.0, 4.0], [1.0, 2.0]]), np.array([2, 1]))
    assert report.metrics["loss"] == pytest.approx(1.5)
    assert report.metrics["forward_perplexity"] == pytest.approx(np.e)
    assert report.metrics["backward_perplexity"] == pytest.approx(np.e**2)
    assert "2.72 forwards, 7.39 backwards" in report.lines()[2]


def test_a_run_gives_vectors_of_any_words(elmo) -> None:
    assert elmo.report.metrics["perplexity"] < len(elmo.task.tokenizer)
    texts = ["the film was qwertyuiop", "was it ?"]
    together = elmo.vectors(texts)
    assert [found.words for found in together] == [text.split() for text in texts]
    for text, found in zip(texts, together):
        (alone,) = unspool.load(elmo.path).vectors(text)
        np.testing.assert_allclose(alone.layers, found.layers, atol=1e-5)
        assert found.layers.shape == (3, len(found.words), 16)
        np.testing.assert_allclose(found.vectors(), found.layers.mean(0))


def test_neighbours_in_context(elmo, book) -> None:
    line = book.read_text().splitlines()[3]
    word = line.rstrip(".").split()[2]
    (near,) = nearest_occurrences(elmo.task, elmo.model, [line], word, book, top=3)
    assert near.found[0].word == word
    assert near.found[0].similarity == pytest.approx(1.0, abs=1e-4)
    assert near.found[0].similarity >= near.found[-1].similarity
    assert len(near.found) == 3
    assert word in near.found[0].context


def test_it_gives_no_predictions(elmo, classifier) -> None:
    with pytest.raises(ConfigError, match=r"gives vectors of words, and no predictions.*start="):
        elmo.predict("a film")
    with pytest.raises(ConfigError, match="come from an elmo model; got 'a classify model'"):
        unspool.load(classifier).vectors("a film")


def test_classify_reads_with_it(elmo, reviews, tmp_path) -> None:
    settings = {"hidden": 16, "embedding": 4, "threads": 1, "epochs": 1, "lr": 0.01}
    run = unspool.train(reviews, model="bigru", start=elmo.path, out=tmp_path / "run", **settings)
    contextual = run.model.contextual
    assert isinstance(contextual, Contextual)
    for name, tensor in elmo.model.encoder.state_dict().items():
        assert torch.equal(contextual.elmo.state_dict()[name], tensor)
    assert contextual.mix.w.any()  # has learnt
    mix = json.loads((run.path / "evaluation.json").read_text())["mix"]
    assert sum(mix["layers"]) == pytest.approx(1, abs=1e-3)
    summary = run.summary()
    assert any("mix of 3 layers" in layer.kind for layer in summary.layers)
    assert sum(layer.parameters for layer in summary.layers) == summary.parameters
    texts = ["a lovely film", "the plot was dull and the musical score terrible"]
    together = unspool.load(run.path).predict(texts)
    for text, found in zip(texts, together):
        (alone,) = run.predict(text)
        assert alone.probabilities == pytest.approx(found.probabilities, abs=1e-5)


def test_contextual_vectors_alone_and_tuned(elmo, reviews, tmp_path) -> None:
    settings = {"filters": 4, "embedding": 0, "threads": 1, "epochs": 1, "max_steps": 2}
    run = unspool.train(
        reviews, model="cnn", start=elmo.path, out=tmp_path / "run", tuned=True, **settings
    )
    assert run.model.encoder.network.layers[0].inputs == 16
    own = run.model.contextual.elmo.state_dict()
    before = elmo.model.encoder.state_dict()
    assert any(not torch.equal(own[name], before[name]) for name in own)


def test_tag_reads_with_it(elmo, tmp_path) -> None:
    rows = "Ann NNP\nsees VB\nBob NNP\n\nBob NNP\nsleeps VB\n\n" * 10
    data = tmp_path / "words.conll"
    data.write_text(rows)
    settings = {"hidden": 8, "embedding": 4, "threads": 1, "epochs": 1, "characters": "none"}
    run = unspool.train(data, task="tag", start=elmo.path, out=tmp_path / "run", **settings)
    assert isinstance(run.model.contextual, Contextual)
    summary = run.summary()
    assert sum(layer.parameters for layer in summary.layers) == summary.parameters
    tagged = run.predict(["Ann sleeps"])
    assert [word.word for word in tagged[0].words] == ["Ann", "sleeps"]
