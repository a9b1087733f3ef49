"""Series to be forecast that are in the data twice: a corpus in, findings out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from unspool.data.check.describe import files
from unspool.data.check.report import DoubtfulRow, Finding
from unspool.data.check.survey import Survey
from unspool.data.check.tracks import AGREE, WITHIN, Repetition, find_repetitions
from unspool.data.corpus import Corpus
from unspool.data.fields.examiner import Examiner, SeriesTrack
from unspool.data.part import Part

SHOWN = 5
WHAT = {
    "same": "series are the same as an earlier one",
    "part": "series are a stretch of another one, value for value",
    "near": f"series are nearly the same as an earlier one (at least {100 * AGREE:g} % of their"
    f" values within {WITHIN:g} standard deviations)",
}
REMEDY = "look whether they are copies: a copy counts twice, and what is held out may be in it"


class Whole(NamedTuple):
    """A track and where it is."""

    track: SeriesTrack
    part: Part
    row: int

    @property
    def where(self) -> str:
        return self.part.where(self.row)


class SameSeries:
    """Repetitions among the tracks of all files of a corpus, found once."""

    def __init__(self, corpus: Corpus, examiners: Mapping[str, Examiner]) -> None:
        self.every = [
            Whole(track, part, row)
            for part in files(corpus)
            for key, examiner in examiners.items()
            for row, track in enumerate(examiner.tracks(part[key]))
        ]
        self.found = find_repetitions([own.track for own in self.every])

    def wanted(self, part: Part) -> list[int]:
        """Rows of the table of a part that are to be shown."""
        every = (self.every[own.track] for kind in WHAT for own in self._of(kind)[:SHOWN])
        return [int(own.part.rows[own.row]) for own in every if own.part.plan is part.plan]

    def findings(self, parts: Sequence[Part], surveys: Sequence[Survey]) -> Iterator[Finding]:
        by_plan = {id(part.plan): survey for part, survey in zip(parts, surveys)}
        for kind, what in WHAT.items():
            found = self._of(kind)
            if found:
                examples = []
                for own in found[:SHOWN]:
                    whole = self.every[own.track]
                    shown = by_plan[id(whole.part.plan)].wanted[int(whole.part.rows[whole.row])]
                    examples.append(DoubtfulRow(whole.where, shown, self._note(own)))
                yield Finding(f"{kind}-series", what, len(found), examples, REMEDY)

    def _of(self, kind: str) -> list[Repetition]:
        found = [own for own in self.found if own.kind == kind]
        return sorted(found, key=lambda own: -own.share)

    def _note(self, own: Repetition) -> str:
        one, other = self.every[own.track], self.every[own.other]
        named = f"{one.track.name} " if one.track.name else ""
        target = f"{other.track.name} of " if other.track.name else ""
        if own.kind == "part":
            return f"{named}from step {own.first + 1} on of {target}{other.where}"
        share = f"{100 * own.share:.1f} % " if own.kind == "near" else ""
        return f"{named}{share}as {target}{other.where}"
