"""elmo: a forward and a backward language model of words (Peters et al. 2018).

spelled words (B, T) -> forwards (B, T, P), backwards (B, T, P) -> scores (.., V) of the next word
and of the one before. Texts are read in pieces, each in a frame of <s> and </s>. No labels are
needed; the states of both models are the contextual vectors that other tasks start from (`--from`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, declare
from unspool.data.batching import BucketBatches
from unspool.data.fields.field import Field
from unspool.data.fields.text import TextField
from unspool.data.fields.tokens import TokenBatch
from unspool.data.part import Batch, Part
from unspool.errors import Command, ConfigError
from unspool.nn.elmo import Elmo, ElmoModel
from unspool.nn.network import Network
from unspool.tasks.embedding import elmo_options, example_words
from unspool.tasks.metrics import Metric, bootstrap_mean, perplexity
from unspool.tasks.plan import plan_documents
from unspool.tasks.reading import AnswerView, InputView, longest, token_batch
from unspool.tasks.roles import Roles
from unspool.tasks.size import longest_document
from unspool.tasks.task import Report, Step, Task, as_array, chunks, row_batches, walk
from unspool.text.vocab import BEGIN, BEGIN_ID, END, END_ID, PAD_ID, SENTENCE_SPECIALS

CHUNK = 1024  # texts read at once

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


def inputs(batch: TokenBatch) -> tuple[Tensor, ...]:
    """<s> w_1 ... w_T </s>, (B, T + 2), and the spelling of the words."""
    assert batch.words is not None
    ids = nn.functional.pad(batch.ids, (1, 1), value=PAD_ID)
    ids[:, 0] = BEGIN_ID
    return ids.scatter(1, batch.lengths.to(ids.device)[:, None] + 1, END_ID), *batch.words


class ElmoReport(Report):
    """The mean loss of both directions, and the perplexity of each."""

    def __init__(self, losses: np.ndarray, counts: np.ndarray) -> None:
        """The loss of the forward and the backward model on each piece (N, 2), and how many
        words each has predicted (N,)."""
        total = int(counts.sum())
        self.scores, self.weights = losses.mean(1) / counts, counts
        self.interval = bootstrap_mean(self.scores, counts)
        self.pieces, self.count = len(counts), total
        forward, backward = (losses.sum(0) / total).tolist()
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


class WordsInContext(NamedTuple):
    """The words of a text, and their vectors in each layer of the model."""

    words: list[str]
    layers: np.ndarray  # (1 + L, T, 2P); layer 0 does not look around

    def vectors(self, layer: int | None = None) -> np.ndarray:
        """(T, 2P): of one layer, or the mean of all."""
        return self.layers.mean(0) if layer is None else self.layers[layer]


class SpelledView(InputView):
    """Words by their characters, between <s> and </s>; only recorded, never changed."""

    def __init__(self, task: Any, model: Any, text: str) -> None:
        pieces = task.tokenizer.pieces(text) or [""]
        self.pieces = pieces[: longest(model)]
        super().__init__(task, model, text, [BEGIN, *self.pieces, END], len(pieces) + 2)

    def batch(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        ids = np.zeros(len(self.pieces), dtype=np.int64)
        pieces = [view.pieces for view in inputs]
        words = token_batch(self.task.input_field, [ids] * len(inputs), pieces).words
        assert words is not None
        return words

    def without(self, token: int) -> NoReturn:
        raise no_reasons()

    def blank(self) -> NoReturn:
        raise no_reasons()

    @property
    def network(self) -> Network:
        raise no_reasons()


def no_reasons() -> ConfigError:
    return ConfigError(
        "an elmo model gives vectors, and no answers to ask for reasons",
        remedy="ask a model that starts from it",
    )


class NextWordView(AnswerView):
    """At each step the word that follows, as the forward language model predicts it."""

    per_token = True

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        return self.model(*batch)[:, :, 0]

    def chosen(self, scores: Tensor) -> list[int]:
        pieces = self.input.pieces
        following = self.task.tokenizer.encode(" ".join(pieces)).tolist()
        if len(following) != len(pieces):
            return super().chosen(scores)
        return [*following, END_ID, int(scores[-1].argmax())]

    def name(self, answer: int) -> str:
        return self.task.tokenizer.shown([answer])[0]


class ElmoTask(Task):
    name = "elmo"
    roles = Roles(plan=plan_documents, guessed=False)
    metric = Metric("loss", higher_is_better=False)
    settings = declare(
        model="character_embedding character_hidden projection highways", train="label_smoothing"
    )
    unread: ClassVar = {
        "any": declare(
            tokenizer="kind",
            model="cell bidirectional embedding embedding_std word_dropout",
            embedding="from extend frozen contextual tuned",
        )
    }
    default_model = "elmo"
    input_view = SpelledView
    answer_view = NextWordView
    usage = "unspool train DATA --from {run}"
    defaults: ClassVar[Mapping[str, Any]] = {
        "tokenizer.kind": "word",
        "tokenizer.vocab": 10_000,
        "data.max_length": 64,
        "data.valid_share": 0.02,
    }

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        """Texts are read whole, in pieces of `data.max_length`."""
        text = TextField("text", config.tokenizer, specials=SENTENCE_SPECIALS, spelled=True)
        return {"text": text}

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

    def build(self) -> ElmoModel:
        return ElmoModel(Elmo(elmo_options(self.config.model)), vocab=len(self.tokenizer.vocab))

    def example_inputs(self) -> tuple[Tensor, ...]:
        return example_words(3)

    def batches(self, part: Part, *, training: bool, length: int | None = None) -> BucketBatches:
        """Texts are cut into pieces of `length` words (0: not at all), or as configured."""
        length = longest_document(self.config) if length is None else length
        return row_batches(self.config, part.in_pieces(self.input, length), training=training)

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        assert isinstance(model, ElmoModel)
        x = batch[self.input]
        forward, backward = model.read(*inputs(x))
        loss = model.output.loss(
            torch.cat([forward.h, backward.h]),
            torch.cat([forward.targets, backward.targets]),
            label_smoothing=self.config.train.label_smoothing,
        )
        return Step(loss, 2 * len(forward.targets), int(x.lengths.sum()), carry=None)

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self.evaluate(model, part).metrics

    def evaluate(self, model: nn.Module, part: Part, options: None = None) -> ElmoReport:
        assert isinstance(model, ElmoModel)
        batches = self.batches(part, training=False)
        size = len(batches.part)
        sums, counts = np.zeros((size, 2)), np.zeros(size)
        with torch.inference_mode():
            for batch in walk(batches, model):
                x = batch[self.input]
                counts[batch.rows] = as_array(x.lengths) + 1
                for direction, nats in enumerate(model.read(*inputs(x))):
                    losses = as_array(model.output.token_losses(nats.h, nats.targets).double())
                    np.add.at(sums[:, direction], batch.rows[as_array(nats.rows)], losses)
        return ElmoReport(sums, counts)

    def predict(self, model: nn.Module, items: Iterable[str], options: None = None) -> NoReturn:
        raise ConfigError(
            "an elmo model gives vectors of words, and no predictions",
            remedy=("train a model that reads with them: ", Command("train", "DATA", start="RUN")),
        )

    def vectors(self, model: nn.Module, texts: Iterable[str]) -> Iterator[WordsInContext]:
        """Each text is read by itself and as a whole, so batches and their order change nothing."""
        for chunk in chunks(texts, CHUNK):
            words = [self.tokenizer.pieces(text) or [""] for text in chunk]
            answers: list[Any] = [None] * len(chunk)
            for batch, layers in self.read(model, Part.of(self.fields, text=chunk), length=0):
                for i, row in enumerate(batch.rows.tolist()):
                    answers[row] = WordsInContext(words[row], layers[:, i, : len(words[row])])
            yield from answers

    @torch.inference_mode()
    def read(
        self, model: nn.Module, part: Part, *, length: int
    ) -> Iterator[tuple[Batch, np.ndarray]]:
        """Each batch, and the vectors (1 + L, B, T, 2P) of its words."""
        assert isinstance(model, ElmoModel)
        for batch in walk(self.batches(part, training=False, length=length), model):
            vectors = model.encoder.vectors(*batch[self.input].words)
            yield batch, as_array(torch.stack(vectors))
