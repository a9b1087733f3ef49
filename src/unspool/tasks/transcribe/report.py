"""The report on transcripts: edits, error rates of characters and words, what is confused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unspool.tasks.metrics import bootstrap_ratio
from unspool.tasks.task import Report
from unspool.tasks.transcribe.answer import calibration_error


class Edit(NamedTuple):
    """A pair of the alignment: what should stand there, None where something was inserted; and what
    does, None where something is missing."""

    true: Any
    found: Any

    @property
    def right(self) -> bool:
        return bool(self.true == self.found)


def distances(truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """(n + 1, m + 1) the edits that make the first j of what was found of the first i of the truth.

    d_ij = min(d_{i-1,j} + 1, d_{i-1,j-1} + [t_i ≠ f_j], d_{i,j-1} + 1); along a row the last term
    is a running minimum of the others, less their column.
    """
    n, m = len(truth), len(guess)
    column = np.arange(m + 1)
    table = np.empty((n + 1, m + 1), dtype=np.int64)
    table[0] = column
    for i in range(1, n + 1):
        above = table[i - 1]
        row = above + 1
        row[1:] = np.minimum(row[1:], above[:-1] + (guess != truth[i - 1]))
        table[i] = np.minimum.accumulate(row - column) + column
    return table


def edits(truth: Sequence[Any], guess: Sequence[Any]) -> list[Edit]:
    """The alignment of two sequences with the fewest errors; of equals, a substitution before a
    deletion before an insertion, from the end on."""
    names = {token: i for i, token in enumerate(dict.fromkeys([*truth, *guess]))}
    a, b = (
        np.array([names[token] for token in tokens], dtype=np.int64) for tokens in (truth, guess)
    )
    table = distances(a, b)
    i, j = len(a), len(b)
    path = []
    while i or j:
        if i and j and table[i, j] == table[i - 1, j - 1] + (a[i - 1] != b[j - 1]):
            path.append(Edit(truth[i - 1], guess[j - 1]))
            i, j = i - 1, j - 1
        elif i and table[i, j] == table[i - 1, j] + 1:
            path.append(Edit(truth[i - 1], None))
            i -= 1
        else:
            path.append(Edit(None, guess[j - 1]))
            j -= 1
    path.reverse()
    return path


class Counts(NamedTuple):
    """Errors of each kind in one text, and its true length."""

    substitutions: int
    deletions: int
    insertions: int
    size: int

    @property
    def errors(self) -> int:
        return self.substitutions + self.deletions + self.insertions


def counted(path: Sequence[Edit]) -> Counts:
    deletions = sum(step.found is None for step in path)
    insertions = sum(step.true is None for step in path)
    wrong = sum(not step.right for step in path)
    return Counts(wrong - deletions - insertions, deletions, insertions, len(path) - insertions)


SHOWN = 10  # confusions of the table
KEPT = 50  # of the JSON
NOTHING = "∅"
SPACE = "␣"


def plain_text(text: str) -> str:
    """The text that is compared: white space as single spaces."""
    return " ".join(text.split())


class ErrorRate:
    """Errors of N texts over what they should have, with a bootstrap interval over the texts."""

    def __init__(self, counts: Sequence[Counts]) -> None:
        self.errors = np.array([count.errors for count in counts], dtype=float)
        self.sizes = np.array([count.size for count in counts], dtype=float)
        self.value = float(self.errors.sum() / max(1.0, self.sizes.sum()))
        self.interval = bootstrap_ratio(self.errors[:, None], self.sizes[:, None])
        kinds = ("substitutions", "deletions", "insertions")
        self.kinds = {kind: sum(getattr(count, kind) for count in counts) for kind in kinds}

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
        guess: Sequence[str],
        truth: Sequence[str],
        *,
        loss: float,
        confidence: np.ndarray,
        right: np.ndarray,
        calibrated: bool,
        search: str,
    ) -> None:
        self.names, self.search, self.calibrated = names, search, calibrated
        self.found, self.truth = [list(map(plain_text, texts)) for texts in (guess, truth)]
        paths = [edits(true, pair) for true, pair in zip(self.truth, self.found)]
        self.characters = ErrorRate([counted(path) for path in paths])
        self.words = ErrorRate(
            [
                counted(edits(true.split(), pair.split()))
                for true, pair in zip(self.truth, self.found)
            ]
        )
        wrong = Counter(tuple(edit) for path in paths for edit in path if not edit.right)
        self.confusions = wrong.most_common(KEPT)
        # The main metric is a mean of these, weighed by the sizes of the texts.
        sizes = self.characters.sizes
        self.scores = self.characters.errors / np.maximum(sizes, 1)
        self.weights = np.maximum(sizes, 1)
        self.interval = self.characters.interval
        exact = [true == pair for true, pair in zip(self.truth, self.found)]
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
                {"true": true, "found": pair, "count": many}
                for (true, pair), many in self.confusions
            ],
            "transcripts": [
                {"name": name, "text": row, "reference": true}
                for name, row, true in zip(self.names, self.found, self.truth)
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
                f"{sign(true):<4}  {sign(confusion):<5}  {many:5}"
                for (true, confusion), many in self.confusions[:SHOWN]
            ]
        return lines


def sign(character: str | None) -> str:
    return NOTHING if character is None else SPACE if character == " " else character
