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
        self.found = find_repetitions([whole.track for whole in self.every])

    def wanted(self, part: Part) -> list[int]:
        """Rows of the table of a part that are to be shown."""
        every = (self.every[repeat.track] for kind in WHAT for repeat in self._of(kind)[:SHOWN])
        return [
            int(repeat.part.rows[repeat.row]) for repeat in every if repeat.part.plan is part.plan
        ]

    def findings(self, parts: Sequence[Part], surveys: Sequence[Survey]) -> Iterator[Finding]:
        by_plan = {id(part.plan): survey for part, survey in zip(parts, surveys)}
        for kind, what in WHAT.items():
            repetitions = self._of(kind)
            if repetitions:
                examples = []
                for repeat in repetitions[:SHOWN]:
                    whole = self.every[repeat.track]
                    shown = by_plan[id(whole.part.plan)].wanted[int(whole.part.rows[whole.row])]
                    examples.append(DoubtfulRow(whole.where, shown, self._note(repeat)))
                yield Finding(f"{kind}-series", what, len(repetitions), examples, REMEDY)

    def _of(self, kind: str) -> list[Repetition]:
        repetitions = [repeat for repeat in self.found if repeat.kind == kind]
        return sorted(repetitions, key=lambda repeat: -repeat.share)

    def _note(self, repeat: Repetition) -> str:
        one, other = self.every[repeat.track], self.every[repeat.other]
        named = f"{one.track.name} " if one.track.name else ""
        target = f"{other.track.name} of " if other.track.name else ""
        if repeat.kind == "part":
            return f"{named}from step {repeat.first + 1} on of {target}{other.where}"
        share = f"{100 * repeat.share:.1f} % " if repeat.kind == "near" else ""
        return f"{named}{share}as {target}{other.where}"
