"""pretrain: some tokens of a text are hidden, and the model says what stood there.

tokens (B, T), about 15 % hidden -> Transformer (B, T, E) -> scores (N, V) at the N hidden places.
No labels are needed; what the encoder has learnt is where other tasks can start (`--from`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config
from unspool.data.batching import BucketBatches
from unspool.data.fields.field import Field
from unspool.data.fields.text import TextField
from unspool.data.masking import MaskedBatch, MaskedBatches
from unspool.data.part import Part
from unspool.nn.models.masked import MaskedModel
from unspool.tasks.encoder import build_encoder, check_learned_positions
from unspool.tasks.metrics import bootstrap_mean, perplexity
from unspool.tasks.task import Report, Step, Task, as_array, walk
from unspool.tasks.token_readings import PretrainReading
from unspool.text.vocab import MASK_SPECIALS

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
    looked_at = PretrainReading
    defaults: ClassVar[Mapping[str, Any]] = {"data.max_length": 128}

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        """Texts are read whole, in pieces of `data.max_length`."""
        return {"text": TextField("text", config.tokenizer, specials=MASK_SPECIALS)}

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {"transformer": TRANSFORMER}

    @classmethod
    def check_config(cls, config: Config) -> None:
        check_learned_positions(config)

    def build(self) -> MaskedModel:
        model = self.config.model
        encoder = build_encoder(
            model, len(self.tokenizer.vocab), length=self.config.data.max_length
        )
        return MaskedModel(encoder, activation=model.activation)

    def example_inputs(self) -> tuple[Tensor, ...]:
        return torch.ones(1, 3, dtype=torch.int64), torch.tensor([3])

    def batches(self, part: Part, *, training: bool) -> MaskedBatches:
        train = self.config.train
        inner = BucketBatches(
            part.in_pieces(self.input, self.config.data.max_length),
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

    def where(self, part: Part, batch: MaskedBatch) -> str:
        return super().where(part.in_pieces(self.input, self.config.data.max_length), batch)

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self.evaluate(model, part).metrics

    def evaluate(self, model: nn.Module, part: Part) -> PretrainReport:
        assert isinstance(model, MaskedModel)
        batches = self.batches(part, training=False)
        size = len(batches.inner.part)
        nats, right, counts = np.zeros(size), np.zeros(size), np.zeros(size)
        with torch.inference_mode():
            for batch in walk(batches, model):
                h = model.output.vectors(model.read(batch.ids, batch.lengths)[batch.chosen])
                scores = model.output.output(h).float()  # (N, V)
                losses = nn.functional.cross_entropy(scores, batch.targets, reduction="none")
                rows = batch.rows[as_array(batch.chosen.nonzero()[:, 0])]
                np.add.at(nats, rows, as_array(losses.double()))
                np.add.at(right, rows, as_array(scores.argmax(1) == batch.targets))
                np.add.at(counts, rows, 1)
        return PretrainReport(nats, right, counts)
