"""answer, about stories: sentences and a question in, one of the answers of the training data out.

sentences (B, S) -> network -> memory (B, S, H) -> hops of attention -> scores (B, C); or, without
hops, story and question as one sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, ModelConfig
from unspool.data.batching import BucketBatches
from unspool.data.fields.field import Field
from unspool.data.fields.label import LabelField
from unspool.data.fields.pair import PairField
from unspool.data.fields.story import StoryField, StoryForm, as_story
from unspool.data.part import Batch, Part
from unspool.errors import ConfigError
from unspool.nn.models.story import StoryReader
from unspool.tasks.answer import Answer
from unspool.tasks.calibration import FoldCalibration, Unseen
from unspool.tasks.classify import Classify
from unspool.tasks.document import CNN, TRANSFORMER
from unspool.tasks.encoder import build_encoder, recurrent_models
from unspool.tasks.multiclass import Prediction
from unspool.tasks.reading import InputView, named, unknown
from unspool.tasks.reading_answers import LabelView
from unspool.tasks.reading_inputs import PairView
from unspool.tasks.task import Report, RowInfo, Step, Task

FIT = 6
WORDS = {"model.encoder": "none", "model.pooling": "position"}  # no network reads a sentence
MEMORIES: dict[str, dict[str, Any]] = {
    "memory": {**WORDS, "model.reasoning": "attention"},
    "reduction": {**WORDS, "model.reasoning": "reduction", "model.hops": 2, "model.memory": 128},
}


class StoryView(InputView):
    """The sentences of a story, and a question. `blanked`: whether their words are unknown."""

    blanked = False

    def __init__(self, task: Any, model: Any, text: Any) -> None:
        sentences, self.question = as_story(text)
        most = task.config.model.memory
        kept = sentences[-most:] if most else sentences
        shown = task.input_field.form.shown((kept, self.question))
        super().__init__(task, model, shown, kept, len(sentences))

    @property
    def story(self) -> tuple[list[str], str]:
        return self.tokens, self.question

    @property
    def all_tokens(self) -> Sequence[str]:
        tokenizer = self.task.tokenizer
        return [
            name
            for text in (*self.tokens, self.question)
            for name in named(tokenizer, tokenizer.encode(text), tokenizer.pieces(text))
        ]

    def batch(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        field = self.task.input_field
        values = field.encode([view.story for view in inputs])
        batch = field.collate(values, np.arange(len(inputs)))
        ids = batch.ids
        if self.blanked:
            ids = torch.where(ids > 0, torch.full_like(ids, unknown(self.task.tokenizer)), ids)
            ids[batch.questions] = batch.ids[batch.questions]
        return ids, *batch.inputs[1:]

    def without(self, token: int) -> Self:
        return self.changed(tokens=self.tokens_without(token))

    def blank(self) -> Self:
        return self.changed(blanked=True)

    @property
    def input_module(self) -> nn.Module:
        return self.model.memory


class HopsView(LabelView):
    """One of the answers, after hops of attention over the sentences."""

    ignored_taps = ("encoder.", "pooling.")  # which read sentences

    def __init__(self, input: StoryView) -> None:
        super().__init__(input)
        self.tokens = [f"hop {k + 1}" for k in range(input.model.memory.hops)]


class StoryAnswers(Task):
    """The answer is a label: `classifier` scores, judges and calibrates it."""

    name = "answer"
    metric = Classify.metric
    answer = Prediction
    default_model = "reduction"
    rows = RowInfo("questions")
    defaults: ClassVar[Mapping[str, Any]] = {
        "model.hidden": 64,
        "model.embedding": 64,
        "model.dropout": 0.1,
        "model.pooling": "last",
        "train.batch": 32,
        "train.lr": 3e-3,
        "train.schedule": "linear",
        "train.epochs": 60,
        "train.patience": 0,
        "tokenizer.lowercase": True,
    }

    def __init__(self, config: Config, fields: Any) -> None:
        super().__init__(config, fields)
        self.classifier = Classify(config, fields)
        self.decision = self.classifier.decision
        hops = config.model.hops
        self.input_view, self.answer_view = (StoryView, HopsView) if hops else (PairView, LabelView)

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        story: Field
        if config.model.hops:
            story = StoryField("story", config.tokenizer, memory=config.model.memory)
        else:
            story = PairField(
                "story", config.tokenizer, form=StoryForm(), max_length=config.data.max_length
            )
        return {"story": story, "label": LabelField("label", config.data.missing, other=True)}

    @classmethod
    def check_config(cls, config: Config) -> None:
        if config.model.pooling == "cls":
            raise ConfigError(
                "model.pooling=cls is not for stories", remedy="use last, mean, max or attention"
            )
        if config.model.encoder == "none" and not config.model.hops:
            raise ConfigError(
                "a story that is read as one sequence needs a network",
                got=f"{config.model_name} with model.hops=0",
                remedy="name another model, or set hops=2",
            )
        if config.model.network not in ("recurrent", "cnn", "transformer"):
            raise ConfigError(
                "a story is read by a network", got=config.model_name, remedy="name another model"
            )

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {**recurrent_models(), "cnn": CNN, "transformer": TRANSFORMER, **MEMORIES}

    def build(self) -> nn.Module:
        model = self.config.model
        if not model.hops:
            return self.classifier.build()
        encoder = build_encoder(model, self.input_field)
        return StoryReader(encoder, classes=len(self.labels), **memory_options(model))

    def example_inputs(self) -> tuple[Any, ...]:
        return smallest_story() if self.config.model.hops else self.classifier.example_inputs()

    def batches(self, part: Part, *, training: bool) -> BucketBatches:
        return self.classifier.batches(part, training=training)

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        return self.classifier.loss(model, batch, carry)

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self.classifier.validate(model, part)

    def evaluate(self, model: nn.Module, part: Part, options: None = None) -> Report:
        return self.classifier.evaluate(model, part)

    def calibrate(self, model: nn.Module, part: Part | None) -> list[str]:
        return self.classifier.calibrate(model, part)

    def unseen(self, model: nn.Module, part: Part) -> Unseen:
        return self.classifier.unseen(model, part)

    def calibrate_folds(self, folds: Sequence[Unseen]) -> FoldCalibration:
        return self.classifier.calibrate_folds(folds)

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: None = None
    ) -> Iterator[Answer]:
        return self.classifier.predict(model, items)

    def save(self, folder: Path) -> None:
        self.classifier.save(folder)

    @classmethod
    def load(cls, config: Config, folder: Path) -> StoryAnswers:
        task = super().load(config, folder)
        assert isinstance(task, cls)
        task.decision.load(folder)
        return task

    def example(self, words: list[str]) -> Any:
        half = -(-len(words) // 2)
        return f"{' '.join(words[:half])}. ||| {' '.join(words[half:] or words)}"


def memory_options(model: ModelConfig) -> dict[str, Any]:
    """The options of a `StoryEncoder`."""
    return {
        "pooling": model.pooling,
        "hidden": model.hidden,
        "reasoning": model.reasoning,
        "hops": model.hops,
        "ages": model.memory or 64,
        "dropout": model.dropout,
    }


def smallest_story() -> tuple[Tensor, ...]:
    one = torch.ones(1, dtype=torch.int64)
    return torch.ones(2, 3, dtype=torch.int64), torch.tensor([3, 3]), one[:, None], one, 0 * one
