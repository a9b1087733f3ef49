"""`.npy` and `.npz` of images: (N, H, W) or (N, H, W, C), and arrays of N labels and the like.

Arrays are read image by image, never as a whole, and never unpickled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from unspool.config import DataConfig
from unspool.data.read.columns import plain
from unspool.data.read.files import Report, TextFile
from unspool.data.read.media import IMAGE
from unspool.data.read.npy import array_shapes, image_arrays, read_array
from unspool.data.read.picture import MOST_PIXELS, Picture
from unspool.data.read.reader import SAMPLE, Column, FileHead, Match, Reader, Row, Shape
from unspool.errors import DataError

NAMES = ("image", "images", "x", "data", "pixels", "x_train")


class Pixels(Reader):
    """Columns: the image, and the arrays that have an element for each of them."""

    name = "pixels"
    shape = Shape.ARRAYS
    suffixes = (".npy", ".npz")
    medium = IMAGE
    title = "arrays of images"
    typed = True
    binary = True
    header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        wanted = head.data.input
        return Match.CERTAIN.when(
            wanted == "image" or (wanted == "auto" and holds_images(head.file))
        )

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        shapes = array_shapes(files[0])
        fitting = [name for name, own in shapes.items() if own.of_images]
        if not fitting:
            listed = ", ".join(f"{name} {own.dtype} {own.shape}" for name, own in shapes.items())
            raise DataError(
                "holds no array of images",
                where=files[0].name,
                got=listed,
                remedy="save them as (images, height, width) or (images, height, width, colours)",
            )
        known = (name for wanted in NAMES for name in fitting if plain(name) == wanted)
        largest = max(fitting, key=lambda name: math.prod(shapes[name].shape))
        self.array = data.series if data.series in fitting else next(known, largest)
        shape = shapes[self.array].shape
        if not math.prod(shape) or math.prod(shape[1:3]) > MOST_PIXELS:
            raise DataError(
                f"images have from 1 to {MOST_PIXELS:,} pixels",
                where=files[0].name,
                got=f"{self.array} {shape}",
                remedy="save them smaller",
            )
        self.keys = [
            name
            for name, own in shapes.items()
            if own.shape in (shape[:1], (*shape[:1], 1))
            and own.dtype.kind in "biufU"
            and name != self.array
        ]
        first = list(islice(self._rows(files[0]), SAMPLE))
        names = ["image", *(plain(name) for name in self.keys)]
        self.columns = [Column(name, i, [r[i] for r in first]) for i, name in enumerate(names)]
        self.remark = f"{self.array!r} of shape {shape} and type {shapes[self.array].dtype}"
        if others := [name for name in fitting if name != self.array]:
            shown = ", ".join(f"{name} ({shapes[name].shape[0]:,})" for name in others)
            self.remark += f", other images not read: {shown} (--series names an array)"
        if len(shape) == 3 and data.input == "auto":
            self.remark += " (--set input=series where it holds series of numbers)"

    @property
    def options(self) -> dict[str, Any]:
        return {"array": self.array, "others": self.keys}

    def _rows(self, file: TextFile) -> Iterator[tuple[Any, ...]]:
        others = [read_array(file, key) for key in self.keys]
        for i, pixels in enumerate(image_arrays(file, self.array)):
            picture = Picture(None, f"{file.name}:{i + 1}", pixels)
            cells = [column[i] for column in others]
            yield picture, *(cell[0] if isinstance(cell, list) else cell for cell in cells)

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        """The line of an image is its number, from 1."""
        for line, row in enumerate(self._rows(file), 1):
            yield Row(tuple(row[i] for i in numbers), line)


def holds_images(file: TextFile) -> bool:
    """Whether an array is surely one of images: with colours, or of bytes."""
    try:
        shapes = array_shapes(file).values()
    except DataError:
        return False
    return any(
        shape.of_images and (len(shape.shape) == 4 or shape.dtype == np.uint8) for shape in shapes
    )
