"""answer, in a context: where an answer begins and ends, or that there is none.

question <sep> context (B, T) -> encoder (B, T, D) -> scores of start and end (B, T, 2).

A long context is read in windows, and the best span of all of them is the answer; where it is not
better than no answer by a threshold that is chosen on the validation part, there is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from unspool.config import Config
from unspool.data.batching import BucketBatches
from unspool.data.corpus import Fields
from unspool.data.fields.field import Field
from unspool.data.fields.pair import PairField
from unspool.data.fields.question import ContextWindows, QuestionForm, Questions, context_windows
from unspool.data.fields.span import AnswerSpans, SpanField, StepSpans
from unspool.data.part import Batch, Part
from unspool.errors import ConfigError, Option, RunError
from unspool.io.files import AGAIN, read_json, write_json
from unspool.nn.models.classifier import SpanFinder
from unspool.tasks.answer import Answer
from unspool.tasks.answering.answer import SpanAnswer, SpanReport, SquadScore, score
from unspool.tasks.answering.reading import (
    BestSpan,
    QuestionView,
    SpanView,
    best_of_windows,
    best_threshold,
)
from unspool.tasks.document import CNN, TRANSFORMER
from unspool.tasks.encoder import build_encoder, check_learned_positions, recurrent_models
from unspool.tasks.examples import Example
from unspool.tasks.metrics import Metric
from unspool.tasks.task import RowInfo, Step, Task, Transfer, as_array, chunks, row_batches, walk

CHUNK = 256  # questions answered at once
LONGEST = 64  # tokens of an answer
FILE = "answering.json"


class Judged(NamedTuple):
    """The best span of each question, its text, and the right ones."""

    found: list[BestSpan]
    texts: list[str]
    gold: list[list[str]]
    loss: float

    @property
    def margins(self) -> np.ndarray:
        return np.array([span.margin for span in self.found])

    def scores(self, threshold: float) -> list[SquadScore]:
        return [
            score(text if row.margin > threshold else "", gold)
            for row, text, gold in zip(self.found, self.texts, self.gold)
        ]

    def best_threshold(self) -> float:
        answered = np.array([score.f1 for score in self.scores(-math.inf)])
        silent = np.array([float(not gold) for gold in self.gold])
        return best_threshold(self.margins, answered, silent)


class SpanAnswers(Task):
    name = "answer"
    metric = Metric("f1")
    default_model = "bilstm"
    input_view = QuestionView
    answer_view = SpanView
    answer: type[Answer] | None = SpanAnswer
    items: ClassVar[tuple[type, ...]] = (str, tuple, list)
    rows = RowInfo("questions")
    transfer = Transfer(fine_tunes=True)
    defaults: ClassVar[Mapping[str, Any]] = {
        "train.epochs": 0,
        "data.max_length": 320,
        "tokenizer.lowercase": True,
    }
    usage = 'unspool predict {run} "the question ||| the context"'

    def __init__(self, config: Config, fields: Fields) -> None:
        super().__init__(config, fields)
        self.threshold = 0.0

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        question = PairField(
            "question", config.tokenizer, form=QuestionForm(), max_length=config.data.max_length
        )
        return {"question": question, "span": SpanField("span")}

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {**recurrent_models(), "cnn": CNN, "transformer": TRANSFORMER}

    @classmethod
    def check_config(cls, config: Config) -> None:
        check_learned_positions(config)
        if config.model.encoder == "none":
            raise ConfigError(
                "model.encoder=none is for stories, and a context is read by a network",
                got=config.model_name,
                remedy="name another model",
            )
        if config.model.pooling == "cls":
            raise ConfigError(
                "model.pooling=cls reads a vector before the text, which spans have no use for",
                remedy="use mean, max, last or attention",
            )
        if config.embedding.contextual is not None:
            raise ConfigError(
                "the contextual vectors of an elmo run are those of one text, and two are read",
                remedy=("leave out ", Option("start")),
            )

    def build(self) -> SpanFinder:
        model = self.config.model
        return SpanFinder(
            build_encoder(model, self.input_field, length=self.config.data.max_length, pair=True),
            pooling=model.pooling,
            dropout=model.dropout,
            after=len(self.input_field.pair_frame.after),
        )

    def example_inputs(self) -> tuple[Any, ...]:
        return torch.ones(1, 4, dtype=torch.int64), torch.tensor([4]), torch.tensor([2])

    def example(self, words: list[str]) -> Any:
        half = max(1, len(words) // 3)
        return f"{' '.join(words[:half])} ||| {' '.join(words[half:] or words)}"

    def examples_of(self, part: Part, row: int, raw: Mapping[str, Any]) -> list[Example]:
        _, context = raw["question"]
        answers = [context[start:stop] for start, stop in raw["span"]]
        question = self.input_field.form.to_json(raw["question"])
        return [Example(question, answers[0] if answers else "")]

    def windowed(self, part: Part, *, training: bool) -> Part:
        """Windows of the contexts as rows, with the steps of their answers. In training, of the
        windows without an answer one a question."""
        data, questions = self.config.data, part["question"]
        windows = context_windows(questions, data.max_length, data.stride)
        values: dict[str, Any] = {"question": windows}
        rows = np.arange(len(windows))
        if "span" in part:
            values["span"] = steps_of(questions, part["span"], windows)
            if training:
                rows = to_learn_from(values["span"].starts > 0, windows.windows.origin)
        origin = windows.windows.origin[rows]
        return Part(
            self.fields,
            {name: value.select(rows) for name, value in values.items()},
            rows=part.rows[origin],
            lines=part.lines[origin],
            files=part.files[origin],
            plan=part.plan,
        )

    def batches(self, part: Part, *, training: bool) -> BucketBatches:
        return row_batches(self.config, self.windowed(part, training=training), training=training)

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        x, span = batch["question"], batch["span"]
        y = model(*x.inputs)  # (B, T, 2)
        both = F.cross_entropy(y[..., 0], span.starts) + F.cross_entropy(y[..., 1], span.stops)
        return Step(both / 2, targets=len(batch.rows), tokens=int(x.lengths.sum()), carry=None)

    @torch.inference_mode()
    def find(self, model: nn.Module, part: Part) -> tuple[list[BestSpan], float]:
        """The best span of each row, and the mean loss of its windows where the answers are
        known."""
        windows = self.windowed(part, training=False)
        values: ContextWindows = windows["question"]
        scores: list[Any] = [None] * len(windows)
        total = 0.0
        for batch in walk(row_batches(self.config, windows, training=False), model):
            y = model(*batch["question"].inputs)
            if "span" in batch:
                span = batch["span"]
                for k, wanted in enumerate((span.starts, span.stops)):
                    total += float(F.cross_entropy(y[..., k], wanted, reduction="sum").cpu()) / 2
            for row, scored, length in zip(batch.rows, as_array(y), batch["question"].lengths):
                scores[row] = scored[: int(length)]
        origin, first, _ = values.windows
        edges = np.searchsorted(origin, np.arange(len(part) + 1))
        spans = [
            best_of_windows(scores[a:b], values.firsts[a:b].tolist(), first[a:b].tolist(), LONGEST)
            for a, b in pairwise(edges.tolist())
        ]
        return spans, total / max(1, len(windows))

    def judged(self, model: nn.Module, part: Part) -> Judged:
        spans, loss = self.find(model, part)
        raw = part.raw(np.arange(len(part)), ["question", "span"])
        questions: Questions = part["question"]
        texts, gold = [], []
        for row, ((_, context), answers) in enumerate(raw):
            start, stop = characters(questions, row, spans[row])
            texts.append(context[start:stop])
            gold.append([context[a:b] for a, b in answers])
        return Judged(spans, texts, gold, loss)

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        judged = self.judged(model, part)
        scores = judged.scores(judged.best_threshold())
        exact, f1 = (float(np.mean(values)) for values in zip(*scores))
        return {"f1": f1, "exact": exact, "loss": judged.loss}

    def evaluate(self, model: nn.Module, part: Part, options: None = None) -> SpanReport:
        judged = self.judged(model, part)
        answered = judged.margins > self.threshold
        has = np.array([bool(gold) for gold in judged.gold])
        return SpanReport(judged.scores(self.threshold), has, answered, loss=judged.loss)

    def calibrate(self, model: nn.Module, part: Part | None) -> list[str]:
        if part is None:
            return ["nothing was held out: the threshold of no answer is 0"]
        judged = self.judged(model, part)
        self.threshold = judged.best_threshold()
        f1 = np.mean([score.f1 for score in judged.scores(self.threshold)])
        return [
            f"threshold of no answer {self.threshold:.3f}, chosen on {len(part):,} validation"
            f" questions: F1 {100 * f1:.2f}"
        ]

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: None = None
    ) -> Iterator[SpanAnswer]:
        field = self.input_field
        for some in chunks(items, CHUNK):
            pairs = [field.form.from_json(item, "") for item in some]
            part = Part.of(self.fields, question=pairs)
            spans, _ = self.find(model, part)
            for row, (question, context) in enumerate(pairs):
                start, stop = characters(part["question"], row, spans[row])
                margin = spans[row].margin - self.threshold
                answered = margin > 0 and bool(context[start:stop].strip())
                yield SpanAnswer(
                    question,
                    context,
                    context[start:stop] if answered else "",
                    start if answered else 0,
                    stop if answered else 0,
                    1 / (1 + math.exp(-max(-500.0, min(500.0, margin)))),
                )

    def save(self, folder: Path) -> None:
        super().save(folder)
        write_json(folder / FILE, {"threshold": self.threshold})

    @classmethod
    def load(cls, config: Config, folder: Path) -> SpanAnswers:
        task = super().load(config, folder)
        assert isinstance(task, SpanAnswers)
        try:
            task.threshold = float(read_json(folder / FILE)["threshold"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise RunError("holds no threshold", where=folder / FILE, remedy=AGAIN) from None
        return task


def characters(questions: Questions, row: int, span: BestSpan) -> tuple[int, int]:
    """The stretch of a context that a span of its tokens is."""
    offsets = questions.token_offsets[row]
    if not len(offsets):
        return 0, 0
    last = len(offsets) - 1
    return int(offsets[min(span.start, last), 0]), int(offsets[min(span.stop, last), 1])


def steps_of(questions: Questions, spans: AnswerSpans, windows: ContextWindows) -> StepSpans:
    """The steps of windows where the first answer that lies whole in each begins and ends."""
    starts, stops = np.zeros(len(windows), np.int64), np.zeros(len(windows), np.int64)
    tokens: dict[int, list[tuple[int, int]]] = {}
    for row, (origin, first, length) in enumerate(zip(*windows.windows)):
        row_of = int(origin)
        if row_of not in tokens:
            ranges = (questions.tokens_of(row_of, int(a), int(b)) for a, b in spans.all[row_of])
            tokens[row_of] = [span for span in ranges if span is not None]
        for a, b in tokens[row_of]:
            if first <= a and b < first + length:
                starts[row] = windows.firsts[row] + a - first
                stops[row] = windows.firsts[row] + b - first
                break
    return StepSpans(starts, stops)


def to_learn_from(answered: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """The windows that have an answer, and of each question one that has none: another for each
    question, so that beginnings are not preferred."""
    chosen = answered.copy()
    without = np.flatnonzero(~answered)
    owners, first, counts = np.unique(origin[without], return_index=True, return_counts=True)
    chosen[without[first + owners % counts]] = True
    return np.flatnonzero(chosen)
