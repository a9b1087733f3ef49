"""What a task is: it reads a corpus, builds a model, and turns batches into losses and reports.

A task never knows its cell; nothing outside of this folder asks for a task's name. A new task is
one file with one subclass, and one line in `TASKS`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from torch import Tensor, nn

from unspool.config import Config, DataConfig
from unspool.data.corpus import Corpus, encode_part
from unspool.data.encode import Progress
from unspool.data.readers import Source
from unspool.errors import ConfigError, RunError
from unspool.io.files import AGAIN, read_json
from unspool.tasks.answer import Answer
from unspool.tasks.encoder import recurrent_models
from unspool.tasks.metrics import bootstrap_ratio
from unspool.text.tokenizers import Tokenizer

T = TypeVar("T")


class Batches(Protocol):
    """Batches as pure functions of their place: the same (epoch, step) gives the same batch."""

    def steps(self, epoch: int) -> int: ...
    def batch(self, epoch: int, step: int) -> Any: ...


class Step(NamedTuple):
    """What one batch gives in training."""

    loss: Tensor  # () mean over the targets, with a graph
    targets: int  # how many predictions were made
    tokens: int  # how many real tokens were read
    carry: Any  # handed to the next batch of the same epoch (a language model's state)


class Report(ABC):
    """The result of an evaluation: figures for programs, a table for people."""

    metrics: dict[str, float]
    interval: tuple[float, float]  # bootstrap 95 % interval of the task's main metric
    scores: np.ndarray  # what the main metric is the mean of, one value an example
    weights: np.ndarray | None = None  # of the scores in that mean

    def interval_over(self, reports: Sequence[Report]) -> tuple[float, float]:
        """The interval of the main metric's mean over several reports on the same examples."""
        ones = np.ones(len(self.scores))
        weights = [ones if r.weights is None else r.weights.astype(float) for r in reports]
        sums = [report.scores * own for report, own in zip(reports, weights)]
        return bootstrap_ratio(np.stack(sums, 1), np.stack(weights, 1))

    @abstractmethod
    def to_json(self) -> dict[str, Any]: ...

    @abstractmethod
    def lines(self) -> list[str]:
        """The report as text, for a terminal."""

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"


