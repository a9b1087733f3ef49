"""Clip: one video as files have it, or as it is in memory; its frames come one by one.

A clip is a folder of numbered images, a GIF, a `.npy` or `.npz` file of (T, H, W) or (T, H, W, C),
a film such as mp4 (extra `video`), or an array or list of images in memory. Frames come out as
`Decoded` images do (`picture.py`).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from unspool.data.read.budget import Allowance
from unspool.data.read.container import pyav
from unspool.data.read.files import BLOCK, TextFile, unreadable
from unspool.data.read.npy import array_shapes, described, elements
from unspool.data.read.picture import (
    Decoded,
    Header,
    Picture,
    as_picture,
    header_of,
    hold_pixels,
    is_pillow,
    pixels_of,
    undecoded,
)
from unspool.errors import DataError
from unspool.io.files import open_regular

FILMS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm")
ARRAYS = (".npy", ".npz")
ENDINGS = (*FILMS, ".gif", *ARRAYS)  # of files that are a clip
FRAMES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")  # of files that are a frame of one
TAIL = 512  # bytes at the end of a GIF, whose last one is a semicolon but for zeros and line ends
# What a film may be: nothing that names other files or addresses.
CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi"
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Clip:
    """A path, or in memory an array (T, H, W) or (T, H, W, C), or images one after the other."""

    path: Path | None = None
    name: str = ""
    pixels: np.ndarray | None = None
    pictures: tuple[Picture, ...] = ()

    def __str__(self) -> str:
        return self.name or "video"

    @property
    def nbytes(self) -> int:
        size = 0 if self.pixels is None else self.pixels.nbytes
        return size + sum(picture.nbytes for picture in self.pictures)

    @property
    def size(self) -> int:
        """Bytes on disk, or in memory."""
        return ClipFile(self.path, self.name).size() if self.path is not None else self.nbytes

    def __len__(self) -> int:
        """Frames; those of a film are counted by decoding it."""
        if self.pixels is not None:
            return len(self.pixels)
        if self.path is None or self.path.is_dir():
            return len(self._pictures())
        if self.path.suffix.lower() == ".gif":
            return Picture(self.path, self.name).header().frames
        return sum(1 for _ in self.frames())

    def header(self) -> Header:
        if self.path is not None and self.path.suffix.lower() == ".gif":
            return Picture(self.path, self.name).header()
        if self.path is None or self.path.is_dir():
            return next(iter(self._pictures())).header()
        return next(self.frames()).header

    def frames(self) -> Iterator[Decoded]:
        """One by one; a DataError names the file, or the file and the frame."""
        return self.changed(lambda frame: frame)

    def changed(self, change: Callable[[Decoded], T]) -> Iterator[T]:
        """Apply a function to each frame; its time counts as reading."""
        count, allowed = 0, Allowance(self.name, self.size)
        for frame in allowed.timed(map(change, self._frames())):
            count += 1
            yield frame
        if not count:
            raise DataError("has no frames", where=self.name, remedy="leave it out")

    def _frames(self) -> Iterator[Decoded]:
        ending = "" if self.path is None or self.path.is_dir() else self.path.suffix.lower()
        if ending in FILMS:
            return self._film()
        if ending == ".gif":
            return self._moving()
        if ending in ARRAYS:
            return self._stored()
        return (picture.decode() for picture in self._pictures())

    def _pictures(self) -> Sequence[Picture]:
        """Images of a folder in the order of their numbers, or frames of an array."""
        if self.pixels is not None:
            return [
                as_picture(frame, f"{self.name}, frame {i}")
                for i, frame in enumerate(self.pixels, 1)
            ]
        if self.path is None:
            return self.pictures
        return [Picture(frame, str(frame)) for frame in frames_in(self.path, self.name)]

    def _moving(self) -> Iterator[Decoded]:
        """Frames of a GIF; a still image has one."""
        assert self.path is not None
        with Picture(self.path, self.name).opened() as image:
            refuse_cut_gif(self.path, self.name)
            for i in range(header_of(image).frames):
                try:
                    image.seek(i)
                    header = header_of(image)
                    frame = Decoded(header, pixels_of(image, header))
                except (MemoryError, KeyboardInterrupt):
                    raise
                except Exception as error:  # decoders raise whatever their parsers do
                    raise undecoded(f"{self.name}, frame {i + 1}", error) from None
                yield frame

    def _stored(self) -> Iterator[Decoded]:
        """Frames of a file with one array (T, H, W) or (T, H, W, C)."""
        assert self.path is not None
        file = TextFile(self.path, self.name)
        arrays = array_shapes(file)
        shapes = {name: array.shape for name, array in arrays.items() if array.of_images}
        if not shapes:
            raise DataError(
                "holds no frames",
                where=self.name,
                got=described(arrays),
                remedy="save them as (frames, height, width) or (frames, height, width, colours)",
            )
        name = max(shapes, key=lambda name: shapes[name])
        for i, pixels in enumerate(elements(file, name), 1):
            yield as_picture(pixels, f"{self.name}, frame {i}").decode()

    def _film(self) -> Iterator[Decoded]:
        """Frames of a film, turned upright, by PyAV."""
        assert self.path is not None
        av = pyav(self.name, "films", "a GIF or a folder of images needs none")
        try:
            file = open_regular(self.path)
        except (OSError, ValueError) as error:
            raise unreadable(self.path, self.name, error) from None
        with file:
            if not file.read(1):
                raise DataError(
                    "the file is empty", where=self.name, remedy="save it again, or leave it out"
                )
            file.seek(0)
            try:
                with av.open(file, options={"format_whitelist": CONTAINERS}) as film:
                    if not film.streams.video:
                        raise DataError("has no pictures", where=self.name, remedy="leave it out")
                    about = film.streams.video[0].codec_context
                    hold_pixels(Allowance(self.name, self.size), about.width, about.height)
                    for frame in film.decode(video=0):
                        turns = round(getattr(frame, "rotation", 0) / 90) % 4
                        pixels = np.rot90(frame.to_ndarray(format="rgb24"), turns)
                        high, wide = pixels.shape[:2]
                        header = Header(high, wide, 3, "film", turned=turns > 0)
                        yield Decoded(header, np.ascontiguousarray(pixels))
            except (DataError, MemoryError, KeyboardInterrupt, GeneratorExit):
                raise
            except Exception as error:  # as above
                raise undecoded(self.name, error) from None


def refuse_cut_gif(path: Path, name: str) -> None:
    """Raise a DataError for a GIF that ends early: Pillow silently reads its whole frames."""
    with open_regular(path) as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL))
        if file.read().rstrip(b"\0\r\n")[-1:] != b";":
            raise DataError(
                "ends before its last frame",
                where=name,
                remedy="copy or save it again, or leave it out",
            )


def frames_in(folder: Path, name: str) -> list[Path]:
    """The images of a folder, in the order of the numbers in their names."""
    try:
        paths = [path for path in folder.iterdir() if is_frame(path)]
    except OSError as error:
        raise unreadable(folder, name, error) from None
    if not paths:
        raise DataError(
            "the folder holds no frames",
            where=name,
            remedy="put numbered images there: 001.png, 002.png, ...",
        )
    return sorted(paths, key=in_order)


def is_frame(path: Path) -> bool:
    return path.name.lower().endswith(FRAMES) and not path.name.startswith(".") and path.is_file()


def is_clip(path: Path) -> bool:
    """Whether a file or a folder is one, where videos are asked for."""
    if path.is_dir():
        return any(map(is_frame, path.iterdir()))
    return path.name.lower().endswith(ENDINGS) and not path.name.startswith(".")


def in_order(path: Path) -> tuple[list[str | int], str]:
    """2.png before 10.png."""
    parts = re.split(r"(\d+)", path.name.lower())
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], path.name


class ClipFile(TextFile):
    """A clip as what a table is made of; of a folder, all of its frames."""

    def parts(self) -> list[Path]:
        return frames_in(self.path, self.name) if self.path.is_dir() else [self.path]

    def size(self) -> int:
        return sum(TextFile(path, str(path)).size() for path in self.parts())

    def add_to(self, digest: hashlib._Hash) -> None:
        for path in self.parts():
            digest.update(f"\0{path.name}\0".encode())
            with open(path, "rb") as file:
                while data := file.read(BLOCK):
                    digest.update(data)


def as_clip(raw: Any, where: str) -> Clip:
    """A path, an array (T, H, W) or (T, H, W, C), a list of images, or a `Clip`."""
    if isinstance(raw, Clip):
        return raw
    if isinstance(raw, str | os.PathLike):
        return Clip(Path(raw), str(raw))
    if isinstance(raw, Picture) or is_pillow(raw):
        return Clip(None, where, pictures=(as_picture(raw, where),))
    if isinstance(raw, list | tuple) and raw and not isinstance(raw[0], int | float | list):
        pictures = (as_picture(frame, f"{where}, frame {i}") for i, frame in enumerate(raw, 1))
        return Clip(None, where, pictures=tuple(pictures))
    try:
        x = np.asarray(raw)
    except (TypeError, ValueError, RuntimeError):
        x = np.zeros(0)
    coloured = x.ndim == 4 and x.shape[3] in (1, 2, 3, 4)
    if x.dtype.kind not in "biuf" or not (x.ndim == 3 or coloured):
        raise DataError(
            f"a {type(raw).__name__} is not a video",
            where=where,
            got=f"an array of shape {x.shape}" if x.ndim else raw,
            remedy="give the path of a file or folder, or an array (frames, height, width) or"
            " (frames, height, width, colours)",
        )
    if not x.size:
        raise DataError("has no frames", where=where, got=f"shape {x.shape}", remedy="leave it out")
    return Clip(None, where, x)
