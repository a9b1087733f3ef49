"""Checks of sound: clipping, silence, faint recordings, other rates and channels, and
the same recording twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unspool.data.fields.examiner import Flaw
from unspool.data.fields.series_examiner import SeriesExaminer
from unspool.data.read.sound import Sound, as_sound

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
    """In one pass over its samples."""
    rate = sound.heard().rate
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
            "are clipped: samples in a row at full scale",
            "record them at a lower level",
        ),
        "mostly-silence": Flaw(
            f"are silence for more than {100 * MOSTLY:.0f} % of their time"
            f" ({-20 * np.log10(QUIET):.0f} dB below their loudest)",
            "cut it off",
        ),
        "faint": Flaw(
            f"are faint: no sample above {100 * FAINT:g} % of full scale",
            "look whether the microphone was on; --set scaling=series makes up for the level",
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
        heard = [as_sound(value, "").heard() for value in raw]
        return [f"{info.rate:,} Hz" if name == RATE else str(info.channels) for info in heard]

    def excerpt(self, raw: Any, flaw: str | None = None) -> str:
        sound = as_sound(raw, "")
        level, heard = loudness(sound), sound.heard()
        about = {
            "clipped": f"{level.clipped:,} times",
            "mostly-silence": f"{100 * level.quiet:.0f} %",
            "faint": f"largest sample {100 * level.peak:.2g} %",
        }.get(flaw or "", f"{heard.rate:,} Hz")
        name = "" if sound.path is None else f"{sound.path.name}: "
        return f"{name}{level.seconds:.2f} s, {about}"
