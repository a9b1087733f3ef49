"""Filters of a convolution and the n-grams of one text that activate them.

In: a text as a model with a convolution reads it. Out: of a classifier, for each filter, the n-gram
that activates it most and the class whose score it raises; of a tagger, for each word, the filters
that answer most there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from torch import nn

from unspool.data.fields.tokens import Tokens
from unspool.data.part import Part
from unspool.data.store.ragged import Ragged
from unspool.errors import ConfigError, Option
from unspool.insight.ngrams import effects, readable
from unspool.insight.trace import Trace
from unspool.nn.convolution import Convolution, ConvolutionStack, WidthFilters
from unspool.nn.models.classifier import ManyToOne
from unspool.tasks.reading import Reading

EACH = 6  # filters of a word


class Answering(NamedTuple):
    """A filter and the n-gram to which it answers.

    filter       its number
    position        the token around which the n-gram is
    first        its first token; below 0 where it begins before the text
    label        the class whose score it raises most; None where no single weight shows it
    weight       by how much more than the others' a unit of its activation raises that score
    """

    filter: int
    width: int
    position: int
    first: int
    activation: float
    label: str | None = None
    weight: float | None = None


def first_convolution(model: nn.Module) -> Convolution:
    """The filters that read tokens; a ConfigError for a model without any."""
    network = getattr(getattr(model, "encoder", None), "network", None)
    if not isinstance(network, ConvolutionStack):
        raise ConfigError(
            "n-grams are what the filters of a convolution answer to",
            remedy=("look at a run of ", Option(model="cnn")),
        )
    layer = network.layers[0]
    assert isinstance(layer, Convolution)
    return layer


def answering(model: nn.Module, reading: Reading, trace: Trace) -> list[Answering]:
    """One n-gram a filter for a classifier, those that move the score most first; for a tagger the
    `EACH` strongest of each word. Filters that are silent are left out."""
    filters = [group for group in first_convolution(model).by_width() for _ in range(len(group.b))]
    features = trace.find("features")[0].values  # (T, K·F)
    if not isinstance(reading.model, ManyToOne):
        return list(_of_words(filters, features))
    answers = list(_of_text(filters, features))
    try:
        readable(reading.task, reading.model)
    except ConfigError:  # of numbers, with more layers or other vectors: there is no one weight
        return sorted(answers, key=lambda each: -each.activation)
    name, tokens = reading.task.input, Tokens(Ragged.of([reading.input.ids]))
    part = Part(reading.task.fields, {name: tokens})
    weights, _ = effects(reading.task, reading.model, part)  # (C, K·F)
    best = weights.argmax(0)
    answers = [
        each._replace(
            label=reading.task.labels[best[each.filter]],
            weight=float(weights[best[each.filter], each.filter]),
        )
        for each in answers
    ]
    return sorted(answers, key=lambda each: -each.activation * (each.weight or 0.0))


def _of_text(filters: list[WidthFilters], features: np.ndarray) -> Iterator[Answering]:
    for number, position in enumerate(features.argmax(0).tolist()):
        if features[position, number] > 0:
            yield _answering(filters, features, number, position)


def _of_words(filters: list[WidthFilters], features: np.ndarray) -> Iterator[Answering]:
    strongest = np.argsort(-features, 1, kind="stable")[:, :EACH].tolist()
    for position, numbers in enumerate(strongest):
        for number in numbers:
            if features[position, number] > 0:
                yield _answering(filters, features, number, position)


def _answering(
    filters: list[WidthFilters], features: np.ndarray, number: int, position: int
) -> Answering:
    filter_ = filters[number]
    value = float(features[position, number])
    return Answering(number, filter_.width, position, position - filter_.before, value)
