"""history: series whose past is read and whose next steps are to be given.

raw: a `Recording`, or an array. stored: a `VectorColumn`. values: `Stretches`, one for each target
of each series. Batches are windows of them (`data/windows.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from unspool.data.calendar import CYCLES, TimeStep, cycles_of, find_step
from unspool.data.fields.history_steps import at_equal_steps, on_equal_steps, season_of, spread
from unspool.data.fields.sentinels import sentinel_notes
from unspool.data.fields.series_examiner import HistoryExaminer
from unspool.data.fields.series_values import fit_moments
from unspool.data.fields.source import SeriesSource, count
from unspool.data.fields.static import StaticColumn, static_vectors
from unspool.data.fields.vectors import RecordingField
from unspool.data.read.recording import Recording
from unspool.data.store.columns import Progress
from unspool.data.store.ragged import Ragged
from unspool.data.store.vectors import VectorColumn
from unspool.data.windows import Known, Stretches, WindowBatch
from unspool.errors import ConfigError, DataError, Option, Setting, choose
from unspool.io.files import stored_state, write_json

FILE = "history.json"
MOST_MONTHS = 12_000
UNEVEN = 0.01  # of all steps: a note tells of more


class PastBatch(NamedTuple):
    """What a model reads of a `WindowBatch`."""

    y: Tensor
    observed: Tensor
    extra: Tensor
    known: Tensor
    lengths: Tensor

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(self)


class HistorySource(SeriesSource):
    """Series whose past is read."""

    kind = "history"


class HistoryField(RecordingField):
    """Which channels are continued, which are known ahead, and how far windows reach.

    targets   names of the channels to be continued; empty: all that are not known ahead
    ahead     names of channels that are known ahead
    length    steps of a window (0: three horizons, at least two seasons)
    horizon   steps to be given (0: a season, or a tenth of the longest series where that is short)
    season    steps of a season (0: by the distance of the dates)
    calendar  whether the time of day, week and year is known ahead, where times are dates
    static    names of what each series has as a whole
    extra     whether the past of other channels is read
    resample  whether values are put at equal steps, with gaps where there are none

    Fitted: all of these, `channels` with `mean` and `std`, the `step` from one time to the next,
    and the `cycles` of the calendar.
    """

    compared = False
    files = (FILE,)

    def __init__(
        self,
        name: str,
        *,
        targets: Sequence[str] = (),
        ahead: Sequence[str] = (),
        length: int = 0,
        horizon: int = 0,
        season: int = 0,
        calendar: bool = True,
        static: Sequence[str] = (),
        extra: bool = True,
        resample: bool = False,
    ) -> None:
        super().__init__(name, HistorySource())
        self.static = [StaticColumn(column) for column in static]
        self.targets, self.ahead = list(targets), list(ahead)
        self.length, self.horizon, self.season = length, horizon, season
        self.calendar, self.extra, self.resample = calendar, extra, resample
        self.mean, self.std = np.zeros(0), np.ones(0)  # (C,)
        self.cycles: list[str] = []
        self.step, self.dated, self.timed = TimeStep(1.0), False, False

    @property
    def target_channels(self) -> list[int]:
        return [self.channels.index(name) for name in self.targets]

    @property
    def ahead_channels(self) -> list[int]:
        return [self.channels.index(name) for name in self.ahead]

    @property
    def extra_channels(self) -> list[int]:
        """Channels of which only the past is read."""
        return self.other_channels if self.extra else []

    @property
    def other_channels(self) -> list[int]:
        """Channels that are neither continued nor known ahead."""
        used = {*self.targets, *self.ahead}
        return [i for i, name in enumerate(self.channels) if name not in used]

    @property
    def size(self) -> int:
        """Numbers that are read of a step: its value, whether it was observed, and the rest."""
        return 2 + len(self.extra_channels) + self.known_size

    @property
    def known_size(self) -> int:
        """Numbers that are known ahead of each step."""
        static = sum(column.size for column in self.static)
        return 2 * len(self.cycles) + len(self.ahead) + static

    def inputs(self, target: int) -> list[str]:
        extra = [self.channels[i] for i in self.extra_channels]
        cycles = [f"{part} of the {c}" for c in self.cycles for part in ("sine", "cosine")]
        static = [name for column in self.static for name in column.inputs]
        return [self.targets[target], "observed", *extra, *cycles, *self.ahead, *static]

    def settle(self, column: VectorColumn, *, where: str) -> list[str]:
        """Settle what does not depend on the split: roles, times, season and horizon."""
        self.source.channels = list(column.channels)
        for what, names in (("to be forecast", self.targets), ("known ahead", self.ahead)):
            for name in names:
                choose(f"column {what}", name, self.channels, where=where)
        if both := [name for name in self.targets if name in self.ahead]:
            raise DataError(
                f"column {both[0]!r} is to be forecast and known ahead",
                where=where,
                remedy=("leave it out of ", Option("target"), " or of ", Option("known")),
            )
        if not self.targets:
            self.targets = [name for name in self.channels if name not in self.ahead]
        notes = [] if column.times is None else self._settle_times(column.times, column.dated)
        self.dated, self.timed = column.dated, column.times is not None
        longest = int(column.values.lengths.max()) if len(column) else 0
        if self.season > longest:
            raise DataError(
                f"a season of {self.season:,} steps is longer than every series, of which the"
                f" longest has {longest:,}",
                where=where,
                remedy="set a smaller season, or give longer series",
            )
        if not self.season:
            steps_per_season = season_of(self.step) if self.dated else 1
            self.season = steps_per_season if steps_per_season <= longest else 1
            if self.season > 1:
                notes.append(f"season: {self.season} steps, by the dates ({Setting(season='N')})")
            else:
                notes.append(
                    "season: none is known, so errors are compared with those of the last value; "
                    f"{Setting(season='N')} gives one"
                )
        if not self.horizon:
            if self.season == 1:
                raise DataError(
                    "how many steps ahead is not known",
                    where=where,
                    remedy=("give ", Option("horizon"), ", or a season with ", Setting(season="N")),
                )
            fits = longest > 3 * self.season  # something to learn from, and to hold out
            self.horizon = self.season if fits else max(1, longest // 10)
            what = "a season" if fits else "a tenth of the longest series"
            notes.append(f"horizon: {self.horizon} steps, {what} ({Option(horizon='N')})")
        return notes

    def _settle_times(self, times: Ragged, dated: bool) -> list[str]:
        full = np.flatnonzero(times.lengths > 1).tolist()
        if not full:
            return []
        series = [np.asarray(times[row]) for row in full]
        self.step, uneven = find_step(series, dated=dated)
        if dated and self.calendar:
            span = max(float(row[-1] - row[0]) for row in series)
            self.cycles = cycles_of(self.step.seconds, span)
        notes = []
        if self.step.months or self.step.weekdays:
            notes.append(f"time: a step is {self.step}")
        if uneven > UNEVEN:
            unit = " s" if dated and not (self.step.months or self.step.weekdays) else ""
            notes.append(
                f"{100 * uneven:.1f} % of the steps are not {self.step}{unit} after the one before;"
                + (
                    " they are put at the nearest such step, with gaps where none is"
                    if self.resample
                    else " they are read as they come (irregular=resample leaves gaps)"
                )
            )
        return notes

    def regular(self, column: VectorColumn) -> VectorColumn:
        """Series at equal steps, where that was asked for."""
        return at_equal_steps(column, self.step) if self.resample else column

    def fit(
        self, column: VectorColumn, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        notes = self.settle(column, where=where)
        return notes + self.fit_steps(column, rows, column.values.lengths[rows], where=where)

    def fit_steps(
        self, column: VectorColumn, rows: np.ndarray, ends: np.ndarray, *, where: str
    ) -> list[str]:
        """Fit to the steps before `ends` (N,) of some rows."""
        train = column.values.select(rows)
        train = Ragged(train.values, train.starts, ends)
        fitted = fit_moments(train)
        self.mean, self.std = fitted.mean, fitted.std
        for i, static in enumerate(self.static):
            static.fit([column.static[row][i] for row in rows], where)
        flat = [name for name in self.targets if fitted.constant[self.channels.index(name)]]
        if len(flat) == len(self.targets):
            value = self.mean[self.channels.index(flat[0])]
            raise DataError(
                f"{flat[0]!r} never changes in what is trained on, so there is nothing to learn",
                where=where,
                got=f"{value:g}",
                remedy=("name the columns to be forecast with ", Option("target")),
            )
        longest = int(ends.max())
        if longest <= self.horizon:
            raise DataError(
                f"the longest series has {count(longest, 'step')} to train on, which is not more"
                f" than the horizon of {self.horizon}",
                where=where,
                remedy=("give more data, or a smaller ", Option("horizon"), " or valid_share"),
            )
        room = longest - self.horizon
        if self.length > room:
            raise DataError(
                f"a window of {self.length} steps and a horizon of {self.horizon} are more than the"
                f" {longest:,} steps to train on of the longest series",
                where=where,
                remedy=(f"set window={room} or less, or a smaller ", Option("horizon")),
            )
        if not self.length:
            self.length = min(room, max(3 * self.horizon, 2 * self.season))
        notes = ["; ".join(self._roles())]
        notes.append(
            f"{len(rows):,} series,"
            f" {int(ends.sum()):,} steps to train on; windows of {self.length} steps give the next"
            f" {self.horizon}"
        )
        if fitted.gaps.any():
            notes.append(f"{int(fitted.gaps.sum()):,} gaps in train are marked, not filled")
        return notes + sentinel_notes(train, self.channels)

    def _roles(self) -> list[str]:
        roles = {
            "to be forecast": self.targets,
            "known ahead": [*self.ahead, *(f"time of the {c}" for c in self.cycles)],
            "of which only the past is read": [self.channels[i] for i in self.extra_channels],
            "not read": [] if self.extra else [self.channels[i] for i in self.other_channels],
        }
        lines = [
            f"{count(len(names), 'channel')} {role} ({', '.join(names[:6])}"
            + (", ...)" if len(names) > 6 else ")")
            for role, names in roles.items()
            if names
        ]
        return lines + [
            f"static {column.name}"
            f" ({f'{column.size:,} categories' if column.categories else 'a number'})"
            for column in self.static
        ]

    def invent(self, *, vocab: int, classes: int) -> None:
        self.source.channels, self.targets = ["1"], ["1"]
        self.mean, self.std = np.zeros(1), np.ones(1)
        self.season, self.horizon = self.season or 1, self.horizon or 24
        self.length = self.length or 3 * self.horizon

    def stretches(
        self,
        values: Ragged,
        times: Ragged | None,
        rows: np.ndarray,
        first: np.ndarray,
        end: np.ndarray,
        learnt: np.ndarray,
        static: Sequence[Sequence[Any]] = (),
    ) -> Stretches:
        """Every target of some rows from step `first` to `end` (N,); `learnt` (N,) are the steps
        before which there was something to learn from; `static` what all series have as a whole."""
        targets, extra, ahead = self.target_channels, self.extra_channels, self.ahead_channels
        known = Known(
            values,
            times=times,
            cycles=self.cycles,
            step=self.step,
            channels=ahead,
            mean=self.mean[ahead],
            std=self.std[ahead],
            static=self._static(static, rows, len(values)),
        )
        K = len(targets)
        series = np.repeat(rows, K)
        return Stretches(
            values,
            known,
            series=series,
            channel=np.tile(np.array(targets), len(rows)),
            first=np.repeat(first, K),
            end=np.repeat(end, K),
            scale=np.concatenate(
                [spread(values[int(row)][: int(stop), targets]) for row, stop in zip(rows, learnt)]
                or [np.zeros(0)]
            ),
            extra=extra,
            mean=self.mean[extra],
            std=self.std[extra],
        )

    def _static(
        self, raw: Sequence[Sequence[Any]], rows: np.ndarray, count: int
    ) -> np.ndarray | None:
        """(count, S), zeros but for some rows"""
        if not self.static:
            return None
        vectors = static_vectors(
            self.static, [raw[row] for row in rows], lambda i: f"series {i + 1}"
        )
        static = np.zeros((count, vectors.shape[1]), np.float32)
        static[rows] = vectors
        return static

    def values(self, column: VectorColumn, progress: Progress = None) -> Stretches:
        """Series that nothing was learnt from: all steps after a first window or before the
        horizon."""
        column = self.regular(column)
        rows = np.arange(len(column))
        lengths = column.values.lengths
        first = np.clip(lengths - self.horizon, 1, self.length)
        return self.stretches(
            column.values, column.times, rows, first, lengths, first, column.static
        )

    def encode(self, raw: Sequence[Any]) -> Stretches:
        """Series to be continued: the stretch of each begins after its last value."""
        recordings = [self.recording(value, f"item {i + 1}") for i, value in enumerate(raw)]
        for i, recording in enumerate(recordings):
            self.refuse(recording, f"item {i + 1}")
            if self.resample and recording.times is not None:
                at_steps, grid = on_equal_steps(recording.values, recording.times, self.step)
                recordings[i] = replace(recording, values=at_steps, times=grid)
        values = Ragged.of([recording.values for recording in recordings])
        times = None
        if self.timed and all(recording.times is not None for recording in recordings):
            times = Ragged.of(
                [recording.times for recording in recordings if recording.times is not None]
            )
        ends = np.array([self.last(recording) for recording in recordings], dtype=np.int64)
        static = [recording.static for recording in recordings]
        return self.stretches(values, times, np.arange(len(recordings)), ends, ends, ends, static)

    def last(self, recording: Recording) -> int:
        """The step after the last one at which a target was observed."""
        seen = ~np.isnan(recording.values[:, self.target_channels]).all(1)
        return int(np.flatnonzero(seen)[-1]) + 1

    def refuse(self, recording: Recording, where: str) -> None:
        """Raise an error about a series that a fitted field cannot continue."""
        self.source.refuse_channels(recording, where)
        if not len(recording) or np.isnan(recording.values[:, self.target_channels]).all():
            raise DataError(
                "the series has no value to go on from", where=where, remedy="give its past"
            )
        if self.cycles and not recording.dated:
            raise DataError(
                "the model reads the date of each step, and this series has none",
                where=where,
                remedy="give a file with a column of dates",
            )
        if self.ahead:
            rest = recording.values[self.last(recording) :, self.ahead_channels]
            if len(rest) < self.horizon or np.isnan(rest[: self.horizon]).any():
                raise DataError(
                    f"{', '.join(self.ahead)} must be known for the next {self.horizon} steps",
                    where=where,
                    got=count(int((~np.isnan(rest).any(1)).sum()), "step"),
                    remedy="add rows with these values, and nothing in the columns to be forecast",
                )

    def refuse_column(self, column: VectorColumn, where: str) -> None:
        """A file of other series than a fitted field has learnt."""
        self.source.refuse_width(len(column.channels), where)
        if self.cycles and not column.dated:
            raise DataError(
                "the model reads the date of each step, and these series have none",
                where=where,
                remedy="give a file with a column of dates",
            )

    def examiner(self, values: Stretches) -> HistoryExaminer:
        return HistoryExaminer(self.channels, self.mean, self.std, values)

    def collate(self, values: Stretches, rows: np.ndarray) -> WindowBatch:
        """The window before the end of each stretch."""
        return values.windows(rows, values.end[rows], length=self.length, horizon=self.horizon)

    def portable(self) -> dict[str, Any]:
        if self.known_size:
            raise ConfigError(
                "what is known ahead cannot be exported: calendars, known and static columns",
                got=f"{self.known_size} numbers a step",
                remedy=("train with ", Setting(calendar="none"), " and without the others"),
            )
        extra = self.extra_channels
        return {
            "kind": "history",
            "channels": list(self.channels),
            "targets": self.target_channels,
            "extra": extra,
            "mean": self.mean[extra].tolist(),
            "std": self.std[extra].tolist(),
            "length": self.length,
            "horizon": self.horizon,
        }

    def portable_item(self, steps: int, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(3, 1, (steps, len(self.channels))).astype(np.float32)

    def portable_batch(self, items: Sequence[Any]) -> PastBatch:
        values = self.encode(items)
        return PastBatch(*self.collate(values, np.arange(len(values)))[:5])

    def save(self, folder: Path) -> None:
        names = ("channels", "targets", "ahead", "length", "horizon", "season", "cycles")
        stored = {name: getattr(self, name) for name in (*names, "dated", "timed")}
        stored["step"] = self.step._asdict()
        static = [asdict(column) for column in self.static]
        moments = {"mean": self.mean.tolist(), "std": self.std.tolist()}
        write_json(folder / FILE, {**stored, **moments, "static": static})

    def load(self, folder: Path) -> None:
        with stored_state(folder / FILE, "not the channels and windows of series") as stored:
            self.source.channels, self.targets, self.ahead, self.cycles = (
                [str(name) for name in stored[key]]
                for key in ("channels", "targets", "ahead", "cycles")
            )
            if not set(self.cycles) <= CYCLES.keys():
                raise ValueError
            self.length, self.horizon, self.season = (
                int(stored[key]) for key in ("length", "horizon", "season")
            )
            step = stored["step"]
            self.step = TimeStep(
                float(step["seconds"]), int(step["months"]), step["weekdays"] is True
            )
            self.dated, self.timed = bool(stored["dated"]), bool(stored["timed"])
            self.mean, self.std = (np.array(stored[key], dtype=float) for key in ("mean", "std"))
            self.static = [
                StaticColumn(
                    str(column["name"]),
                    [str(name) for name in column["categories"]],
                    float(column["mean"]),
                    float(column["std"]),
                )
                for column in stored.get("static", [])
            ]
            size = len(self.channels)
            valid = self.mean.shape == self.std.shape == (size,)
            valid &= bool(np.isfinite(self.mean).all() and (self.std > 0).all())
            valid &= {*self.targets, *self.ahead} <= set(self.channels) and bool(self.targets)
            valid &= min(self.length, self.horizon, self.season) > 0
            valid &= self.step.seconds > 0 and 0 <= self.step.months <= MOST_MONTHS
            if not valid:
                raise ValueError
