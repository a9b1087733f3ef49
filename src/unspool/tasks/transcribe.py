"""transcribe: vectors over time in, such as the frames of a recording; a shorter text out.

frames (B, T, C) -> `patch` as one -> encoder (B, T', D·H) -> log p of tokens and a blank (B, T', V)
-> CTC (`nn/ctc.py`): no step needs to be labelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, DataConfig
from unspool.config.numbers import check_numbers
from unspool.data.batching import BucketBatches
from unspool.data.corpus import Corpus, Fields
from unspool.data.fields.field import Field
from unspool.data.fields.image import ImageField
from unspool.data.fields.series import SeriesField
from unspool.data.fields.text import TextField
from unspool.data.part import Batch, Part
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.data.store.columns import Progress
from unspool.data.store.ragged import Windows
from unspool.errors import ConfigError, DataError
from unspool.nn.ctc import BLANK, Place, align, ctc_losses, steps_needed
from unspool.nn.models.transcriber import Transcriber
from unspool.search.ctc import Text, greedy_ctc, prefix_beam
from unspool.tasks.edits import edits
from unspool.tasks.encoder import build_encoder, check_learned_positions, recurrent_models
from unspool.tasks.inputs import input_kind, plan_input, read_field, reads_text, suited
from unspool.tasks.language import LanguageScores
from unspool.tasks.tag import CNN, TRANSFORMER
from unspool.tasks.task import Step, Task, WholeStart, walk
from unspool.tasks.transcribe_reading import TranscribeReading
from unspool.tasks.transcribe_report import TranscribeReport
from unspool.tasks.transcript import (
    Candidate,
    Confidence,
    Token,
    Transcript,
    calibration_error,
    fit_confidence,
)
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import UNK_ID

WINDOW = 6000  # frames that are read at once, where no window is set: a minute
MARGIN = 8  # of a window, one in so many at each side is read, but not believed
AT_ONCE = 200_000  # frames of recordings that are predicted together
SEGMENT = 1000  # steps of a long recording that are searched at once
TOGETHER = 16  # segments of a batch
NAMED = 20  # recordings that a note names


@dataclass(frozen=True, kw_only=True)
class Transcribing:
    """How texts are found.

    beam        width of the search over prefixes; 1: the text of the most probable path
    nbest       how many texts are given
    lm          a language model: a loaded run of `generate`
    lm_weight   of its log probability
    bonus       for each token, against the short texts that a language model prefers
    """

    beam: int = 10
    nbest: int = 1
    lm: Any = None
    lm_weight: float = 0.5
    bonus: float = 0.0

    def __post_init__(self) -> None:
        check_numbers(self)
        if not 1 <= self.beam <= 10_000:
            raise ConfigError("beam must be from 1 to 10,000", got=self.beam)
        if not 1 <= self.nbest <= self.beam:
            raise ConfigError(
                f"a beam of {self.beam} cannot give {self.nbest} texts",
                remedy="give --beam as large as --nbest",
            )

    @property
    def described(self) -> str:
        if self.beam == 1 and self.lm is None and not self.bonus:
            return "greedy"
        found = f"prefix beam search of width {self.beam}"
        if self.lm is not None:
            found += f", language model {getattr(self.lm, 'path', '')} with weight"
            found += f" {self.lm_weight:g}"
        return found + (f", bonus {self.bonus:g} a token" if self.bonus else "")


GREEDY = Transcribing(beam=1)


class Found(NamedTuple):
    """What was found for a recording: the best texts, and of the tokens of the first of them the
    steps and the network's probability."""

    texts: list[Text]
    places: list[Place]
    p: np.ndarray


