"""Checks of series and sound: spikes, flat channels, gaps, clipping, silence, the same recording
twice; of forecasts also whole series to compare with each other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from unspool.data.fields.examiner import Examiner, Flaw, SeriesTrack
from unspool.data.fields.ngrams import mix
from unspool.data.fields.series_values import digest
from unspool.data.read.recording import Recording, as_recording
from unspool.data.read.sound import Sound, as_sound
from unspool.data.store.ragged import Ragged
from unspool.errors import Setting

if TYPE_CHECKING:
    from unspool.data.windows import Stretches

SPIKE = 20.0  # standard deviations, as the quartiles of the training part suggest them
PIECE = 16  # steps of a shingle
GRAIN = 0.01  # of the deviation of a recording: smaller differences are ignored
LEVELS = 8  # of a feature


class SeriesExaminer(Examiner):
    """Compares the shapes of recordings, and their levels by the moments of the training part."""

    FLAWS: ClassVar[Mapping[str, Flaw]] = {
        "gaps": Flaw("have gaps", "they are read as 0 with a channel that says so"),
        "flat": Flaw("have a channel that never changes", "look whether the sensor was on"),
        "spikes": Flaw(
            f"have values more than {SPIKE:g} standard deviations from the median",
            "correct them, or leave the cells empty as gaps",
        ),
    }
    shingle = f"{PIECE} steps"

    def __init__(
        self,
        channels: Sequence[str],
        mean: np.ndarray,
        std: np.ndarray,
        steps: np.ndarray,
        recording: Callable[[Any, str], Recording] = as_recording,
    ) -> None:
        """`steps` (M, C) are some of the training part; `recording` makes one of a raw value."""
        self.channels, self.mean, self.std = channels, mean, std
        self.recording = recording
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a channel without a value
            low, self.median, high = np.nanquantile(steps, (0.25, 0.5, 0.75), axis=0)
        self.spread = np.where(high > low, (high - low) / 1.349, std)

    def shingles(self, values: Any, rows: np.ndarray) -> Ragged:
        return Ragged.of([self._pieces(values.raw[int(row)]) for row in rows])

    def features(self, values: Any, rows: np.ndarray) -> Ragged:
        """Return the levels of the mean, deviation, least, most and slope of each channel."""
        return Ragged.of([self._levels(values.raw[int(row)]) for row in rows])

    def _pieces(self, x: np.ndarray) -> np.ndarray:
        """Return hashes of stretches, with their positions, and of the length.

        Flat stretches show nothing about a recording. One with no others equals its exact copies
        alone. Values are rounded by the deviation of the recording itself, to a power of two, so
        that quiet recordings among loud ones keep their shape.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a channel without a value
            std = np.nanstd(x, axis=0)
        std = np.where(std > 0, std, self.std)
        grain = GRAIN * 2.0 ** np.floor(np.log2(std))
        levels = np.round(np.nan_to_num((x - self.mean) / grain)) + 0.0  # no -0
        stretches = [(i, levels[i : i + PIECE]) for i in range(0, len(levels), PIECE)]
        pieces = [digest(y) ^ i for i, y in stretches if (y != y[:1]).any()]
        return np.array([digest(np.array([len(x)])), *(pieces or [digest(x)])], np.uint64)

    def _levels(self, x: np.ndarray) -> np.ndarray:
        z = np.nan_to_num((x - self.mean) / self.std)
        change = np.abs(np.diff(z, axis=0)).mean(0) if len(z) > 1 else np.zeros(z.shape[1])
        figures = np.stack([z.mean(0), z.std(0), z.min(0), z.max(0), z[-1] - z[0], change])
        level = np.clip(np.round(figures * LEVELS / 2), -4 * LEVELS, 4 * LEVELS).astype(np.int64)
        number = np.arange(level.size).reshape(level.shape)
        return mix((number * 1000 + level + 500).astype(np.uint64).reshape(-1))

    def flaws(self, raw: Sequence[Any]) -> dict[str, np.ndarray]:
        arrays = [self.recording(value, "").values for value in raw]
        return {
            "gaps": np.array([bool(np.isnan(x).any()) for x in arrays]),
            "flat": np.array([len(x) > 1 and bool((x == x[:1]).all(0).any()) for x in arrays]),
            "spikes": np.array([bool(self._spikes(x).any()) for x in arrays]),
        }

    def _spikes(self, x: np.ndarray) -> np.ndarray:
        return np.abs(np.nan_to_num((x - self.median) / self.spread)) > SPIKE

    def excerpt(self, raw: Any, flaw: str | None = None) -> str:
        recording = self.recording(raw, "")
        x = recording.values
        if flaw == "gaps":
            step, channel = (int(axis[0]) for axis in np.nonzero(np.isnan(x)))
            place = f"step {step + 1} of {self._name(channel)}"
            return f"{int(np.isnan(x).sum()):,} gaps, the first at {place}"
        if flaw == "flat":
            flat = np.flatnonzero((x == x[:1]).all(0))
            return ", ".join(f"{self._name(i)} = {x[0, i]:g}" for i in flat[:5])
        if flaw == "spikes":
            step, channel = (int(axis[0]) for axis in np.nonzero(self._spikes(x)))
            return f"step {step + 1} of {self._name(channel)}: {x[step, channel]:g}"
        return str(recording)

    def _name(self, channel: int) -> str:
        return self.channels[channel] if channel < len(self.channels) else str(channel + 1)


