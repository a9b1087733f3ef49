"""N-grams that the filters of a convolutional classifier look for.

In: a trained model and a corpus. Out: for each filter the n-grams of the corpus that it answers to
most, and the class whose score it raises.

What a filter of width k answers depends on k tokens alone, so each distinct k-gram of the corpus is
read once, however often it occurs.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config.resolve import reading_changed
from unspool.data.corpus import encode_table
from unspool.data.fields.tokens import Tokens
from unspool.data.part import Part
from unspool.data.store.columns import Progress
from unspool.errors import ConfigError, Option
from unspool.nn.convolution import Convolution, ConvolutionStack, WidthFilters
from unspool.nn.encoder import Encoder
from unspool.nn.inputs import OneHot, TokenEmbedding, TokenInput
from unspool.nn.models.classifier import Classifier, ManyToOne
from unspool.tasks import Task
from unspool.tasks.planner import open_inputs
from unspool.tasks.task import walk
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import PAD_ID

CHUNK = 8192  # n-grams read at once
SAMPLE = 1024  # documents over which the effect of a filter is averaged
OUTSIDE = "·"  # shown for a position before the first token of a document or after its last


class Ngram(NamedTuple):
    text: str
    activation: float
    times: int  # that it stands in the corpus


class Feature(NamedTuple):
    """One filter.

    label    the class whose score it raises most
    weight   by how much more than the others' a unit of its activation raises that score
    moves    how far it moves the score between documents: weight times its spread
    """

    filter: int
    width: int
    label: str
    weight: float
    moves: float
    ngrams: list[Ngram]  # the strongest first; none where it is silent on the whole corpus


class NgramTable(NamedTuple):
    """All filters, those that move the scores most first."""

    features: list[Feature]
    shown: int = 5

    def to_json(self) -> dict[str, Any]:
        return {
            "filters": [
                {**feature._asdict(), "ngrams": [ngram._asdict() for ngram in feature.ngrams]}
                for feature in self.features
            ]
        }

    def lines(self) -> list[str]:
        """For each class the `shown` filters that raise its score most."""
        lines = []
        for label in sorted({feature.label for feature in self.features}):
            raising = [f for f in self.features if f.label == label and f.ngrams]
            lines += [f"for {label}: {len(raising)} of {len(self.features)} filters"]
            for feature in islice(raising, self.shown):
                lines += [
                    "",
                    f"  filter {feature.filter}, width {feature.width},"
                    f" weight {feature.weight:.2f}",
                    "    activation  times  n-gram",
                ]
                lines += [
                    f"    {n.activation:10.3f}  {n.times:5d}  {n.text}" for n in feature.ngrams
                ]
            lines += [""]
        return lines[:-1]


def ngrams_of_file(
    task: Task,
    model: nn.Module,
    data: str | Path,
    *,
    top: int = 5,
    filters: int = 5,
    note: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> NgramTable:
    """The `top` n-grams of a file that activate each filter of a cnn most, and the class whose
    score it raises. Shown as text, the table has the `filters` strongest of each class.

    reading  overrides how the file is read: text=, label=, ...
    """
    if not isinstance(model, Classifier):
        raise no_classes(task)
    settings = reading_changed(task.config, reading).data
    plan = open_inputs(data, settings, task.name)
    if note is not None:
        note(plan.summary)
    part, _ = encode_table(plan, task.fields, progress)
    return top_ngrams(task, model, part, top=top, shown=filters)


def top_ngrams(
    task: Task, model: Classifier, part: Part, *, top: int = 5, shown: int = 5
) -> NgramTable:
    """The `top` n-grams of every filter."""
    encoder = readable(task, model)
    assert isinstance(encoder.network, ConvolutionStack)
    assert isinstance(encoder.input, TokenInput)
    assert isinstance(encoder.input.embedding, TokenEmbedding | OneHot)
    convolution = encoder.network.layers[0]
    assert isinstance(convolution, Convolution)
    weights, spread = effects(task, model, part)
    features: list[Feature] = []
    for filters in convolution.by_width():
        windows, counts = distinct_windows(part[task.input], filters)
        activations, rows = _strongest(encoder.input.embedding, filters, windows, top)
        for column in range(activations.shape[1]):
            number = len(features)
            best = int(weights[:, number].argmax())
            weight = float(weights[best, number])
            ngrams = [
                Ngram(_shown(task.tokenizer, windows[row], filters), float(value), int(counts[row]))
                for value, row in zip(activations[:, column], rows[:, column])
                if value > 0
            ]
            features.append(
                Feature(
                    number,
                    filters.width,
                    task.labels[best],
                    weight,
                    weight * float(spread[number]),
                    ngrams,
                )
            )
    return NgramTable(sorted(features, key=lambda f: -f.moves), shown)


def distinct_windows(tokens: Tokens, filters: WidthFilters) -> tuple[np.ndarray, np.ndarray]:
    """The distinct windows (U, k) around the tokens of all documents, and how often each occurs;
    positions outside of a document are <pad>."""
    gap = np.full(filters.width, PAD_ID, dtype=np.int64)
    pieces = [gap]
    for row in range(len(tokens)):
        pieces += [tokens[row], gap]
    ids = np.concatenate(pieces)
    centres = np.flatnonzero(ids != PAD_ID)
    columns = [ids[centres + j] for j in range(-filters.before, filters.after + 1)]
    # Numbers of windows that grow by a position at a time: no key of k tokens could overflow.
    codes, size = columns[0], int(ids.max()) + 1
    for column in columns[1:]:
        _, codes = np.unique(codes * size + column, return_inverse=True)
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    return np.stack([column[first] for column in columns], 1), counts


def no_classes(task: Task) -> ConfigError:
    return ConfigError(
        "n-grams raise the score of a class, which only a classifier has",
        got=f"a {task.name} model",
        remedy=("train a classifier with ", Option(model="cnn")),
    )


def readable(task: Task, model: ManyToOne) -> Encoder:
    encoder = model.encoder
    if not task.labels:
        raise no_classes(task)
    if not isinstance(encoder.network, ConvolutionStack):
        raise ConfigError(
            "n-grams are what the filters of a convolution answer to",
            got=Option(model=task.config.model_name),
            remedy=("train one with ", Option(model="cnn")),
        )
    if model.contextual is not None:
        raise ConfigError(
            "with contextual vectors, what a filter answers to an n-gram depends on what is around",
            got="a run that started from elmo",
            remedy=("train a cnn without ", Option("start")),
        )
    if task.config.model.layers > 1:
        raise ConfigError(
            "the filters of a second layer read no n-grams but features",
            got=f"model.layers={task.config.model.layers}",
            remedy="train a cnn with one layer",
        )
    return encoder


def effects(task: Task, model: ManyToOne, part: Part) -> tuple[np.ndarray, np.ndarray]:
    """∂score_c/∂feature (C, K·F), the mean over documents, against the mean of the other classes;
    and the features' spread (K·F)."""
    vectors, slopes, count = [], [], 0
    for batch in walk(task.batches(part, training=False), model):
        with torch.no_grad():
            x = batch[task.input]
            v = model.pooling(model.encoder(x.ids, x.lengths).outputs, x.lengths)
        scores = model.score(v.requires_grad_())  # (B, C)
        slopes.append(
            torch.stack([torch.autograd.grad(s.sum(), v, retain_graph=True)[0] for s in scores.T])
        )
        vectors.append(v.detach())
        count += len(v)
        if count >= SAMPLE:
            break
    spread = torch.cat(vectors).std(0, correction=0)
    slope = torch.cat(slopes, 1).mean(1)
    return (slope - (slope.sum(0) - slope) / (len(slope) - 1)).numpy(), spread.numpy()


