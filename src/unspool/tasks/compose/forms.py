"""The two forms in which music is read and written: frames, and events.

A `Form` has what differs between them: the field, the model, the loss of each step, how music is
continued, and how it is looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from unspool.config import Config
from unspool.data.fields.music import PianoRoll
from unspool.data.fields.music_events import (
    FIRST_ON,
    FIRST_SHIFT,
    SHIFTS,
    MusicEvents,
    events_of,
    piece_of_events,
)
from unspool.data.fields.vectors import VectorField
from unspool.data.part import Part
from unspool.data.read.music import KEYS, Piece, piece_of_frames
from unspool.data.store.ragged import cut_windows
from unspool.errors import ConfigError, Option
from unspool.nn.masks import keep_mask
from unspool.nn.models.causal import CausalModel
from unspool.nn.models.language_model import LanguageModel, TransformerLanguageModel
from unspool.nn.models.music import RecurrentFrames, TransformerFrames
from unspool.tasks.compose.answer import Composing
from unspool.tasks.encoder import build_encoder, transformer_options
from unspool.tasks.reading import AnswerText, AnswerView, InputView
from unspool.tasks.reading_answers import NextTokenView
from unspool.tasks.reading_inputs import SeriesView, TokensView
from unspool.text.vocab import BEGIN_ID, END_ID, PAD_ID, UNK_ID


class NextKeysView(AnswerView):
    """At each step the keys of the next one."""

    independent = per_token = causal = True

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        return self.model(batch[0]).logits

    def name(self, answer: int) -> str:
        return self.task.input_field.channels[answer]

    def summary(self, scores: Tensor) -> AnswerText:
        """The likelihood of the whole piece, and the most probable next keys."""
        next_keys = torch.sigmoid(scores[-1])
        likely = next_keys.argsort(descending=True).tolist()[:4]
        names = ", ".join(f"{self.name(i)} {float(next_keys[i]):.2f}" for i in likely)
        vectors = self.input.vectors
        if len(vectors) < 2:
            return AnswerText("", f"next: {names}")
        targets = torch.from_numpy(vectors[1:]).to(scores.dtype)
        loss = F.binary_cross_entropy_with_logits(scores[:-1], targets, reduction="sum")
        nats = float(loss) / (len(vectors) - 1)
        return AnswerText("", f"{nats:.3f} nats a frame; next: {names}")


class EventsView(TokensView):
    """The events of a piece, after <s>."""

    def __init__(self, task: Any, model: Any, item: Any) -> None:
        text = task.input_field.form.text(item)
        super().__init__(task, model, text, np.array([BEGIN_ID, *task.tokenizer.ids(text)]))


BUSIEST = 32  # events a step, on average, at which a model that writes more is stopped


class Written(NamedTuple):
    """Music that goes on after `given` steps; `ended` by the model itself."""

    piece: Piece
    given: int
    ended: bool


class MusicForm(ABC):
    """A representation of music, read and written."""

    name: ClassVar[str]
    input_view: ClassVar[type[InputView]]
    answer_view: ClassVar[type[AnswerView]]

    @abstractmethod
    def field(self, config: Config) -> Any:
        """Not fitted."""

    @abstractmethod
    def build(self, config: Config, field: Any) -> CausalModel: ...

    @abstractmethod
    def example(self, field: Any) -> Tensor:
        """Values that the model can read, for a summary."""

    @abstractmethod
    def windows(self, part: Part, name: str, length: int) -> Part:
        """Pieces in stretches of `length` predictions at most."""

    @abstractmethod
    def losses(self, model: Any, outputs: Tensor, targets: Tensor) -> Tensor:
        """(B, T, H), (B, T, ...) -> (B, T) nats"""

    @abstractmethod
    def steps(self, values: Tensor, lengths: Tensor) -> np.ndarray:
        """(B,) steps of the grid that the predictions in padded values are for"""

    @abstractmethod
    def step_rows(self, field: Any, piece: Piece) -> np.ndarray:
        """(T,) of each step of the grid, the last of the values read before it ends"""

    @abstractmethod
    def write(self, model: Any, field: Any, prompt: Any, options: Composing) -> Written: ...


class Frames(MusicForm):
    """Frames (B, T, 88), of which each but the first is predicted."""

    name = "frames"
    input_view = SeriesView
    answer_view = NextKeysView

    def field(self, config: Config) -> VectorField:
        source = PianoRoll(config.data.grid)
        return VectorField("music", source, max_length=config.data.max_length)

    def build(self, config: Config, field: VectorField) -> CausalModel:
        model = config.model
        if model.network == "transformer":
            return TransformerFrames(KEYS, transformer_options(model, length=config.train.bptt))
        return RecurrentFrames(build_encoder(model, field), keys=KEYS, dropout=model.dropout)

    def example(self, field: VectorField) -> Tensor:
        return torch.zeros(1, 3, KEYS)

    def windows(self, part: Part, name: str, length: int) -> Part:
        lengths = part[name].lengths
        if int(lengths.max(initial=0)) <= length + 1:
            return part
        return part.in_windows(cut_windows(lengths, length + 1, length))

    def losses(self, model: Any, outputs: Tensor, targets: Tensor) -> Tensor:
        return model.output.losses(outputs, targets)

    def steps(self, values: Tensor, lengths: Tensor) -> np.ndarray:
        return (lengths - 1).numpy()

    def step_rows(self, field: VectorField, piece: Piece) -> np.ndarray:
        return np.arange(len(piece))

    def write(self, model: Any, field: VectorField, prompt: Any, options: Composing) -> Written:
        """Each key is sampled by itself."""
        if options.top_p < 1:
            raise ConfigError(
                "top-p is for one of many, and the keys of a frame sound each by itself",
                got=options.top_p,
                remedy=("leave it out; ", Option("top_k", "temperature"), " apply"),
            )
        generator = torch.Generator().manual_seed(options.seed)
        piece = prompt or opening(field, options.seed)
        opening_frames = torch.from_numpy(piece.values)[None]
        outputs, state = model.read(opening_frames, model.start(1))
        logits = model.output(outputs[:, -1])
        written = list[Tensor]()
        for _ in range(options.length):
            frame = sampled_keys(logits, options, generator)
            written.append(frame)
            logits, state = model.step(frame, state)
        frames = torch.cat([opening_frames[0], *written]).numpy()
        about: dict[str, Any] = {"name": piece.name, "grid": piece.grid, "tempo": piece.tempo}
        whole = piece_of_frames(frames, **about)
        return Written(whole, len(piece), False)


def opening(field: VectorField, seed: int) -> Piece:
    """The first frame of one of the training pieces: keys that are sampled each by itself make no
    chord to begin with."""
    frame = np.zeros((1, KEYS), np.float32)
    known = field.source.known
    if known.openings:
        frame[0, known.openings[seed % len(known.openings)]] = 1
    return piece_of_frames(frame, grid=known.grid)


def sampled_keys(logits: Tensor, options: Composing, generator: torch.Generator) -> Tensor:
    """(1, 88) -> (1, 88) zeros and ones"""
    p = logits.double()
    if options.top_k:
        least = p.topk(min(options.top_k, KEYS), -1).values[:, -1:]
        p = p.masked_fill(p < least, -torch.inf)
    if options.temperature == 0:
        return (p > 0).float()
    p = (p / options.temperature).sigmoid()
    return (torch.rand(p.shape, generator=generator, dtype=p.dtype) < p).float()


class Events(MusicForm):
    """Ids (B, T) from <s> to </s>, of which each but the first is predicted."""

    name = "events"
    input_view = EventsView
    answer_view = NextTokenView

    def field(self, config: Config) -> MusicEvents:
        return MusicEvents("music", config.data.grid, max_length=config.data.max_length)

    def build(self, config: Config, field: MusicEvents) -> CausalModel:
        model, vocab = config.model, field.vocabulary
        if model.network == "transformer":
            options = transformer_options(model, length=config.train.bptt)
            return TransformerLanguageModel(vocab, options, tied=model.tied)
        encoder = build_encoder(model, field, embedding_std=0.1 if model.tied else 1.0)
        return LanguageModel(encoder, vocab=vocab, tied=model.tied, dropout=model.dropout)

    def example(self, field: MusicEvents) -> Tensor:
        return torch.ones(1, 3, dtype=torch.int64)

    def windows(self, part: Part, name: str, length: int) -> Part:
        if int(part[name].lengths.max(initial=0)) <= length + 1:
            return part
        return part.in_pieces(name, length + 1)

    def losses(self, model: Any, outputs: Tensor, targets: Tensor) -> Tensor:
        logits = model.output(outputs)
        return F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")

    def steps(self, values: Tensor, lengths: Tensor) -> np.ndarray:
        shift = values - FIRST_SHIFT + 1
        return torch.where((shift > 0) & (shift <= len(SHIFTS)), shift, 0).sum(1).cpu().numpy()

    def step_rows(self, field: MusicEvents, piece: Piece) -> np.ndarray:
        ids = field.fitted.ids(field.form.text(piece))
        shift = ids - FIRST_SHIFT + 1
        after = np.cumsum(np.where((shift > 0) & (shift <= len(SHIFTS)), shift, 0))
        begun = np.concatenate([[0], after])  # the step at which each value is read, <s> first
        return np.searchsorted(begun, np.arange(len(piece)), "right") - 1

    def write(self, model: Any, field: MusicEvents, prompt: Any, options: Composing) -> Written:
        """Until so many steps have passed, or </s> comes. A key that sounds does not begin, and one
        that is silent does not end."""
        begun = [] if prompt is None else list(events_of(prompt, begun=True))
        ids = [BEGIN_ID, *field.fitted.ids(" ".join(begun)).tolist()]
        steps = 0 if prompt is None else len(prompt)
        sampling = options.sampling(forbidden=(PAD_ID, UNK_ID, BEGIN_ID))
        generator = torch.Generator().manual_seed(options.seed)
        sounding = torch.zeros(KEYS, dtype=torch.bool)
        for event in ids:
            sound(sounding, event)
        outputs, state = model.read(torch.tensor([ids]), model.start(1))
        logits = model.output(outputs[:, -1])
        written, passed, ended = list[int](), 0, False
        while passed < options.length and len(written) < BUSIEST * (options.length + 1):
            logits[:, FIRST_ON : FIRST_ON + KEYS].masked_fill_(sounding, -torch.inf)
            logits[:, FIRST_ON + KEYS : FIRST_SHIFT].masked_fill_(~sounding, -torch.inf)
            event = int(sampling.sample(logits, generator))
            ended = event == END_ID
            if ended:
                break
            written.append(event)
            sound(sounding, event)
            passed += shift_of(event)
            logits, state = model.step(torch.tensor([event]), state)
        names = field.fitted.shown([*ids[1:], *written])
        about: dict[str, Any] = {"grid": field.known.grid}
        if prompt is not None:
            about |= {"name": prompt.name, "grid": prompt.grid, "tempo": prompt.tempo}
        whole = piece_of_events(names, **about)
        return Written(whole[: steps + options.length], steps, ended)


def sound(keys: Tensor, event: int) -> None:
    """Change which of 88 keys sound, as an event does."""
    number = event - FIRST_ON
    if 0 <= number < 2 * KEYS:
        keys[number % KEYS] = number < KEYS


def shift_of(event: int) -> int:
    """The steps that pass with an event."""
    steps = event - FIRST_SHIFT + 1
    return steps if 0 < steps <= len(SHIFTS) else 0


FORMS: dict[str, MusicForm] = {form.name: form for form in (Frames(), Events())}


def kept(lengths: Tensor, size: int, device: torch.device) -> Tensor:
    """(B, T - 1) predictions that are real"""
    return keep_mask(lengths - 1, size - 1, device=device)
