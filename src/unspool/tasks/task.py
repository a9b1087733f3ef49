"""Base of tasks: read a corpus, build a model, turn batches into losses and reports.

A task never knows its cell; nothing outside of this folder asks for a task's name. A new task is
one file with one subclass, and one line in `TASKS`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config
from unspool.data.batching import WHOLE, BucketBatches, Share
from unspool.data.corpus import Corpus, Fields, encode_table, fit_fields, load_corpus
from unspool.data.fields.field import Field
from unspool.data.fields.label import NamesField
from unspool.data.part import Part, moved
from unspool.data.plan import Plan
from unspool.data.split import HoldOut
from unspool.data.store.columns import Progress
from unspool.errors import ConfigError, DataError
from unspool.tasks.abilities import EncodesTables, FitsDirectly, FitsFields, PreparesCorpus
from unspool.tasks.answer import Answer
from unspool.tasks.encoder import recurrent_models
from unspool.tasks.inputs import input_kind
from unspool.tasks.metrics import Metric, bootstrap_ratio, resampled_sums, widest
from unspool.tasks.reading import AnswerView, InputView, Reading, nothing
from unspool.tasks.roles import Roles
from unspool.tasks.size import refuse_large_model, refuse_long_row
from unspool.text.tokenizers import Tokenizer

T = TypeVar("T")


class Batches(Protocol):
    """Batches as pure functions of (epoch, step): the same step gives the same batch."""

    def steps(self, epoch: int) -> int: ...
    def batch(self, epoch: int, step: int) -> Any: ...


class TrainingBatches(Protocol):
    """Batches whose rows several processes, or several passes, can share."""

    def steps(self, epoch: int) -> int: ...
    def rows(self, epoch: int, step: int) -> int: ...
    def batch(self, epoch: int, step: int, share: Share = WHOLE) -> Any: ...


class Step(NamedTuple):
    """The result of one training batch."""

    loss: Tensor  # () mean over the targets, with a graph
    targets: int  # how many predictions were made
    tokens: int  # how many real tokens were read
    carry: Any  # handed to the next batch of the same epoch (a language model's state)


class Report(ABC):
    """The result of an evaluation: figures for programs, a table for people."""

    metrics: dict[str, float]
    interval: tuple[float, float]  # 95 % interval of the task's main metric
    scores: np.ndarray  # what the main metric is the mean of, one value an example
    weights: np.ndarray | None = None  # of the scores in that mean
    part: str | None = None  # of the training data that it is on
    notes: tuple[str, ...] = ()  # what is to be known about the data
    caution: str = ""  # what it cannot tell
    untrained: Mapping[str, float] = {}  # main metric of methods without training, on the same rows

    def interval_over(self, reports: Sequence[Report]) -> tuple[float, float]:
        """The interval of the main metric's mean over several reports on the same examples: a
        bootstrap over these, and no narrower than that of as many independent answers."""
        ones = np.ones(len(self.scores))
        weights = [ones if r.weights is None else r.weights.astype(float) for r in reports]
        sums = [report.scores * weight for report, weight in zip(reports, weights)]
        interval = bootstrap_ratio(np.stack(sums, 1), np.stack(weights, 1))
        counts = np.array([weight.sum() for weight in weights])
        mean = np.mean([total.sum() for total in sums] / np.maximum(counts, 1e-12))
        independent = self.independent_interval(float(mean), float(counts.mean()))
        return interval if independent is None else widest(interval, independent)

    def resampled(self, reports: Sequence[Report]) -> np.ndarray:
        """(R, M) the main metric of M reports on the same examples, each resampled R times"""
        ones = np.ones(len(self.scores))
        weights = [ones if r.weights is None else r.weights.astype(float) for r in reports]
        sums = [report.scores * weight for report, weight in zip(reports, weights)]
        totals = resampled_sums(np.stack([*sums, *weights], 1))
        return totals[:, : len(reports)] / np.maximum(totals[:, len(reports) :], 1e-12)

    def independent_interval(self, mean: float, weight: float) -> tuple[float, float] | None:
        """The interval of the main metric if all answers were independent; None: unknown."""
        return None

    @abstractmethod
    def to_json(self) -> dict[str, Any]: ...

    @abstractmethod
    def lines(self) -> list[str]:
        """The report as text, for a terminal."""

    def __repr__(self) -> str:
        return "\n".join([*self.lines(), *self.notes])

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"


class RowInfo(NamedTuple):
    """The rows of a task's data: what they are called, and how many a part has at most that is held
    out of the training file."""

    noun: str = "rows"
    most_held_out: int | None = None


class Transfer(NamedTuple):
    """The models that a task may start from, and that may start from it.

    causal            whether its tokens see only those before them
    reads_contextual  whether it can read with the contextual vectors of an elmo model
    fine_tunes        whether it can start from a model of `nn/pretrained`
    """

    causal: bool = False
    reads_contextual: bool = False
    fine_tunes: bool = False


class Task(ABC):
    """One kind of learning problem, fitted to one corpus."""

    name: ClassVar[str]
    roles: ClassVar[Roles]  # what it reads and answers
    metric: Metric  # what it is judged by
    default_model: ClassVar[str]
    answer_view: type[AnswerView]  # how `look` shows the answer to one input
    input_view: type[InputView] | None = None  # and the input; None: as its kind does
    rows: ClassVar[RowInfo] = RowInfo()
    least_rows: ClassVar[int] = 0  # of a validation part that may choose the epoch
    defaults: ClassVar[Mapping[str, Any]] = {}  # settings that differ from the schema's
    settings: ClassVar[frozenset[str]] = frozenset()  # settings that only some tasks read
    unread: ClassVar[Mapping[str, frozenset[str]]] = {}  # without effect, by input or "any"
    answer: type[Answer] | None = None  # what `predict` gives; None: nothing
    items: ClassVar[tuple[type, ...]] = (str,)  # what `predict` answers to
    options: ClassVar[type | None] = None  # a dataclass: the options of `predict`
    transfer: ClassVar[Transfer] = Transfer()
    usage: str = 'unspool predict {run} "some text"'  # for the model card

    def __init__(self, config: Config, fields: Fields) -> None:
        """`fields` have been fitted."""
        self.config, self.fields = config, fields
        if not self.reads_tokens:
            self.usage = "unspool predict {run} --file FILE"
        elif type(self).usage == Task.usage:
            self.usage = f'unspool predict {{run}} "{self.input_field.form.sample_text}"'

    @classmethod
    @abstractmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        """The fields that it reads and writes, by name, not fitted; what it reads comes first."""

    @classmethod
    def invented(cls, config: Config, *, classes: int) -> Task:
        """The task for data that are not there, for a summary."""
        fields = cls.make_fields(config)
        for field in fields.values():
            field.invent(vocab=config.tokenizer.vocab, classes=classes)
        return cls(config, fields)

    @classmethod
    def load_corpus(
        cls,
        config: Config,
        plans: Mapping[str, Plan],
        *,
        fitted: Tokenizer | None = None,
        progress: Progress | None = None,
    ) -> Corpus:
        """The data, split and with fitted fields. `fitted`, of a model to start from, is the
        tokenizer of what it reads, or writes."""
        fields = cls.make_fields(config)
        if fitted is not None:
            text: Any = next(field for field in fields.values() if hasattr(field, "tokenizer"))
            text.tokenizer = fitted
        hold_out = HoldOut(
            valid=0.0 if "valid" in plans else config.data.valid_share,
            test=0.0 if "test" in plans else config.data.test_share,
            seed=config.data.split_seed,
            most=cls.rows.most_held_out,
            folds=config.data.folds,
            fold=config.data.fold,
            fold_part=config.data.fold_part,
            group=config.data.group,
        )
        fit = cls.fit if isinstance(cls, FitsFields) else fit_fields
        unit = row_noun(cls, config)
        corpus = load_corpus(plans, fields, hold_out, unit=unit, fit=fit, progress=progress)
        if config.data.unseen == "error" and "test" in corpus.parts:
            corpus.parts["test"].refuse_unseen()
        if isinstance(cls, PreparesCorpus):
            cls.prepare(config, corpus, fitted)
        return corpus

    @property
    def input(self) -> str:
        """The name of the field that it reads."""
        return next(iter(self.fields))

    @property
    def input_field(self) -> Any:
        """The field that it reads."""
        return self.fields[self.input]

    @property
    def reads_tokens(self) -> bool:
        """Whether what it reads is made of tokens, so that there is a tokenizer."""
        field = self.input_field
        first = getattr(field, "members", [field])[0]  # of an ensemble
        return hasattr(type(first), "fitted")  # of the class: it need not be fitted yet

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the input."""
        return self.input_field.fitted

    @property
    def labels(self) -> list[str]:
        """The answers, of a task that has a fixed set of them."""
        for field in self.fields.values():
            if isinstance(field, NamesField) and field.names:
                return field.names
        return []

    @classmethod
    def recommended_settings(
        cls, settings: Mapping[str, Any], plan: Plan | None = None
    ) -> dict[str, Any]:
        """Defaults that suit what is read, `data.input`, of a model with these settings; `plan`: of
        the training data, where they are known."""
        return {}

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        """Every model that this task knows, by name, with the settings that it stands for."""
        return recurrent_models()

    @classmethod
    @abstractmethod
    def check_config(cls, config: Config) -> None:
        """Refuse, with a reason, settings that this task cannot work with."""

    @abstractmethod
    def build(self) -> nn.Module:
        """A fresh model with its initial weights."""

    @abstractmethod
    def example_inputs(self) -> tuple[Any, ...]:
        """The smallest input that the model can read, for its summary."""

    def batches(self, part: Any, *, training: bool) -> Batches:
        return row_batches(self.config, part, training=training)

    @abstractmethod
    def loss(self, model: nn.Module, batch: Any, carry: Any) -> Step: ...

    @abstractmethod
    def validate(self, model: nn.Module, part: Any) -> dict[str, float]:
        """The figures of one validation while training; contains `metric` and `loss`."""

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

    def example(self, words: list[str]) -> Any:
        """An item to begin with, made of some words of the data."""
        return " ".join(words)

    def reading(self, model: nn.Module, item: Any) -> Reading:
        """One input as the model reads it: what is recorded, and what is asked for reasons."""
        content = item.strip() if isinstance(item, str) else item
        if isinstance(content, Sized) and not len(content):
            raise nothing()
        view: Any = self.input_view or input_kind(self.config.data).input_view
        seen = view(self, model, item)
        return Reading(seen, self.answer_view(seen))

    def save(self, folder: Path) -> None:
        """Write what is needed to predict besides the weights."""
        for field in self.fields.values():
            field.save(folder)

    @classmethod
    def load(cls, config: Config, folder: Path) -> Task:
        fields = cls.make_fields(config)
        for field in fields.values():
            field.load(folder)
        return cls(config, fields)