@torch.inference_mode()
def _strongest(
    embedding: TokenEmbedding | OneHot, filters: WidthFilters, windows: np.ndarray, top: int
) -> tuple[np.ndarray, np.ndarray]:
    """The largest activations of each filter (top, F), falling, and which windows they are of."""
    best, rows = torch.empty(0, len(filters.b)), torch.empty(0, len(filters.b), dtype=torch.int64)
    for start in range(0, len(windows), CHUNK):
        ids = torch.from_numpy(windows[start : start + CHUNK])
        positions = [_vectors(embedding, column) for column in ids.unbind(1)]
        values = torch.relu(filters(positions))  # (n, F)
        numbers = torch.arange(start, start + len(ids))[:, None].expand_as(values)
        values, numbers = torch.cat([best, values]), torch.cat([rows, numbers])
        best, chosen = values.topk(min(top, len(values)), 0)
        rows = numbers.gather(0, chosen)
    return best.numpy(), rows.numpy()


def _vectors(embedding: TokenEmbedding | OneHot, ids: Tensor) -> Tensor:
    """Vectors that `WidthFilters` reads at one position: zeros outside of the document."""
    inside = ids != PAD_ID
    if isinstance(embedding, OneHot):
        return (ids + 1) * inside
    return embedding(ids) * inside[:, None]


def _shown(tokenizer: Tokenizer, window: np.ndarray, filters: WidthFilters) -> str:
    before = OUTSIDE * int((window[: filters.before] == PAD_ID).sum())
    after = OUTSIDE * int((window[filters.before :] == PAD_ID).sum())
    text = tokenizer.decode(window[window != PAD_ID].tolist())
    return " ".join(part for part in (before, text, after) if part)