class Transcribe(Task):
    """The best weights are those with the lowest CER of greedy transcripts."""

    name = "transcribe"
    metric = "cer"
    looked_at = TranscribeReading
    default_model = "bilstm"
    higher_is_better = False
    answer = Transcript
    options = Transcribing
    unit = "recordings"
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

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        read = read_field(config)
        text = TextField("text", config.tokenizer, auto="char", is_target=True)
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
    def suited(cls, settings: Mapping[str, Any], plan: Plan | None = None) -> dict[str, Any]:
        name = settings.get("data.input", settings.get("input", "auto"))
        found = {} if name in ("auto", "text") else suited(settings, plan)
        kept = {key: value for key, value in found.items() if key not in cls.defaults}
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
                remedy="use --task translate for texts",
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
        check_learned_positions(config)

    @classmethod
    def plan(
        cls, table: Table, data: DataConfig, *, named: bool = False, outputs: bool = True
    ) -> Plan | None:
        """A recording, or another kind of vectors over time, and its text."""
        found = plan_input(cls.name, table, data, target="text", named=named, outputs=outputs)
        if found is None and named:
            raise DataError(
                "holds neither sound nor series nor images of lines, which transcribe reads",
                where=table.name,
                remedy="name a folder of recordings, or a table with a column of their names",
            )
        return found

    @classmethod
    def load_corpus(
        cls,
        config: Config,
        plans: Mapping[str, Plan],
        *,
        fitted: Tokenizer | None = None,
        progress: Progress | None = None,
    ) -> Corpus:
        # What is written has a vocabulary, not what is read.
        corpus = super().load_corpus(config, plans, fitted=fitted, progress=progress)
        read, text = corpus.fields
        if fitted is not None:
            refuse_unknown(corpus.parts["train"], text, fitted)
        for name, part in corpus.parts.items():
            needed = needed_steps(part, text)
            stride = config.model.patch * corpus.fields[read].stride  # type: ignore[attr-defined]
            there = -(-part[read].lengths.astype(np.int64) // stride)
            short = np.flatnonzero(needed > there)
            if not len(short):
                continue
            listed = ", ".join(
                f"{part.where(int(row))} ({needed[row]:,} steps for {there[row]:,})"
                for row in short[:NAMED]
            )
            more = f" and {len(short) - NAMED:,} more" if len(short) > NAMED else ""
            if name != "train":
                corpus.notes.append(f"{name}: texts longer than their steps: {listed}{more}")
                continue
            if len(short) == len(part):
                raise DataError(
                    "every text is longer than the steps of its recording",
                    where=part.where(int(short[0])),
                    got=f"{needed[short[0]]:,} tokens and blanks, {there[short[0]]:,} steps",
                    remedy="set a smaller patch or hop, or look whether texts and recordings"
                    " belong together",
                )
            corpus.parts[name] = chosen(part, np.flatnonzero(needed <= there))
            corpus.notes.append(
                f"{len(short):,} recordings left out of training, as their texts are longer than"
                f" their steps (--set patch= or hop= for more): {listed}{more}"
            )
        return corpus

    @classmethod
    def take_tokenizer(cls, fields: Fields, fitted: Tokenizer) -> None:
        text: Any = fields["text"]
        text.tokenizer = fitted

    def whole_start(self) -> WholeStart:
        framing = getattr(self.input_field, "framing", None)
        names = ("frame", "hop", "bands", "features", "coefficients", "scaling", "input")
        fixed = {f"data.{name}": getattr(self.config.data, name) for name in names}
        if framing is not None:
            fixed["data.rate"] = framing.rate
        if isinstance(self.input_field, ImageField):
            fixed |= self.input_field.shape.settings()
        fixed["model.patch"] = self.config.model.patch
        return WholeStart(self.target_tokenizer, fixed)

    def build(self) -> Transcriber:
        model = self.config.model
        encoder = build_encoder(model, self.input_field, patch=model.patch)
        return Transcriber(
            encoder, tokens=len(self.target_tokenizer), patch=model.patch, dropout=model.dropout
        )

    def example_inputs(self) -> tuple[Tensor, ...]:
        field = self.input_field
        assert isinstance(field, SeriesField)
        return field.example(3 * self.config.model.patch)

    def loss(self, model: nn.Module, batch: Batch, carry: Any) -> Step:
        assert isinstance(model, Transcriber)
        x, text = batch[self.input], batch["text"]
        log_p = model(*x.inputs)
        losses = ctc_losses(log_p, model.steps(x.lengths), text.ids, text.lengths)
        tokens = max(1, int(text.lengths.sum()))
        return Step(losses.sum() / tokens, tokens, int(x.lengths.sum()), None)

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self.evaluate(model, part, GREEDY).metrics

    def evaluate(
        self, model: nn.Module, part: Part, options: Transcribing | None = None
    ) -> TranscribeReport:
        options = options or Transcribing()
        found, loss = self.transcribed(model, part, options)
        tokenizer = self.target_tokenizer
        truth = self.truth(part)
        texts = [tokenizer.decode(own.texts[0].ids) for own in found]
        p, right = judged(found, truth, tokenizer)
        return TranscribeReport(
            [Path(part.where(row)).name for row in range(len(part))],
            texts,
            truth,
            loss=loss,
            confidence=self.confidence(p),
            right=right,
            calibrated=self.confidence.tokens > 0,
            search=options.described,
        )

    def truth(self, part: Part) -> list[str]:
        """The texts as they stand in the file, normalised as those that the model learnt."""
        normal = self.target_tokenizer.normalizer
        rows = part.raw(np.arange(len(part)), ("text",))
        return [normal(text) for (text,) in rows]

    def calibrate(self, model: nn.Module, part: Part | None) -> list[str]:
        if part is None or not len(part):
            return ["confidences are the network's own: nothing was held out to calibrate them on"]
        found, _ = self.transcribed(model, part, Transcribing())
        p, right = judged(found, self.truth(part), self.target_tokenizer)
        if not len(p):
            return ["confidences are the network's own: no token was written to calibrate them on"]
        self.confidence = fit_confidence(p, right)
        before, after = (calibration_error(own, right) for own in (p, self.confidence(p)))
        return [
            f"confidence calibrated on {len(p):,} tokens of the validation part,"
            f" {int((~right).sum()):,} of them wrong: ECE {before:.4f} -> {after:.4f}"
        ]

    def transcribed(
        self, model: nn.Module, part: Part, options: Transcribing
    ) -> tuple[list[Found], float]:
        """What is found for each row, and the loss a token where the texts are known."""
        found: list[Any] = [None] * len(part)
        nats, tokens = 0.0, 0
        with torch.inference_mode():
            for rows, log_p, steps in self.scored(model, part):
                whole = len(rows) > 1 or log_p.shape[1] <= SEGMENT
                search = self.search if whole else self.search_segments
                for row, own in zip(rows, search(log_p, steps, options)):
                    found[row] = own
                if "text" in part:
                    text = self.fields["text"].collate(part["text"], rows)
                    losses = ctc_losses(log_p, steps, text.ids, text.lengths)
                    fits = torch.isfinite(losses)
                    nats += float(losses[fits].double().sum())
                    tokens += int(text.lengths[fits].sum())
        return found, nats / max(1, tokens)

    def scored(self, model: nn.Module, part: Part) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
        """Some rows with their log probabilities (B, T', V) and steps (B,), on the CPU. A row that
        is longer than a window is read in several, and given alone."""
        assert isinstance(model, Transcriber)
        cuts = overlapping(part[self.input].lengths, self.config.data.window, model.stride)
        whole = np.flatnonzero(np.bincount(cuts.windows.origin, minlength=len(part)) == 1)
        if len(whole):
            short = part if len(whole) == len(part) else chosen(part, whole)
            for batch in walk(self.batches(short, training=False), model):
                x = batch[self.input]
                yield whole[batch.rows], model(*x.inputs).cpu(), model.steps(x.lengths)
        for row in np.setdiff1d(np.arange(len(part)), whole):
            own = np.flatnonzero(cuts.windows.origin == row)
            pieces = Windows(*(each[own] for each in cuts.windows))
            found: list[Any] = [None] * len(own)
            windowed = chosen(part, np.array([row])).in_windows(
                pieces._replace(origin=np.zeros(len(own), dtype=np.int64))
            )
            for batch in walk(self.batches(windowed, training=False), model):
                log_p = model(*batch[self.input].inputs).cpu()
                for i, at in enumerate(batch.rows.tolist()):
                    first, stop = cuts.kept[own[at]].tolist()
                    found[at] = log_p[i, first:stop].clone()
            joined = torch.cat(found)[None]
            yield np.array([row]), joined, torch.tensor([joined.shape[1]])

    def search(self, log_p: Tensor, steps: Tensor, options: Transcribing) -> list[Found]:
        tokenizer = self.target_tokenizer
        special = tuple(i for i in tokenizer.special_ids() if i)
        texts: list[list[Text]]
        if options.beam == 1 and options.lm is None and not options.bonus:
            masked = log_p.clone()
            masked[..., list(special)] = -torch.inf
            texts = [[Text(ids, 0.0, 0.0)] for ids in greedy_ctc(masked, steps)]
        else:
            language = None if options.lm is None else LanguageScores(options.lm, tokenizer)
            texts = prefix_beam(
                log_p,
                steps,
                beam=options.beam,
                nbest=options.nbest,
                forbidden=special,
                language=language,
                weight=options.lm_weight if language else 0.0,
                bonus=options.bonus,
            )
        found = []
        for own, count, best in zip(log_p, steps.tolist(), texts):
            places = align(own[:count], best[0].ids)
            p = [
                float(own[place.first : place.stop, token].double().exp().mean())
                for place, token in zip(places, best[0].ids)
            ]
            found.append(Found(best, places, np.array(p)))
        return found

    def search_segments(self, log_p: Tensor, steps: Tensor, options: Transcribing) -> list[Found]:
        """The text of one long recording, (1, T, V), as those of its segments: one candidate alone,
        and a language model begins anew with each."""
        ends = quiet_steps(log_p[0, : int(steps[0])], SEGMENT)
        pieces = [log_p[0, first:stop] for first, stop in zip([0, *ends], ends)]
        one = replace(options, nbest=1)
        ids, places, p, scores = list[int](), list[Place](), list[np.ndarray](), np.zeros(2)
        for start in range(0, len(pieces), TOGETHER):
            some = pieces[start : start + TOGETHER]
            sizes = torch.tensor([len(own) for own in some])
            batch = torch.nn.utils.rnn.pad_sequence(some, batch_first=True)
            for at, own in enumerate(self.search(batch, sizes, one), start):
                first = ends[at - 1] if at else 0
                ids += own.texts[0].ids
                places += [Place(a + first, b + first) for a, b in own.places]
                p.append(own.p)
                scores += [own.texts[0].log_p, own.texts[0].score]
        return [Found([Text(ids, *scores.tolist())], places, np.concatenate(p))]

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: Transcribing | None = None
    ) -> Iterator[Transcript]:
        options, field = options or Transcribing(), self.input_field
        for names, recordings in self.together(items):
            part = self.part(**{field.name: recordings})
            found, _ = self.transcribed(model, part, options)
            for name, own in zip(names, found):
                yield self.answered(name, own)

    def together(self, items: Iterable[Any]) -> Iterator[tuple[list[str], list[Any]]]:
        """Recordings as they come, as many as are small together."""
        names, recordings, size = list[str](), list[Any](), 0
        for number, item in enumerate(items, 1):
            names.append(self.input_field.shown(item))
            recordings.append(self.input_field.recording(item, f"item {number}"))
            size += len(recordings[-1])
            if size >= AT_ONCE:
                yield names, recordings
                names, recordings, size = [], [], 0
        if recordings:
            yield names, recordings

    def answered(self, name: str, found: Found) -> Transcript:
        tokenizer = self.target_tokenizer
        field = self.input_field
        second = field.duration * self.config.model.patch * field.stride
        sure = self.confidence(found.p)
        tokens = [
            Token(tokenizer.decode([token]), first * second, stop * second, float(p))
            for token, (first, stop), p in zip(found.texts[0].ids, found.places, sure)
        ]
        texts = [Candidate(tokenizer.decode(own.ids), own.score) for own in found.texts]
        mean = float(sure.mean()) if len(sure) else 0.0
        return Transcript(name, texts[0].text, mean, tokens, texts)

    def batches(self, part: Part, *, training: bool) -> BucketBatches:
        return self.row_batches(part, training=training, least=16)

    def save(self, folder: Path) -> None:
        super().save(folder)
        if self.confidence.tokens:
            self.confidence.save(folder)

    @classmethod
    def load(cls, config: Config, folder: Path) -> Transcribe:
        found = super().load(config, folder)
        assert isinstance(found, Transcribe)
        found.confidence = Confidence.load(folder)
        return found


