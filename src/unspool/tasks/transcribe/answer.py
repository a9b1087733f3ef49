"""Transcripts: a text with the time and the confidence of each of its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from unspool.config.numbers import check_numbers
from unspool.errors import ConfigError, Option, RunError, Setting, choose
from unspool.io.files import AGAIN, read_json, write_json
from unspool.io.files import in_run as exists
from unspool.tasks.answer import Answer

Objective = Literal["ctc", "attention", "hybrid"]
OBJECTIVES: tuple[Objective, ...] = ("ctc", "attention", "hybrid")


@dataclass(frozen=True, kw_only=True)
class Transcribing:
    """Options of the search for texts.

    beam        width of the search over prefixes; 1: the text of the most probable path
    nbest       how many texts are given
    lm          a language model: a loaded run of `generate`
    lm_weight   of its log probability
    bonus       for each token, against the short texts that a language model prefers
    decoder     of a model of objective=hybrid: "ctc", "attention" or "hybrid", which ranks the
                texts of both by both; None: the objective
    """

    beam: int = 10
    nbest: int = 1
    lm: Any = None
    lm_weight: float = 0.5
    bonus: float = 0.0
    decoder: Objective | None = None

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.decoder is not None:
            choose("decoder", self.decoder, OBJECTIVES)
        if not 1 <= self.beam <= 10_000:
            raise ConfigError("beam must be from 1 to 10,000", got=self.beam)
        if not 1 <= self.nbest <= self.beam:
            raise ConfigError(
                f"a beam of {self.beam} cannot give {self.nbest} texts",
                remedy=("give ", Option("beam"), " as large as ", Option("nbest")),
            )

    @property
    def greedy(self) -> bool:
        return self.beam == 1 and self.lm is None and not self.bonus

    def described(self, decoder: str) -> str:
        """In words, of a model whose decoder finds the texts."""
        if decoder == "ctc":
            search = "greedy" if self.greedy else f"prefix beam search of width {self.beam}"
        else:
            search = "greedy" if self.beam == 1 else f"beam search of width {self.beam}"
            search = f"{'attention' if decoder == 'attention' else 'CTC and attention'}, {search}"
        if self.lm is not None:
            search += f", language model {getattr(self.lm, 'path', '')} with weight"
            search += f" {self.lm_weight:g}"
        return search + (f", bonus {self.bonus:g} a token" if self.bonus else "")


GREEDY = Transcribing(beam=1)


def chosen_decoder(objective: Objective, options: Transcribing) -> Objective:
    """The decoder of a model that was trained with an objective: that, unless the options
    name a half of it."""
    decoder = options.decoder or objective
    if objective not in ("hybrid", decoder):
        raise ConfigError(
            f"the model was trained with objective={objective}",
            got=f"decoder={decoder}",
            remedy=("leave it out, or train with ", Setting(objective="hybrid")),
        )
    if decoder == "hybrid" and (options.lm is not None or options.bonus):
        raise ConfigError(
            "a language model and a bonus are for the search of CTC, or of attention",
            got="decoder=hybrid",
            remedy=("give ", Option(decoder="ctc"), " or ", Option(decoder="attention"), ", too"),
        )
    if decoder == "attention" and options.bonus and options.lm is None:
        raise ConfigError(
            "a bonus for each token is for the search of CTC, or for a language model",
            got="decoder=attention",
            remedy=("give ", Option("lm"), ", too, or leave it out"),
        )
    return decoder


FILE = "calibration.json"
SURE = 1e-6  # a probability is at least this far from 0 and 1


class TranscriptToken(NamedTuple):
    """A token of a transcript.

    start, end   in seconds; of series, in steps
    confidence   that it is right
    """

    text: str
    start: float
    end: float
    confidence: float


class TranscriptCandidate(NamedTuple):
    """One of the best texts, with the score that it was ranked by."""

    text: str
    score: float


@dataclass(frozen=True)
class Transcript(Answer):
    """The transcript of the recording `name`; `candidates` are the best few texts."""

    plural: ClassVar[str] = "transcripts"
    repeats: ClassVar[str | None] = "name"

    name: str
    text: str
    confidence: float
    tokens: Sequence[TranscriptToken]
    candidates: Sequence[TranscriptCandidate]

    def __str__(self) -> str:
        return self.text

    def lines(self, number: int) -> list[str]:
        if len(self.candidates) > 1:
            return [
                f"{number}\t{candidate.score:.4f}\t{candidate.text}"
                for candidate in self.candidates
            ]
        return [f"{self.text}\t{self.confidence:.4f}\t{self.name}"]

    def header(self) -> list[str]:
        return ["name", "text", "confidence", "score"]

    def rows(self, number: int) -> list[list[Any]]:
        return [
            [
                self.name,
                candidate.text,
                f"{self.confidence:.6f}" if not i else "",
                f"{candidate.score:.6f}",
            ]
            for i, candidate in enumerate(self.candidates)
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "text": self.text,
            "confidence": self.confidence,
            "tokens": [token._asdict() for token in self.tokens],
            "candidates": [candidate._asdict() for candidate in self.candidates],
        }


class Confidence(NamedTuple):
    """p -> σ(scale · ln(p / (1 - p)) + shift), fitted to what was right and wrong (Platt 1999).

    tokens   that it was fitted to; 0: it is the network's own probability
    """

    scale: float = 1.0
    shift: float = 0.0
    tokens: int = 0

    def __call__(self, p: np.ndarray) -> np.ndarray:
        x = np.clip(p, SURE, 1 - SURE)
        calibrated: np.ndarray = 1 / (1 + np.exp(-(self.scale * np.log(x / (1 - x)) + self.shift)))
        return calibrated

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, self._asdict())

    @classmethod
    def load(cls, folder: Path) -> Confidence:
        if not exists(folder / FILE):
            return cls()
        stored = read_json(folder / FILE)
        try:
            confidence = cls(float(stored["scale"]), float(stored["shift"]), int(stored["tokens"]))
            fine = bool(np.isfinite(confidence).all())
        except (KeyError, TypeError, ValueError, OverflowError):
            fine = False
        if not fine:
            raise RunError("invalid calibration file", where=folder / FILE, remedy=AGAIN)
        return confidence


def fit_confidence(p: np.ndarray, right: np.ndarray, rounds: int = 50) -> Confidence:
    """Maximise the likelihood by Newton's method, with a Gaussian prior of deviation 3 around
    (1, 0): a part without an error does not make every answer certain."""
    x = np.clip(p, SURE, 1 - SURE)
    design = np.stack([np.log(x / (1 - x)), np.ones_like(x)], 1)
    w, center, precision = np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.eye(2) / 9
    for _ in range(rounds):
        q = 1 / (1 + np.exp(-(design @ w)))
        slope = design.T @ (q - right) + precision @ (w - center)
        curve = (design * (q * (1 - q))[:, None]).T @ design + precision
        move = np.linalg.solve(curve, slope)
        w = w - move * min(1.0, 5.0 / float(np.abs(move).max() + 1e-12))
        if np.abs(move).max() < 1e-9:
            break
    return Confidence(float(w[0]), float(w[1]), len(p))


def calibration_error(p: np.ndarray, right: np.ndarray, bins: int = 15) -> float:
    """ECE: how far the confidence and the share of what is right lie apart, over equal bins."""
    number = np.minimum((p * bins).astype(np.int64), bins - 1)
    size = np.bincount(number, minlength=bins)
    sure = np.bincount(number, p, minlength=bins)
    good = np.bincount(number, right.astype(float), minlength=bins)
    return float(np.abs(sure - good).sum() / max(1, size.sum()))
