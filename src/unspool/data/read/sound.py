"""Sound: one recording of sound as a file has it, or as it is in memory; read in blocks of samples.

A WAV file is parsed here (PCM of 8 to 32 bits, floats of 32 and 64); FLAC, Ogg and MP3 take the
extra `audio`, AAC (`.m4a`), WMA and AMR the extra `video`. Samples come out as float32 between -1
and 1, all channels mixed to one; `wav_of` writes them as a WAV file again.
"""

from __future__ import annotations

import io
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np

from unspool.data.read.budget import Allowance, size_of
from unspool.data.read.container import SOUNDS as CONTAINED
from unspool.data.read.container import ContainerSound
from unspool.data.read.files import unreadable
from unspool.errors import DataError, Option
from unspool.io.files import open_regular

WAV = (".wav", ".wave")
OTHERS = (".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au")  # by soundfile
ENDINGS = (*WAV, *OTHERS, *CONTAINED)
BLOCK = 1 << 18  # samples of a channel that are read at once
PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
LEAST_RATE, LARGEST_RATE = 100, 1_000_000  # a header that says less is broken, or of no sound
ENDLESS = 1 << 62  # bytes
UNKNOWN_SIZE = 0x7FFF0000  # bytes: what writes to a pipe names as many, or more
STDERR = 2  # file descriptor
PIPED = 1 << 16  # bytes that are read at once, of as many as are there


class AudioInfo(NamedTuple):
    """Sample rate and channels of a recording."""

    rate: int
    channels: int


@dataclass(frozen=True, eq=False)
class Sound:
    """A file, the bytes of a WAV file, or samples (N,) or (N, channels) with their rate."""

    path: Path | None = None
    name: str = ""
    samples: np.ndarray | None = None
    rate: int = 0
    data: bytes | None = None

    def __str__(self) -> str:
        return self.name or "sound"

    def info(self) -> AudioInfo:
        """Read the header."""
        if self.samples is not None:
            return AudioInfo(self.rate, 1 if self.samples.ndim == 1 else self.samples.shape[1])
        if self.is_wav:
            with self._opened() as file:
                form = wav_form(file, self.name)
            return AudioInfo(form.rate, form.channels)
        assert self.path is not None
        with decoder(self.path, self.name) as file:
            return AudioInfo(file.samplerate, file.channels)

    @property
    def size(self) -> int:
        """Bytes on disk, or in memory."""
        if self.path is not None:
            return size_of(self.path)
        return len(self.data or b"") if self.samples is None else self.samples.nbytes

    @property
    def is_wav(self) -> bool:
        return self.data is not None or is_wav(self.path)

    def _opened(self) -> BinaryIO:
        if self.data is not None:
            return io.BytesIO(self.data)
        assert self.path is not None
        return opened(self.path, self.name)

    def blocks(self, size: int = BLOCK, *, empty: bool = False) -> Iterator[np.ndarray]:
        """Stretches (n,) of the samples, float32, channels mixed; at least one unless `empty`."""
        total, allowed = 0, Allowance(self.name, self.size)
        for block in self._raw(size):
            allowed.tick()
            with np.errstate(over="ignore", invalid="ignore"):  # refused below
                mixed = block if block.ndim == 1 else block.mean(1, dtype=np.float32)
            if not np.isfinite(mixed).all():
                bad = int(np.flatnonzero(~np.isfinite(mixed))[0])
                raise DataError(
                    f"sample {total + bad + 1:,} is not a finite number",
                    where=self.name,
                    remedy="save the recording again",
                )
            total += len(mixed)
            yield np.ascontiguousarray(mixed, dtype=np.float32)
        if not total and not empty:
            raise DataError(
                "holds no samples", where=self.name, remedy="leave it out, or record it again"
            )

    def _raw(self, size: int) -> Iterator[np.ndarray]:
        if self.samples is not None:
            for start in range(0, len(self.samples), size):
                yield self.samples[start : start + size]
        elif self.is_wav:
            with self._opened() as file:
                yield from wav_blocks(file, wav_form(file, self.name), self.name, size)
        else:
            assert self.path is not None
            with decoder(self.path, self.name) as file:
                while len(block := read_frames(file, size, self.name)):
                    yield block


