"""Options, answers and report of `compose`; an answer is a piece that writes and draws itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

import numpy as np

from unspool.data.fields.pieces import MusicNumbers, music_numbers
from unspool.data.read.music import Piece, piece_to_json, pitch_name
from unspool.tasks.answer import Answer
from unspool.tasks.generation_options import SamplingOptions
from unspool.tasks.metrics import bootstrap_mean, perplexity
from unspool.tasks.task import Report


class ComposeReport(Report):
    """Negative log-likelihood a step of the grid."""

    def __init__(
        self, losses: np.ndarray, steps: np.ndarray, *, events: np.ndarray | None = None
    ) -> None:
        """(N,) of each piece: its loss, the steps that it is for, and of a model of events how
        many were predicted."""
        seen = steps > 0
        losses, steps = losses[seen], steps[seen]
        self.pieces, self.steps = len(steps), int(steps.sum())
        self.scores, self.weights = losses / steps, steps
        self.interval = bootstrap_mean(self.scores, steps) if len(steps) else (np.nan, np.nan)
        nll = float(losses.sum() / max(1, self.steps))
        self.metrics = {"nll": nll, "loss": nll}
        self.events = None if events is None else int(events[seen].sum())
        if self.events is not None:
            self.metrics["loss"] = float(losses.sum() / max(1, self.events))
            self.metrics["perplexity"] = perplexity(self.metrics["loss"])

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "compose",
            "pieces": self.pieces,
            "steps": self.steps,
            **({} if self.events is None else {"events": self.events}),
            **self.metrics,
            "nll_interval": list(self.interval),
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        if self.events is None:
            what = f"{self.steps:,} frames of {self.pieces:,} pieces, each but the first of a piece"
            unit = "nats a frame, the sum over 88 keys"
        else:
            what = f"{self.events:,} events in {self.steps:,} steps of {self.pieces:,} pieces, each"
            unit = "nats a step"
        lines = [
            f"{what} predicted from those before it",
            f"nll         {self.metrics['nll']:.4f} {unit}   95 % interval {low:.4f} to {high:.4f}"
            " (bootstrap over pieces)",
        ]
        if self.events is not None:
            lines.append(f"perplexity  {self.metrics['perplexity']:.3f} an event")
        return lines


HEIGHT = 6  # of a key in a picture, in pixels
WIDTH = (4, 12)  # of a step
GIVEN, WRITTEN = "#8a8a8a", "#1f5fa8"


@dataclass(frozen=True, kw_only=True)
class Composing(SamplingOptions):
    """Options of continuing music.

    length       steps of the grid to add; a model of events may end sooner
    temperature  0: always what is most probable; below 1 safer, above 1 more varied
    top_k        of frames: only the k most probable keys can sound; of events: only the k most
                 probable ones are sampled from; 0: all
    top_p        of events: sample from the fewest whose probability reaches p
    """

    described: ClassVar[str] = "music of {} steps"
    step_bytes: ClassVar[int] = 4000

    length: int = 64
    temperature: float = 1.0


@dataclass(frozen=True, eq=False)
class Composed(Answer):
    """A piece that begins with `given` steps, and goes on with what the model has written.

    ended     by the model itself, not by the length
    learnt    the numbers of the training pieces
    """

    plural: ClassVar[str] = "pieces"
    repeats: ClassVar[str | None] = None

    piece: Piece
    given: int
    seed: int
    ended: bool
    learnt: MusicNumbers | None = None

    @property
    def numbers(self) -> MusicNumbers:
        """Statistics of the notes that were written."""
        return music_numbers([self.piece.values[self.given :]])

    def __str__(self) -> str:
        written = f"{len(self.piece) - self.given:,} of them written"
        return f"{self.piece}, {written}{', ended by the model' if self.ended else ''}"

    def lines(self, number: int) -> list[str]:
        return [str(self), *self.remarks()]

    def remarks(self) -> list[str]:
        """In numbers, beside the data."""
        data = [f"data:    {self.learnt}"] if self.learnt is not None else []
        return [f"written: {self.numbers}", *data]

    def header(self) -> list[str]:
        return ["piece", "first", "end", "pitch", "name", "velocity"]

    def rows(self, number: int) -> list[list[Any]]:
        return [
            [number, first, last, pitch, pitch_name(pitch), velocity]
            for first, last, pitch, velocity in self.piece.notes.tolist()
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            **piece_to_json(self.piece),
            "given": self.given,
            "ended": self.ended,
            "seed": self.seed,
            "numbers": self.numbers._asdict(),
            "data_numbers": None if self.learnt is None else self.learnt._asdict(),
        }

    def midi(self) -> bytes:
        return self.piece.midi()

    def svg(self) -> list[str]:
        return roll_svg(self.piece, self.given)

    def _repr_html_(self) -> str:
        return "".join(self.svg())

    formats: ClassVar[Mapping[str, Callable[[Any], list[str]]]] = {".svg": svg}
    binary: ClassVar[Mapping[str, Callable[[Any], bytes]]] = {".mid": midi, ".midi": midi}


def roll_svg(piece: Piece, given: int = 0) -> list[str]:
    """A piano roll as SVG: time to the right, high notes above; a line at each beat and each C."""
    notes = piece.notes if len(piece.notes) else np.array([[0, 0, 60, 0]])
    low, high = int(notes[:, 2].min()) - 2, int(notes[:, 2].max()) + 2
    step = float(np.clip(1200 / max(1, len(piece)), *WIDTH))
    width, height = round(step * len(piece)) + 1, HEIGHT * (high - low + 1)
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(str(piece))}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for pitch in range(low, high + 1):
        if pitch % 12 == 0:
            y = (high - pitch + 1) * HEIGHT
            body.append(f'<path d="M0 {y}H{width}" stroke="#ddd"/>')
    for beat in range(0, len(piece), piece.grid):
        body.append(f'<path d="M{beat * step:.1f} 0V{height}" stroke="#eee"/>')
    for first, last, pitch, _ in piece.notes.tolist():
        colour = GIVEN if first < given else WRITTEN
        body.append(
            f'<rect x="{first * step:.1f}" y="{(high - pitch) * HEIGHT}"'
            f' width="{(last - first) * step - 0.5:.1f}" height="{HEIGHT - 1}" fill="{colour}"/>'
        )
    return [*body, "</svg>"]
