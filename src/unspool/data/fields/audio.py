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
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unspool.data.fields.audio_frames import (
    FrameMaker,
    FrameState,
    Framing,
    frames,
    resampling_size,
)
from unspool.data.fields.series_examiner import AudioExaminer
from unspool.data.fields.series_values import FittedChannels, Moments, Scaler, Series, blocks
from unspool.data.fields.source import SeriesWriter, StoredSize, VectorSource
from unspool.data.fields.tokens import Display
from unspool.data.read import Column
from unspool.data.read.budget import Allowance
from unspool.data.read.recording import Recording, file_schema, numbers
from unspool.data.read.sound import BLOCK, AudioInfo, Sound, as_sound, is_sound, wav_of
from unspool.data.store.vectors import VectorColumn
from unspool.errors import DataError, Setting
from unspool.io.files import stored_state, write_json

FILE = "audio.json"
LARGEST = 16_000  # samples a second, where no rate is set
LARGEST_FILTERS = 1 << 26  # samples of a frame, for each band, of a run that is loaded
LONG = 6000  # frames from which windows are advised
LOOKED = 200  # files whose rates are looked at
STORED = 500_000  # bytes of an example that a run keeps, at most: 15 s of 16 bits at 16,000 Hz


@dataclass(frozen=True)
class AudioColumn(VectorColumn):
    """Frames of recordings; `infos`: of how many files each rate and number of channels are."""

    infos: dict[AudioInfo, int]


class StreamedSound(NamedTuple):
    """State of streamed sound: the rate of its samples, and the state of its frames."""

    rate: int
    state: FrameState


class AudioWriter(SeriesWriter):
    """Counts what it reads."""

    def __init__(self, folder: Path, name: str, recording: Callable[[Any, str], Recording]) -> None:
        super().__init__(folder, name, recording)
        self.path = folder / f"{name}.heard.json"
        self.infos: Counter[AudioInfo] = Counter()

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        super().add(values, where)
        self.infos.update(as_sound(raw, where(i)).info() for i, raw in enumerate(values))

    def close(self) -> None:
        super().close()
        counts = [[*info, many] for info, many in sorted(self.infos.items())]
        self.path.write_text(json.dumps(counts), encoding="utf-8")