def as_sound(raw: Any, where: str) -> Sound:
    """A path, a pair of samples and their rate, or a `Sound`."""
    if isinstance(raw, Sound):
        return raw
    if isinstance(raw, str | os.PathLike):
        return Sound(Path(raw), str(raw))
    if isinstance(raw, tuple | list) and len(raw) == 2 and isinstance(raw[1], int | float):
        samples, rate = np.asarray(raw[0]), raw[1]
        if samples.dtype.kind in "iu":
            samples = samples.astype(np.float32) / -float(np.iinfo(samples.dtype).min or -(2**31))
        if samples.dtype.kind == "f" and samples.ndim in (1, 2) and is_rate(rate):
            return Sound(None, where, samples.astype(np.float32), int(rate))
    raise DataError(
        f"a {type(raw).__name__} is not a recording of sound",
        where=where,
        got=raw,
        remedy="give the path of a file, or a pair of samples and their rate",
    )


def is_wav(path: Path | None) -> bool:
    return path is not None and path.suffix.lower() in WAV


def is_sound(name: Any) -> bool:
    return isinstance(name, str | os.PathLike) and str(name).lower().endswith(ENDINGS)


def is_rate(rate: float) -> bool:
    return LEAST_RATE <= rate <= LARGEST_RATE


def opened(path: Path, name: str) -> BinaryIO:
    try:
        return open_regular(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, name, error) from None


class Form(NamedTuple):
    """Sample format of a WAV file: `size` bytes from the present position on."""

    rate: int
    channels: int
    bits: int
    floats: bool
    size: int


def wav_form(file: BinaryIO, name: str, *, piped: bool = False) -> Form:
    """The header of a RIFF file; the file is left at its first sample.

    Chunks: 4 bytes of name, 4 of size, content, padded to an even size. `fmt ` comes before `data`.

    piped   the file is read as it comes, so that nobody knows whether as much will come
    """
    head = file.read(12)
    if not head:
        raise DataError("the file is empty", where=name, remedy="record it again")
    if len(head) < 12 or head[:4] != b"RIFF" or head[8:] != b"WAVE":
        raise DataError(
            "is not a WAV file" + ("" if piped else ", though it is named like one"),
            where=name,
            got=f"it begins with {head[:8]!r}",
            remedy=("for samples without a header use ", Option(pcm="RATE"), ", else a decoder")
            if piped
            else "give it the ending of its format, or save it as WAV",
        )
    form: tuple[int, int, int, int] | None = None
    while len(chunk := file.read(8)) == 8:
        kind, size = chunk[:4], struct.unpack("<I", chunk[4:])[0]
        if kind == b"fmt ":
            form = wav_kind(file.read(size), name)
            skip(file, size % 2)
        elif kind == b"data":
            if form is None:
                break
            return _checked(form, size, None if piped else file, name)
        else:
            skip(file, size + size % 2)
    raise DataError(
        "is a broken WAV file: it has no samples behind its header",
        where=name,
        remedy="copy or record it again",
    )


def skip(file: BinaryIO, size: int) -> None:
    """Read on, which a pipe can do, too."""
    while size and (data := file.read(min(size, 1 << 16))):
        size -= len(data)


def wav_kind(fmt: bytes, name: str) -> tuple[int, int, int, int]:
    """(code, channels, rate, bits) of a `fmt ` chunk."""
    if len(fmt) < 16:
        raise DataError(
            "is a broken WAV file: its header ends too early",
            where=name,
            remedy="copy or record it again",
        )
    code, channels, rate, _, _, bits = struct.unpack("<HHIIHH", fmt[:16])
    if code == EXTENSIBLE and len(fmt) >= 26:
        code = struct.unpack("<H", fmt[24:26])[0]
    return code, channels, rate, bits


def _checked(form: tuple[int, int, int, int], size: int, file: BinaryIO | None, name: str) -> Form:
    code, channels, rate, bits = form
    pcm, floats = code == PCM and bits in (8, 16, 24, 32), code == FLOAT and bits in (32, 64)
    if not pcm and not floats:
        raise DataError(
            "is a WAV file of a kind that is not read",
            where=name,
            got=f"format {code} of {bits} bits",
            remedy="save it as PCM of 16 bits, or as FLAC",
        )
    if not channels or not is_rate(rate):
        raise DataError(
            "is a broken WAV file",
            where=name,
            got=f"{channels} channels, {rate:,} samples a second",
            remedy="copy or record it again",
        )
    if file is None:
        return Form(rate, channels, bits, floats, size or ENDLESS)
    first = file.tell()
    there = file.seek(0, os.SEEK_END) - first
    file.seek(first)
    if size >= 0xFFFFFF00 or (size == 0 and there):  # what writes to a pipe does not know the size
        size = there
    step = channels * bits // 8
    if size > there:
        raise DataError(
            f"is a broken WAV file: it ends after {there // step:,} of {size // step:,} samples",
            where=name,
            remedy="copy or record it again",
        )
    return Form(rate, channels, bits, floats, size)


