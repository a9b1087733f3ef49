"""transcribe: vectors over time in, such as the frames of a recording; a shorter text out.

frames (B, T, C) -> `patch` as one -> encoder (B, T', D·H)
-> log p of tokens and a blank (B, T', V) -> CTC (`nn/ctc.py`): no step needs to be labelled
-> or an attention decoder, token by token; or both (Watanabe et al. 2017)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.config import Config, declare
from unspool.data.batching import BucketBatches
from unspool.data.corpus import Corpus, Fields
from unspool.data.fields.field import Field
from unspool.data.fields.text import TextField
from unspool.data.fields.tokens import TokenBatch
from unspool.data.fields.vectors import VectorField
from unspool.data.part import Batch, Part
from unspool.data.plan import Plan
from unspool.errors import ConfigError, Option, Setting
from unspool.nn.ctc import BLANK, ctc_losses
from unspool.nn.encoder import Encoded
from unspool.nn.inputs import SpecAugment
from unspool.nn.masks import keep_mask
from unspool.nn.models.transcriber import Transcriber
from unspool.nn.reduction import Reduction, StackedFrames, StridedConvolutions
from unspool.tasks.abilities import WholeStart
from unspool.tasks.decoder import build_decoder, check_decoder
from unspool.tasks.encoder import build_encoder, check_learned_positions, masks_of, recurrent_models
from unspool.tasks.inputs import input_kind, read_field, reads_text, recommended_settings
from unspool.tasks.inputs.kind import named_recordings
from unspool.tasks.metrics import Metric
from unspool.tasks.reading import AnswerView
from unspool.tasks.roles import Lacking, Roles
from unspool.tasks.tag.task import CNN, TRANSFORMER
from unspool.tasks.task import RowInfo, Step, Task, row_batches, walk
from unspool.tasks.transcribe.answer import (
    GREEDY,
    Confidence,
    Transcribing,
    Transcript,
    TranscriptCandidate,
    TranscriptToken,
    calibration_error,
    chosen_decoder,
    fit_confidence,
)
from unspool.tasks.transcribe.attention import AttentionSearch, HybridSearch, attention_loss
from unspool.tasks.transcribe.corpus import ctc_targets, leave_out_long_texts, refuse_unknown
from unspool.tasks.transcribe.reading import CtcView, ReducedView, TranscriptView
from unspool.tasks.transcribe.report import TranscribeReport
from unspool.tasks.transcribe.search import BestTexts, CtcSearch, judged, special_tokens
from unspool.tasks.transcribe.stream import TranscribeStream
from unspool.tasks.transcribe.windows import ctc_log_p
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import BEGIN_ID, SENTENCE_SPECIALS, SPECIALS

BATCH_STEPS = 200_000  # frames of recordings that are predicted together


class Transcribe(Task):
    """The best weights are those with the lowest CER of greedy transcripts."""

    name = "transcribe"
    roles = Roles(
        target="text",
        default_input="audio",
        lacking=Lacking(
            "holds neither sound nor series nor images of lines, which transcribe reads",
            "name a folder of recordings, or a table with a column of their names",
        ),
    )
    metric = Metric("cer", higher_is_better=False)
    settings = declare(
        data="text missing",
        tokenizer="kind lowercase split vocab min_count normalize",
        model="attention input_feeding context_gate tied embedding_std word_dropout patch reduction"
        " objective ctc_weight",
        train="label_smoothing",
    )
    input_view = ReducedView
    answer_view: type[AnswerView] = CtcView
    default_model = "bilstm"
    answer = Transcript
    options = Transcribing
    rows = RowInfo("recordings")
    usage = "unspool predict {run} FILE"
    defaults: ClassVar[Mapping[str, Any]] = {
        "model.hidden": 128,
        "model.layers": 2,
        "model.patch": 3,
        "train.batch": 16,
        "train.epochs": 60,
        "train.patience": 15,
    }

    def __init__(self, config: Config, fields: Fields) -> None:
        super().__init__(config, fields)
        self.usage = type(self).usage
        self.confidence = Confidence()
        if config.model.objective == "attention":
            self.answer_view = TranscriptView

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        read = read_field(config)
        # A decoder writes from <s> on, up to </s>.
        decodes = config.model.objective != "ctc"
        text = TextField(
            "text",
            config.tokenizer,
            auto="char",
            is_target=True,
            specials=SENTENCE_SPECIALS if decodes else SPECIALS,
            marks=(decodes, decodes),
        )
        return {read.name: read, "text": text}

    @property
    def target_tokenizer(self) -> Tokenizer:
        field = self.fields["text"]
        assert isinstance(field, TextField)
        return field.fitted

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {**recurrent_models(), "cnn": CNN, "transformer": TRANSFORMER}

    @classmethod
    def recommended_settings(
        cls, settings: Mapping[str, Any], plan: Plan | None = None
    ) -> dict[str, Any]:
        name = settings.get("data.input", settings.get("input", "auto"))
        defaults = {} if name in ("auto", "text") else recommended_settings(settings, plan)
        kept = {key: value for key, value in defaults.items() if key not in cls.defaults}
        if name == "image":
            kept.pop("model.positions", None)  # of images of one size; lines have any width
            return {**kept, "model.patch": 1, "data.reading": "cnn_columns"}
        if name != "audio":
            return {**kept, "model.patch": 1}
        # Whole recordings, with their silence, are scaled by themselves: how loud they are, and
        # through which microphone, matters less.
        return {**kept, "data.scaling": "series"}

    @classmethod
    def check_config(cls, config: Config) -> None:
        input_kind(config.data).check(config)
        if reads_text(config) and config.data.input == "text":
            raise ConfigError(
                "transcribe reads vectors over time, such as sound",
                got="input=text",
                remedy=("use ", Option(task="translate"), " for texts"),
            )
        if config.data.max_length:
            raise ConfigError(
                "transcribe gives the text of a whole recording, so none can be cut",
                got=f"max_length={config.data.max_length}",
                remedy="leave it out; long recordings are read in windows",
            )
        if 0 < config.data.window < 8 * config.model.patch:
            raise ConfigError(
                f"data.window must be at least {8 * config.model.patch}, 8 x model.patch",
                got=config.data.window,
                remedy="set a larger window, or none",
            )
        if config.model.reduction == "convolution" and config.data.input == "image":
            raise ConfigError(
                "the steps of images are made by an input layer of their own",
                got="model.reduction=convolution",
                remedy="leave it out; data.reading=cnn_columns has convolutions",
            )
        check_learned_positions(config)
        if config.model.objective != "ctc":
            check_decoder(config)

    @classmethod
    def prepare(cls, config: Config, corpus: Corpus, fitted: Tokenizer | None) -> None:
        if fitted is not None:
            refuse_unknown(corpus.parts["train"], "text", fitted)
        if config.model.objective != "attention":
            read: Any = next(iter(corpus.fields.values()))
            leave_out_long_texts(corpus, stride=config.model.patch * read.source.stride)

    def whole_start(self) -> WholeStart:
        names = ("frame", "hop", "bands", "features", "coefficients", "scaling", "input")
        fixed = {f"data.{name}": getattr(self.config.data, name) for name in names}
        fixed |= self.input_field.source.fixed_settings()
        model_names = ("patch", "reduction", "objective", "attention", "input_feeding", "tied")
        fixed |= {f"model.{name}": getattr(self.config.model, name) for name in model_names}
        return WholeStart(self.target_tokenizer, fixed)

    def build(self) -> Transcriber:
        model, field, tokens = self.config.model, self.input_field, len(self.target_tokenizer)
        reduction: Reduction
        if model.reduction == "stack":
            reduction = StackedFrames(model.patch)
            encoder = build_encoder(model, field, patch=model.patch)
        else:
            masks = masks_of(model)
            augment = SpecAugment(field.size, masks) if masks.any else None
            reduction = StridedConvolutions(field.size, model.hidden, model.patch, augment=augment)
            encoder = build_encoder(model, field, channels=reduction.size)
        decoder = None
        if model.objective != "ctc":
            size = model.embedding or model.hidden
            decoder = build_decoder(model, tokens, memory=encoder.size, embedding=size)
        return Transcriber(
            reduction,
            encoder,
            tokens=0 if model.objective == "attention" else tokens,
            dropout=model.dropout,
            decoder=decoder,
        )

    def example_inputs(self) -> tuple[Tensor, ...]:
        field = self.input_field
        assert isinstance(field, VectorField)
        return *field.example(3 * self.config.model.patch), torch.tensor([[BEGIN_ID]])

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        assert isinstance(model, Transcriber)
        x = batch[self.input]
        encoded, steps = model.encode(*x.inputs), model.steps(x.lengths)
        smoothing = self.config.train.label_smoothing
        total, tokens = self.total_loss(model, encoded, steps, batch["text"], smoothing=smoothing)
        return Step(total / tokens, tokens, int(x.lengths.sum()), None)

    def total_loss(
        self,
        model: Transcriber,
        encoded: Encoded,
        steps: Tensor,
        text: TokenBatch,
        *,
        smoothing: float = 0.0,
    ) -> tuple[Tensor, int]:
        """λ Σ -ln p of CTC + (1 - λ) Σ -ln p of the decoder, λ = `ctc_weight` where there are both;
        and the tokens that it is the loss of, with the ends that a decoder writes."""
        weight = {"ctc": 1.0, "attention": 0.0}.get(self.config.model.objective)
        weight = self.config.model.ctc_weight if weight is None else weight
        total, tokens = encoded.outputs.new_zeros(()), max(1, int(text.lengths.sum()))
        if model.scores is not None:
            losses = ctc_losses(model.log_p(encoded), steps, *ctc_targets(self.fields, text))
            total = total + weight * losses.sum()
        if model.decoder is not None:
            loss, tokens = attention_loss(
                model.decoder, encoded, text.ids, text.lengths, smoothing=smoothing
            )
            total = total + (1 - weight) * loss * tokens
        return total, tokens

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self.evaluate(model, part, GREEDY).metrics

    def evaluate(
        self, model: nn.Module, part: Part, options: Transcribing | None = None
    ) -> TranscribeReport:
        options = options or Transcribing()
        results, loss = self.transcribed(model, part, options)
        tokenizer = self.target_tokenizer
        truth = self.truth(part)
        texts = [tokenizer.decode(result.texts[0].ids) for result in results]
        p, right = judged(results, truth, tokenizer)
        return TranscribeReport(
            [Path(part.where(row)).name for row in range(len(part))],
            texts,
            truth,
            loss=loss,
            confidence=self.confidence(p),
            right=right,
            calibrated=self.confidence.tokens > 0,
            search=options.described(chosen_decoder(self.config.model.objective, options)),
        )

    def truth(self, part: Part) -> list[str]:
        """The texts as they stand in the file, normalised as those that the model learnt."""
        normal = self.target_tokenizer.normalizer
        rows = part.raw(np.arange(len(part)), ("text",))
        return [normal(text) for (text,) in rows]

    def calibrate(self, model: nn.Module, part: Part | None) -> list[str]:
        if part is None or not len(part):
            return ["confidences are the network's own: nothing was held out to calibrate them on"]
        results, _ = self.transcribed(model, part, Transcribing())
        p, right = judged(results, self.truth(part), self.target_tokenizer)
        if not len(p):
            return ["confidences are the network's own: no token was written to calibrate them on"]
        self.confidence = fit_confidence(p, right)
        before, after = (calibration_error(x, right) for x in (p, self.confidence(p)))
        return [
            f"confidence calibrated on {len(p):,} tokens of the validation part,"
            f" {int((~right).sum()):,} of them wrong: ECE {before:.4f} -> {after:.4f}"
        ]

    def transcribed(
        self, model: nn.Module, part: Part, options: Transcribing
    ) -> tuple[list[BestTexts], float]:
        """Results for each row, and the loss a token where the texts are known: that of the
        objective, or of CTC alone where CTC finds the texts of a model that has both."""
        assert isinstance(model, Transcriber)
        with torch.inference_mode():
            if chosen_decoder(self.config.model.objective, options) != "ctc":
                return self._by_attention(model, part, options)
            return self._by_ctc(model, part, options)

    def _by_ctc(
        self, model: Transcriber, part: Part, options: Transcribing
    ) -> tuple[list[BestTexts], float]:
        results: list[Any] = [None] * len(part)
        summed_loss, tokens = 0.0, 0
        search = CtcSearch(self.target_tokenizer, options)
        for rows, log_p, steps in ctc_log_p(self, model, part):
            for row, result in zip(rows, search(log_p, steps)):
                results[row] = result
            if "text" in part:
                text = self.fields["text"].collate(part["text"], rows)
                ids, lengths = ctc_targets(self.fields, text)
                losses = ctc_losses(log_p, steps, ids, lengths)
                fits = torch.isfinite(losses)
                summed_loss += float(losses[fits].double().sum())
                tokens += int(lengths[fits].sum())
        return results, summed_loss / max(1, tokens)

    def _by_attention(
        self, model: Transcriber, part: Part, options: Transcribing
    ) -> tuple[list[BestTexts], float]:
        """Search by a decoder alone, or by CTC and the decoder, over whole recordings."""
        results: list[Any] = [None] * len(part)
        summed_loss, tokens = 0.0, 0
        settings, tokenizer = self.config.model, self.target_tokenizer
        search: AttentionSearch | HybridSearch = AttentionSearch(model, tokenizer, options)
        if chosen_decoder(settings.objective, options) == "hybrid":
            search = HybridSearch(model, tokenizer, options, settings.ctc_weight)
        for batch in walk(self.batches(part, training=False), model):
            x = batch[self.input]
            encoded, steps = model.encode(*x.inputs), model.steps(x.lengths)
            for row, result in zip(batch.rows, search(encoded, steps)):
                results[row] = result
            if "text" in part:
                total, count = self.total_loss(model, encoded, steps, batch["text"])
                if torch.isfinite(total):  # every text fits into its steps, which CTC asks for
                    summed_loss, tokens = summed_loss + float(total), tokens + count
        return results, summed_loss / max(1, tokens)

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: Transcribing | None = None
    ) -> Iterator[Transcript]:
        options, field = options or Transcribing(), self.input_field
        for names, recordings in named_recordings(field, items, most=BATCH_STEPS):
            part = Part.of(self.fields, **{field.name: recordings})
            results, _ = self.transcribed(model, part, options)
            for name, result in zip(names, results):
                yield self.answered(name, result)

    def answered(self, name: str, result: BestTexts) -> Transcript:
        tokenizer = self.target_tokenizer
        field = self.input_field
        second = field.source.duration * self.config.model.patch * field.source.stride
        sure = self.confidence(result.p)
        tokens = [
            TranscriptToken(
                tokenizer.decode([token]), span.start * second, span.end * second, float(p)
            )
            for token, span, p in zip(result.texts[0].ids, result.spans, sure)
        ]
        texts = [
            TranscriptCandidate(tokenizer.decode(text.ids), text.score) for text in result.texts
        ]
        mean = float(sure.mean()) if len(sure) else 0.0
        return Transcript(name, texts[0].text, mean, tokens, texts)

    def export_outputs(self, model: nn.Module, inputs: tuple[Any, ...]) -> dict[str, Any]:
        """log p (B, T', V), and its best path, with a blank for what is no new token."""
        assert isinstance(model, Transcriber)
        if model.scores is None:
            raise ConfigError(
                "a decoder that attends to sound cannot be exported",
                got="objective=attention",
                remedy=("train with ", Setting(objective="ctc")),
            )
        encoded = model.encode(*inputs)
        log_p = model.log_p(encoded)
        never = torch.zeros(log_p.shape[-1])
        never[list(special_tokens(self.target_tokenizer))] = -torch.inf
        path = (log_p + never).argmax(-1)
        before = F.pad(path, (1, 0), value=-1)[:, :-1]
        path = path.masked_fill(path == before, BLANK)
        keep = keep_mask(model.steps(inputs[1]), path.shape[1])
        return {"tokens": path.masked_fill(~keep, BLANK), "log_p": log_p}

    def export_answer(self) -> dict[str, Any]:
        return {"kind": "transcript", "tokenizer": self.target_tokenizer.to_json()}

    def stream(self, model: nn.Module, options: Transcribing | None = None) -> TranscribeStream:
        assert isinstance(model, Transcriber)
        return TranscribeStream(self, model, options)

    def batches(self, part: Part, *, training: bool) -> BucketBatches:
        return row_batches(self.config, part, training=training, least=16)

    def save(self, folder: Path) -> None:
        super().save(folder)
        if self.confidence.tokens:
            self.confidence.save(folder)

    @classmethod
    def load(cls, config: Config, folder: Path) -> Transcribe:
        task = super().load(config, folder)
        assert isinstance(task, Transcribe)
        task.confidence = Confidence.load(folder)
        return task