class Task(ABC):
    """One kind of learning problem, fitted to one corpus."""

    name: ClassVar[str]
    metric: str  # decides which weights are best
    higher_is_better: ClassVar[bool]
    default_model: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]] = {}  # settings that differ from the schema's
    answer: ClassVar[type[Answer] | None] = None  # what `predict` gives; None: nothing
    options: ClassVar[type | None] = None  # a dataclass: the options of `predict`
    items_from: ClassVar[str] = "classify"  # the task as which a file of items is read
    contextual: ClassVar[bool] = False  # whether other tasks read with the vectors of its encoder
    usage: ClassVar[str] = 'unspool predict {run} "some text"'  # for the model card

    config: Config
    tokenizer: Tokenizer
    labels: list[str] | None = None  # of a task that has a fixed set of answers

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        """Every model that this task knows, by name, with the settings that it stands for."""
        return recurrent_models()

    @classmethod
    @abstractmethod
    def check_config(cls, config: Config) -> None:
        """Refuse, with a reason, settings that this task cannot work with."""

    @classmethod
    @abstractmethod
    def prepare(cls, config: Config, corpus: Corpus) -> Task:
        """The task for the tokenizer and the labels of a corpus."""

    @abstractmethod
    def build(self) -> nn.Module:
        """A fresh model with its initial weights."""

    @abstractmethod
    def example_inputs(self) -> tuple[Tensor, ...]:
        """The smallest input that the model can read, for its summary."""

    def encode(
        self, source: Source, data: DataConfig, progress: Progress | None
    ) -> tuple[Any, list[str]]:
        """A whole source as a part to evaluate on, and notes about it."""
        return encode_part(source, self.tokenizer, self.labels, data, progress), []

    @abstractmethod
    def batches(self, part: Any, *, training: bool) -> Batches: ...

    @abstractmethod
    def loss(self, model: nn.Module, batch: Any, carry: Any) -> Step: ...

    @abstractmethod
    def where(self, part: Any, batch: Any) -> str:
        """The place of a batch in the data, for a message."""

    @abstractmethod
    def validate(self, model: nn.Module, part: Any) -> dict[str, float]:
        """The figures of one validation while training; contains `metric` and `loss`."""

    def rank(self, metrics: dict[str, float]) -> tuple[float, ...]:
        """What decides between two validations, larger is better: the metric, then the loss."""
        value = metrics[self.metric]
        return (value if self.higher_is_better else -value, -metrics["loss"])

    @abstractmethod
    def evaluate(self, model: nn.Module, part: Any, options: Any = None) -> Report:
        """The full report on one part of the data; `options` as of `predict`, where the report is
        about answers."""

    @abstractmethod
    def predict(
        self, model: nn.Module, items: Iterable[Any], options: Any = None
    ) -> Iterator[Answer]:
        """An answer for each item, in order, for input of any length.

        items    texts; or what else the task takes for one
        options  an instance of the class `options`; None: its defaults
        """

    def generate(self, model: nn.Module, prompt: str, options: Any = None) -> Iterator[str]:
        """The continuation of a prompt, piece by piece as it grows, of a language model."""
        raise ConfigError(
            "generate needs a language model",
            got=f"a {self.name} model",
            remedy="train one with --task generate",
        )

    def vectors(self, model: nn.Module, texts: Iterable[str]) -> Iterator[Any]:
        """The words of each text with their contextual vectors."""
        raise no_vectors(self)

    def example(self, words: list[str]) -> str:
        """An item to begin with, made of some words of the data."""
        return " ".join(words)

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what, beside the weights, is needed to predict."""

    @classmethod
    @abstractmethod
    def load(cls, config: Config, folder: Path) -> Task: ...


def read_tokenizer(folder: Path, name: str = "tokenizer.json") -> Tokenizer:
    """The tokenizer of a run folder; a RunError where it is damaged."""
    path = folder / name
    stored = read_json(path)
    tokenizer = Tokenizer.from_json(stored, where=path)
    if tokenizer.to_json().keys() != stored.keys():
        raise RunError(
            f"holds other fields than a tokenizer of the kind {tokenizer.kind!r} has",
            where=path,
            remedy=AGAIN,
        )
    return tokenizer


def read_labels(folder: Path) -> list[str]:
    """The labels of a run folder; a RunError where they are damaged."""
    labels = read_json(folder / "labels.json")
    if not (
        isinstance(labels, list)
        and all(isinstance(label, str) for label in labels)
        and len(set(labels)) == len(labels) > 1
    ):
        raise RunError(
            "not a list of at least two different labels",
            where=folder / "labels.json",
            remedy=AGAIN,
        )
    return labels


def walk(batches: Batches) -> Iterator[Any]:
    """Every batch of the first epoch, in order."""
    for step in range(batches.steps(0)):
        yield batches.batch(0, step)


def build_model(task: Task) -> nn.Module:
    """The task's model with fresh weights; one that is too large is a ConfigError."""
    try:
        return task.build()
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not re.search("memory|overflow", str(error)):
            raise
        raise ConfigError(
            f"the model does not fit into memory with model.hidden={task.config.model.hidden}",
            remedy="set a smaller hidden, embedding, layers or vocab",
        ) from None


def no_vectors(task: Task) -> ConfigError:
    return ConfigError(
        "contextual vectors come from an elmo model",
        got=f"a {task.name} model",
        remedy="make one with `unspool embed CORPUS --method elmo`",
    )


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items, so that input of any length streams through."""
    stream = iter(items)
    while chunk := list(islice(stream, size)):
        yield chunk
