"""answer, about stories, with answers that are written: sentences and a question in, a text out.

sentences (B, S) -> network -> memory (B, S, H) -> hops -> decoder, token by token -> scores
(B, T, V). So a list of things, or words in an order that no answer of the training data has, can be
answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from unspool.config import Config
from unspool.data.fields.field import Field
from unspool.data.fields.story import StoryField
from unspool.data.fields.text import TextField
from unspool.data.part import Batch, Part
from unspool.errors import ConfigError
from unspool.nn.decoders import Targets
from unspool.nn.models.story import StoryAnswerWriter
from unspool.search.batched import DecoderSearch
from unspool.search.decoding import GREEDY, Decoding
from unspool.search.rules import Hypothesis
from unspool.tasks.answer import Answer, one_line
from unspool.tasks.answering.stories import StoryAnswers, StoryView, memory_options, smallest_story
from unspool.tasks.decoder import build_decoder, check_decoder
from unspool.tasks.encoder import build_encoder
from unspool.tasks.metrics import Metric, wilson_interval
from unspool.tasks.reading_answers import WrittenView
from unspool.tasks.task import Report, RowInfo, Step, Task, chunks, row_batches, walk
from unspool.tasks.translate.answer import Candidate
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import BEGIN_ID, PAD_ID, SENTENCE_SPECIALS, UNK_ID

CHUNK = 256  # stories that are answered at once
LONGEST = 64  # tokens of an answer


@dataclass(frozen=True)
class WrittenAnswer(Answer):
    """The best answer to a question, and the others that were asked for."""

    plural: ClassVar[str] = "answers"
    text: str
    answer: str
    score: float
    nbest: list[Candidate]

    def __str__(self) -> str:
        return one_line(self.answer)

    def header(self) -> list[str]:
        return ["number", "score", "answer", "text"]

    def rows(self, number: int) -> list[list[Any]]:
        return [
            [number, f"{candidate.score:.4f}", one_line(candidate.translation), self.text]
            for candidate in self.nbest
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "score": self.score,
            "nbest": [
                {
                    "answer": candidate.translation,
                    "score": candidate.score,
                    "log_probability": candidate.log_probability,
                }
                for candidate in self.nbest
            ],
            "text": self.text,
        }


class WrittenReport(Report):
    """The share of questions whose answer is right in every token, and the loss of the tokens."""

    def __init__(self, right: np.ndarray, summed_loss: float, tokens: int) -> None:
        self.scores, self.count = right.astype(float), len(right)
        self.interval = self.interval_over([self])
        self.metrics = {"accuracy": float(self.scores.mean()), "loss": summed_loss / max(1, tokens)}

    def interval_over(self, reports: Sequence[Report]) -> tuple[float, float]:
        return wilson_interval(float(np.mean([r.scores.mean() for r in reports])), self.count)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "answer",
            "examples": self.count,
            **self.metrics,
            "accuracy_interval": list(self.interval),
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        return [
            f"{self.count} questions",
            f"accuracy  {self.metrics['accuracy']:.4f}   95 % interval {low:.4f} to {high:.4f}"
            " (Wilson), answers that are right in every token",
            f"loss      {self.metrics['loss']:.4f} nats a token",
        ]


class StoryTextView(WrittenView):
    """At each step the next token of the answer, after those before it."""

    ignored_taps = ("encoder.", "pooling.", "memory.")  # within sentences, and hops

    def __init__(self, input: StoryView) -> None:
        task = input.task
        part = Part.of(task.fields, **{task.input: [input.story]})
        ((_, hypotheses),) = task.search(input.model, part, Decoding(nbest=5))
        candidates = [task.candidate(hypothesis) for hypothesis in hypotheses]
        target = hypotheses[0].tokens
        super().__init__(input, task.target_tokenizer, target, candidates=candidates)


class WrittenStoryAnswers(Task):
    """The best weights are those with the most right answers of a greedy search."""

    name = "answer"
    metric = Metric("accuracy")
    default_model = StoryAnswers.default_model
    input_view = StoryView
    answer_view = StoryTextView
    answer = WrittenAnswer
    options = Decoding
    items: ClassVar[tuple[type, ...]] = (str, tuple, list)
    rows = RowInfo("questions")
    defaults: ClassVar[Mapping[str, Any]] = StoryAnswers.defaults

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        story = StoryField("story", config.tokenizer, memory=config.model.memory)
        written = TextField(
            "label",
            config.tokenizer,
            auto="word",
            specials=SENTENCE_SPECIALS,
            marks=(True, True),
            max_length=LONGEST,
            is_target=True,
            file="answer_tokenizer.json",
        )
        return {"story": story, "label": written}

    @classmethod
    def check_config(cls, config: Config) -> None:
        StoryAnswers.check_config(config)
        model = config.model
        if not model.hops:
            raise ConfigError(
                "an answer is written from a memory of sentences",
                got="model.hops=0",
                remedy="set hops=2, or answer=choose",
            )
        if model.network != "transformer" and not model.embedding:
            raise ConfigError(
                "a decoder needs vectors of the tokens it has written",
                got="model.embedding=0",
                remedy="set model.embedding above 0",
            )
        if model.network == "transformer" and model.positions == "learned":
            raise ConfigError(
                "a story is read sentence by sentence, of any length",
                got="positions=learned",
                remedy="set positions=sinusoidal or rotary",
            )
        check_decoder(config)

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return StoryAnswers.models()

    @property
    def target_tokenizer(self) -> Tokenizer:
        field = self.fields["label"]
        assert isinstance(field, TextField)
        return field.fitted

    def build(self) -> StoryAnswerWriter:
        model = self.config.model
        decoder = build_decoder(
            model, len(self.target_tokenizer), memory=model.hidden, embedding=model.embedding
        )
        return StoryAnswerWriter(
            build_encoder(model, self.input_field), decoder, **memory_options(model)
        )

    def example_inputs(self) -> tuple[Any, ...]:
        return *smallest_story(), torch.tensor([[BEGIN_ID]])

    example = StoryAnswers.example

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        assert isinstance(model, StoryAnswerWriter)
        targets, smoothing = self.targets(batch), self.config.train.label_smoothing
        encoded = model.encode(*batch["story"].inputs)
        loss = model.decoder.loss(targets, encoded, label_smoothing=smoothing)
        count = int((targets.lengths - 1).sum())
        return Step(loss, count, count + int(batch["story"].lengths.sum()), None)

    @staticmethod
    def targets(batch: Batch) -> Targets:
        return Targets(batch["label"].ids, batch["label"].lengths)

    @torch.inference_mode()
    def search(
        self, model: nn.Module, part: Part, decoding: Decoding
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The hypotheses of each row, in some order, best first."""
        assert isinstance(model, StoryAnswerWriter)
        searcher = DecoderSearch(model.decoder)
        unknown = () if decoding.keep_unknown else (UNK_ID,)
        generator = torch.Generator().manual_seed(decoding.seed)
        for batch in walk(row_batches(self.config, part.only("story"), training=False), model):
            hypotheses = searcher(
                model.encode(*batch["story"].inputs),
                decoding,
                [decoding.max_length or LONGEST] * len(batch.rows),
                forbidden=(PAD_ID, BEGIN_ID, *unknown),
                aligned=False,
                generator=generator,
            )
            yield from zip(batch.rows.tolist(), hypotheses)

    def judged(
        self, model: nn.Module, part: Part, decoding: Decoding
    ) -> tuple[np.ndarray, float, int]:
        """(N,) whether each answer is right in every token; the loss of all tokens, and their
        number."""
        assert isinstance(model, StoryAnswerWriter)
        right, wanted = np.zeros(len(part), bool), part["label"]
        for row, hypotheses in self.search(model, part, decoding):
            right[row] = list(hypotheses[0].tokens) == wanted[row][1:-1].tolist()
        total, tokens = 0.0, 0
        with torch.inference_mode():
            for batch in walk(self.batches(part, training=False), model):
                encoded = model.encode(*batch["story"].inputs)
                losses = model.decoder.token_losses(self.targets(batch), encoded)
                total += float(losses.double().sum())
                tokens += len(losses)
        return right, total, tokens

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return WrittenReport(*self.judged(model, part, GREEDY)).metrics

    def evaluate(
        self, model: nn.Module, part: Part, options: Decoding | None = None
    ) -> WrittenReport:
        return WrittenReport(*self.judged(model, part, options or Decoding()))

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: Decoding | None = None
    ) -> Iterator[WrittenAnswer]:
        for some in chunks(items, CHUNK):
            part = Part.of(self.fields, story=some)
            answers: list[Any] = [None] * len(some)
            for row, hypotheses in self.search(model, part, options or Decoding()):
                kept = [self.candidate(hypothesis) for hypothesis in hypotheses]
                shown = self.input_field.form.shown(some[row])
                answers[row] = WrittenAnswer(shown, kept[0].translation, kept[0].score, kept)
            yield from answers

    def candidate(self, hypothesis: Hypothesis) -> Candidate:
        text = self.target_tokenizer.decode(hypothesis.tokens)
        return Candidate(text, hypothesis.score, hypothesis.log_probability)
