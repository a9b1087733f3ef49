"""generate: a language model, which predicts every next token of a text (many-to-many, causal).

tokens (B, T) -> recurrent layers or Transformer (B, T, H) -> linear -> next-token logits (B, T, V).
A recurrent model walks B contiguous lanes of the text in windows of `bptt` steps; the state at the
end of a window starts the next one, without its gradient (truncated backpropagation through time).
A Transformer reads B windows of `bptt` tokens, its context, from anywhere in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, declare
from unspool.data.fields.field import Chunk, Field
from unspool.data.fields.stream import TextStream
from unspool.data.part import Part
from unspool.data.streams import LaneBatches, StreamBatch, StridedBatches, WindowBatches
from unspool.errors import ConfigError, Option
from unspool.nn.cells import steady
from unspool.nn.models.language_model import LanguageModel, NextTokenModel, TransformerLanguageModel
from unspool.nn.network import map_state
from unspool.search import stream
from unspool.tasks.answer import Answer, one_line
from unspool.tasks.encoder import (
    build_encoder,
    check_context,
    recurrent_models,
    transformer_options,
)
from unspool.tasks.generation_options import SamplingOptions
from unspool.tasks.metrics import Metric, bits_per_character, bootstrap_mean, perplexity
from unspool.tasks.next_tokens import next_tokens
from unspool.tasks.plan import plan_whole_text
from unspool.tasks.reading_answers import NextTokenView
from unspool.tasks.reading_inputs import TokensView
from unspool.tasks.roles import Roles
from unspool.tasks.streaming import StreamState
from unspool.tasks.task import Batches, Report, Step, Task, Transfer, as_array, walk
from unspool.text.growing import GrowingText

EXACT_TOKENS = (
    500_000  # longer texts are evaluated in lanes, as reading them serially takes minutes
)
EVALUATED = 2048  # tokens that a Transformer reads at once in evaluation
WINDOW = 512  # steps read at once in evaluation; bounds memory, does not change the result


# GPT-2's choices (Radford et al. 2019), with the steps that a small model on a CPU needs.
TRANSFORMER: dict[str, Any] = {
    "model.network": "transformer",
    "model.layers": 4,
    "model.hidden": 128,
    "model.heads": 4,
    "model.dropout": 0.1,
    "model.positions": "learned",
    "model.tied": True,
    "train.lr": 1e-3,
    "train.warmup": 0.05,
    "train.weight_decay": 0.1,
    "train.beta2": 0.99,
}


@dataclass(frozen=True, kw_only=True)
class Generation(SamplingOptions):
    """Options of continuing a text.

    length       tokens to write
    temperature  0: always the most probable token; below 1 safer, above 1 more varied
    top_k        sample from the k most probable tokens only; 0: from all
    top_p        sample from the fewest tokens whose probability reaches p
    """

    described: ClassVar[str] = "a text of {} tokens"
    step_bytes: ClassVar[int] = 48  # a number of Python's in a list

    length: int = 200
    temperature: float = 0.8


@dataclass(frozen=True)
class Continuation(Answer):
    """A prompt, and the text that begins with it."""

    plural: ClassVar[str] = "texts"

    prompt: str
    text: str
    seed: int

    def __str__(self) -> str:
        return self.text

    def lines(self, number: int) -> list[str]:
        return [one_line(self.text)]

    repeats = "prompt"

    def header(self) -> list[str]:
        return ["prompt", "text"]

    def rows(self, number: int) -> list[list[Any]]:
        return [[self.prompt, self.text]]

    def to_json(self) -> dict[str, Any]:
        return {"prompt": self.prompt, "text": self.text, "seed": self.seed}


class GenerateReport(Report):
    """Mean negative log likelihood with its interval, perplexity, bits per character."""

    def __init__(
        self, losses: np.ndarray, tokens: np.ndarray, *, characters: int, read: dict[str, int]
    ) -> None:
        """`losses` and `tokens`: summed losses and the number of predictions of each window.

        `read` is how: in so many `lanes`, or from a `context` of so many tokens.
        """
        total, count = float(losses.sum()), int(tokens.sum())
        self.scores = losses / tokens
        self.weights = tokens
        self.interval = bootstrap_mean(self.scores, tokens)
        self.tokens, self.characters, self.read = count, characters, read
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
            **self.read,
            **self.metrics,
            "loss_interval": list(self.interval),
            "perplexity_interval": [perplexity(bound) for bound in self.interval],
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        figures = self.metrics
        if "context" in self.read:
            least, most = self.read["least_context"], self.read["context"]
            read = f"each from a context of {least} to {most} tokens"
        else:
            lanes = self.read["lanes"]
            read = "read in one go" if lanes == 1 else f"read in {lanes} lanes"
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
    roles = Roles(plan=plan_whole_text, documents=True, fallback=True)
    metric = Metric("loss", higher_is_better=False)
    settings = declare(model="tied", train="bptt label_smoothing")
    unread: ClassVar = {"any": declare(data="max_length", train="batch_tokens")}
    default_model = "lstm"
    input_view = TokensView
    answer_view = NextTokenView
    answer = Continuation
    prompt = "text"
    transfer = Transfer(causal=True, fine_tunes=True)
    options = Generation
    usage = 'unspool generate {run} --prompt "Once"'
    defaults: ClassVar[Mapping[str, Any]] = {
        "model.hidden": 256,
        "model.dropout": 0.2,
        "train.lr": 2e-3,
    }

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        return {"text": TextStream("text", config.tokenizer, auto="char")}

    @classmethod
    def check_config(cls, config: Config) -> None:
        if config.model.bidirectional:
            raise ConfigError(
                "a language model may not read in both directions: the backward states have already"
                " seen the token that is to be predicted",
                got=config.model_name,
                remedy=("use ", Option(model=config.model.cell)),
            )
        if config.model.network == "transformer":
            check_context(config, "train.bptt", config.train.bptt)
            return
        if config.model.tied and config.model.embedding == 0:
            raise ConfigError(
                "model.tied needs an embedding to share, and one-hot vectors have none",
                got="model.embedding=0",
                remedy="set model.embedding to the number of hidden units",
            )

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {**recurrent_models(), "transformer": TRANSFORMER}

    def build(self) -> NextTokenModel:
        model, vocab = self.config.model, len(self.tokenizer.vocab)
        if model.network == "transformer":
            options = transformer_options(model, length=self.config.train.bptt)
            return TransformerLanguageModel(vocab, options, tied=model.tied)
        return LanguageModel(
            build_encoder(model, self.input_field, embedding_std=0.1 if model.tied else 1.0),
            vocab=vocab,
            tied=model.tied,
            dropout=model.dropout,
        )

    def example_inputs(self) -> tuple[Tensor, ...]:
        return (torch.ones(1, 3, dtype=torch.int64),)

    def batches(self, part: Part, *, training: bool) -> Batches:
        train, text = self.config.train, part[self.input]
        if self.config.model.network == "transformer":
            return WindowBatches(text, size=train.batch, length=train.bptt, seed=train.seed)
        return LaneBatches(text, lanes=train.batch, bptt=train.bptt)

    def loss(self, model: nn.Module, batch: StreamBatch, carry: Any) -> Step:
        assert isinstance(model, NextTokenModel)
        outputs, state = model.read(batch.ids, None if batch.first else carry)
        smoothing = self.config.train.label_smoothing
        loss = model.output.loss(outputs, batch.targets, label_smoothing=smoothing)
        count = batch.targets.numel()
        return Step(loss, count, count, state and map_state(state, Tensor.detach))

    def where(self, part: Part, batch: StreamBatch) -> str:
        return f"{batch.ids.shape[0]} stretches of {batch.ids.shape[1]} tokens"

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self._report(model, part, exact=False).metrics

    def evaluate(
        self, model: nn.Module, part: Part, options: Generation | None = None
    ) -> GenerateReport:
        return self._report(model, part, exact=True)

    def _report(self, model: nn.Module, part: Part, *, exact: bool) -> GenerateReport:
        """Every token but the first is predicted, from as much context as the model can use; unless
        `exact`, sooner, from somewhat less."""
        assert isinstance(model, NextTokenModel)
        batches, read = self._reading(part, exact=exact)
        sums, tokens, state = [], [], None
        with torch.inference_mode():
            for batch in walk(batches, model):
                outputs, state = model.read(batch.ids, None if batch.first else state)
                losses = model.output.token_losses(
                    outputs[:, batch.skip :], batch.targets[:, batch.skip :]
                )
                sums.append(as_array(losses.double().sum(1)))
                tokens.append(np.full(len(losses), losses.shape[1]))
        return GenerateReport(
            np.concatenate(sums),
            np.concatenate(tokens),
            characters=int(part[self.input].characters[0]),
            read=read,
        )

    def _reading(self, part: Part, *, exact: bool) -> tuple[Batches, dict[str, int]]:
        """The batches of a part in evaluation, and the figures of a report that show them.

        A recurrent model reads in lanes, the state carried all along: in one lane if `exact`. A
        Transformer reads windows, which overlap by half if `exact`.
        """
        train, text = self.config.train, part[self.input]
        if self.config.model.network == "transformer":
            length, size = train.bptt, max(1, EVALUATED // train.bptt)
            context = length // 2 if exact else 0
            windows = StridedBatches(text, size=size, length=length, context=context)
            return windows, {"context": length, "least_context": context}
        lanes = 1 if exact and text.sizes[0] <= EXACT_TOKENS else train.batch
        stream = LaneBatches(text, lanes=lanes, bptt=WINDOW if lanes == 1 else 128)
        return stream, {"lanes": stream.lanes}

    def streamed(self, new: Any, chunk: Chunk, before: StreamState, scores: Tensor) -> Answer:
        logits = scores[0].double()  # (T, V); of a chunk without tokens (1, V)
        if before.scores is not None and chunk.steps:
            logits = torch.cat([before.scores[0, -1:].double(), logits])
        ids = chunk.inputs[0][0] if chunk.steps else torch.empty(0, dtype=torch.int64)
        return next_tokens(new, ids, logits.log_softmax(-1), self.tokenizer)

    def predict(
        self, model: nn.Module, items: Iterable[str], options: Generation | None = None
    ) -> Iterator[Continuation]:
        """Each prompt with its continuation."""
        chosen = options or Generation()
        for prompt in items:
            yield Continuation(prompt, "".join(self.generate(model, prompt, chosen)), chosen.seed)

    def export_start(self, model: nn.Module, inputs: tuple[Any, ...]) -> Any:
        assert isinstance(model, NextTokenModel)
        steps: Any = model
        return () if steps.by_prefix else steps.start(len(inputs[0]))

    def export_steps(self, model: nn.Module) -> Any:
        return model

    def export_answer(self) -> dict[str, Any]:
        tokenizer, network = self.tokenizer, self.config.model.network
        return {
            "kind": "continuation",
            "tokenizer": tokenizer.to_json(),
            "forbidden": tokenizer.special_ids(),
            "context": self.config.train.bptt if network == "transformer" else None,
        }

    def export_text(self, model: nn.Module, item: Any) -> str:
        return "".join(self.generate(model, item, Generation(temperature=0.0, length=20)))

    @property
    def written_vocabulary(self) -> int:
        return len(self.tokenizer.vocab)

    reads_source = False

    def generate(
        self, model: nn.Module, prompt: str, options: Generation | None = None
    ) -> Iterator[str]:
        chosen = options or Generation()
        sampling = chosen.sampling(forbidden=tuple(self.tokenizer.special_ids()))
        ids = [int(i) for i in self.tokenizer.encode(prompt or "\n")]
        yield self.tokenizer.decode(ids) if prompt else ""
        text = GrowingText(self.tokenizer, ids if prompt else ())
        decoder: Any = model
        with steady(model):
            for token in islice(stream(decoder, ids, sampling), chosen.length):
                yield text.add(token)
