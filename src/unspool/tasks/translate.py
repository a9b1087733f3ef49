"""translate: a text in, another text out (many-to-many).

source (B, S) -> encoder -> memory (B, S, D) -> decoder, token by token -> logits (B, T, V).
In training the decoder reads the target that is to be written, one step behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, DataConfig
from unspool.data.batching import BucketBatches, PairBatch, collate_pairs
from unspool.data.corpus import Corpus, PairPart
from unspool.data.encode import Progress
from unspool.data.paired import encode_pairs
from unspool.data.readers import Source
from unspool.errors import ConfigError
from unspool.files import write_json
from unspool.nn.decoders import TransformerSeqDecoder
from unspool.nn.masks import keep_mask
from unspool.nn.recurrent_decoder import RecurrentDecoder
from unspool.nn.seq2seq import Seq2Seq
from unspool.nn.source import RecurrentEncoder, TransformerSeqEncoder
from unspool.tasks.bleu import corpus_bleu
from unspool.tasks.decoding import GREEDY, Decoding
from unspool.tasks.encoder import (
    build_encoder,
    check_learned_positions,
    checked_options,
    transformer_options,
)
from unspool.tasks.task import Step, Task, read_tokenizer, walk
from unspool.tasks.translate_report import TranslateReport
from unspool.tasks.translation import Translation, Translator
from unspool.text.tokenizers import Tokenizer

VALIDATED = 1000  # sentences translated in a validation: enough to tell weights apart, in seconds
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
    BLEU says nothing, as of single words, exact matches decide, and then the loss."""

    name = "translate"
    metric = "bleu"
    default_model = "transformer"
    higher_is_better = True
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

    def __init__(self, config: Config, tokenizer: Tokenizer, target_tokenizer: Tokenizer) -> None:
        self.config = config
        self.tokenizer, self.target_tokenizer = tokenizer, target_tokenizer

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
        if model.network == "transformer":
            if model.reverse_source:
                raise ConfigError(
                    "model.reverse_source is for a recurrent encoder",
                    got=config.model_name,
                    remedy="leave it out",
                )
            return
        if model.embedding == 0:
            raise ConfigError(
                "a decoder needs vectors of the tokens it has written",
                got="model.embedding=0",
                remedy="set model.embedding above 0",
            )
        if model.input_feeding and model.attention in ("none", "additive"):
            raise ConfigError(
                "model.input_feeding is for multiplicative attention",
                got=f"model.attention={model.attention}",
                remedy="set attention to dot, scaled, general or concat",
            )
        if model.attention in ("dot", "scaled") and model.bidirectional:
            raise ConfigError(
                f"model.attention={model.attention} compares vectors of one size, and both"
                " directions of an encoder make vectors twice as large as the decoder's",
                remedy="set attention=general, or bidirectional=false",
            )

    @classmethod
    def prepare(cls, config: Config, corpus: Corpus) -> Translate:
        return cls(config, corpus.tokenizer, corpus.target_tokenizer or corpus.tokenizer)

    def build(self) -> Seq2Seq:
        model = self.config.model
        read, written = len(self.tokenizer), len(self.target_tokenizer)
        shared = model.tied and self.joint
        if model.network == "transformer":
            longest = self.config.data.max_length
            # A place for </s> of the source, or <s> of the target.
            options = transformer_options(model, length=longest + 1 if longest else None)
            encoder = TransformerSeqEncoder(read, options)
            decoder = TransformerSeqDecoder(written, options, tied=model.tied)
            return Seq2Seq(encoder, decoder, shared=shared)
        reader = RecurrentEncoder(build_encoder(model, read), reverse_source=model.reverse_source)
        writer = RecurrentDecoder(
            written,
            memory=reader.size,
            embedding=model.embedding,
            cell=model.cell,
            hidden=model.hidden,
            layers=model.layers,
            attention=model.attention,
            input_feeding=model.input_feeding,
            tied=model.tied,
            dropout=model.dropout,
            options=checked_options(model),
        )
        return Seq2Seq(reader, writer, shared=shared)

    def example_inputs(self) -> tuple[Tensor, ...]:
        ids = torch.ones(1, 3, dtype=torch.int64)
        return ids, torch.tensor([3]), ids[:, :2]

    def encode(
        self, source: Source, data: DataConfig, progress: Progress | None
    ) -> tuple[PairPart, list[str]]:
        return encode_pairs(source, (self.tokenizer, self.target_tokenizer), data, progress)

    def batches(self, part: PairPart, *, training: bool) -> BucketBatches:
        train = self.config.train
        return BucketBatches(
            part,
            size=train.batch if training else max(train.batch, 64),
            tokens=train.batch_tokens,
            seed=train.seed,
            shuffle=training,
            collate=collate_pairs,
        )

    def loss(self, model: nn.Module, batch: PairBatch, carry: Any) -> Step:
        assert isinstance(model, Seq2Seq)
        smoothing = self.config.train.label_smoothing
        vectors, targets = real_targets(model, batch)
        loss = model.decoder.output.loss(vectors, targets, label_smoothing=smoothing)
        return Step(loss, len(targets), len(targets) + int(batch.source_lengths.sum()), None)

    def where(self, part: PairPart, batch: PairBatch) -> str:
        return "data lines " + ", ".join(map(str, sorted(part.lines[batch.rows].tolist())[:8]))

    def validate(self, model: nn.Module, part: PairPart) -> dict[str, float]:
        assert isinstance(model, Seq2Seq)
        nats, tokens = self._nats(model, part)
        rows = np.unique(np.linspace(0, len(part) - 1, VALIDATED).astype(np.int64))
        found, references = self._translate(model, part, rows, GREEDY)
        texts = [translation.translation for translation in found]
        exact = np.mean([text == wanted for text, wanted in zip(texts, references)])
        return {
            "bleu": corpus_bleu(texts, references).value,
            "exact": float(exact),
            "loss": nats / tokens,
        }

    def rank(self, metrics: dict[str, float]) -> tuple[float, ...]:
        return metrics["bleu"], metrics["exact"], -metrics["loss"]

    def evaluate(
        self, model: nn.Module, part: PairPart, decoding: Decoding | None = None
    ) -> TranslateReport:
        assert isinstance(model, Seq2Seq)
        found, references = self._translate(
            model, part, np.arange(len(part)), decoding or Decoding()
        )
        return TranslateReport(found, references, *self._nats(model, part))

    def translator(self, model: nn.Module) -> Translator:
        assert isinstance(model, Seq2Seq)
        settings, most = self.config.model, self.config.data.max_length
        transformer = settings.network == "transformer"
        return Translator(
            model,
            (self.tokenizer, self.target_tokenizer),
            aligns=transformer or settings.attention != "none",
            max_length=most,
            most=most if transformer and settings.positions == "learned" else None,
        )

    def _translate(
        self, model: Seq2Seq, part: PairPart, rows: np.ndarray, decoding: Decoding
    ) -> tuple[list[Translation], list[str]]:
        """The translations of some rows, and what stands in the data for them."""
        pairs = part.texts(rows)
        found = self.translator(model)([source for source, _ in pairs], decoding)
        return found, [target for _, target in pairs]

    def _nats(self, model: Seq2Seq, part: PairPart) -> tuple[float, int]:
        """The total loss of the targets of a part, and how many tokens they have."""
        nats, tokens = 0.0, 0
        with torch.inference_mode():
            for batch in walk(self.batches(part, training=False)):
                vectors, targets = real_targets(model, batch)
                nats += float(model.decoder.output.nats(vectors, targets).double().sum())
                tokens += len(targets)
        return nats, tokens

    def save(self, folder: Path) -> None:
        write_json(folder / "tokenizer.json", self.tokenizer.to_json())
        if not self.joint:
            write_json(folder / TARGET_TOKENIZER, self.target_tokenizer.to_json())

    @classmethod
    def load(cls, config: Config, folder: Path) -> Translate:
        source = read_tokenizer(folder)
        joint = not (folder / TARGET_TOKENIZER).exists()
        return cls(config, source, source if joint else read_tokenizer(folder, TARGET_TOKENIZER))


def real_targets(model: Seq2Seq, batch: PairBatch) -> tuple[Tensor, Tensor]:
    """What the output layer sees before each target token, (N, size), and the tokens (N,): padding
    is left out."""
    vectors = model.vectors(
        batch.source, batch.source_lengths, batch.inputs, target_lengths=batch.target_lengths
    )
    keep = keep_mask(batch.target_lengths, batch.targets.shape[1])
    return vectors[keep], batch.targets[keep]
