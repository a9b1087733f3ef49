"""The n-grams of filters: against a reading of every place of every document."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from small_tasks import make_task
from unspool.api.settings import make_config
from unspool.data.part import Part
from unspool.insight.ngrams import distinct_windows, top_ngrams
from unspool.nn.convolution import WidthFilters
from unspool.nn.models.classifier import Classifier
from unspool.tasks import Task, build_model
from unspool.text.tokenizers import WordTokenizer
from unspool.text.vocab import Vocab

WORDS = ["the", "a", "film", "was", "so", "good", "bad", "very"]
TEXTS = ["so good", "the film was so good", "bad", "the film was so bad", "a very good film"]


def documents(part: Part) -> list[np.ndarray]:
    tokens = part["text"]
    return [tokens[row] for row in range(len(tokens))]


def make(labels=("neg", "pos"), **settings) -> tuple[Task, Classifier, Part]:
    torch.manual_seed(1)
    config = make_config("classify", "cnn", settings={"filters": 3, "embedding": 6, **settings})
    task = make_task(config, WordTokenizer(Vocab.of(WORDS)), labels)
    model = build_model(task).eval()
    assert isinstance(model, Classifier)
    return task, model, Part.of(task.fields, text=TEXTS)


def test_windows_are_distinct_and_counted() -> None:
    _, _, part = make()
    windows, counts = distinct_windows(part["text"], WidthFilters(1, 1, 3))
    found = {tuple(window): count for window, count in zip(windows.tolist(), counts.tolist())}
    slow: dict[tuple[int, ...], int] = {}
    for ids in documents(part):
        around = [0, *ids.tolist(), 0]
        for t in range(len(ids)):
            key = tuple(around[t : t + 3])
            slow[key] = slow.get(key, 0) + 1
    assert found == slow
    assert len(found) == len(windows)


@pytest.mark.parametrize("embedding", [6, 0])
def test_the_strongest_of_all_places(embedding) -> None:
    task, model, part = make(embedding=embedding, widths="2,3")
    table = top_ngrams(task, model, part, top=2)
    largest = torch.stack(
        [
            model.encoder(torch.from_numpy(ids)[None]).outputs[0].amax(0).detach()
            for ids in documents(part)
        ]
    ).amax(0)
    assert sorted(feature.filter for feature in table.features) == list(range(6))
    for feature in table.features:
        if feature.ngrams:
            assert feature.ngrams[0].activation == pytest.approx(float(largest[feature.filter]))
            activations = [ngram.activation for ngram in feature.ngrams]
            assert activations == sorted(activations, reverse=True)
            assert len({ngram.text for ngram in feature.ngrams}) == len(feature.ngrams)
        else:
            assert not largest[feature.filter]


@pytest.mark.parametrize("dense", [0, 4])
def test_the_class_is_that_of_the_weight(dense) -> None:
    task, model, part = make(dense=dense)
    if model.dense is not None:  # a dense layer that changes nothing but the sign
        with torch.no_grad():
            model.dense.linear.weight.abs_()
            model.output.linear.weight.fill_(-1.0)
        signs = -np.ones(9)
    else:
        signs = np.sign(model.output.linear.weight[0].detach().numpy())
    for feature in top_ngrams(task, model, part).features:
        assert feature.label == ("pos" if signs[feature.filter] > 0 else "neg")
        assert feature.weight > 0


def test_of_several_classes_the_one_that_gains_most() -> None:
    task, model, part = make(labels=("x", "y", "z"))
    weight = model.output.linear.weight.detach().numpy()
    for feature in top_ngrams(task, model, part).features:
        column = weight[:, feature.filter]
        assert feature.label == "xyz"[column.argmax()]
        others = np.delete(column, column.argmax())
        assert feature.weight == pytest.approx(column.max() - others.mean(), abs=1e-5)


def test_a_place_outside_of_the_text_is_a_dot() -> None:
    task, model, _ = make(widths="4")
    part = Part.of(task.fields, text=["bad"])
    table = top_ngrams(task, model, part)
    assert {n.text for f in table.features for n in f.ngrams} == {"· bad ··"}
    assert any("· bad ··" in line for line in table.lines())
