"""Options, answers, report and reading of `handwrite`; an answer is a drawing that draws itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from unspool.data.read.strokes import Strokes
from unspool.errors import ConfigError
from unspool.nn.models.handwriting import Drawings
from unspool.tasks.answer import Answer
from unspool.tasks.generation_options import GenerationOptions
from unspool.tasks.metrics import bootstrap_mean
from unspool.tasks.reading import AnswerText, AnswerView
from unspool.tasks.reading_inputs import SeriesView
from unspool.tasks.task import Report


class HandwriteReport(Report):
    """Negative log-likelihood of the next point, a density in standard deviations of the moves."""

    def __init__(self, move: np.ndarray, pen: np.ndarray, points: np.ndarray) -> None:
        """(N,) nats of the moves and of the pen of each drawing, and its points."""
        seen = points > 0
        move, pen, points = move[seen], pen[seen], points[seen]
        self.drawings, self.points = len(points), int(points.sum())
        self.scores, self.weights = (move + pen) / points, points
        self.interval = bootstrap_mean(self.scores, points) if len(points) else (np.nan, np.nan)
        total = max(1, self.points)
        self.metrics = {
            "nll": float((move + pen).sum() / total),
            "move_nll": float(move.sum() / total),
            "pen_nll": float(pen.sum() / total),
        }
        self.metrics["loss"] = self.metrics["nll"]

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "handwrite",
            "drawings": self.drawings,
            "points": self.points,
            **self.metrics,
            "nll_interval": list(self.interval),
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        m = self.metrics
        return [
            f"{self.points:,} points of {self.drawings:,} drawings, each predicted from those"
            " before it",
            f"nll   {m['nll']:.4f} nats a point, moves in standard deviations   95 % interval"
            f" {low:.4f} to {high:.4f} (bootstrap over drawings)",
            f"      of the move {m['move_nll']:.4f}, of the pen {m['pen_nll']:.4f}",
        ]


END = "end"  # what the mark behind a text is called
WIDTH = 800  # of a picture, in pixels, at most
HEIGHT = 300


@dataclass(frozen=True, kw_only=True)
class Writing(GenerationOptions):
    """Options of continuing a drawing, or of writing a text.

    text         to be written, by a model that was trained with texts
    length       points at most
    temperature  0: always the most probable move; below 1 safer, above 1 more varied
    bias         the larger, the neater and the less varied (Graves 2013)
    """

    described: ClassVar[str] = "a drawing of {} points"
    step_bytes: ClassVar[int] = 2000

    text: str | None = None
    length: int = 700
    temperature: float = 1.0
    bias: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.temperature <= 100:
            raise ConfigError("temperature must lie between 0 and 100", got=self.temperature)
        if not 0 <= self.bias <= 20:
            raise ConfigError("bias must lie between 0 and 20", got=self.bias)
        if self.text is not None and not self.text.strip():
            raise ConfigError("there is no text to write", got=self.text, remedy="give some text")


@dataclass(frozen=True, eq=False)
class Handwritten(Answer):
    """A drawing that was begun by `given` points, and what the model has written.

    ended       by the model itself, not by the length
    alignment   (T, U + 1) the weight of each character, and of the end, as each point was written;
                None without a text
    """

    plural: ClassVar[str] = "drawings"
    repeats: ClassVar[str | None] = None

    strokes: Strokes
    text: str
    given: int
    seed: int
    ended: bool
    alignment: np.ndarray | None = None

    def __str__(self) -> str:
        cut = "" if self.ended else ", not ended"
        return f"{self.text}: {self.strokes}{cut}" if self.text else f"{self.strokes}{cut}"

    def header(self) -> list[str]:
        return ["drawing", "text", "stroke", "x", "y"]

    def rows(self, number: int) -> list[list[Any]]:
        return [
            [number, self.text, i, f"{x:.6g}", f"{y:.6g}"]
            for i, line in enumerate(self.strokes.lines(), 1)
            for x, y in line
        ]

    def to_json(self) -> dict[str, Any]:
        lines = [[[float(f"{v:.6g}") for v in xy] for xy in line] for line in self.strokes.lines()]
        return {
            "text": self.text,
            "strokes": lines,
            "given": self.given,
            "ended": self.ended,
            "seed": self.seed,
        }

    def svg(self) -> list[str]:
        return svg_lines(self.strokes, self.text)

    def _repr_html_(self) -> str:
        return "".join(self.svg())

    formats: ClassVar[Mapping[str, Callable[[Any], list[str]]]] = {".svg": svg}


def svg_lines(strokes: Strokes, title: str = "") -> list[str]:
    """A drawing as SVG, y pointing down, as pens and screens have it."""
    lines = strokes.lines()
    points = np.concatenate(lines) if lines else np.zeros((1, 2))
    low, high = points.min(0), points.max(0)
    size = np.maximum(high - low, 1e-9)
    scale = min(WIDTH / size[0], HEIGHT / size[1])
    width, height = (size * scale).round().astype(int) + 20
    thick = max(1.5, min(width, height) / 80)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img">'
    )
    body = [f"<title>{escape(title or 'drawing')}</title>"]
    body.append('<rect width="100%" height="100%" fill="white"/>')
    for line in lines:
        xy = (line - low) * scale + 10
        shown = " ".join(f"{x:.1f},{y:.1f}" for x, y in (xy if len(xy) > 1 else [*xy, *xy]))
        body.append(
            f'<polyline points="{shown}" fill="none" stroke="black" stroke-width="{thick:.1f}"'
            ' stroke-linecap="round" stroke-linejoin="round"/>'
        )
    return [head, *body, "</svg>"]


class PenView(AnswerView):
    """Whether the pen is lifted after the point that follows each."""

    per_token = causal = True
    text_ids: Any = None

    def __init__(self, input: SeriesView) -> None:
        super().__init__(input)
        if self.task.conditional:
            text = getattr(input.item, "text", "")
            self.text_ids = self.task.text_ids(text, "the drawing")
            self.tokens = [*text, END]

    def default_step(self) -> int:
        return max(0, len(self.steps) - 2)  # after the last point nothing follows

    def drawings(self, batch: tuple[Any, ...]) -> Drawings:
        text = self.text_ids
        if text is not None:
            text = text.select(torch.zeros(len(batch[0]), dtype=torch.int64))
        values, lengths = batch
        return Drawings(values, lengths, text)

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        up = self.model.mixture(self.drawings(batch)).up
        return torch.stack([torch.zeros_like(up), up], -1)

    def summary(self, scores: Tensor) -> AnswerText:
        """The likelihood of the whole drawing."""
        drawings = self.drawings(self.input.batch([self.input]))
        losses = self.model.losses(drawings)
        count = max(1, int(drawings.lengths[0]) - 1)
        loss = float((losses.move + losses.pen).sum()) / count
        return AnswerText("", f"The model gives the {count} moves of it {loss:.3f} nats a point.")

    def name(self, answer: int) -> str:
        return ("pen down", "pen up")[answer]
