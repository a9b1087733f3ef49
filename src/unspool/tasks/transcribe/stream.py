"""Transcripts of sound that comes: after each chunk of it the tokens that have ended since.

samples -> frames as soon as their samples are there -> steps as soon as their frames are there
-> log p, the state carried -> the best path: a token ends with the first step that has another

The log probabilities are those of the whole at once, and so is the text of the best path. A beam
search chooses among texts once all has come, so it is for whole recordings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.field import Chunk
from unspool.errors import ConfigError, Option
from unspool.nn.cells import pack_steps, packed_steps
from unspool.nn.ctc import BLANK
from unspool.nn.models.transcriber import Transcriber
from unspool.tasks.answer import Answer
from unspool.tasks.streaming import REMEDY, Stream, streaming_unsupported_reason
from unspool.tasks.transcribe.answer import Transcribing, TranscriptToken
from unspool.tasks.transcribe.search import special_tokens
from unspool.text.growing import GrowingText

if TYPE_CHECKING:
    from unspool.tasks.transcribe.task import Transcribe


@dataclass(frozen=True)
class TranscriptPart(Answer):
    """The addition of a chunk: the tokens that ended in it, and the text that they add."""

    plural: ClassVar[str] = "transcripts"
    repeats: ClassVar[str | None] = None

    text: str
    tokens: Sequence[TranscriptToken]

    def __str__(self) -> str:
        return self.text

    def lines(self, number: int) -> list[str]:
        return [self.text] if self.text else []

    def header(self) -> list[str]:
        return ["text", "start", "end", "confidence"]

    def rows(self, number: int) -> list[list[Any]]:
        return [[token.text, token.start, token.end, token.confidence] for token in self.tokens]

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "tokens": [token._asdict() for token in self.tokens]}


class LastToken(NamedTuple):
    """The best path at its latest step: the token or blank, the step at which it began, and the
    sum of its probability since."""

    id: int = BLANK
    start: int = 0
    p: float = 0.0


class TranscriptState(NamedTuple):
    """All that is known of what has come; nothing in it is ever changed, so it can be kept.

    frames    that were read
    before    what the field keeps of what came before
    waiting   (1, n, C) frames of which no whole step has come; None: none
    carried   what the model goes on from
    steps     that were made of the frames
    last      token of the path
    shown     ids of the last tokens of the text, and of those of which no whole character has come
    """

    frames: int = 0
    before: Any = None
    waiting: Tensor | None = None
    carried: Any = None
    steps: int = 0
    last: LastToken = LastToken()
    shown: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())


class TranscribeStream(Stream):
    """One recording. The weights are packed when it is made."""

    def __init__(self, task: Transcribe, model: Transcriber, options: Transcribing | None) -> None:
        reason = streaming_unsupported_reason(task, model)
        if reason is not None:
            raise ConfigError(f"the model cannot be read step by step: {reason}", remedy=REMEDY)
        if options is not None and (not options.greedy or options.decoder not in (None, "ctc")):
            raise ConfigError(
                "a stream is transcribed by the best path: other searches choose a text once all"
                " has come",
                got=options.described(options.decoder or "ctc"),
                remedy=("leave out ", Option("beam", "lm", "bonus", "decoder"), " here"),
            )
        self.task, self.model, self.packed = task, model, pack_steps(model)
        self.forbidden = list(special_tokens(task.target_tokenizer))
        self.restart()

    @property
    def steps(self) -> int:
        return self.state.frames

    def restart(self) -> None:
        self.state = TranscriptState()

    def push(self, new: Any) -> TranscriptPart:
        state: TranscriptState = self.state
        chunk = self.task.input_field.chunk(new, state.before, state.frames)
        answer, self.state = self._read(state, chunk, end=False)
        return answer

    def finish(self) -> TranscriptPart:
        state: TranscriptState = self.state
        chunk = self.task.input_field.last_chunk(state.before, state.frames)
        answer, self.state = self._read(state, chunk, end=True)
        return answer

    def _read(
        self, state: TranscriptState, chunk: Chunk, *, end: bool
    ) -> tuple[TranscriptPart, TranscriptState]:
        x = state.waiting
        if chunk.steps:
            x = chunk.inputs[0] if x is None else torch.cat([x, chunk.inputs[0]], 1)
        frames = 0 if x is None else x.shape[1]
        whole = frames if end else frames // self.model.patch * self.model.patch
        log_p, carried = None, state.carried
        if x is not None and whole:
            with torch.inference_mode(), packed_steps(self.packed):
                log_p, carried = self.model.extend(carried, x[:, :whole], torch.tensor([whole]))
        tokens, last = self._tokens(log_p, state)
        if end and last.id != BLANK:
            tokens.append((last, state.steps + (0 if log_p is None else log_p.shape[1])))
            last = LastToken()
        part, shown = self._part(tokens, state.shown)
        return part, TranscriptState(
            state.frames + chunk.steps,
            chunk.before,
            None if x is None or whole == frames else x[:, whole:],
            carried,
            state.steps + (0 if log_p is None else log_p.shape[1]),
            last,
            shown,
        )

    def _tokens(
        self, log_p: Tensor | None, state: TranscriptState
    ) -> tuple[list[tuple[LastToken, int]], LastToken]:
        """The tokens that end in the new steps (1, T, V), each with the step behind it, and the
        token of the last."""
        tokens, last = list[tuple[LastToken, int]](), state.last
        if log_p is None:
            return tokens, last
        masked = log_p[0].clone()
        masked[:, self.forbidden] = -torch.inf
        best = masked.max(1)
        p = best.values.double().exp().tolist()
        for step, (id, frame) in enumerate(zip(best.indices.tolist(), p), start=state.steps):
            if id == last.id:
                last = last._replace(p=last.p + frame)
                continue
            if last.id != BLANK:
                tokens.append((last, step))
            last = LastToken(id, step, frame)
        return tokens, last

    def _part(
        self, ended: list[tuple[LastToken, int]], shown: tuple[tuple[int, ...], tuple[int, ...]]
    ) -> tuple[TranscriptPart, tuple[tuple[int, ...], tuple[int, ...]]]:
        tokenizer = self.task.target_tokenizer
        second = self.task.input_field.source.duration * self.model.patch
        growing = GrowingText(tokenizer, shown[0])
        growing.waiting = list(shown[1])
        text = "".join(growing.add(token.id) for token, _ in ended)
        p = np.array([token.p / (end - token.start) for token, end in ended])
        tokens = [
            TranscriptToken(
                tokenizer.decode([token.id]), token.start * second, end * second, float(sure)
            )
            for (token, end), sure in zip(ended, self.task.confidence(p))
        ]
        part = TranscriptPart(text, tokens)
        return part, (tuple(growing.before), tuple(growing.waiting))
