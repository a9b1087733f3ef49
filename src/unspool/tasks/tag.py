"""tag: a tag for each word of a sentence (synced many-to-many).

words (B, T), and a vector of each from its characters -> encoder (B, T, D·H) -> scores (B, T, C) ->
a softmax at each step, or a linear-chain CRF over the sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, DataConfig
from unspool.data.batching import BucketBatches
from unspool.data.corpus import Corpus
from unspool.data.encode import Progress
from unspool.data.readers import Source
from unspool.data.schemes import WrongTag, allowed_moves, guess_letters, parse_tags
from unspool.data.tag_corpus import encode_tagged
from unspool.data.tagged import TaggedBatch, TaggedPart, collate_in_context, collate_tagged
from unspool.errors import ConfigError, RunError
from unspool.files import AGAIN, write_json
from unspool.nn.characters import CHARACTER_ENCODERS
from unspool.nn.crf import CRF
from unspool.nn.models.tagger import Tagger
from unspool.nn.tags import Allowed, SeparateTags, SpanScores, TagOutput
from unspool.tasks.contextual import build_contextual, contextual_size, example_words
from unspool.tasks.encoder import build_encoder, recurrent_models
from unspool.tasks.tag_report import PlainReport, SpanReport, TagReport
from unspool.tasks.task import Step, Task, read_labels, read_tokenizer, walk
from unspool.text.tokenizers import CharTokenizer, Tokenizer
from unspool.text.vocab import UNK_ID

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


class Tags(NamedTuple):
    """What a model says of one sentence: the tags, by their numbers, and their probabilities."""

    tags: np.ndarray  # (T,)
    along: SpanScores  # (T,) each


class Tag(Task):
    name = "tag"
    metric = "f1"
    default_model = "bilstm"
    higher_is_better = True
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

    labels: list[str]

    def __init__(
        self,
        config: Config,
        tokenizer: Tokenizer,
        labels: list[str],
        spelling: CharTokenizer | None,
    ) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.labels = labels
        self.spelling = spelling if config.model.characters != "none" else None
        plain = config.data.scheme == "none" or guess_letters(labels) == "none"
        self.marks = None if plain else parse_tags(labels, "iobes")
        if plain:
            self.metric = "accuracy"

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {**recurrent_models(), "cnn": CNN, "transformer": TRANSFORMER}

    @classmethod
    def check_config(cls, config: Config) -> None:
        model = config.model
        if config.tokenizer.kind not in ("auto", "word"):
            raise ConfigError(
                "tag reads the words of its data as they are",
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
                "one-hot vectors take no vectors of characters beside them",
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

    @classmethod
    def prepare(cls, config: Config, corpus: Corpus) -> Tag:
        assert corpus.labels is not None
        return cls(config, corpus.tokenizer, corpus.labels, corpus.spelling)

    @property
    def uses_crf(self) -> bool:
        chosen = self.config.model.output
        return self.marks is not None if chosen == "auto" else chosen == "crf"

    def build(self) -> Tagger:
        model = self.config.model
        characters = None
        if self.spelling is not None:
            characters = CHARACTER_ENCODERS[model.characters](
                len(self.spelling),
                embedding=model.character_embedding,
                size=model.character_hidden,
            )
        encoder = build_encoder(
            model,
            len(self.tokenizer.vocab),
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
        return CRF(len(self.labels), Allowed(*map(torch.from_numpy, allowed_moves(self.marks))))

    def example_inputs(self) -> tuple[Tensor, ...]:
        ids, lengths = torch.ones(1, 3, dtype=torch.int64), torch.tensor([3])
        spelled: tuple[Any, ...] = (None, None, None)
        if self.spelling is not None:
            spelled = torch.ones(1, 4, dtype=torch.int64), torch.tensor([4]), ids - 1
        words = () if self.config.embedding.contextual is None else example_words(3)
        return ids, lengths, *spelled, *words

    def encode(
        self, source: Source, data: DataConfig, progress: Progress | None
    ) -> tuple[TaggedPart, list[str]]:
        return encode_tagged(source, self.tokenizer, self.spelling, self.labels, data, progress)

    def batches(self, part: TaggedPart, *, training: bool) -> BucketBatches:
        train = self.config.train
        return BucketBatches(
            part,
            size=train.batch if training else max(train.batch, 128),
            tokens=train.batch_tokens,
            seed=train.seed,
            shuffle=training,
            collate=collate_tagged
            if self.config.embedding.contextual is None
            else collate_in_context,
        )

    def score(self, model: nn.Module, batch: TaggedBatch) -> Tensor:
        """(B, T, C)"""
        spelled = (batch.spellings, batch.sizes, batch.places)
        return model(batch.ids, batch.lengths, *spelled, *(batch.words or ()))

    def loss(self, model: nn.Module, batch: TaggedBatch, carry: Any) -> Step:
        assert isinstance(model, Tagger)
        assert batch.tags is not None
        nats = model.output.loss(self.score(model, batch), batch.tags, batch.lengths)
        words = int(batch.lengths.sum())
        return Step(nats.sum() / words, targets=words, tokens=words, carry=None)

    def where(self, part: TaggedPart, batch: TaggedBatch) -> str:
        return "data lines " + ", ".join(map(str, sorted(part.lines[batch.rows].tolist())[:8]))

    def validate(self, model: nn.Module, part: TaggedPart) -> dict[str, float]:
        return self.evaluate(model, part).metrics

    def evaluate(self, model: nn.Module, part: TaggedPart) -> TagReport:
        assert isinstance(model, Tagger)
        guess: list[np.ndarray] = [np.empty(0)] * len(part)
        nats, words = 0.0, 0
        with torch.inference_mode():
            for batch in walk(self.batches(part, training=False)):
                scores = self.score(model, batch)
                tags = model.output.best(scores, batch.lengths).numpy()
                for row, length, own in zip(batch.rows, batch.lengths.tolist(), tags):
                    guess[row] = own[:length]
                # A sentence with a tag that the model does not know has no probability.
                known = batch.tags.amax(1) < len(self.labels)
                if known.any():
                    own = (scores[known], batch.tags[known], batch.lengths[known])
                    nats += float(model.output.loss(*own).double().sum())
                    words += int(batch.lengths[known].sum())
        rows = range(len(part))
        truth = [part.tags(row) for row in rows]
        unknown = [part.ids(row) == UNK_ID for row in rows]
        loss = nats / max(1, words)
        if self.marks is not None:
            return SpanReport(truth, guess, unknown, loss, parse_tags(part.names, "iobes"))
        return PlainReport(truth, guess, unknown, loss, part.names)

    def tags(self, model: nn.Module, part: TaggedPart) -> list[Tags]:
        """What the model says of each sentence."""
        assert isinstance(model, Tagger)
        found: list[Any] = [None] * len(part)
        with torch.inference_mode():
            for batch in walk(self.batches(part, training=False)):
                scores = self.score(model, batch)
                tags = model.output.best(scores, batch.lengths)
                along = model.output.span_scores(scores, tags, batch.lengths)
                for i, (row, length) in enumerate(zip(batch.rows, batch.lengths.tolist())):
                    own = SpanScores(*(part[i, :length] for part in along))
                    found[row] = Tags(tags[i, :length].numpy(), own)
        return found

    def save(self, folder: Path) -> None:
        write_json(folder / "tokenizer.json", self.tokenizer.to_json())
        write_json(folder / "labels.json", self.labels)
        if self.spelling is not None:
            write_json(folder / "characters.json", self.spelling.to_json())

    @classmethod
    def load(cls, config: Config, folder: Path) -> Tag:
        spelling = None
        if config.model.characters != "none":
            found = read_tokenizer(folder, "characters.json")
            if not isinstance(found, CharTokenizer):
                raise RunError(
                    "not a tokenizer of characters",
                    where=folder / "characters.json",
                    got=found.kind,
                    remedy=AGAIN,
                )
            spelling = found
        try:
            return cls(config, read_tokenizer(folder), read_labels(folder), spelling)
        except WrongTag as error:
            raise RunError(
                f"tag {error.tag!r} {error}", where=folder / "labels.json", remedy=AGAIN
            ) from None
