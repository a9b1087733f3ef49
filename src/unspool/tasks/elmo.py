"""elmo: a forward and a backward language model of words (Peters et al. 2018).

spelled words (B, T) -> forwards (B, T, P), backwards (B, T, P) -> scores (.., V) of the next word
and of the one before. Texts are read in pieces, each in a frame of <s> and </s>. No labels are
needed; the states of both models are the contextual vectors that other tasks start from (`--from`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config
from unspool.data.batching import Batch, BucketBatches, Documents, collate_spelled
from unspool.data.corpus import Corpus, DocumentPart
from unspool.data.pieces import PiecesPart
from unspool.data.spelling import Words
from unspool.errors import ConfigError
from unspool.files import write_json
from unspool.nn.elmo import Elmo
from unspool.nn.models.elmo import ElmoModel
from unspool.tasks.contextual import elmo_options, example_words
from unspool.tasks.metrics import bootstrap_mean, perplexity
from unspool.tasks.task import Report, Step, Task, read_tokenizer, walk
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import BEGIN_ID, END_ID, PAD_ID

# The paper's model, made small: 1 + 2 layers, whose vectors have 2 x 128 elements.
ELMO: dict[str, Any] = {
    "model.cell": "lstm",
    "model.layers": 2,
    "model.hidden": 256,
    "model.projection": 128,
    "model.filters": 64,
    "model.widths": (1, 2, 3, 4, 5),
    "model.character_embedding": 16,
    "model.dropout": 0.1,
    "train.lr": 2e-3,
    "train.batch": 64,
    "train.epochs": 3,
    "train.weight_decay": 0.0,
}


def words_of(batch: Batch) -> Words:
    assert batch.words is not None
    return batch.words


def framed(ids: Tensor, lengths: Tensor) -> Tensor:
    """<s> w_1 ... w_T </s>: (B, T) -> (B, T + 2)"""
    words = nn.functional.pad(ids, (1, 1), value=PAD_ID)
    words[:, 0] = BEGIN_ID
    return words.scatter(1, lengths[:, None] + 1, END_ID)


class ElmoReport(Report):
    """The mean loss of both directions, and the perplexity of each."""

    def __init__(self, nats: np.ndarray, counts: np.ndarray) -> None:
        """Of each piece: the loss of the forward and of the backward model (N, 2), and how many
        words each has predicted (N,)."""
        total = int(counts.sum())
        self.scores, self.weights = nats.mean(1) / counts, counts
        self.interval = bootstrap_mean(self.scores, counts)
        self.pieces, self.count = len(counts), total
        forward, backward = (nats.sum(0) / total).tolist()
        self.metrics = {
            "loss": (forward + backward) / 2,
            "perplexity": perplexity((forward + backward) / 2),
            "forward_perplexity": perplexity(forward),
            "backward_perplexity": perplexity(backward),
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "elmo",
            "pieces": self.pieces,
            "words": self.count,
            **self.metrics,
            "loss_interval": list(self.interval),
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        figures = self.metrics
        return [
            f"{self.count} words predicted forwards and backwards, in {self.pieces} pieces of text",
            f"loss        {figures['loss']:.4f} nats a word   "
            f"95 % interval {low:.4f} to {high:.4f} (bootstrap)",
            f"perplexity  {figures['forward_perplexity']:.2f} forwards,"
            f" {figures['backward_perplexity']:.2f} backwards",
        ]


class ElmoTask(Task):
    name = "elmo"
    metric = "loss"
    default_model = "elmo"
    higher_is_better = False
    defaults: ClassVar[Mapping[str, Any]] = {
        "tokenizer.kind": "word",
        "tokenizer.vocab": 10_000,
        "data.max_length": 64,
        "data.valid_share": 0.02,
    }

    def __init__(self, config: Config, tokenizer: Tokenizer) -> None:
        self.config = config
        self.tokenizer = tokenizer

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {"elmo": ELMO}

    @classmethod
    def check_config(cls, config: Config) -> None:
        if config.tokenizer.kind != "word":
            raise ConfigError(
                "elmo predicts words",
                got=f"tokenizer.kind={config.tokenizer.kind}",
                remedy="leave it out: their characters are read anyway",
            )

    @classmethod
    def prepare(cls, config: Config, corpus: Corpus) -> ElmoTask:
        return cls(config, corpus.tokenizer)

    def build(self) -> ElmoModel:
        return ElmoModel(Elmo(elmo_options(self.config.model)), vocab=len(self.tokenizer.vocab))

    def example_inputs(self) -> tuple[Tensor, ...]:
        return example_words(3)

    def batches(
        self, part: Documents, *, training: bool, length: int | None = None
    ) -> BucketBatches:
        """Texts are cut into pieces of `length` words (0: not at all), or as the config says."""
        train = self.config.train
        return BucketBatches(
            PiecesPart(part, self.config.data.max_length if length is None else length),
            size=train.batch if training else max(train.batch, 64),
            tokens=train.batch_tokens,
            seed=train.seed,
            shuffle=training,
            collate=collate_spelled,
        )

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        assert isinstance(model, ElmoModel)
        forward, backward = model.read(framed(batch.ids, batch.lengths), *words_of(batch))
        loss = model.output.loss(
            torch.cat([forward.h, backward.h]),
            torch.cat([forward.targets, backward.targets]),
            label_smoothing=self.config.train.label_smoothing,
        )
        return Step(loss, 2 * len(forward.targets), int(batch.lengths.sum()), carry=None)

    def where(self, part: DocumentPart, batch: Batch) -> str:
        pieces = PiecesPart(part, self.config.data.max_length)
        lines = sorted(set(part.lines[pieces.documents[batch.rows]].tolist()))
        return "data lines " + ", ".join(map(str, lines[:8]))

    def validate(self, model: nn.Module, part: DocumentPart) -> dict[str, float]:
        return self.evaluate(model, part).metrics

    def evaluate(self, model: nn.Module, part: DocumentPart) -> ElmoReport:
        assert isinstance(model, ElmoModel)
        batches = self.batches(part, training=False)
        size = len(batches.part)
        nats, counts = np.zeros((size, 2)), np.zeros(size)
        with torch.inference_mode():
            for batch in walk(batches):
                counts[batch.rows] = batch.lengths.numpy() + 1
                for direction, found in enumerate(
                    model.read(framed(batch.ids, batch.lengths), *words_of(batch))
                ):
                    losses = model.output.token_losses(found.h, found.targets).double().numpy()
                    np.add.at(nats[:, direction], batch.rows[found.rows.numpy()], losses)
        return ElmoReport(nats, counts)

    def save(self, folder: Path) -> None:
        write_json(folder / "tokenizer.json", self.tokenizer.to_json())

    @classmethod
    def load(cls, config: Config, folder: Path) -> ElmoTask:
        return cls(config, read_tokenizer(folder))