class HistoryExaminer(SeriesExaminer):
    def __init__(
        self, channels: Sequence[str], mean: np.ndarray, std: np.ndarray, values: Stretches
    ) -> None:
        steps = np.concatenate([values.values[int(row)] for row in np.unique(values.series)])
        super().__init__(channels, mean, std, steps)

    def tracks(self, values: Stretches) -> list[SeriesTrack]:
        """Return all steps of each target, whatever part they are in."""
        times = values.known.times
        several = len(np.unique(values.channel)) > 1
        tracks = []
        for series, channel in zip(values.series.tolist(), values.channel.tolist()):
            x = np.asarray(values.values[series][:, channel])
            steps = np.arange(len(x)) if times is None else np.asarray(times[series])
            tracks.append(SeriesTrack(x, steps, self.channels[channel] if several else ""))
        return tracks


FULL = 0.99  # of the largest sample that can be written
IN_A_ROW = 3  # samples at full scale, which no sound that was not cut off has
RUNS = 3  # of such, in a recording that is clipped
WINDOW = 0.01  # seconds, of which the loudness is measured
QUIET = 0.01  # of the loudest window: 40 dB below
MOSTLY = 0.75  # share of windows that are quiet, in a recording that is mostly silence
FAINT = 0.01  # largest sample of a faint recording
RATE, CHANNELS = "rate", "number of channels"


class Loudness(NamedTuple):
    """Loudness of one recording.

    seconds   that it takes
    peak      largest magnitude of a sample
    clipped   stretches of samples at full scale
    quiet     share of windows that are quiet
    """

    seconds: float
    peak: float
    clipped: int
    quiet: float


def loudness(sound: Sound) -> Loudness:
    rate = sound.info().rate
    size = max(1, round(rate * WINDOW))
    count, peak, clipped, powers, rest = 0, 0.0, 0, list[np.ndarray](), np.zeros(0, np.float32)
    for block in sound.blocks():
        count += len(block)
        peak = max(peak, float(np.abs(block).max(initial=0.0)))
        clipped += runs(np.abs(block) >= FULL)
        rest = np.concatenate([rest, block])
        whole = len(rest) // size * size
        powers.append(np.square(rest[:whole].reshape(-1, size), dtype=np.float64).mean(1))
        rest = rest[whole:]
    if len(rest):
        powers.append(np.square(rest, dtype=np.float64).mean(keepdims=True))
    power = np.concatenate(powers)
    quiet = float((power <= QUIET**2 * power.max()).mean())
    return Loudness(count / rate, peak, clipped, quiet)


def runs(full: np.ndarray) -> int:
    """Stretches of at least IN_A_ROW."""
    edges = np.flatnonzero(np.diff(full.astype(np.int8), prepend=0, append=0))
    return int((edges[1::2] - edges[::2] >= IN_A_ROW).sum())


class AudioExaminer(SeriesExaminer):
    """Frames are compared as series are; flaws are those of the samples."""

    FLAWS: ClassVar[Mapping[str, Flaw]] = {
        "silent": Flaw("are silent: every sample is 0", "they are left out; record them again"),
        "clipped": Flaw(
            "are clipped: samples in a row at full scale", "record them at a lower level"
        ),
        "mostly-silence": Flaw(
            f"are silence for more than {100 * MOSTLY:.0f} % of their time"
            f" ({-20 * np.log10(QUIET):.0f} dB below their loudest)",
            "cut it off",
        ),
        "faint": Flaw(
            f"are faint: no sample above {100 * FAINT:g} % of full scale",
            ("check the microphone; ", Setting(scaling="series"), " makes up for the level"),
        ),
    }
    FAMILIES: ClassVar[tuple[str, ...]] = (RATE, CHANNELS)
    shingle = "16 frames"

    def flaws(self, raw: Sequence[Any]) -> dict[str, np.ndarray]:
        recordings = [loudness(as_sound(value, "")) for value in raw]
        silent = np.array([recording.peak == 0 for recording in recordings])
        return {
            "silent": silent,
            "clipped": np.array([recording.clipped >= RUNS for recording in recordings]),
            "mostly-silence": ~silent
            & np.array([recording.quiet > MOSTLY for recording in recordings]),
            "faint": ~silent & np.array([recording.peak <= FAINT for recording in recordings]),
        }

    def families(self, name: str, raw: Sequence[Any]) -> list[str]:
        infos = [as_sound(value, "").info() for value in raw]
        return [f"{info.rate:,} Hz" if name == RATE else str(info.channels) for info in infos]

    def excerpt(self, raw: Any, flaw: str | None = None) -> str:
        sound = as_sound(raw, "")
        level, info = loudness(sound), sound.info()
        about = {
            "clipped": f"{level.clipped:,} times",
            "mostly-silence": f"{100 * level.quiet:.0f} %",
            "faint": f"largest sample {100 * level.peak:.2g} %",
        }.get(flaw or "", f"{info.rate:,} Hz")
        name = "" if sound.path is None else f"{sound.path.name}: "
        return f"{name}{level.seconds:.2f} s, {about}"
