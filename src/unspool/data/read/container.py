"""Containers, such as MP4, that PyAV opens: films, and sound in AAC, WMA or AMR."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unspool.data.read.files import unreadable
from unspool.errors import DataError
from unspool.io.files import open_regular

SOUNDS = (".m4a", ".aac", ".wma", ".amr")
# What a file of sound may be: nothing that names other files or addresses.
CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,aac,asf,amr"


def pyav(name: str, what: str, instead: str) -> Any:
    try:
        import av
    except ImportError:
        raise DataError(
            f"{what} need the package av",
            where=name,
            remedy=f"install it: pip install 'unspool[video]'; {instead}",
        ) from None
    av.logging.set_level(None)
    return av


class ContainerSound:
    """The sound of a container, with the interface of a file of soundfile."""

    def __init__(self, path: Path, name: str) -> None:
        av = pyav(name, f"{path.suffix.lower()} files", "or save them as WAV")
        self.name = name
        try:
            self.file = open_regular(path)
        except (OSError, ValueError) as error:
            raise unreadable(path, name, error) from None
        try:
            self.container = av.open(self.file, options={"format_whitelist": CONTAINERS})
            stream = next(iter(self.container.streams.audio), None)
            if stream is None:
                raise DataError("has no sound", where=name, remedy="leave it out")
            self.samplerate = int(stream.codec_context.sample_rate)
            self.channels = int(stream.codec_context.channels)
            self.resampler = av.AudioResampler(format="fltp")
        except Exception as error:  # decoders raise whatever their parsers do
            self.file.close()
            raise self._undecoded(error) from None
        self.frames = self._frames()
        self.rest = np.empty((0, self.channels), np.float32)

    def __enter__(self) -> ContainerSound:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.container.close()
        self.file.close()

    def read(self, size: int, dtype: str = "float32") -> np.ndarray:
        """(n, channels), as many as `size` unless the file ends."""
        blocks, count = [self.rest], len(self.rest)
        while count < size and (block := next(self.frames, None)) is not None:
            blocks.append(block)
            count += len(block)
        samples = np.concatenate(blocks).astype(dtype, copy=False)
        self.rest = samples[size:]
        return samples[:size]

    def _frames(self) -> Iterator[np.ndarray]:
        try:
            for frame in self.container.decode(audio=0):
                for planar in self.resampler.resample(frame):
                    yield planar.to_ndarray().T  # (n, channels)
        except Exception as error:  # as above
            raise self._undecoded(error) from None

    def _undecoded(self, error: Exception) -> Exception:
        if isinstance(error, DataError | MemoryError):
            return error
        reason = str(getattr(error, "strerror", None) or error).lower()
        return DataError(
            f"cannot be decoded ({reason})",
            where=self.name,
            remedy="copy it again, or save it as WAV",
        )
