"""What tasks share that give one answer to a document (many-to-one): its fields and networks.

tokens (B, T) -> encoder (B, T, D·H) -> pooling (B, D·H) [-> dense] -> scores (B, C).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config
from unspool.data.batching import BucketBatches
from unspool.data.fields.text import TextField
from unspool.data.part import Part
from unspool.errors import ConfigError
from unspool.tasks.contextual import (
    build_contextual,
    contextual_size,
    example_words,
    refuse_other_tokens,
)
from unspool.tasks.encoder import build_encoder, check_learned_positions, recurrent_models
from unspool.tasks.task import Task, as_array, walk

CHUNK = 4096  # documents predicted at once

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


def text_field(config: Config) -> TextField:
    return TextField(
        "text",
        config.tokenizer,
        max_length=config.data.max_length,
        spelled=config.embedding.contextual is not None,
    )


class DocumentTask(Task):
    """One answer to a document, by any network."""

    default_model = "bilstm"
    reads_contextual = True
    fine_tunes = True

    @classmethod
    def check_config(cls, config: Config) -> None:
        if config.model.tied:
            raise ConfigError(
                "model.tied shares the embedding with the output layer of a language model",
                got=f"task {cls.name}",
                remedy="leave it out, or use --task generate",
            )
        if config.model.pooling == "cls" and config.model.network != "transformer":
            raise ConfigError(
                "model.pooling=cls reads a token before the text, which only a transformer has",
                got=config.model_name,
                remedy="use --model transformer, or another pooling",
            )
        check_learned_positions(config)

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {**recurrent_models(), "cnn": CNN, "transformer": TRANSFORMER}

    def network(self) -> dict[str, Any]:
        """What a model of documents is built of, but for its output layer."""
        model = self.config.model
        refuse_other_tokens(self.config, self.tokenizer)
        return {
            "encoder": build_encoder(
                model,
                self.input_field,
                length=self.config.data.max_length,
                # The tokenizer of a pretrained model begins each text with a token for this.
                cls=model.pooling == "cls" and not self.tokenizer.frame.before,
                extra=contextual_size(self.config),
            ),
            "pooling": model.pooling,
            "dense": model.dense,
            "contextual": build_contextual(self.config),
            "dropout": model.dropout,
        }

    def example_inputs(self) -> tuple[Tensor, ...]:
        words = () if self.config.embedding.contextual is None else example_words(3)
        return torch.ones(1, 3, dtype=torch.int64), torch.tensor([3]), *words

    def batches(self, part: Part, *, training: bool) -> BucketBatches:
        return self.row_batches(part, training=training)

    def scores(self, model: nn.Module, part: Part, size: int) -> np.ndarray:
        """(N, size) what the model gives for each row of the part, in their order."""
        result = np.zeros((len(part), size), dtype=np.float64)
        with torch.inference_mode():
            for batch in walk(self.batches(part, training=False), model):
                result[batch.rows] = as_array(model(*batch[self.input].inputs).double())
        return result