class AudioSource(VectorSource):
    """Frames of the spectrum of sound."""

    kind = "audio"
    noun = "recording"
    unit = "frames"
    missing = "silence alone"
    files = (FILE,)

    def __init__(self, framing: Framing) -> None:
        super().__init__()
        self.framing = framing

    @property
    def duration(self) -> float:  # type: ignore[override]
        return self.framing.seconds

    def look(self, column: Column) -> None:
        """Take the rate that most files have, unless one is set."""
        if self.framing.rate:
            return
        rates = [as_sound(raw, "item").info().rate for raw in column.sample[:LOOKED]]
        common = Counter(rates).most_common(1)
        rate = min(LARGEST, common[0][0]) if common else LARGEST
        self.framing = self.framing._replace(rate=rate)

    def recording(self, raw: Any, where: str) -> Recording:
        """Return frames; none where all samples are 0."""
        if isinstance(raw, Recording):
            return raw
        sound = as_sound(raw, where)
        rate, wanted = sound.info().rate, self.framing.rate
        with Allowance(sound.name, sound.size).spending() as allowed:
            allowed.fits(resampling_size(rate, wanted, BLOCK), f"{rate:,} Hz to {wanted:,} Hz")
            x = frames(sound.blocks(), rate, self.framing)
        return Recording(x, tuple(self.framing.names), name=sound.name)

    def storage_key(self) -> Any:
        return [self.kind, self.framing._asdict()]

    def writer(self, folder: Path, name: str) -> AudioWriter:
        return AudioWriter(folder, name, self.recording)

    def open(self, folder: Path, name: str) -> AudioColumn:
        stored = json.loads((folder / f"{name}.heard.json").read_text(encoding="utf-8"))
        infos = {AudioInfo(rate, channels): many for rate, channels, many in stored}
        return AudioColumn(**vars(VectorColumn.load(folder, name)), infos=infos)

    def fit_notes(self, column: Any, rows: np.ndarray, fitted: FittedChannels) -> list[str]:
        framing, lengths = self.framing, column.values.lengths[rows]
        what = {"logmel": "log-mel bands", "mfcc": "cepstral coefficients"}[framing.features]
        low, high = (int(end) * framing.seconds for end in (lengths.min(), lengths.max()))
        first = (
            f"audio: {len(framing.names)} {what} every {1000 * framing.seconds:g} ms at"
            f" {framing.rate:,} Hz, {int(lengths.sum()):,} frames in train, {low:.2f} to"
            f" {high:.2f} s a recording, {int(lengths.sum()) * framing.seconds:,.1f} s in all"
        )
        changes = changed(column.infos, framing.rate)
        return [first, *changes, *self.flaw_notes(column, rows, fitted)]

    def invent(self) -> Moments:
        self.framing = self.framing._replace(rate=self.framing.rate or LARGEST)
        self.channels = self.framing.names
        return super().invent()

    def refuse(self, recording: Recording, where: str) -> None:
        if not len(recording):
            raise DataError(
                "is silent: every sample is 0",
                where=recording.name or where,
                remedy="leave it out, or record it again",
            )
        super().refuse(recording, where)

    def next_steps(self, raw: Any, state: Any, read: int) -> tuple[Recording, StreamedSound]:
        """Return the frames that the next samples complete, even of silence: it may not last."""
        where = f"frame {read + 1}"
        sound = as_sound(raw, where)
        rate = sound.info().rate
        if state is not None and rate != state.rate:
            raise DataError(
                f"sound of {state.rate:,} Hz goes on with another rate",
                where=where,
                got=f"{rate:,} Hz",
                remedy="give all of it at one rate, or begin another stream",
            )
        maker = FrameMaker(rate, self.framing)
        framed = maker.start() if state is None else state.state
        parts = list[np.ndarray]()
        for block in sound.blocks(empty=True):
            new, framed = maker.extend(framed, block)
            parts.append(new)
        return self._streamed(parts), StreamedSound(rate, framed)

    def last_steps(self, state: StreamedSound) -> Recording:
        return self._streamed([FrameMaker(state.rate, self.framing).finish(state.state)])

    def _streamed(self, parts: list[np.ndarray]) -> Recording:
        names = tuple(self.framing.names)
        return Recording(np.concatenate([np.zeros((0, len(names)), np.float32), *parts]), names)

    json_schema: ClassVar = file_schema("wav", "audio/wav")

    def items(self, values: Any) -> Iterable[Any]:
        """A path alone, a pair of samples and their rate, or several of them."""
        pair = isinstance(values, tuple) and len(values) == 2 and np.ndim(values[1]) == 0
        if isinstance(values, str | Path | Sound | Recording) or (
            pair and not isinstance(values[1], str | Path)
        ):
            return [values]
        if not isinstance(values, Iterable):
            as_sound(values, "item")
        return values

    def named(self, name: str) -> Sound | None:
        return Sound(Path(name), name) if is_sound(name) else None

    def shown(self, raw: Any) -> str:
        return raw.name if isinstance(raw, Recording) else str(as_sound(raw, "item"))

    def to_json(self, raw: Any) -> dict[str, Any]:
        """Return the sound itself, as the bytes of a WAV file; of frames, these."""
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
                "is not a WAV file in base64",
                where=name,
                remedy="choose a file that ends with .wav",
            ) from None
        sound = Sound(None, name, data=data)
        sound.info()  # raises an error where it is no sound
        return sound

    def may_be_stored(self, raw: Any) -> bool:
        """A file of many channels, and of more bits, may become one that fits."""
        path = as_sound(raw, "the sound").path
        return path is None or path.stat().st_size <= 8 * STORED

    def stored_size(self, value: Any) -> StoredSize:
        if "wav" not in value:
            return super().stored_size(value)
        size = len(value["wav"]) * 3 // 4
        return StoredSize(round(size / 2 / self.framing.rate / self.duration), size / STORED)

    @property
    def display(self) -> Display:
        form = "spectrum" if self.framing.features == "logmel" else "heat map"
        return Display(form, audible=True)

    def picture(self, recording: Recording) -> dict[str, Any]:
        return {
            "channels": self.channels,
            "values": [numbers(channel.round(2)) for channel in recording.values.T],
            "steps": self.step_names(recording),
            "duration": self.duration,
        }

    def extent(self, raw: Any) -> str:
        return f"{len(self.recording(raw, 'the sound')) * self.duration:.2f} s"

    def step_names(self, recording: Recording) -> list[str]:
        return [f"{step * self.framing.seconds:.2f} s" for step in range(len(recording))]

    def curves(self, recording: Recording) -> Recording:
        return replace(recording, times=np.arange(len(recording)) * self.duration)

    def advise(self, lengths: np.ndarray) -> Iterator[tuple[Setting | None, str]]:
        longest = int(lengths.max())
        if longest > LONG:
            yield (
                Setting(window=1000),
                f"recordings have up to {longest * self.duration:,.0f} s; windows of them are"
                " learnt from sooner",
            )

    def examiner(self, values: Series, scaler: Scaler) -> AudioExaminer:
        return AudioExaminer(self.channels, scaler.mean, scaler.std, next(blocks(values.raw)))

    def fixed_settings(self) -> dict[str, Any]:
        return {"data.rate": self.framing.rate}

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, self.framing._asdict())

    def load(self, folder: Path) -> None:
        with stored_state(folder / FILE, "invalid audio settings") as stored:
            self.framing = Framing(**stored)
            framing = self.framing
            sizes = (framing.rate, framing.bands, framing.coefficients)
            valid = all(isinstance(size, int) and 0 < size <= 1_000_000 for size in sizes)
            valid = valid and 0 < framing.hop <= 10_000 and 0 < framing.window <= 10_000
            # Nothing is made of numbers that would fill the memory.
            valid = valid and framing.window_samples * framing.bands <= LARGEST_FILTERS
            if not valid or len(self.channels) != len(framing.names):
                raise ValueError


def changed(infos: dict[AudioInfo, int], rate: int) -> list[str]:
    """Report files that were resampled or mixed to one channel."""
    notes = []
    by_rate = Counter[int]()
    for info, many in infos.items():
        if info.rate != rate:
            by_rate[info.rate] += many
    if by_rate:
        listed = ", ".join(f"{many:,} of {old:,} Hz" for old, many in sorted(by_rate.items()))
        notes.append(f"resampled to {rate:,} Hz: {listed} ({Setting('rate')} for another rate)")
    mixed = sum(many for info, many in infos.items() if info.channels > 1)
    if mixed:
        notes.append(f"{mixed:,} recordings of several channels are read as the mean of them")
    return notes
