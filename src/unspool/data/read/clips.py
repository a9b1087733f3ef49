"""Clips: files and folders of frames, and `.npy` or `.npz` of several clips.

(N, T, H, W) and (N, T, H, W, C)      N clips of T frames
(M, H, W, C) with lengths (N,)        ragged clips, one after the other; also with offsets (N + 1,)
label (N,)                            of each clip
label (N, T), ragged (M,)             of each frame
"""

from __future__ import annotations

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
from unspool.data.read.content import content_name
from unspool.data.read.files import Report, TextFile, readable_name, visible_below
from unspool.data.read.media import LIST_SUFFIXES, VIDEO, MediaFiles, MediaListing, listed_tables
from unspool.data.read.npy import ArrayShape, array_shapes, elements, read_array
from unspool.data.read.pixels import MediaArrays, refuse_size
from unspool.data.read.reader import Record, sampled
from unspool.errors import DataError
from unspool.io.files import open_regular

FIRST = 20  # clips that are looked at
SEEN = 10  # lines of a table that are looked at


class Clips(MediaFiles):
    name = "video"
    title = "clips"
    medium = VIDEO


class ClipArrays(MediaArrays):
    """Clips; other arrays have an element for each clip, or for each frame."""

    name = "clips"
    medium = VIDEO
    title = "arrays of clips"
    usual = ("video", "videos", "clips", "frames", "x", "data", "pixels", "x_train")
    layout = (
        "save them as (clips, frames, height, width, colours), or frames one after the other and an"
        " array lengths"
    )

    @staticmethod
    def is_certain(array: ArrayShape) -> bool:
        return len(array.shape) == 5 and of_clips(array, ragged=False)

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        shapes = array_shapes(files[0])
        lengths = clip_lengths(files[0], shapes)
        self.ragged = lengths is not None
        fitting = [name for name, array in shapes.items() if of_clips(array, self.ragged)]
        self.choose(shapes, fitting, data.series)
        self.array_shape = shape = shapes[self.array].shape
        refuse_size(shape, shape[1:3] if self.ragged else shape[2:4], "frames", files[0])
        self.count = shape[0] if lengths is None else len(lengths)
        self.keys = [
            name
            for name, array in shapes.items()
            if array.dtype.kind in "biufU"
            and (array.shape[:1] == (self.count,) or array.shape == shape[:1])
            and array.shape in ((self.count,), shape[:2], shape[:1])
            and plain(name) not in (*LENGTHS, *OFFSETS)
            and name != self.array
        ]
        clips = (values for _, values in islice(self.records(files[0]), FIRST))
        answers = sampled([plain(key) for key in self.keys], self._answers(files[0], lengths))
        others = [column._replace(number=i) for i, column in enumerate(answers, 1)]
        self.columns = [*sampled(["video"], clips), *others]

    def _answers(self, file: TextFile, lengths: list[int] | None) -> Iterator[tuple[Any, ...]]:
        """Yield the elements of the other arrays for each clip."""
        arrays = [read_array(file, key) for key in self.keys]
        ends = np.cumsum([1] * self.count if lengths is None else lengths).tolist()
        for i, (start, end) in enumerate(pairwise([0, *ends])):
            yield tuple(
                array[start:end] if self.ragged and len(array) == self.array_shape[0] else array[i]
                for array in arrays
            )

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        lengths = clip_lengths(file, array_shapes(file)) if self.ragged else None
        clips = zip(elements(file, self.array, lengths), self._answers(file, lengths))
        for line, (pixels, answers) in enumerate(clips, 1):
            yield line, (Clip(None, f"{file.name}:{line}", pixels), *answers)
            if report is not None:
                report(line / max(1, self.count))


def clip_lengths(file: TextFile, shapes: dict[str, ArrayShape]) -> list[int] | None:
    """Frames of each clip, where an array has them, or where each begins."""
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


def of_clips(array: ArrayShape, ragged: bool) -> bool:
    """Whether an array is one of clips: (N, T, H, W), (N, T, H, W, C), or ragged (M, H, W, ...)."""
    if array.dtype.kind not in "biuf" or array.fortran:
        return False
    if ragged:
        return array.of_images
    coloured = len(array.shape) == 5 and array.shape[4] in (1, 2, 3, 4)
    return coloured or (len(array.shape) == 4 and array.shape[3] > 4)


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
        name = content_name(place).lower()
        alone = name.endswith(ENDINGS)
        if name.endswith(ARRAYS):
            alone = holds_one(TextFile(place, path))
        return MediaListing([ClipFile(place, path, data.encoding)], VIDEO) if alone else None
    if not place.is_dir():
        return None
    if any(map(is_frame, place.iterdir())):
        return MediaListing([ClipFile(place, path, data.encoding)], VIDEO)
    clips: dict[Path, None] = {}
    for item in visible_below(place):
        if item.name.lower().endswith((*FILMS, ".gif", *ARRAYS)) and item.is_file():
            clips[item] = None
        elif item.parent != place and is_frame(item):
            clips[item.parent] = None
    if not clips:
        return None
    tables = [path for path in sorted(place.iterdir()) if path.suffix.lower() in LIST_SUFFIXES]
    names = {item.relative_to(place).as_posix() for item in clips}
    listing = [table for table in tables if names_clips(table, names)]
    if listing and data.pattern is None:
        return listed_tables(path, VIDEO, listing, data)
    return MediaListing(
        [ClipFile(item, readable_name(item), data.encoding) for item in clips], VIDEO
    )


def names_clips(table: Path, names: set[str]) -> bool:
    """Whether the first lines of a table have names of clips in them."""
    try:
        with open_regular(table) as file:
            lines = file.read(1 << 16).decode("utf-8", "replace").splitlines()[:SEEN]
    except (OSError, ValueError):
        return False
    cells = [{cell.strip("/ ") for cell in re.split(r'[,;\t"]', line)} for line in lines]
    return sum(bool(cell & names) for cell in cells) > 0.5 * max(1, len(cells) - 1)
