"""audio: recordings of sound as frames of their spectrum; scaled, cut and batched as series are.

raw: a `Sound`, the path of a file, or (samples, rate). values: `Series`. tensors: `SeriesBatch`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unspool.data.fields.audio_examiner import AudioExaminer
from unspool.data.fields.audio_frames import FrameMaker, FrameState, Framing, frames
from unspool.data.fields.field import Chunk
from unspool.data.fields.recordings import SeriesWriter, StoredSize
from unspool.data.fields.series import SeriesField
from unspool.data.fields.series_values import Series, blocks
from unspool.data.read import Column
from unspool.data.read.recording import Recording, numbers
from unspool.data.read.sound import Heard, Sound, as_sound, is_sound, wav_of
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.vectors import VectorColumn
from unspool.errors import DataError, RunError
from unspool.io.files import AGAIN, read_json, write_json

FILE = "audio.json"
LARGEST = 16_000  # samples a second, where no rate is set
LOOKED = 200  # files whose rates are looked at
STORED = 500_000  # bytes of an example that a run keeps, at most: 15 s of 16 bits at 16,000 Hz


@dataclass(frozen=True)
class AudioColumn(VectorColumn):
    """Frames of recordings; `heard`: of how many files each rate and number of channels are."""

    heard: dict[Heard, int]


class StreamedSound(NamedTuple):
    """What is kept of sound that comes: the rate of its samples, and the state of its frames."""

    rate: int
    state: FrameState


class AudioWriter(SeriesWriter):
    """Counts what it reads."""

    def __init__(self, folder: Path, name: str, recording: Callable[[Any, str], Recording]) -> None:
        super().__init__(folder, name, recording)
        self.path = folder / f"{name}.heard.json"
        self.heard: Counter[Heard] = Counter()

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        super().add(values, where)
        self.heard.update(as_sound(raw, where(i)).heard() for i, raw in enumerate(values))

    def close(self) -> None:
        super().close()
        counts = [[*own, many] for own, many in sorted(self.heard.items())]
        self.path.write_text(json.dumps(counts), encoding="utf-8")


class AudioField(SeriesField):
    """Frames of the spectrum of sound."""

    kind = "audio"
    unit = "frames"
    spectral = True

    def __init__(
        self,
        name: str,
        framing: Framing,
        *,
        scaling: str = "channel",
        max_length: int = 0,
        window: int = 0,
        missing: str = "drop",
    ) -> None:
        super().__init__(
            name, scaling=scaling, max_length=max_length, window=window, missing=missing
        )
        self.framing = framing

    @property
    def duration(self) -> float:
        return self.framing.seconds

    def look(self, column: Column) -> None:
        """The rate that most files have, unless one is set."""
        if self.framing.rate:
            return
        found = [as_sound(raw, "item").heard().rate for raw in column.sample[:LOOKED]]
        common = Counter(found).most_common(1)
        rate = min(LARGEST, common[0][0]) if common else LARGEST
        self.framing = self.framing._replace(rate=rate)

    def recording(self, raw: Any, where: str) -> Recording:
        """Frames; none of what is silent all along."""
        if isinstance(raw, Recording):
            return raw
        sound = as_sound(raw, where)
        x = frames(sound.blocks(), sound.heard().rate, self.framing)
        return Recording(x, tuple(self.framing.names), name=sound.name)

    @property
    def shown_as(self) -> str:
        return "spectrum" if self.framing.features == "logmel" else "heat map"

    def picture(self, raw: Any) -> dict[str, Any]:
        own = self.recording(raw, "the sound")
        steps = self.labels(own)
        return {
            "channels": self.channels,
            "values": [numbers(channel[: len(steps)].round(2)) for channel in own.values.T],
            "steps": steps,
            "duration": self.duration,
        }

    def as_read(self, own: Recording) -> Recording:
        """With the seconds at which frames begin."""
        own = super().as_read(own)
        return replace(own, times=np.arange(len(own)) * self.duration)

    def extent(self, raw: Any) -> str:
        return f"{len(self.recording(raw, 'the sound')) * self.duration:.2f} s"

    def to_json(self, raw: Any) -> dict[str, Any]:
        """The sound itself, as the bytes of a WAV file; of frames, these."""
        if isinstance(raw, Recording):
            return super().to_json(raw)
        sound = as_sound(raw, "the sound")
        return {"name": Path(sound.name).name, "wav": base64.b64encode(wav_of(sound)).decode()}

    def from_json(self, value: Any, where: str) -> Any:
        if not isinstance(value, dict) or "wav" not in value:
            return super().from_json(value, where)
        name = str(value.get("name") or where)
        try:
            data = base64.b64decode(value["wav"], validate=True)
        except (TypeError, ValueError, binascii.Error):
            raise DataError(
                "is no WAV file in base64", where=name, remedy="choose a file that ends with .wav"
            ) from None
        sound = Sound(None, name, data=data)
        sound.heard()  # refuses what is none
        return sound

    def may_be_stored(self, raw: Any) -> bool:
        """A file of many channels, and of more bits, may become one that fits."""
        path = as_sound(raw, "the sound").path
        return path is None or path.stat().st_size <= 8 * STORED

    def stored_size(self, value: Any) -> StoredSize:
        if "wav" not in value:
            return super().stored_size(value)
        size = len(value["wav"]) * 3 // 4
        steps = round(size / 2 / self.framing.rate / self.duration)
        return StoredSize(steps, size / STORED)

    def storage_key(self) -> Any:
        return [self.kind, self.framing._asdict()]

    def writer(self, folder: Path) -> AudioWriter:
        return AudioWriter(folder, self.name, self.recording)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> AudioColumn:
        stored = json.loads((folder / f"{self.name}.heard.json").read_text(encoding="utf-8"))
        found = VectorColumn.load(folder, self.name)
        heard = {Heard(rate, channels): many for rate, channels, many in stored}
        return AudioColumn(**vars(found), heard=heard)

    def what_is_missing(self, column: Any, rows: np.ndarray) -> str:
        return "silence alone"

    def fit(
        self,
        column: Any,
        rows: np.ndarray,
        *,
        where: str,
        progress: Progress | None = None,
    ) -> list[str]:
        notes = super().fit(column, rows, where=where, progress=progress)
        own, lengths = self.framing, column.values.lengths[rows]
        what = {"logmel": "log-mel bands", "mfcc": "cepstral coefficients"}[own.features]
        low, high = (int(end) * own.seconds for end in (lengths.min(), lengths.max()))
        first = (
            f"audio: {len(own.names)} {what} every {1000 * own.seconds:g} ms at {own.rate:,} Hz,"
            f" {int(lengths.sum()):,} frames in train, {low:.2f} to {high:.2f} s a recording,"
            f" {int(lengths.sum()) * own.seconds:,.1f} s in all"
        )
        return [first, *changed(column.heard, own.rate), *notes[1:]]

    def invent(self, *, vocab: int, classes: int) -> None:
        self.framing = self.framing._replace(rate=self.framing.rate or LARGEST)
        self.channels = self.framing.names
        self.mean, self.std = np.zeros(len(self.channels)), np.ones(len(self.channels))

    def refuse(self, own: Recording, where: str) -> None:
        if not len(own):
            raise DataError(
                "is silent: every sample is 0",
                where=own.name or where,
                remedy="leave it out, or record it again",
            )
        super().refuse(own, where)

    def items(self, given: Any) -> Iterable[Any]:
        """A path alone, a pair of samples and their rate, or several of them."""
        pair = isinstance(given, tuple) and len(given) == 2 and np.ndim(given[1]) == 0
        if isinstance(given, str | Path | Sound | Recording) or (
            pair and not isinstance(given[1], str | Path)
        ):
            return [given]
        if not isinstance(given, Iterable):
            as_sound(given, "item")
        return given

    def shown(self, raw: Any) -> str:
        return raw.name if isinstance(raw, Recording) else str(as_sound(raw, "item"))

    def chunk(self, raw: Any, before: Any, read: int) -> Chunk:
        """The frames that the next samples complete. Sound that is silent from its beginning on is
        read, too: it may not stay so."""
        where = f"frame {read + 1}"
        sound = as_sound(raw, where)
        rate = sound.heard().rate
        if before is not None and rate != before.rate:
            raise DataError(
                f"sound of {before.rate:,} Hz goes on with another rate",
                where=where,
                got=f"{rate:,} Hz",
                remedy="give all of it at one rate, or begin another stream",
            )
        maker = FrameMaker(rate, self.framing)
        state, found = maker.start() if before is None else before.state, list[np.ndarray]()
        for block in sound.blocks(empty=True):
            new, state = maker.extend(state, block)
            found.append(new)
        return self._frames_chunk(found, StreamedSound(rate, state), read)

    def last_chunk(self, before: StreamedSound | None, read: int) -> Chunk:
        if before is None:
            return Chunk((), 0, before)
        last = FrameMaker(before.rate, self.framing).finish(before.state)
        return self._frames_chunk([last], before, read)

    def _frames_chunk(self, found: list[np.ndarray], before: StreamedSound, read: int) -> Chunk:
        names = tuple(self.framing.names)
        x = np.concatenate([np.zeros((0, len(names)), np.float32), *found])
        return super().chunk(Recording(x, names), None, read)._replace(before=before)

    def named(self, name: str) -> Sound | None:
        return Sound(Path(name), name) if is_sound(name) else None

    def labels(self, raw: Any) -> list[str]:
        """The time at which each frame begins."""
        count = len(self.recording(raw, "item"))
        return [f"{step * self.framing.seconds:.2f} s" for step in range(count)][
            : self.max_length or None
        ]

    def advise(self, values: Series, unknown: float) -> Iterator[tuple[str | None, str]]:
        longest = int(values.lengths.max())
        if longest > 6000:
            seconds = longest * self.framing.seconds
            yield (
                "--set window=1000",
                f"recordings have up to {seconds:,.0f} s; windows of them are learnt from sooner",
            )

    def examiner(self, values: Series) -> AudioExaminer:
        return AudioExaminer(self.channels, self.mean, self.std, next(blocks(values.raw)))

    @property
    def files(self) -> tuple[str, ...]:
        return (*super().files, FILE)

    def save(self, folder: Path) -> None:
        super().save(folder)
        write_json(folder / FILE, self.framing._asdict())

    def load(self, folder: Path) -> None:
        super().load(folder)
        stored = read_json(folder / FILE)
        try:
            self.framing = Framing(**stored)
            numbers = (self.framing.rate, self.framing.bands, self.framing.coefficients)
            fine = all(isinstance(own, int) and 0 < own <= 1_000_000 for own in numbers)
            fine &= 0 < self.framing.hop <= 10_000 and 0 < self.framing.window <= 10_000
            fine &= len(self.channels) == len(self.framing.names)
        except (TypeError, ValueError, OverflowError):
            fine = False
        if not fine:
            raise RunError("not how frames of sound are made", where=folder / FILE, remedy=AGAIN)


def changed(heard: dict[Heard, int], rate: int) -> list[str]:
    """What was done to the sound of files that are not at the rate, or have several channels."""
    notes = []
    others = Counter[int]()
    for own, many in heard.items():
        if own.rate != rate:
            others[own.rate] += many
    if others:
        found = ", ".join(f"{many:,} of {old:,} Hz" for old, many in sorted(others.items()))
        notes.append(f"resampled to {rate:,} Hz: {found} (--set rate= for another rate)")
    mixed = sum(many for own, many in heard.items() if own.channels > 1)
    if mixed:
        notes.append(f"{mixed:,} recordings of several channels are read as the mean of them")
    return notes
