"""Clips: files and folders of frames, and `.npy` or `.npz` of several clips.

(N, T, H, W) and (N, T, H, W, C)      N clips of T frames
(M, H, W, C) with lengths (N,)        ragged clips, one after the other; also with offsets (N + 1,)
label (N,)                            of each clip
label (N, T), ragged (M,)             of each frame
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from unspool.config import DataConfig
from unspool.data.read.arrays import LENGTHS, OFFSETS
from unspool.data.read.clip import ARRAYS, ENDINGS, FILMS, Clip, ClipFile, is_frame
from unspool.data.read.columns import plain
from unspool.data.read.files import Report, TextFile, readable_name
from unspool.data.read.media import LIST_SUFFIXES, VIDEO, MediaFiles, MediaListing, several_tables
from unspool.data.read.npy import ArrayShape, array_shapes, damaged, header, read_array, stream
from unspool.data.read.picture import MOST_PIXELS
from unspool.data.read.reader import SAMPLE, Column, FileHead, Match, Reader, Row, Shape
from unspool.errors import DataError
from unspool.io.files import open_regular

NAMES = ("video", "videos", "clips", "frames", "x", "data", "pixels", "x_train")
FIRST = 20  # clips that are looked at
SEEN = 10  # lines of a table that are looked at


class Clips(MediaFiles):
    name = "video"
    title = "clips"
    medium = VIDEO


class ClipArrays(Reader):
    """Columns: the clip, and the arrays with an element for each clip, or for each frame."""

    name = "clips"
    shape = Shape.ARRAYS
    suffixes = (".npy", ".npz")
    medium = VIDEO
    title = "arrays of clips"
    typed = True
    binary = True
    header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        wanted = head.data.input
        return Match.CERTAIN.when(
            wanted == "video" or (wanted == "auto" and holds_clips(head.file))
        )

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        shapes = array_shapes(files[0])
        lengths = self._lengths(files[0], shapes)
        fitting = [name for name, array in shapes.items() if of_clips(array, lengths is not None)]
        if not fitting:
            listed = ", ".join(
                f"{name} {array.dtype} {array.shape}" for name, array in shapes.items()
            )
            raise DataError(
                "holds no array of clips",
                where=files[0].name,
                got=listed,
                remedy="save them as (clips, frames, height, width, colours), or frames one after"
                " the other and an array lengths",
            )
        known = (name for wanted in NAMES for name in fitting if plain(name) == wanted)
        largest = max(fitting, key=lambda name: math.prod(shapes[name].shape))
        self.array = data.series if data.series in fitting else next(known, largest)
        self.array_shape = shapes[self.array].shape
        self.ragged = lengths is not None
        size = self.array_shape[1:3] if self.ragged else self.array_shape[2:4]
        if not math.prod(self.array_shape) or math.prod(size) > MOST_PIXELS:
            raise DataError(
                f"frames have from 1 to {MOST_PIXELS:,} pixels",
                where=files[0].name,
                got=f"{self.array} {self.array_shape}",
                remedy="save them smaller",
            )
        self.count = self.array_shape[0] if lengths is None else len(lengths)
        self.keys = [
            name
            for name, array in shapes.items()
            if array.dtype.kind in "biufU"
            and (array.shape[:1] == (self.count,) or array.shape == self.array_shape[:1])
            and array.shape in ((self.count,), self.array_shape[:2], self.array_shape[:1])
            and plain(name) not in (*LENGTHS, *OFFSETS)
            and name != self.array
        ]
        first = list(islice(self._rows(files[0]), FIRST))
        self.columns = [Column("video", 0, [row[0] for row in first])]
        for i, name in enumerate(self.keys, 1):
            sample = [row[i] for row in islice(self._others(files[0]), SAMPLE)]
            self.columns.append(Column(plain(name), i, sample))
        self.remark = (
            f"{self.array!r} of shape {self.array_shape} and type {shapes[self.array].dtype}"
        )

    def _lengths(self, file: TextFile, shapes: dict[str, ArrayShape]) -> list[int] | None:
        """Frames of each clip, where an array says them, or where each begins."""
        for name, array in shapes.items():
            known = plain(name) in (*LENGTHS, *OFFSETS)
            if not known or len(array.shape) != 1 or array.dtype.kind not in "iu":
                continue
            lengths = np.array(read_array(file, name), dtype=np.int64)
            lengths = np.diff(lengths) if plain(name) in OFFSETS else lengths
            if not len(lengths) or (lengths < 1).any():
                raise DataError(
                    f"{name!r} gives clips without a frame",
                    where=file.name,
                    got=lengths.tolist()[:8],
                    remedy="leave them out",
                )
            return [int(length) for length in lengths]
        return None

    @property
    def options(self) -> dict[str, Any]:
        return {"array": self.array, "others": self.keys}

    def _others(self, file: TextFile) -> Iterator[tuple[Any, ...]]:
        """Yield for each clip None and the elements of the other arrays."""
        lengths = self._lengths(file, array_shapes(file)) if self.ragged else None
        others = [read_array(file, key) for key in self.keys]
        ends = np.cumsum(lengths if lengths is not None else [1] * self.count).tolist()
        for i, (start, end) in enumerate(pairwise([0, *ends])):
            a_frame = [self.ragged and len(column) == self.array_shape[0] for column in others]
            yield (
                None,
                *(
                    values[start:end] if all_ else values[i]
                    for values, all_ in zip(others, a_frame)
                ),
            )

    def _rows(self, file: TextFile) -> Iterator[tuple[Any, ...]]:
        lengths = self._lengths(file, array_shapes(file)) if self.ragged else None
        clips = clip_arrays(file, self.array, lengths)
        for i, (pixels, others) in enumerate(zip(clips, self._others(file)), 1):
            yield Clip(None, f"{file.name}:{i}", pixels), *others[1:]

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
        """The line of a clip is its number, from 1."""
        for line, row in enumerate(self._rows(file), 1):
            yield Row(tuple(row[i] for i in numbers), line)
            if report is not None:
                report(line / max(1, self.count))


def of_clips(array: ArrayShape, ragged: bool) -> bool:
    """Whether an array is one of clips: (N, T, H, W), (N, T, H, W, C), or ragged (M, H, W, ...)."""
    if array.dtype.kind not in "biuf" or array.fortran:
        return False
    if ragged:
        return array.of_images
    coloured = len(array.shape) == 5 and array.shape[4] in (1, 2, 3, 4)
    return coloured or (len(array.shape) == 4 and array.shape[3] > 4)


def clip_arrays(file: TextFile, name: str, lengths: Sequence[int] | None) -> Iterator[np.ndarray]:
    """The clips of an array, one by one."""
    with stream(file, name) as content:
        shape, _, dtype = header(content)
        size = math.prod(shape[1:]) * dtype.itemsize
        for frames in lengths if lengths is not None else [1] * shape[0]:
            try:
                data = content.read(frames * size)
            except Exception:  # a damaged archive
                data = b""
            if len(data) < frames * size:
                raise damaged(file)
            x = np.frombuffer(data, dtype).reshape(frames, *shape[1:])
            yield x if lengths is not None else x[0]


def holds_clips(file: TextFile) -> bool:
    """Whether an array is surely one of clips: with five dimensions."""
    try:
        shapes = array_shapes(file)
    except DataError:
        return False
    return any(of_clips(shape, False) and len(shape.shape) == 5 for shape in shapes.values())


def holds_one(file: TextFile) -> bool:
    """Whether a file of arrays is one clip: (T, H, W) or (T, H, W, C), and no lengths."""
    shapes = array_shapes(file)
    ragged = any(plain(name) in (*LENGTHS, *OFFSETS) for name in shapes)
    several = any(of_clips(shape, ragged) for shape in shapes.values())
    return not several and any(shape.of_images for shape in shapes.values())


def find_clips(path: str, data: DataConfig) -> MediaListing | None:
    """The clips at a path, where videos are asked for: the folder itself where frames are in it;
    otherwise its GIFs, films and arrays and the folders of frames below it, or the table there that
    names them. None where there are none, or an array of several."""
    place = Path(path)
    if place.is_file():
        alone = path.lower().endswith(ENDINGS)
        if place.suffix.lower() in ARRAYS:
            alone = holds_one(TextFile(place, path))
        return MediaListing([ClipFile(place, path, data.encoding)], VIDEO) if alone else None
    if not place.is_dir():
        return None
    if any(map(is_frame, place.iterdir())):
        return MediaListing([ClipFile(place, path, data.encoding)], VIDEO)
    clips: dict[Path, None] = {}
    for own in sorted(place.rglob("*")):
        if any(part.startswith(".") for part in own.relative_to(place).parts):
            continue
        if own.name.lower().endswith((*FILMS, ".gif", *ARRAYS)) and own.is_file():
            clips[own] = None
        elif own.parent != place and is_frame(own):
            clips[own.parent] = None
    if not clips:
        return None
    tables = [path for path in sorted(place.iterdir()) if path.suffix.lower() in LIST_SUFFIXES]
    names = {own.relative_to(place).as_posix() for own in clips}
    listing = [table for table in tables if names_clips(table, names)]
    if listing and data.pattern is None:
        if len(listing) > 1:
            raise several_tables(path, "clips", listing)
        return MediaListing(
            [TextFile(listing[0], str(listing[0]), data.encoding)], VIDEO, listed=True
        )
    return MediaListing([ClipFile(own, readable_name(own), data.encoding) for own in clips], VIDEO)


def names_clips(table: Path, names: set[str]) -> bool:
    """Whether the first lines of a table have names of clips in them."""
    try:
        with open_regular(table) as file:
            lines = file.read(1 << 16).decode("utf-8", "replace").splitlines()[:SEEN]
    except (OSError, ValueError):
        return False
    cells = [{cell.strip("/ ") for cell in re.split(r'[,;\t"]', line)} for line in lines]
    return sum(bool(cell & names) for cell in cells) > 0.5 * max(1, len(cells) - 1)
