"""tag: a tag for each word of a sentence, or for each step of a series (synced many-to-many).

words (B, T), and a vector of each from its characters, or vectors (B, T, C) -> encoder (B, T, D·H)
-> scores (B, T, C) -> a softmax at each step, or a linear-chain CRF over the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, declare
from unspool.data.batching import BucketBatches
from unspool.data.corpus import Fields
from unspool.data.fields.field import Chunk, Field
from unspool.data.fields.tags import TagsField
from unspool.data.fields.vectors import VectorField
from unspool.data.fields.words import WordsField
from unspool.data.part import Batch, Part
from unspool.data.plan import Plan
from unspool.data.schemes import allowed_transitions, parse_tags
from unspool.errors import ConfigError
from unspool.nn.characters import CHARACTER_ENCODERS
from unspool.nn.crf import CRF, Allowed, SeparateTags, SpanScores, TagOutput
from unspool.nn.models.tagger import Tagger
from unspool.tasks.answer import Answer
from unspool.tasks.embedding import build_contextual, contextual_size, example_words
from unspool.tasks.encoder import build_encoder, recurrent_models
from unspool.tasks.examples import Example, row_example
from unspool.tasks.inputs import input_kind, read_field, reads_text, recommended_settings
from unspool.tasks.inputs.kind import windows_of
from unspool.tasks.metrics import Metric
from unspool.tasks.reading import AnswerView, InputView
from unspool.tasks.roles import Roles
from unspool.tasks.size import longest_document
from unspool.tasks.streaming import StreamState
from unspool.tasks.tag.plan import plan_tags
from unspool.tasks.tag.reading import StepTagView, TagView, WordsView
from unspool.tasks.tag.report import PlainReport, TaggedSpanReport, TagReport
from unspool.tasks.tag.series import TaggedSeries, tagged_series
from unspool.tasks.tag.text import SentenceTags, TaggedText, tagged_line, tagged_text, words_of
from unspool.tasks.task import (
    Report,
    RowInfo,
    Step,
    Task,
    Transfer,
    as_array,
    chunks,
    row_batches,
    walk,
)
from unspool.text.vocab import UNK_ID

CHUNK = 2048  # texts predicted at once
SERIES_CHUNK = 64  # recordings

CNN: dict[str, Any] = {
    "model.network": "cnn",
    "model.layers": 2,
    "model.filters": 150,
    "model.widths": (3, 5),
}
TRANSFORMER: dict[str, Any] = {
    "model.network": "transformer",
    "model.layers": 2,
    "model.hidden": 128,
    "model.heads": 4,
    "model.dropout": 0.3,
    "model.positions": "rotary",
    "train.lr": 1e-3,
    "train.warmup": 0.1,
}


class Tag(Task):
    name = "tag"
    roles = Roles(target="tags", plan=plan_tags, typed=True)
    metric = Metric("f1")
    settings = declare(
        data="label missing scheme",
        model="characters character_embedding character_hidden output",
        train="label_smoothing",
    )
    default_model = "bilstm"
    input_view: type[InputView] | None = WordsView
    answer_view: type[AnswerView] = TagView
    answer: type[Answer] = TaggedText
    items = (str, list, tuple)
    transfer = Transfer(reads_contextual=True)
    defaults: ClassVar[Mapping[str, Any]] = {
        # What a word that was met once is to be tagged is known as little as of one never met: its
        # place is taken by <unk>, which learns from it, and by its characters.
        "tokenizer.min_count": 2,
        "tokenizer.lowercase": True,  # characters keep the case
        "model.embedding": 100,
        "model.characters": "lstm",
        "model.hidden": 200,
        "model.dropout": 0.5,
        "model.word_dropout": 0.05,
        "train.batch": 16,
        "train.epochs": 30,
        "train.lr": 2e-3,
        "train.patience": 8,
    }
    rows = RowInfo("sentences")

    def __init__(self, config: Config, fields: Fields) -> None:
        super().__init__(config, fields)
        tags = fields["tags"]
        assert isinstance(tags, TagsField)
        self.marks, self.scheme = tags.marks, tags.written
        self.spelling = getattr(self.input_field, "spelling", None)
        if not reads_text(config):
            self.answer, self.input_view, self.answer_view = TaggedSeries, None, StepTagView
        if self.marks is None:
            self.metric = Metric("accuracy")

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        if not reads_text(config):
            read = read_field(config)
            return {read.name: read, "tags": TagsField("tags", scheme="none")}
        words = WordsField(
            "words",
            config.tokenizer,
            max_length=longest_document(config),
            characters=config.model.characters != "none",
            spelled=config.embedding.contextual is not None,
        )
        return {"words": words, "tags": TagsField("tags", scheme=config.data.scheme)}

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {**recurrent_models(), "cnn": CNN, "transformer": TRANSFORMER}

    @classmethod
    def candidates(cls) -> list[str]:
        return ["bilstm", "bigru", "cnn", "transformer"]

    @classmethod
    def quick_candidates(cls, config: Config) -> list[Config]:
        return []

    @classmethod
    def recommended_settings(
        cls, settings: Mapping[str, Any], plan: Plan | None = None
    ) -> dict[str, Any]:
        name = settings.get("data.input", settings.get("input", "auto"))
        if name in ("auto", "text"):
            return {}
        return {**recommended_settings(settings), "model.characters": "none", "model.hidden": 128}

    @classmethod
    def check_config(cls, config: Config) -> None:
        model = config.model
        input_kind(config.data).check(config)
        cut = config.data.max_length or config.data.irregular == "resample"
        if cut and not reads_text(config):
            raise ConfigError(
                "tag gives every step of the data a label, so none can be cut off or interpolated",
                got=f"max_length={config.data.max_length}, irregular={config.data.irregular}",
                remedy="use window= for long recordings, and irregular=channel for irregular steps",
            )
        if config.tokenizer.kind not in ("auto", "word"):
            raise ConfigError(
                "tag does not split the words of its data again",
                got=f"tokenizer.kind={config.tokenizer.kind}",
                remedy="leave it out; model.characters=lstm or cnn looks into the words",
            )
        if config.tokenizer.normalize == "nfkc":
            raise ConfigError(
                "tokenizer.normalize=nfkc can make two words of one, and there is one tag for them",
                remedy="use nfc or none",
            )
        if model.network == "transformer" and model.positions == "learned":
            raise ConfigError(
                "model.positions=learned knows sentences up to a length only",
                got="task tag",
                remedy="use rotary, sinusoidal or none",
            )
        alone = not model.embedding and model.network != "transformer"
        if model.characters != "none" and alone and config.embedding.contextual is None:
            raise ConfigError(
                "one-hot vectors cannot have vectors of characters as extra features",
                got=f"embedding=0, characters={model.characters}",
                remedy="set model.embedding above 0, or model.characters=none",
            )
        if model.characters == "lstm" and model.character_hidden % 2:
            raise ConfigError(
                "model.character_hidden must be even: half of it is read forwards, half backwards",
                got=model.character_hidden,
                remedy=f"set character_hidden={model.character_hidden + 1}",
            )
        if model.output == "crf" and config.train.label_smoothing:
            raise ConfigError(
                "train.label_smoothing is for a softmax, not for a CRF",
                got=config.train.label_smoothing,
                remedy="leave it out, or set model.output=softmax",
            )

    @property
    def uses_crf(self) -> bool:
        chosen = self.config.model.output
        return self.marks is not None if chosen == "auto" else chosen == "crf"

    def build(self) -> Tagger:
        model = self.config.model
        characters = None
        if self.spelling is not None:
            characters = CHARACTER_ENCODERS[model.characters](
                len(self.spelling), embedding=model.character_embedding, size=model.character_hidden
            )
        encoder = build_encoder(
            model,
            self.input_field,
            extra=contextual_size(self.config) + (characters.size if characters else 0),
        )
        return Tagger(
            encoder,
            characters=characters,
            contextual=build_contextual(self.config),
            output=self._output(),
            tags=len(self.labels),
            dropout=model.dropout,
        )

    def _output(self) -> TagOutput:
        if not self.uses_crf:
            return SeparateTags(label_smoothing=self.config.train.label_smoothing)
        if self.marks is None:
            return CRF(len(self.labels))
        allowed = map(torch.from_numpy, allowed_transitions(self.marks))
        return CRF(len(self.labels), Allowed(*allowed))

    def example_inputs(self) -> tuple[Tensor, ...]:
        if isinstance(self.input_field, VectorField):
            return self.input_field.example(3)
        ids, lengths = torch.ones(1, 3, dtype=torch.int64), torch.tensor([3])
        spelled: tuple[Any, ...] = (None, None, None)
        if self.spelling is not None:
            spelled = torch.ones(1, 4, dtype=torch.int64), torch.tensor([4]), ids - 1
        words = () if self.config.embedding.contextual is None else example_words(3)
        return ids, lengths, *spelled, *words

    def batches(self, part: Part, *, training: bool) -> BucketBatches:
        return row_batches(self.config, self.windowed(part), training=training, least=128)

    def windowed(self, part: Part) -> Part:
        """The same rows as a model reads them."""
        windows = windows_of(part, self.input, self.config.data)
        return part if windows is None else part.in_windows(windows)

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        assert isinstance(model, Tagger)
        x = batch[self.input]
        losses = model.output.loss(model(*x.inputs), batch["tags"], x.lengths)
        words = int(x.lengths.sum())
        return Step(losses.sum() / words, targets=words, tokens=words, carry=None)

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self.evaluate(model, part).metrics

    def evaluate(self, model: nn.Module, part: Part, options: None = None) -> TagReport:
        assert isinstance(model, Tagger)
        guess: list[np.ndarray] = [np.empty(0)] * len(part)
        total, words = 0.0, 0
        with torch.inference_mode():
            for batch in self.scored(model, part):
                scores = batch.scores
                tags = as_array(model.output.best(scores, batch.lengths))
                for row, length, sentence_tags in zip(batch.rows, batch.lengths.tolist(), tags):
                    guess[row] = sentence_tags[:length]
                truth = self.fields["tags"].collate(part["tags"], batch.rows).to(scores.device)
                # A sentence with a tag that the model does not know has no probability.
                known = (truth.amax(1) < len(self.labels)).cpu().nonzero()[:, 0]
                if len(known):
                    rows, lengths = known.to(scores.device), batch.lengths[known]
                    losses = model.output.loss(scores[rows], truth[rows], lengths)
                    total += float(losses.double().sum().cpu())
                    words += int(lengths.sum())
        return self.report(part, guess, total / max(1, words))

    def report(self, part: Part, guess: Sequence[np.ndarray], loss: float) -> TagReport:
        """On predicted tags of each sentence; the loss in nats a word."""
        tags, unknown = part["tags"], self.unknown_words(part)
        truth = [tags[row] for row in range(len(part))]
        if self.marks is not None:
            return TaggedSpanReport(truth, guess, unknown, loss, parse_tags(tags.names, "iobes"))
        nouns = ("sentences", "words") if self.reads_tokens else ("recordings", "steps")
        return PlainReport(truth, guess, unknown, loss, tags.names, nouns)

    def references(self, train: Part, part: Part) -> dict[str, Report]:
        """The most frequent tag of each word in training, or of all steps."""
        tags, every = np.concatenate([train["tags"][row] for row in range(len(train))]), "tag"
        words = np.zeros_like(tags)
        if self.reads_tokens:
            words, every = np.concatenate([train[self.input][r] for r in range(len(train))]), "word"
        counts = np.zeros((int(words.max()) + 1, len(self.labels)))
        np.add.at(counts, (words, tags), 1)
        share = counts.sum(0) / len(tags)
        p = (counts + share) / (counts.sum(1, keepdims=True) + 1)  # a word never met has the share
        guess, losses = [], []
        for row, truth in enumerate(part["tags"][r] for r in range(len(part))):
            ids = part[self.input][row] if self.reads_tokens else np.zeros_like(truth)
            row_p = np.where((ids < len(p))[:, None], p[np.minimum(ids, len(p) - 1)], share)
            guess.append(row_p.argmax(1))
            known = truth < len(self.labels)
            losses.append(-np.log(row_p[known, truth[known]]))
        loss = float(np.concatenate(losses).mean())
        return {f"most frequent tag of each {every}": self.report(part, guess, loss)}

    def unknown_words(self, part: Part) -> list[np.ndarray]:
        """The words of each row that the vocabulary does not know."""
        if not self.reads_tokens:
            return [np.zeros(length, dtype=bool) for length in part[self.input].lengths]
        return [part[self.input][row] == UNK_ID for row in range(len(part))]

    def scored(self, model: nn.Module, part: Part) -> Iterator[Scored]:
        """The scores of all rows of a part, in batches; those of windows are merged."""
        assert isinstance(model, Tagger)
        windows = windows_of(part, self.input, self.config.data)
        batches = walk(self.batches(part, training=False), model)
        if windows is None:
            for batch in batches:
                x = batch[self.input]
                yield Scored(batch.rows, model(*x.inputs), x.lengths)
            return
        scored: list[Any] = [None] * len(windows.origin)
        for batch in batches:
            x = batch[self.input]
            scores = model(*x.inputs).double()
            for row, length, row_scores in zip(batch.rows, x.lengths.tolist(), scores):
                scored[row] = row_scores[:length]
        for row, length in enumerate(part[self.input].lengths.tolist()):
            first, stop = np.searchsorted(windows.origin, [row, row + 1])
            merged = merged_steps(
                scored[first:stop], windows.first[first:stop], length, crf=self.uses_crf
            )
            yield Scored(np.array([row]), merged[None], torch.tensor([length]))

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: None = None
    ) -> Iterator[Answer]:
        """The words and spans of each text with their tags; an item may also be a list of words."""
        if not self.reads_tokens:
            yield from self.tagged_series(model, items)
            return
        for chunk in chunks(items, CHUNK):
            pairs = [words_of(item, self.tokenizer) for item in chunk]
            sentences = [[word.token for word in words] for _, words in pairs if words]
            tagged: Iterator[SentenceTags] = iter(())
            if sentences:
                tagged = iter(self.tags(model, Part.of(self.fields, words=sentences)))
            for text, words in pairs:
                tags = next(tagged) if words else None
                yield tagged_text(text, words, tags, self.labels, self.marks, self.scheme)

    def export_outputs(self, model: nn.Module, inputs: tuple[Any, ...]) -> dict[str, Any]:
        assert isinstance(model, Tagger)
        if self.config.data.window:
            raise ConfigError(
                "a model that reads windows of long series cannot be exported",
                got=f"window={self.config.data.window}",
                remedy="train with window=0",
            )
        return {"tags": model.output.best(model(*inputs), inputs[1])}

    def export_answer(self) -> dict[str, Any]:
        return {"kind": "tags", "labels": list(self.labels), "scheme": self.scheme}

    def examples_of(self, part: Part, row: int, raw: Mapping[str, Any]) -> list[Example]:
        tags, text = part["tags"], row_example(self, raw).text
        if not self.reads_tokens:
            labels = [tags.names[tag] for tag in tags[row]]
            runs = ", ".join(name for name, _ in groupby(labels))
            return [Example(text, runs, tuple(labels))]
        marks = None if self.marks is None else parse_tags(tags.names, "iobes")
        return [Example(text, tagged_line(raw[self.input], tags[row], tags.names, marks))]

    def tagged_series(self, model: nn.Module, items: Iterable[Any]) -> Iterator[TaggedSeries]:
        """A label for each step of each series."""
        for chunk in chunks(items, SERIES_CHUNK):
            field = self.input_field
            for item, tags in zip(
                chunk, self.tags(model, Part.of(self.fields, **{self.input: chunk}))
            ):
                p = (tags.along.before + tags.along.after).double().exp().clamp(0, 1)
                shown, steps = field.form.shown(item), field.labels(item)
                yield tagged_series(shown, steps, tags.tags, as_array(p), self.labels)

    def streamed(self, new: Any, chunk: Chunk, before: StreamState, scores: Tensor) -> Answer:
        """The tags of the new steps. A span may go on in the next chunk, so words have tags, and
        none are joined."""
        scores = scores[0, : chunk.steps].double()  # (T, C)
        tags, p = as_array(scores.argmax(1)), scores.softmax(1).amax(1)
        if self.reads_tokens:
            text, words = words_of(new, self.tokenizer)
            along = SpanScores(p.log(), torch.zeros_like(p), torch.zeros_like(p))
            return tagged_text(
                text, words, SentenceTags(tags, along), self.labels, None, self.scheme
            )
        new_tags, _ = self.input_field.source.next_steps(new, None, before.steps)
        steps = new_tags.steps(before.steps)
        return tagged_series(str(new_tags), steps, tags, as_array(p), self.labels)

    def tags(self, model: nn.Module, part: Part) -> list[SentenceTags]:
        """The tags of each sentence."""
        assert isinstance(model, Tagger)
        results: list[Any] = [None] * len(part)
        with torch.inference_mode():
            for rows, scores, lengths in self.scored(model, part):
                tags = model.output.best(scores, lengths)
                along = model.output.span_scores(scores, tags, lengths)
                for i, (row, length) in enumerate(zip(rows, lengths.tolist())):
                    row_scores = SpanScores(*(part[i, :length] for part in along))
                    results[row] = SentenceTags(as_array(tags[i, :length]), row_scores)
        return results


class Scored(NamedTuple):
    """Scores (B, T, C) of some rows of a part, and their lengths (B,)."""

    rows: np.ndarray
    scores: Tensor
    lengths: Tensor


def merged_steps(scores: Sequence[Tensor], firsts: np.ndarray, length: int, *, crf: bool) -> Tensor:
    """Scores (T_w, C) of windows that begin at steps `firsts`, to those of all steps (length, C):
    of the mean of the probabilities at each step; of a CRF, the mean of the scores."""
    total = scores[0].new_zeros(length, scores[0].shape[1])
    count = scores[0].new_zeros(length, 1)
    for window, first in zip(scores, firsts.tolist()):
        total[first : first + len(window)] += window if crf else window.softmax(-1)
        count[first : first + len(window)] += 1
    mean = total / count
    return mean if crf else mean.clamp(min=1e-12).log()
