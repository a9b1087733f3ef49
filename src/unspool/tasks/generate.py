"""generate: a language model, which predicts every next token of a text (many-to-many, causal).

tokens (B, T) -> encoder (B, T, H) -> linear -> next-token logits (B, T, V).
Training walks B contiguous lanes of the text in windows of `bptt` steps; the state at the end of a
window starts the next one, without its gradient (truncated backpropagation through time).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config
from unspool.data.batching import LaneBatch, LaneBatches
from unspool.data.corpus import Corpus, StreamPart
from unspool.errors import ConfigError
from unspool.files import write_json
from unspool.nn.encoders import TextEncoder
from unspool.nn.heads import TokenOutput
from unspool.nn.state import map_state
from unspool.tasks.encoder import build_encoder
from unspool.tasks.metrics import bits_per_character, bootstrap_mean, perplexity
from unspool.tasks.task import Report, Step, Task, read_tokenizer, walk
from unspool.text.tokenizers import Tokenizer

EXACT_TOKENS = (
    500_000  # longer texts are evaluated in lanes, as reading them serially takes minutes
)
WINDOW = 512  # steps read at once in evaluation; bounds memory, does not change the result


class NextToken(NamedTuple):
    """What a language model says after each token, and the state it is then in."""

    logits: Tensor  # (B, T, V)
    state: Any


class LanguageModel(nn.Module):
    """A causal encoder with a distribution over the next token at every step."""

    def __init__(self, encoder: TextEncoder, *, vocab: int, tied: bool, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.output = TokenOutput(encoder.size, vocab, tied_to=encoder.embedding if tied else None)

    def forward(self, ids: Tensor, state: Any = None) -> NextToken:
        outputs, state = self.read(ids, state)
        return NextToken(self.output(outputs), state)

    def read(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        """What the output layer gets to see, (B, T, H), and the state after it."""
        outputs, state = self.encoder(ids, state=state)
        return self.dropout(outputs), state

    def start(self, batch: int) -> Any:
        """The state before the first token."""
        return self.encoder.start(batch)

    def step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        """One token a row, (B,) -> logits (B, V) for the next, and the new state."""
        logits, state = self(ids[:, None], state)
        return logits[:, 0], state

    def select(self, state: Any, rows: Tensor) -> Any:
        """The state of some rows of the batch, for search."""
        return map_state(state, lambda tensor: tensor[rows])


class GenerateReport(Report):
    """Mean negative log likelihood with its interval, perplexity, bits per character."""

    def __init__(
        self, nats: np.ndarray, tokens: np.ndarray, *, characters: int, lanes: int
    ) -> None:
        """`nats` and `tokens`: the total loss and the number of predictions of each window."""
        total, count = float(nats.sum()), int(tokens.sum())
        self.scores = nats / tokens
        self.weights = tokens
        self.interval = bootstrap_mean(self.scores, tokens)
        self.tokens, self.characters, self.lanes = count, characters, lanes
        self.metrics = {
            "loss": total / count,
            "perplexity": perplexity(total / count),
            "bits_per_character": bits_per_character(total, characters),
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "generate",
            "tokens": self.tokens,
            "characters": self.characters,
            "lanes": self.lanes,
            **self.metrics,
            "loss_interval": list(self.interval),
            "perplexity_interval": [perplexity(bound) for bound in self.interval],
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        figures = self.metrics
        read = "read in one go" if self.lanes == 1 else f"read in {self.lanes} lanes"
        return [
            f"{self.tokens} predictions over {self.characters} characters, {read}",
            f"loss                {figures['loss']:.4f} nats a token   "
            f"95 % interval {low:.4f} to {high:.4f} (bootstrap over windows)",
            f"perplexity          {figures['perplexity']:.2f}   "
            f"{perplexity(low):.2f} to {perplexity(high):.2f}",
            f"bits per character  {figures['bits_per_character']:.4f}",
        ]


class Generate(Task):
    name = "generate"
    metric = "loss"
    default_model = "lstm"
    higher_is_better = False
    defaults: ClassVar[Mapping[str, Any]] = {
        "model.hidden": 256,
        "model.dropout": 0.2,
        "train.lr": 2e-3,
    }

    def __init__(self, config: Config, tokenizer: Tokenizer) -> None:
        self.config = config
        self.tokenizer = tokenizer

    @classmethod
    def check_config(cls, config: Config) -> None:
        if config.model.bidirectional:
            raise ConfigError(
                "a language model may not read in both directions: the backward states have already"
                " seen the token that is to be predicted",
                got=config.model_name,
                remedy=f"use --model {config.model.cell}",
            )
        if config.model.tied and config.model.embedding == 0:
            raise ConfigError(
                "model.tied needs an embedding to share, and one-hot vectors have none",
                got="model.embedding=0",
                remedy="set model.embedding to the number of hidden units",
            )

    @classmethod
    def prepare(cls, config: Config, corpus: Corpus) -> Generate:
        return cls(config, corpus.tokenizer)

    def build(self) -> LanguageModel:
        model, vocab = self.config.model, len(self.tokenizer.vocab)
        return LanguageModel(
            build_encoder(model, vocab, embedding_std=0.1 if model.tied else 1.0),
            vocab=vocab,
            tied=model.tied,
            dropout=model.dropout,
        )

    def example_inputs(self) -> tuple[Tensor, ...]:
        return (torch.ones(1, 3, dtype=torch.int64),)

    def batches(self, part: StreamPart, *, training: bool) -> LaneBatches:
        train = self.config.train
        return LaneBatches(part, lanes=train.batch, bptt=train.bptt)

    def loss(self, model: nn.Module, batch: LaneBatch, carry: Any) -> Step:
        assert isinstance(model, LanguageModel)
        outputs, state = model.read(batch.ids, None if batch.first else carry)
        smoothing = self.config.train.label_smoothing
        loss = model.output.loss(outputs, batch.targets, label_smoothing=smoothing)
        count = batch.targets.numel()
        return Step(loss, count, count, map_state(state, Tensor.detach))

    def where(self, part: StreamPart, batch: LaneBatch) -> str:
        return f"{batch.ids.shape[0]} lanes of {batch.ids.shape[1]} tokens"

    def validate(self, model: nn.Module, part: StreamPart) -> dict[str, float]:
        return self._report(model, part, lanes=self.config.train.batch).metrics

    def evaluate(self, model: nn.Module, part: StreamPart) -> GenerateReport:
        lanes = 1 if len(part) <= EXACT_TOKENS else self.config.train.batch
        return self._report(model, part, lanes=lanes)

    def _report(self, model: nn.Module, part: StreamPart, *, lanes: int) -> GenerateReport:
        """Read the part, carrying the state all along; every token but the first is predicted."""
        assert isinstance(model, LanguageModel)
        batches = LaneBatches(part, lanes=lanes, bptt=WINDOW if lanes == 1 else 128)
        nats, tokens, state = [], [], None
        with torch.inference_mode():
            for batch in walk(batches):
                outputs, state = model.read(batch.ids, None if batch.first else state)
                losses = model.output.nats(outputs, batch.targets)
                nats.append(losses.double().sum(1).numpy())
                tokens.append(np.full(len(losses), losses.shape[1]))
        return GenerateReport(
            np.concatenate(nats),
            np.concatenate(tokens),
            characters=part.characters,
            lanes=batches.lanes,
        )

    def save(self, folder: Path) -> None:
        write_json(folder / "tokenizer.json", self.tokenizer.to_json())

    @classmethod
    def load(cls, config: Config, folder: Path) -> Generate:
        return cls(config, read_tokenizer(folder))
