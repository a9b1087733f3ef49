"""The report on transcripts: errors in characters and words with intervals; what is confused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from unspool.tasks.metrics import bootstrap_ratio
from unspool.tasks.task import Report
from unspool.tasks.transcribe.answer import calibration_error
from unspool.tasks.transcribe.edits import Counts, counted, edits

SHOWN = 10  # confusions of the table
KEPT = 50  # of the JSON
NOTHING = "∅"
SPACE = "␣"


def plain_text(text: str) -> str:
    """What is compared: white space as single spaces."""
    return " ".join(text.split())


class ErrorRate:
    """Errors of N texts over what they should have, with a bootstrap interval over the texts."""

    def __init__(self, counts: Sequence[Counts]) -> None:
        self.errors = np.array([own.errors for own in counts], dtype=float)
        self.sizes = np.array([own.size for own in counts], dtype=float)
        self.value = float(self.errors.sum() / max(1.0, self.sizes.sum()))
        self.interval = bootstrap_ratio(self.errors[:, None], self.sizes[:, None])
        kinds = ("substitutions", "deletions", "insertions")
        self.kinds = {kind: sum(getattr(own, kind) for own in counts) for kind in kinds}

    def line(self, name: str, noun: str) -> str:
        low, high = (100 * end for end in self.interval)
        counts = ", ".join(f"{many:,} {kind}" for kind, many in self.kinds.items())
        return (
            f"{name}          {100 * self.value:6.2f} %   95 % interval {low:.2f} to {high:.2f}"
            f" (bootstrap); {int(self.sizes.sum()):,} {noun}, {counts}"
        )


class TranscribeReport(Report):
    """CER and WER; keeps the texts. `confidence` and `right`: of each token that was written."""

    def __init__(
        self,
        names: Sequence[str],
        found: Sequence[str],
        truth: Sequence[str],
        *,
        loss: float,
        confidence: np.ndarray,
        right: np.ndarray,
        calibrated: bool,
        search: str,
    ) -> None:
        self.names, self.search, self.calibrated = names, search, calibrated
        self.found, self.truth = [list(map(plain_text, each)) for each in (found, truth)]
        paths = [edits(true, own) for true, own in zip(self.truth, self.found)]
        self.characters = ErrorRate([counted(path) for path in paths])
        self.words = ErrorRate(
            [counted(edits(true.split(), own.split())) for true, own in zip(self.truth, self.found)]
        )
        wrong = Counter(tuple(edit) for path in paths for edit in path if not edit.right)
        self.confusions = wrong.most_common(KEPT)
        # The main metric is a mean of these, weighed by the sizes of the texts.
        sizes = self.characters.sizes
        self.scores = self.characters.errors / np.maximum(sizes, 1)
        self.weights = np.maximum(sizes, 1)
        self.interval = self.characters.interval
        exact = [true == own for true, own in zip(self.truth, self.found)]
        self.ece = calibration_error(confidence, right) if len(right) else 0.0
        self.tokens, self.share = len(right), float(right.mean()) if len(right) else 0.0
        self.metrics = {
            "cer": self.characters.value,
            "wer": self.words.value,
            "exact": float(np.mean(exact)),
            "loss": loss,
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "transcribe",
            "recordings": len(self.truth),
            **self.metrics,
            "cer_interval": list(self.characters.interval),
            "wer_interval": list(self.words.interval),
            "character_errors": self.characters.kinds,
            "word_errors": self.words.kinds,
            "search": self.search,
            "confidence_ece": self.ece,
            "confidence_calibrated": self.calibrated,
            "confusions": [
                {"true": true, "found": found, "count": many}
                for (true, found), many in self.confusions
            ],
            "transcripts": [
                {"name": name, "text": own, "reference": true}
                for name, own, true in zip(self.names, self.found, self.truth)
            ],
        }

    def lines(self) -> list[str]:
        figures = self.metrics
        how = "calibrated on the validation part" if self.calibrated else "not calibrated"
        lines = [
            f"{len(self.truth):,} recordings, {self.search}",
            self.characters.line("CER", "characters"),
            self.words.line("WER", "words"),
            f"exact        {100 * figures['exact']:6.2f} %",
            f"loss         {figures['loss']:6.4f} nats a token",
            f"confidence   ECE {self.ece:.4f}, {100 * self.share:.1f} % of {self.tokens:,} tokens"
            f" are right ({how})",
        ]
        if self.confusions:
            lines += ["", "most common errors", "true  found  count"]
            lines += [
                f"{sign(true):<4}  {sign(own):<5}  {many:5}"
                for (true, own), many in self.confusions[:SHOWN]
            ]
        return lines


def sign(character: str | None) -> str:
    return NOTHING if character is None else SPACE if character == " " else character
