"""caption: what is seen in, a text that describes it out (one-to-many).

steps (B, S, C) -> input layer, perhaps a network -> memory (B, S, D) -> decoder, token by token
-> logits (B, T, V). What is read, and what its steps are, is the affair of its kind
(`tasks/inputs`): the positions of a grid over an image, the frames of a video.

An item has any number of captions. It is read once, and all of them are learnt from that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, DataConfig, declare
from unspool.data.corpus import Fields
from unspool.data.fields.field import Field
from unspool.data.fields.texts import TextsBatch, TextsField
from unspool.data.part import Batch, Part
from unspool.data.plan import Plan
from unspool.errors import ConfigError, Option
from unspool.nn.decoders import Targets
from unspool.nn.encoder import Encoded
from unspool.nn.inputs import WordDropout
from unspool.nn.masks import keep_mask
from unspool.nn.models.seq2seq import Seq2Seq
from unspool.nn.taps import record
from unspool.search.batched import DecoderSearch
from unspool.search.decoding import GREEDY, Decoding
from unspool.tasks.caption.answer import Caption, Captioner, CaptionView
from unspool.tasks.caption.report import CaptionReport, CaptionScores
from unspool.tasks.decoder import build_decoder, check_decoder
from unspool.tasks.encoder import build_encoder
from unspool.tasks.inputs import input_kind, read_field, reads_text
from unspool.tasks.inputs.kind import named_recordings
from unspool.tasks.metrics import Metric
from unspool.tasks.roles import Lacking, Roles
from unspool.tasks.task import RowInfo, Step, Task, walk
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import BEGIN_ID, END_ID, PAD_ID

VALIDATED = 500  # items that are described in a validation: enough to rank weights, in seconds
BATCH_STEPS = 50_000  # steps of items that are predicted together

RECURRENT = {"model.network": "recurrent", "model.cell": "lstm", "model.bidirectional": False}
MODELS: dict[str, dict[str, Any]] = {
    "xu": {**RECURRENT, "model.attention": "additive"},
    "vinyals": {**RECURRENT, "model.attention": "none"},
    "transformer": {
        "model.network": "transformer",
        "model.layers": 3,
        "model.hidden": 128,
        "model.heads": 4,
        "model.feed_forward": 256,
        "model.activation": "relu",
        "train.beta2": 0.98,
        "train.warmup": 0.1,
    },
}


class CaptionTask(Task):
    """The best weights are those with the highest CIDEr-D of greedy captions; where that is the
    same, exact matches decide, and then the loss."""

    name = "caption"
    roles = Roles(
        target="caption",
        default_input="image",
        lacking=Lacking(
            "holds nothing that can be described, such as images",
            "name a folder of images with a table of columns file and caption, or that table",
        ),
    )
    metric = Metric("cider", ties=("exact",))
    settings = declare(
        data="text missing",
        tokenizer="kind lowercase split vocab min_count normalize",
        model="attention input_feeding context_gate doubly_stochastic encoder tied embedding_std"
        " word_dropout",
        train="label_smoothing",
    )
    default_model = "xu"
    answer_view = CaptionView
    answer = Caption
    options = Decoding
    rows = RowInfo("items")
    usage = "unspool predict {run} FILE"
    defaults: ClassVar[Mapping[str, Any]] = {
        "tokenizer.lowercase": True,
        "model.hidden": 256,
        "model.embedding": 128,
        "train.batch": 32,
        "train.batch_tokens": 65_536,
        "train.epochs": 40,
        "train.patience": 8,
        "train.lr": 1e-3,
    }

    def __init__(self, config: Config, fields: Fields) -> None:
        super().__init__(config, fields)
        self.usage = type(self).usage

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        read = read_field(config)
        return {read.name: read, "caption": TextsField("caption", config.tokenizer)}

    @property
    def captions(self) -> TextsField:
        field = self.fields["caption"]
        assert isinstance(field, TextsField)
        return field

    @property
    def target_tokenizer(self) -> Tokenizer:
        return self.captions.fitted

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return MODELS

    @classmethod
    def recommended_settings(
        cls, settings: Mapping[str, Any], plan: Plan | None = None
    ) -> dict[str, Any]:
        name = settings.get("data.input", settings.get("input", "auto"))
        kind = input_kind(DataConfig(input=name))
        defaults = {} if kind.name == "text" else kind.described(settings, plan)
        kept = ("train.batch_tokens",)  # how much a step takes is the affair of its kind
        return {
            key: value for key, value in defaults.items() if key not in cls.defaults or key in kept
        }

    @classmethod
    def check_config(cls, config: Config) -> None:
        input_kind(config.data).check(config)
        model = config.model
        if reads_text(config) and config.data.input == "text":
            raise ConfigError(
                "caption describes images and what else has steps",
                got="input=text",
                remedy=("use ", Option(task="translate"), " for texts"),
            )
        if model.network == "transformer":
            if model.encoder == "none":
                raise ConfigError(
                    "model.encoder=none is for recurrent decoders",
                    got=config.model_name,
                    remedy=("leave it out, or choose ", Option(model="xu")),
                )
            if model.positions == "learned":
                raise ConfigError(
                    "the decoder of a caption needs positions for texts of any length",
                    got="positions=learned",
                    remedy="set positions=sinusoidal or rotary",
                )
            return
        if model.embedding == 0:
            raise ConfigError(
                "a decoder needs vectors of the tokens it has written",
                got="model.embedding=0",
                remedy="set model.embedding above 0",
            )
        if model.doubly_stochastic and model.attention == "none":
            raise ConfigError(
                "model.doubly_stochastic is about attention, and there is none",
                got=model.doubly_stochastic,
                remedy=("leave it out, or choose ", Option(model="xu")),
            )
        check_decoder(config)

    def build(self) -> Seq2Seq:
        model = self.config.model
        encoder = build_encoder(model, self.input_field)
        tokens = len(self.target_tokenizer)
        decoder = build_decoder(model, tokens, memory=encoder.size, embedding=model.embedding)
        return Seq2Seq(encoder, decoder)

    def example_inputs(self) -> tuple[Tensor, ...]:
        return *self.input_field.example(3), torch.tensor([[BEGIN_ID]])

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        assert isinstance(model, Seq2Seq)
        x, captions = batch[self.input], batch["caption"]
        smoothing, weight = self.config.train.label_smoothing, self.config.model.doubly_stochastic
        encoded = model.encoder(*x.inputs)
        targets, repeated = self.targets(model, encoded, captions)
        count = int((captions.lengths - 1).sum())
        if weight:
            with record(model.decoder, "alignment") as trace:
                loss = model.decoder.loss(targets, repeated, label_smoothing=smoothing)
            attended = unattended(trace["alignment"], captions.lengths - 1, encoded, captions.rows)
            loss = loss + weight * attended.sum() / count
        else:
            loss = model.decoder.loss(targets, repeated, label_smoothing=smoothing)
        return Step(loss, count, count + int(x.lengths.sum()), None)

    def targets(
        self, model: Seq2Seq, encoded: Encoded, captions: TextsBatch
    ) -> tuple[Targets, Encoded]:
        """All captions, and for each of them what was read. In training the decoder reads <unk> for
        some of their words, so that a word follows less from those before it (Bowman et al. 2016).
        """
        ids, share, read = captions.ids, self.config.model.word_dropout, None
        if share and model.training:
            read = torch.cat([ids[:, :1], WordDropout(share)(ids[:, 1:-1]), ids[:, -1:]], dim=1)
        return Targets(ids, captions.lengths, read=read), encoded.select(captions.rows)

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        assert isinstance(model, Seq2Seq)
        total, tokens = self._summed_loss(model, part)
        rows = np.unique(np.linspace(0, len(part) - 1, VALIDATED).astype(np.int64))
        some = part.select(rows)
        captions = self.captioner(model)(some, [""] * len(some), GREEDY)
        scores = CaptionScores([caption.caption for caption in captions], self.truth(some))
        return {
            "cider": scores.figures["cider"],
            "bleu4": scores.figures["bleu4"],
            "exact": float(scores.exact.mean()),
            "loss": total / max(1, tokens),
        }

    def evaluate(
        self, model: nn.Module, part: Part, options: Decoding | None = None
    ) -> CaptionReport:
        assert isinstance(model, Seq2Seq)
        names = self.names(part)
        captions = self.captioner(model)(part, names, options or Decoding())
        texts = [caption.caption for caption in captions]
        return CaptionReport(names, texts, self.truth(part), *self._summed_loss(model, part))

    def truth(self, part: Part) -> list[list[str]]:
        """The captions as they stand in the file."""
        return [texts for (texts,) in part.raw(np.arange(len(part)), ("caption",))]

    def names(self, part: Part) -> list[str]:
        rows = part.raw(np.arange(len(part)), (self.input,))
        return [self.input_field.form.shown(texts) for (texts,) in rows]

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: Decoding | None = None
    ) -> Iterator[Caption]:
        captioner = self.captioner(model)
        for names, recordings in named_recordings(self.input_field, items, most=BATCH_STEPS):
            part = Part.of(self.fields, **{self.input: recordings})
            yield from captioner(part, names, options or Decoding())

    def captioner(self, model: nn.Module) -> Captioner:
        assert isinstance(model, Seq2Seq)
        settings = self.config.model
        aligns = settings.network == "transformer" or settings.attention != "none"
        return Captioner(model, self.input, self.captions, aligns=aligns)

    def export_start(self, model: nn.Module, inputs: tuple[Any, ...]) -> Any:
        assert isinstance(model, Seq2Seq)
        return model.decoder.export_start(model.encoder(*inputs))

    def export_steps(self, model: nn.Module) -> Any:
        assert isinstance(model, Seq2Seq)
        return model.decoder

    def export_answer(self) -> dict[str, Any]:
        most = 2 * self.captions.longest
        return {
            "kind": "text",
            "tokenizer": self.target_tokenizer.to_json(),
            "begin": BEGIN_ID,
            "end": END_ID,
            "forbidden": [PAD_ID, BEGIN_ID],
            "beam": Decoding.beam,
            "length_penalty": Decoding.length_penalty,
            "frame": 0,
            "min_length": 0,
            "grows": False,
            "short": most,
            "most": most,
        }

    def export_text(self, model: nn.Module, item: Any) -> str:
        assert isinstance(model, Seq2Seq)
        field: Any = self.input_field
        with torch.inference_mode():
            encoded = model.encoder(*field.portable_batch([item]).inputs)
            ((best, *_),) = DecoderSearch(model.decoder)(
                encoded,
                Decoding(keep_unknown=True),
                [2 * self.captions.longest],
                forbidden=(PAD_ID, BEGIN_ID),
                aligned=False,
                generator=torch.Generator(),
            )
        return self.target_tokenizer.decode(best.tokens)

    @property
    def written_vocabulary(self) -> int:
        return len(self.target_tokenizer)

    reads_source = True

    def _summed_loss(self, model: Seq2Seq, part: Part) -> tuple[float, int]:
        """The sum of the token losses of a part, and how many tokens its captions have."""
        total, tokens = 0.0, 0
        with torch.inference_mode():
            for batch in walk(self.batches(part, training=False), model):
                encoded = model.encoder(*batch[self.input].inputs)
                targets = self.targets(model, encoded, batch["caption"])
                losses = model.decoder.token_losses(*targets)
                total += float(losses.double().sum())
                tokens += len(losses)
        return total, tokens


def unattended(alignment: Tensor, lengths: Tensor, encoded: Encoded, rows: Tensor) -> Tensor:
    """(M,) Σ_i (1 - Σ_t α_ti)², doubly stochastic attention (Xu et al. 2015, section 4.2.1): small
    where the words of a caption together attend to every step.

    alignment  (M, T, S), of which `lengths` (M,) words are real
    rows       (M,) of `encoded`, whose steps are attended to
    """
    words = keep_mask(lengths, alignment.shape[1], device=alignment.device)
    total = (alignment * words[..., None]).sum(1)  # (M, S)
    keep = encoded.keep
    missing = (1 - total).square()
    return (missing if keep is None else missing * keep[rows.to(keep.device)]).sum(1)
