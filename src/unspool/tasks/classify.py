"""classify: a document in, one label out (many-to-one).

tokens (B, T) -> encoder (B, T, D·H) -> pooling (B, D·H) [-> dense] -> logits (B, C).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.config import Config, DataConfig
from unspool.data.batching import Batch, BucketBatches, Documents, collate, collate_spelled
from unspool.data.corpus import Corpus, DocumentPart
from unspool.data.parts import TextPart
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.errors import ConfigError, DataError
from unspool.files import write_json
from unspool.nn.dropout import Dropout
from unspool.nn.elmo import Contextual
from unspool.nn.heads import Dense, LabelOutput
from unspool.nn.pooling import POOLINGS
from unspool.tasks.contextual import (
    build_contextual,
    contextual_size,
    example_words,
    refuse_other_tokens,
)
from unspool.tasks.encoder import (
    AnyTextEncoder,
    build_text_encoder,
    check_learned_positions,
    recurrent_models,
)
from unspool.tasks.metrics import bootstrap_mean, class_scores, confusion_matrix, macro_f1
from unspool.tasks.plan import (
    TEXT_AND_LABEL,
    describe,
    documents,
    input_plan,
    may_be_documents,
    text_and_label,
)
from unspool.tasks.task import Report, Step, Task, read_labels, read_tokenizer, walk
from unspool.text.tokenizers import Tokenizer

# Kim (2014), as some thousand sentences want it (chosen on a held-out part of MR). Many words are
# rare there, and vectors that start small keep them from being noise.
CNN: dict[str, Any] = {
    "model.network": "cnn",
    "model.embedding": 300,
    "model.embedding_std": 0.05,
    "model.dropout": 0.6,
    "model.word_dropout": 0.3,
    "train.lr": 2e-3,
    "train.weight_decay": 0.1,
}
# Chosen on SST-2 (seven thousand sentences), from scratch: small, and much dropped.
TRANSFORMER: dict[str, Any] = {
    "model.network": "transformer",
    "model.layers": 2,
    "model.hidden": 128,
    "model.heads": 4,
    "model.dropout": 0.4,
    "model.word_dropout": 0.3,
    "model.positions": "rotary",
    "model.pooling": "mean",
    "train.lr": 5e-4,
    "train.warmup": 0.1,
}


class Classifier(nn.Module):
    """An encoder, a pooling over time, perhaps a dense layer, and a linear layer."""

    def __init__(
        self,
        encoder: AnyTextEncoder,
        *,
        pooling: str,
        dense: int = 0,
        classes: int,
        dropout: float,
        contextual: Contextual | None = None,
    ) -> None:
        super().__init__()
        self.contextual = contextual
        self.encoder = encoder
        self.pooling = POOLINGS[pooling](encoder.size, bidirectional=encoder.bidirectional)
        self.dropout = Dropout(dropout)
        self.dense = Dense(encoder.size, dense) if dense else None
        self.output = LabelOutput(dense or encoder.size, classes)

    def forward(self, ids: Tensor, lengths: Tensor, *words: Tensor) -> Tensor:
        """`words`: what contextual vectors are made of, in the order of `Words`."""
        beside = None if self.contextual is None else self.contextual(*words)
        states = self.encoder(ids, lengths, beside=beside).outputs  # (B, T, D·H)
        return self.score(self.pooling(states, lengths))

    def score(self, v: Tensor) -> Tensor:
        """The vectors of documents, (B, D·H) -> logits (B, C)."""
        v = self.dropout(v)
        return self.output(v if self.dense is None else self.dropout(self.dense(v)))


class ClassifyReport(Report):
    """Accuracy with its interval, macro F1, a table a class, the confusion matrix."""

    def __init__(self, truth: np.ndarray, probabilities: np.ndarray, labels: list[str]) -> None:
        guess = probabilities.argmax(1)
        right = np.maximum(probabilities[np.arange(len(truth)), truth], 1e-12)
        self.labels = labels
        self.scores = (guess == truth).astype(float)
        self.confusion = confusion_matrix(truth, guess, len(labels))
        self.classes = class_scores(self.confusion)
        self.interval = bootstrap_mean(self.scores)
        self.metrics = {
            "accuracy": float(self.scores.mean()),
            "macro_f1": macro_f1(self.confusion),
            "loss": float(-np.log(right).mean()),
        }
        self.count = len(truth)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "classify",
            "examples": self.count,
            **self.metrics,
            "accuracy_interval": list(self.interval),
            "classes": {name: score._asdict() for name, score in zip(self.labels, self.classes)},
            "confusion": {"labels": self.labels, "rows_true": self.confusion.tolist()},
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        figures = self.metrics
        width = max(len("class"), *(len(name) for name in self.labels))
        lines = [
            f"{self.count} examples",
            f"accuracy  {figures['accuracy']:.4f}   "
            f"95 % interval {low:.4f} to {high:.4f} (bootstrap)",
            f"macro F1  {figures['macro_f1']:.4f}",
            f"loss      {figures['loss']:.4f}",
            "",
            f"{'class':<{width}}  precision  recall      F1   count",
        ]
        for name, score in zip(self.labels, self.classes):
            lines.append(
                f"{name:<{width}}  {score.precision:9.4f}  {score.recall:6.4f}  {score.f1:6.4f}"
                f"  {score.support:6d}"
            )
        return [*lines, "", *self._confusion_lines(width)]

    def _confusion_lines(self, width: int) -> list[str]:
        if len(self.labels) > 20:
            return [f"confusion matrix: {len(self.labels)} classes, see --json"]
        cell = max(6, len(str(self.confusion.max())) + 1)
        short = [name[: cell - 1] for name in self.labels]
        lines = [
            "confusion (rows true, columns predicted)",
            " " * width + "".join(f"{name:>{cell}}" for name in short),
        ]
        for name, row in zip(self.labels, self.confusion):
            lines.append(f"{name:<{width}}" + "".join(f"{n:>{cell}d}" for n in row))
        return lines


class Classify(Task):
    name = "classify"
    metric = "accuracy"
    default_model = "bilstm"
    higher_is_better = True
    defaults: ClassVar[Mapping[str, Any]] = {}

    labels: list[str]

    def __init__(self, config: Config, tokenizer: Tokenizer, labels: list[str]) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.labels = labels

    @classmethod
    def check_config(cls, config: Config) -> None:
        if config.model.tied:
            raise ConfigError(
                "model.tied shares the embedding with the output layer of a language model",
                got="task classify",
                remedy="leave it out, or use --task generate",
            )
        if config.model.pooling == "cls" and config.model.network != "transformer":
            raise ConfigError(
                "model.pooling=cls reads a place before the text, which only a transformer has",
                got=config.model_name,
                remedy="use --model transformer, or another pooling",
            )
        check_learned_positions(config)

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {**recurrent_models(), "cnn": CNN, "transformer": TRANSFORMER}

    @classmethod
    def plan(
        cls, table: Table, data: DataConfig, *, named: bool = False, outputs: bool = True
    ) -> Plan | None:
        """A text and a label."""
        if not named and not may_be_documents(table, data):
            return None
        if not outputs:
            return input_plan(cls.name, table, data)
        table = documents(table, cls.name)
        text, label = text_and_label(table, data)
        if label is None:
            if not named:
                return None
            raise DataError(
                "holds no labels, which classify needs",
                where=table.name,
                remedy="name their column with --label, or use --task generate",
            )
        convert = TEXT_AND_LABEL if table.format == "jsonl" else None
        summary = f"{describe(table, text, label)} -> {cls.name}"
        return Plan(cls.name, table, {"text": text, "label": label}, 1, summary, convert)

    @classmethod
    def prepare(cls, config: Config, corpus: Corpus) -> Classify:
        assert corpus.labels is not None
        refuse_other_tokens(config, corpus.tokenizer)
        return cls(config, corpus.tokenizer, corpus.labels)

    def build(self) -> Classifier:
        model = self.config.model
        return Classifier(
            build_text_encoder(
                model,
                len(self.tokenizer.vocab),
                length=self.config.data.max_length,
                # The tokenizer of a pretrained model begins each text with a token for this.
                cls=model.pooling == "cls" and not self.tokenizer.frame.before,
                beside=contextual_size(self.config),
            ),
            pooling=model.pooling,
            dense=model.dense,
            contextual=build_contextual(self.config),
            classes=len(self.labels),
            dropout=model.dropout,
        )

    def example_inputs(self) -> tuple[Tensor, ...]:
        words = () if self.config.embedding.contextual is None else example_words(3)
        return torch.ones(1, 3, dtype=torch.int64), torch.tensor([3]), *words

    def batches(self, part: Documents, *, training: bool) -> BucketBatches:
        train = self.config.train
        return BucketBatches(
            part,
            size=train.batch if training else max(train.batch, 64),
            tokens=train.batch_tokens,
            seed=train.seed,
            shuffle=training,
            collate=collate if self.config.embedding.contextual is None else collate_spelled,
        )

    def text_part(self, texts: list[str]) -> TextPart:
        """Texts in memory as a part."""
        limit = self.config.data.max_length
        ids = [self.tokenizer.document(text, limit=limit) for text in texts]
        if self.config.embedding.contextual is None:
            return TextPart(ids)
        words = [(self.tokenizer.pieces(text) or [""])[: limit or None] for text in texts]
        return TextPart(ids, words)

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        logits = model(batch.ids, batch.lengths, *(batch.words or ()))
        assert batch.labels is not None
        loss = F.cross_entropy(
            logits.float(), batch.labels, label_smoothing=self.config.train.label_smoothing
        )
        return Step(loss, targets=len(batch.rows), tokens=int(batch.lengths.sum()), carry=None)

    def where(self, part: DocumentPart, batch: Batch) -> str:
        return "data lines " + ", ".join(map(str, sorted(part.lines[batch.rows].tolist())[:8]))

    def validate(self, model: nn.Module, part: DocumentPart) -> dict[str, float]:
        return self.evaluate(model, part).metrics

    def evaluate(self, model: nn.Module, part: DocumentPart) -> ClassifyReport:
        assert part.labels is not None
        return ClassifyReport(part.labels, self.probabilities(model, part), self.labels)

    def probabilities(self, model: nn.Module, part: Documents) -> np.ndarray:
        """(N, C) in the order of the part's rows."""
        result = np.zeros((len(part), len(self.labels)), dtype=np.float64)
        with torch.inference_mode():
            for batch in walk(self.batches(part, training=False)):
                logits = model(batch.ids, batch.lengths, *(batch.words or ()))
                result[batch.rows] = logits.double().softmax(1).numpy()
        return result

    def save(self, folder: Path) -> None:
        write_json(folder / "tokenizer.json", self.tokenizer.to_json())
        write_json(folder / "labels.json", self.labels)

    @classmethod
    def load(cls, config: Config, folder: Path) -> Classify:
        return cls(config, read_tokenizer(folder), read_labels(folder))
