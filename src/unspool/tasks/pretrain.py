"""pretrain: some tokens of a text are hidden, and the model says what stood there.

tokens (B, T), about 15 % hidden -> Transformer (B, T, E) -> scores (N, V) at the N hidden places.
No labels are needed; what the encoder has learnt is where other tasks can start (`--from`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, DataConfig
from unspool.data.batching import BucketBatches, Documents
from unspool.data.corpus import Corpus, DocumentPart
from unspool.data.masking import MaskedBatch, MaskedBatches
from unspool.data.pieces import PiecesPart
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.files import write_json
from unspool.nn.encoders import TransformerTextEncoder
from unspool.nn.heads import MaskedOutput
from unspool.tasks.encoder import build_text_encoder, check_learned_positions
from unspool.tasks.metrics import bootstrap_mean, perplexity
from unspool.tasks.plan import input_plan
from unspool.tasks.task import Report, Step, Task, read_tokenizer, walk
from unspool.text.tokenizers import Tokenizer

TRANSFORMER: dict[str, Any] = {
    "model.network": "transformer",
    "model.layers": 4,
    "model.hidden": 128,
    "model.heads": 4,
    "model.dropout": 0.1,
    "model.positions": "rotary",
    "model.pooling": "mean",
    "train.lr": 1e-3,
    "train.warmup": 0.05,
}


class MaskedModel(nn.Module):
    """An encoder that reads in both directions, and scores for every token at every place."""

    def __init__(self, encoder: TransformerTextEncoder, *, activation: str) -> None:
        super().__init__()
        self.encoder = encoder
        self.output = MaskedOutput(encoder.embedding, activation=activation)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return self.output(self.read(ids, lengths))  # (B, T, V)

    def read(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """(B, T, E), a vector for each token."""
        return self.encoder(ids, lengths).outputs


class PretrainReport(Report):
    """Loss and accuracy at the hidden places."""

    def __init__(self, nats: np.ndarray, right: np.ndarray, counts: np.ndarray) -> None:
        """Of each document: total loss, right guesses, hidden places."""
        self.scores, self.weights = nats / counts, counts
        self.interval = bootstrap_mean(self.scores, counts)
        self.documents, self.count = len(counts), int(counts.sum())
        mean = float(nats.sum() / counts.sum())
        self.metrics = {
            "loss": mean,
            "perplexity": perplexity(mean),
            "accuracy": float(right.sum() / counts.sum()),
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "pretrain",
            "documents": self.documents,
            "masked": self.count,
            **self.metrics,
            "loss_interval": list(self.interval),
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        return [
            f"{self.count} tokens predicted in {self.documents} pieces of text",
            f"loss        {self.metrics['loss']:.4f} nats a token   "
            f"95 % interval {low:.4f} to {high:.4f} (bootstrap)",
            f"perplexity  {self.metrics['perplexity']:.2f}",
            f"accuracy    {self.metrics['accuracy']:.4f}",
        ]


class Pretrain(Task):
    name = "pretrain"
    metric = "loss"
    default_model = "transformer"
    higher_is_better = False
    defaults: ClassVar[Mapping[str, Any]] = {"data.max_length": 128}

    def __init__(self, config: Config, tokenizer: Tokenizer) -> None:
        self.config = config
        self.tokenizer = tokenizer

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {"transformer": TRANSFORMER}

    @classmethod
    def check_config(cls, config: Config) -> None:
        check_learned_positions(config)

    @classmethod
    def plan(
        cls, table: Table, data: DataConfig, *, named: bool = False, outputs: bool = True
    ) -> Plan | None:
        """Documents, of which no label is read."""
        if not named:
            return None
        if table.format == "folder":
            table = table.reread("lines")
        return input_plan(cls.name, table, data)

    @classmethod
    def prepare(cls, config: Config, corpus: Corpus) -> Pretrain:
        return cls(config, corpus.tokenizer)

    def build(self) -> MaskedModel:
        model = self.config.model
        encoder = build_text_encoder(
            model, len(self.tokenizer.vocab), length=self.config.data.max_length
        )
        assert isinstance(encoder, TransformerTextEncoder)
        return MaskedModel(encoder, activation=model.activation)

    def example_inputs(self) -> tuple[Tensor, ...]:
        return torch.ones(1, 3, dtype=torch.int64), torch.tensor([3])

    def batches(self, part: Documents, *, training: bool) -> MaskedBatches:
        train = self.config.train
        inner = BucketBatches(
            PiecesPart(part, self.config.data.max_length),
            size=train.batch if training else max(train.batch, 64),
            tokens=train.batch_tokens,
            seed=train.seed,
            shuffle=training,
        )
        return MaskedBatches(
            inner,
            vocab=len(self.tokenizer.vocab),
            specials=len(self.tokenizer.vocab.specials),
            # Models that differ in their seed are judged by the same hidden tokens.
            seed=train.seed if training else 0,
            anew=training,
        )

    def loss(self, model: nn.Module, batch: MaskedBatch, carry: Any) -> Step:
        assert isinstance(model, MaskedModel)
        h = model.output.vectors(model.read(batch.ids, batch.lengths)[batch.chosen])  # (N, E)
        smoothing = self.config.train.label_smoothing
        loss = model.output.output.loss(h, batch.targets, label_smoothing=smoothing)
        return Step(loss, len(batch.targets), int(batch.lengths.sum()), carry=None)

    def where(self, part: DocumentPart, batch: MaskedBatch) -> str:
        pieces = PiecesPart(part, self.config.data.max_length)
        lines = sorted(set(part.lines[pieces.documents[batch.rows]].tolist()))
        return "data lines " + ", ".join(map(str, lines[:8]))

    def validate(self, model: nn.Module, part: DocumentPart) -> dict[str, float]:
        return self.evaluate(model, part).metrics

    def evaluate(self, model: nn.Module, part: DocumentPart) -> PretrainReport:
        assert isinstance(model, MaskedModel)
        batches = self.batches(part, training=False)
        size = len(batches.inner.part)
        nats, right, counts = np.zeros(size), np.zeros(size), np.zeros(size)
        with torch.inference_mode():
            for batch in walk(batches):
                h = model.output.vectors(model.read(batch.ids, batch.lengths)[batch.chosen])
                scores = model.output.output(h).float()  # (N, V)
                losses = nn.functional.cross_entropy(scores, batch.targets, reduction="none")
                rows = batch.rows[batch.chosen.nonzero()[:, 0].numpy()]
                np.add.at(nats, rows, losses.double().numpy())
                np.add.at(right, rows, (scores.argmax(1) == batch.targets).numpy())
                np.add.at(counts, rows, 1)
        return PretrainReport(nats, right, counts)

    def save(self, folder: Path) -> None:
        write_json(folder / "tokenizer.json", self.tokenizer.to_json())

    @classmethod
    def load(cls, config: Config, folder: Path) -> Pretrain:
        return cls(config, read_tokenizer(folder))