def fits_directly(task: Any) -> bool:
    """Whether the model of a run is fitted at once, without gradient steps."""
    return isinstance(task, FitsDirectly) and task.at_once


def row_noun(kind: type[Task], config: Config) -> str:
    """The name of the rows of a task's data."""
    return input_kind(config.data).rows or kind.rows.noun


def encode_plan(task: Task, plan: Plan, progress: Progress | None = None) -> tuple[Part, list[str]]:
    """A whole table as a part to evaluate on, and notes about it."""
    encode = task.encode if isinstance(task, EncodesTables) else partial(encode_rows, task)
    return encode(plan, progress)


def encode_rows(task: Task, plan: Plan, progress: Progress | None = None) -> tuple[Part, list[str]]:
    """The rows of a table, where no task does it otherwise."""
    for name, field in task.fields.items():
        if not field.is_target and name not in plan.columns:
            raise DataError(
                f"the model reads {name}, and the file was read as {', '.join(plan.columns)}",
                where=plan.table.name,
                remedy="give data like those that it was trained on",
            )
    return encode_table(plan, task.fields, progress)


def row_batches(config: Config, part: Part, *, training: bool, least: int = 64) -> BucketBatches:
    """RowInfo of similar length together; where nothing is learnt, at least `least` at once."""
    train, longest = config.train, part.lengths.sum(1)
    if len(part):
        row = int(np.argmax(longest))
        refuse_long_row(config, int(longest[row]), lambda: part.where(row), training=training)
    return BucketBatches(
        part,
        size=train.batch if training else max(train.batch, least),
        tokens=train.batch_tokens,
        seed=train.seed,
        shuffle=training,
    )


def walk(batches: Batches, model: nn.Module) -> Iterator[Any]:
    """Every batch of the first epoch, in order, where the model is."""
    device = device_of(model)
    for step in range(batches.steps(0)):
        yield moved(batches.batch(0, step), device)


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


def as_array(x: Tensor) -> np.ndarray:
    """A tensor of any device as an array."""
    return x.detach().cpu().numpy()


def build_model(task: Task, *, training: bool = False) -> nn.Module:
    """The task's model with fresh weights; one that is too large is a ConfigError, before any of it
    is allocated."""
    refuse_large_model(task, training=training)
    try:
        return task.build()
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not re.search("memory|overflow", str(error)):
            raise
        raise ConfigError(
            f"the model does not fit into memory with model.hidden={task.config.model.hidden}",
            remedy="set a smaller hidden, embedding, layers or vocab",
        ) from None


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items, so that input of any length streams through."""
    stream = iter(items)
    while chunk := list(islice(stream, size)):
        yield chunk