def wav_blocks(file: BinaryIO, form: Form, name: str, size: int) -> Iterator[np.ndarray]:
    """Blocks (n, channels) of float32"""
    step = form.channels * form.bits // 8
    left = form.size // step
    while left:
        data = file.read(step * min(size, left))
        if len(data) < step:
            raise DataError("ends while it is read", where=name, remedy="copy or record it again")
        left -= len(data) // step
        yield decoded(data[: len(data) // step * step], form).reshape(-1, form.channels)


def raw_form(rate: int) -> Form:
    """Samples without a header: 16 bits, signed, the lowest byte first, one channel."""
    return Form(rate, 1, 16, False, ENDLESS)


class Piped(Protocol):
    """Return a function that reads bytes as soon as there are some, up to `size`."""

    def read1(self, size: int = -1, /) -> bytes: ...


def piped_blocks(file: Piped, form: Form) -> Iterator[np.ndarray]:
    """Blocks (n, channels) of float32 as soon as their bytes are there."""
    step, left, rest = form.channels * form.bits // 8, form.size, b""
    while left and (data := file.read1(min(PIPED, left))):
        left -= len(data)
        rest += data
        whole = len(rest) // step * step
        if whole:
            yield decoded(rest[:whole], form).reshape(-1, form.channels)
        rest = rest[whole:]


def decoded(data: bytes, form: Form) -> np.ndarray:
    """(n,) float32. PCM of 8 bits is unsigned, of more signed, the lowest byte first."""
    if form.floats:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.frombuffer(data, f"<f{form.bits // 8}").astype(np.float32)
    if form.bits == 8:
        return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128
    if form.bits == 24:
        wide = np.zeros((len(data) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        return (wide.view("<i4")[:, 0] / 2**31).astype(np.float32)
    whole = np.frombuffer(data, f"<i{form.bits // 8}")
    return (whole / 2 ** (form.bits - 1)).astype(np.float32)


def wav_of(sound: Sound) -> bytes:
    """A WAV file of one channel with the same samples: of 16 bits where they are, else floats."""
    samples = np.concatenate(list(sound.blocks()))
    rate = sound.info().rate
    whole = np.round(samples * 32768)
    if np.abs(samples).max() < 1 and np.array_equal(whole, samples * np.float32(32768)):
        code, data = PCM, whole.astype("<i2").tobytes()
    else:
        code, data = FLOAT, samples.astype("<f4").tobytes()
    step = len(data) // len(samples)
    form = struct.pack("<HHIIHH", code, 1, rate, rate * step, step, 8 * step)
    chunks = b"fmt " + struct.pack("<I", len(form)) + form
    chunks += b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def decoder(path: Path, name: str) -> Any:
    with opened(path, name):
        pass  # what cannot be opened at all is said as of any other file
    contained = path.suffix.lower() in CONTAINED
    file = ContainerSound(path, name) if contained else sound_file(path, name)
    if not is_rate(file.samplerate):
        file.close()
        raise DataError(
            "is a broken file of sound",
            where=name,
            got=f"{file.samplerate:,} samples a second",
            remedy="copy or record it again",
        )
    return file


@contextmanager
def quiet_decoder() -> Iterator[None]:
    """Decoders in C write warnings to the standard error of the process."""
    if sys.__stderr__ is None:  # closed from the start, so that another file may have its number
        yield
        return
    kept = os.dup(STDERR)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), STDERR)
        yield
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)


def sound_file(path: Path, name: str) -> Any:
    try:
        import soundfile
    except ImportError:
        raise DataError(
            f"{path.suffix.lower()} files need the package soundfile",
            where=name,
            remedy="pip install 'unspool[audio]', or save it as WAV",
        ) from None
    try:
        with quiet_decoder():
            return soundfile.SoundFile(path)
    except (RuntimeError, TypeError) as error:
        raise _undecoded(name, error) from None


def read_frames(file: Any, size: int, name: str) -> np.ndarray:
    try:
        with quiet_decoder():
            array: np.ndarray = file.read(size, dtype="float32")
    except RuntimeError as error:
        raise _undecoded(name, error) from None
    return array


def _undecoded(name: str, error: Exception) -> DataError:
    reason = str(error).rpartition(": ")[2].strip().rstrip(".").lower()
    reason = "damaged" if "does not exist" in reason else reason  # of a file that has been opened
    return DataError(
        f"cannot be decoded ({reason})", where=name, remedy="copy it again, or save it as WAV"
    )
