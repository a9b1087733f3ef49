"""translate: a text in, another text out (many-to-many).

source (B, S) -> encoder -> memory (B, S, D) -> decoder, token by token -> logits (B, T, V).
In training the decoder reads the target that is to be written, one step behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import nn

from unspool.config import Config, declare
from unspool.data.corpus import Fields
from unspool.data.fields.bytepairs import TokenStretches
from unspool.data.fields.field import Field
from unspool.data.fields.text import TextField
from unspool.data.part import Batch, Part
from unspool.data.store.columns import Progress, Stored
from unspool.errors import ConfigError, Setting
from unspool.io.files import in_run
from unspool.nn.encoder import Copies
from unspool.nn.models.seq2seq import Seq2Seq
from unspool.search.decoding import GREEDY, Decoding
from unspool.tasks.decoder import build_decoder, check_copying, check_decoder
from unspool.tasks.encoder import build_encoder, check_learned_positions
from unspool.tasks.metrics import Metric
from unspool.tasks.roles import Roles
from unspool.tasks.size import longest_document
from unspool.tasks.task import Report, RowInfo, Step, Task, chunks, walk
from unspool.tasks.text_metrics import corpus_bleu
from unspool.tasks.translate.answer import (
    TranslateReport,
    Translation,
    Translator,
    encode,
    is_joint,
    may_copy,
    sides,
    target_tensors,
)
from unspool.tasks.translate.plan import plan_translation
from unspool.tasks.translate.reading import SourceView, TranslationView
from unspool.text.tokenizers import SubwordTokenizer, Tokenizer
from unspool.text.vocab import BEGIN_ID, END_ID, PAD_ID, SENTENCE_SPECIALS, UNK_ID

VALIDATED = 1000  # sentences translated in a validation: enough to rank weights, in seconds
CHUNK = 1024  # texts sorted by length together, and translated
TARGET_TOKENIZER = "target_tokenizer.json"


ATTENTIVE = {"model.network": "recurrent", "model.bidirectional": True}
MODELS: dict[str, dict[str, Any]] = {
    "seq2seq": {
        "model.network": "recurrent",
        "model.bidirectional": False,
        "model.cell": "lstm",
        "model.attention": "none",
        "model.input_feeding": False,
    },
    "bahdanau": {
        **ATTENTIVE,
        "model.cell": "gru",
        "model.attention": "additive",
        "model.input_feeding": False,
    },
    "luong": {
        **ATTENTIVE,
        "model.cell": "lstm",
        "model.attention": "general",
        "model.input_feeding": True,
    },
    # Small, as parallel data that fit on a laptop are few: after Wu et al. (2021), who found these
    # sizes best for 29,000 pairs.
    "transformer": {
        "model.network": "transformer",
        "model.layers": 4,
        "model.hidden": 128,
        "model.heads": 4,
        "model.feed_forward": 256,
        "model.activation": "relu",
        "train.lr": 3e-3,
        "train.beta2": 0.98,
        "train.warmup": 0.1,
    },
}


class Translate(Task):
    """The best weights are those with the highest BLEU of greedy translations: what is wanted is
    good text, and with label smoothing the loss rises again while the text still gets better. Where
    BLEU is not informative, as for single words, exact matches decide, and then the loss."""

    name = "translate"
    roles = Roles(plan=plan_translation)
    metric = Metric("bleu", ties=("exact",))
    default_model = "transformer"
    input_view = SourceView
    answer_view = TranslationView
    answer = Translation
    options = Decoding
    defaults: ClassVar[Mapping[str, Any]] = {
        "data.max_length": 256,
        "tokenizer.vocab": 8000,
        "model.hidden": 256,
        "model.embedding": 256,
        "model.tied": True,
        "train.batch": 128,
        "train.batch_tokens": 8192,
        "train.epochs": 20,
        "train.label_smoothing": 0.1,
        "train.patience": 5,
    }

    settings = declare(
        data="source target",
        tokenizer="joint",
        model="attention input_feeding context_gate reverse_source copy coverage tied",
        train="label_smoothing",
    )
    unread: ClassVar = {"any": declare(data="text", embedding="contextual tuned")}
    translates: ClassVar[type[Translator]] = Translator
    too_long: ClassVar[Literal["cut", "leave out"]] = "leave out"  # pairs that are too long
    rows = RowInfo("pairs", most_held_out=5000)  # more cost time and change little

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        def side(name: str, **options: Any) -> TextField:
            return TextField(
                name,
                config.tokenizer,
                auto="bpe",
                specials=SENTENCE_SPECIALS,
                max_length=longest_document(config),
                too_long=cls.too_long,
                **options,
            )

        # A source ends with </s>, which gives attention a step to rest on; a target is written
        # from <s> on.
        source = side("source", marks=(False, True))
        target = side("target", marks=(True, True), is_target=True, file=TARGET_TOKENIZER)
        if config.model.copying:
            source.copied_into = target.copied_into = target
        return {"source": source, "target": target}

    @classmethod
    def fit(
        cls, fields: Fields, stored: Stored, rows: np.ndarray, where: str, progress: Progress | None
    ) -> list[str]:
        """One vocabulary for both sides, or one for each. A source that is read by a tokenizer of
        the model it starts from keeps that."""
        source, target = sides(fields)
        stretches = [
            TokenStretches(stored.columns[side.name], stored.columns[side.name].spans()[rows])
            for side in (source, target)
        ]
        if source.copied_into is not None and not may_copy(source):
            raise ConfigError(
                "model.copy needs words or characters, or one vocabulary of byte pairs for both"
                " sides: byte pairs of two vocabularies have nothing in common",
                remedy="set joint=true or kind=word, and start from no other model",
            )
        if source.tokenizer is not None:
            if source.settings.joint:
                raise ConfigError(
                    "a model that starts from another reads with the vocabulary of that one, and"
                    " writes with one of its own",
                    got="tokenizer.joint=true",
                    remedy="leave it out",
                )
            return [f"target {note}" for note in target.fit_spans(stretches[1:], progress)]
        if is_joint(source.settings):
            notes = source.fit_spans(stretches, progress)
            target.tokenizer = source.tokenizer
            return [f"{note}, both sides together" for note in notes]
        return [
            f"{side.name} {note}"
            for side, stretch in zip((source, target), stretches)
            for note in side.fit_spans([stretch], progress)
        ]

    @classmethod
    def invented(cls, config: Config, *, classes: int) -> Task:
        task = super().invented(config, classes=classes)
        if is_joint(config.tokenizer):
            source, target = sides(task.fields)
            target.tokenizer = source.tokenizer
        return task

    @property
    def target_tokenizer(self) -> Tokenizer:
        return sides(self.fields)[1].fitted

    @property
    def joint(self) -> bool:
        """Whether both sides have one vocabulary."""
        return self.tokenizer is self.target_tokenizer

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return MODELS

    @classmethod
    def check_config(cls, config: Config) -> None:
        check_learned_positions(config)
        model = config.model
        check_copying(config)
        if model.network == "transformer":
            return
        if model.embedding == 0:
            raise ConfigError(
                "a decoder needs vectors of the tokens it has written",
                got="model.embedding=0",
                remedy="set model.embedding above 0",
            )
        check_decoder(config)

    def build(self) -> Seq2Seq:
        model, longest = self.config.model, self.config.data.max_length
        written, shared = len(self.target_tokenizer), model.tied and self.joint
        encoder = build_encoder(
            model, self.input_field, length=longest, reverse=model.reverse_source
        )
        decoder = build_decoder(
            model,
            written,
            memory=encoder.size,
            embedding=model.embedding,
            length=longest,
            copying=model.copying,
        )
        return Seq2Seq(encoder, decoder, shared=shared)

    def example_inputs(self) -> tuple[Any, ...]:
        ids = torch.ones(1, 3, dtype=torch.int64)
        copies = Copies(ids, len(self.target_tokenizer)) if self.config.model.copying else None
        return ids, torch.tensor([3]), ids[:, :2], copies

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        assert isinstance(model, Seq2Seq)
        source, target = batch["source"], batch["target"]
        smoothing = self.config.train.label_smoothing
        loss = model.decoder.loss(
            target_tensors(target), encode(model, source), label_smoothing=smoothing
        )
        targets = int((target.lengths - 1).sum())
        return Step(loss, targets, targets + int(source.lengths.sum()), None)

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        assert isinstance(model, Seq2Seq)
        total, tokens = self._summed_loss(model, part)
        rows = np.unique(np.linspace(0, len(part) - 1, VALIDATED).astype(np.int64))
        translations, references = self._translate(model, part, rows, GREEDY)
        texts = [translation.translation for translation in translations]
        exact = np.mean([text == wanted for text, wanted in zip(texts, references)])
        return {**self.judge(texts, references), "exact": float(exact), "loss": total / tokens}

    def judge(self, texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
        """The figures of some texts, with `metric` among them."""
        return {"bleu": corpus_bleu(texts, [[reference] for reference in references]).value}

    def evaluate(self, model: nn.Module, part: Part, options: Decoding | None = None) -> Report:
        assert isinstance(model, Seq2Seq)
        rows = np.arange(len(part))
        translations, references = self._translate(model, part, rows, options or Decoding())
        return TranslateReport(translations, references, *self._summed_loss(model, part))

    def predict(
        self, model: nn.Module, items: Iterable[str], options: Decoding | None = None
    ) -> Iterator[Translation]:
        translator = self.translator(model)
        for texts in chunks(items, CHUNK):
            yield from translator(texts, options or Decoding())

    def translator(self, model: nn.Module) -> Translator:
        assert isinstance(model, Seq2Seq)
        settings = self.config.model
        aligns = settings.network == "transformer" or settings.attention != "none"
        return self.translates(model, *sides(self.fields), aligns=aligns, most=self.most_written)

    @property
    def most_written(self) -> int | None:
        """Tokens that the model can write at all; None: any number."""
        model = self.config.model
        learned = model.network == "transformer" and model.positions == "learned"
        return self.config.data.max_length if learned else None

    def _translate(
        self, model: Seq2Seq, part: Part, rows: np.ndarray, decoding: Decoding
    ) -> tuple[list[Translation], list[str]]:
        """The translations of some rows, and what stands in the data for them."""
        pairs = part.raw(rows, ("source", "target"))
        translations = self.translator(model)([source for source, _ in pairs], decoding)
        return translations, [target for _, target in pairs]

    def export_start(self, model: nn.Module, inputs: tuple[Any, ...]) -> Any:
        assert isinstance(model, Seq2Seq)
        if self.config.model.copying:
            raise ConfigError(
                "a decoder that copies words cannot be exported",
                got="model.copy=true",
                remedy=("train with ", Setting(copy=False)),
            )
        return model.decoder.export_start(model.encode(*inputs))

    def export_steps(self, model: nn.Module) -> Any:
        assert isinstance(model, Seq2Seq)
        return model.decoder

    def export_answer(self) -> dict[str, Any]:
        unknown = isinstance(self.target_tokenizer, SubwordTokenizer)
        return {
            "kind": "text",
            "tokenizer": self.target_tokenizer.to_json(),
            "begin": BEGIN_ID,
            "end": END_ID,
            "forbidden": [PAD_ID, BEGIN_ID, *([UNK_ID] if unknown else [])],
            "beam": Decoding.beam,
            "length_penalty": Decoding.length_penalty,
            "frame": self.input_field.frame.size,
            "most": self.most_written,
            **self.export_limits(),
        }

    def export_text(self, model: nn.Module, item: Any) -> str:
        (answer,) = self.predict(model, [item], Decoding(keep_unknown=True))
        return answer.translation

    @property
    def written_vocabulary(self) -> int:
        return len(self.target_tokenizer)

    reads_source = True

    def export_limits(self) -> dict[str, Any]:
        return {"min_length": 0, "grows": True}

    def _summed_loss(self, model: Seq2Seq, part: Part) -> tuple[float, int]:
        """The sum of the token losses of a part, and how many tokens its targets have."""
        total, tokens = 0.0, 0
        with torch.inference_mode():
            for batch in walk(self.batches(part, training=False), model):
                losses = model.decoder.token_losses(
                    target_tensors(batch["target"]), encode(model, batch["source"])
                )
                total += float(losses.double().sum())
                tokens += len(losses)
        return total, tokens

    def save(self, folder: Path) -> None:
        source, target = sides(self.fields)
        source.save(folder)
        if not self.joint:
            target.save(folder)

    @classmethod
    def load(cls, config: Config, folder: Path) -> Translate:
        fields = cls.make_fields(config)
        source, target = sides(fields)
        source.load(folder)
        if in_run(folder / TARGET_TOKENIZER):
            target.load(folder)
        else:
            target.tokenizer = source.tokenizer
        return cls(config, fields)