def refuse_unknown(part: Part, text: str, tokenizer: Tokenizer) -> None:
    """A model that is fine-tuned cannot learn to write what is not in its vocabulary."""
    counts = part[text].counts(UNK_ID)
    if not counts.any():
        return
    row = int(np.argmax(counts > 0))
    (written,) = part.raw(np.array([row]), (text,))[0]
    new = next(own for own in tokenizer.pieces(written) if own not in tokenizer.vocab.index)
    raise DataError(
        f"{int((counts > 0).sum()):,} texts hold what the model to start from cannot write",
        where=part.where(row),
        got=new,
        remedy="spell it otherwise, or train anew without --from",
    )


def needed_steps(part: Part, text: str) -> np.ndarray:
    """(N,) the fewest steps that the text of each row takes."""
    found = np.zeros(len(part), dtype=np.int64)
    for start in range(0, len(part), 1024):
        rows = np.arange(start, min(len(part), start + 1024))
        batch = part.fields[text].collate(part[text], rows)
        found[rows] = steps_needed(batch.ids, batch.lengths).numpy()
    return found


def chosen(part: Part, rows: np.ndarray) -> Part:
    """Some rows of a part."""
    return Part(
        part.fields,
        {name: found.select(rows) for name, found in part.values.items()},
        rows=part.rows[rows],
        lines=part.lines[rows],
        files=part.files[rows],
        plan=part.plan,
    )


class Overlapping(NamedTuple):
    """Windows, and (W, 2) which of the steps of each are believed: from, up to before."""

    windows: Windows
    kept: np.ndarray


def overlapping(lengths: np.ndarray, window: int, patch: int) -> Overlapping:
    """Each recording in windows whose margins overlap; each step is believed in one window."""
    size = (window or WINDOW) // patch * patch
    margin = size // MARGIN // patch * patch
    origin, first, sizes, kept = [], [], [], []
    for row, length in enumerate(lengths.tolist()):
        start = 0
        while True:
            stop = min(length, start + size)
            last = stop == length
            origin.append(row)
            first.append(start)
            sizes.append(stop - start)
            low = margin // patch if start else 0
            high = -(-(stop - start) // patch) if last else (stop - start - margin) // patch
            kept.append((low, high))
            if last:
                break
            start = stop - 2 * margin
    return Overlapping(
        Windows(*(np.array(each, dtype=np.int64) for each in (origin, first, sizes))),
        np.array(kept, dtype=np.int64).reshape(-1, 2),
    )


def quiet_steps(log_p: Tensor, size: int) -> list[int]:
    """Where a long row (T, V) is cut into segments of at most `size` steps: behind the step of the
    second half of each that is most surely a blank, so that no token is cut. The last is T."""
    ends, start = [], 0
    while len(log_p) - start > size:
        half = start + size // 2
        start = half + int(log_p[half : start + size, BLANK].argmax()) + 1
        ends.append(start)
    return [*ends, len(log_p)]


def judged(
    found: Sequence[Found], truth: Sequence[str], tokenizer: Tokenizer
) -> tuple[np.ndarray, np.ndarray]:
    """Of each token that was written: the probability of the network, and whether it is right."""
    p, right = [], list[bool]()
    for own, text in zip(found, truth):
        shown = tokenizer.shown(own.texts[0].ids)
        path = edits(tokenizer.pieces(text), shown)
        right += [edit.right for edit in path if edit.found is not None]
        p.append(own.p)
    return np.concatenate([*p, np.empty(0)]), np.array(right, dtype=bool)
