"""`.npy` and `.npz` of images: (N, H, W) or (N, H, W, C), and arrays of N labels and the like.

Arrays are read image by image, never as a whole, and never unpickled.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from unspool.config import DataConfig
from unspool.data.read.arrays import damaged
from unspool.data.read.columns import plain
from unspool.data.read.files import Report, TextFile
from unspool.data.read.npy import read_header
from unspool.data.read.picture import MOST_PIXELS, Picture
from unspool.data.read.reader import SAMPLE, Column, Reader, Row
from unspool.errors import DataError

NAMES = ("image", "images", "x", "data", "pixels", "x_train")
LARGEST = 1 << 28  # bytes of an array beside the images


class Shape(NamedTuple):
    """What the header of an array says."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @property
    def of_images(self) -> bool:
        grey = len(self.shape) == 3
        coloured = len(self.shape) == 4 and self.shape[3] in (1, 2, 3, 4)
        sizes = all(size >= 0 for size in self.shape)
        return sizes and (grey or coloured) and self.dtype.kind in "biuf" and not self.fortran


class Pixels(Reader):
    """Columns: the image, and the arrays that have an element for each of them."""

    title = "arrays of images"
    typed = True
    binary = True
    header = True

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
        self.name = data.series if data.series in fitting else next(known, largest)
        shape = shapes[self.name].shape
        if not math.prod(shape) or math.prod(shape[1:3]) > MOST_PIXELS:
            raise DataError(
                f"images have from 1 to {MOST_PIXELS:,} pixels",
                where=files[0].name,
                got=f"{self.name} {shape}",
                remedy="save them smaller",
            )
        self.keys = [
            name
            for name, own in shapes.items()
            if own.shape in (shape[:1], (*shape[:1], 1))
            and own.dtype.kind in "biufU"
            and name != self.name
        ]
        first = list(islice(self._rows(files[0]), SAMPLE))
        names = ["image", *(plain(name) for name in self.keys)]
        self.columns = [Column(name, i, [r[i] for r in first]) for i, name in enumerate(names)]
        self.remark = f"{self.name!r} of shape {shape} and type {shapes[self.name].dtype}"
        if others := [name for name in fitting if name != self.name]:
            shown = ", ".join(f"{name} ({shapes[name].shape[0]:,})" for name in others)
            self.remark += f", other images not read: {shown} (--series names an array)"
        if len(shape) == 3 and data.input == "auto":
            self.remark += " (--set input=series where it holds series of numbers)"

    @property
    def options(self) -> dict[str, Any]:
        return {"array": self.name, "others": self.keys}

    def _rows(self, file: TextFile) -> Iterator[tuple[Any, ...]]:
        others = [read_array(file, key) for key in self.keys]
        for i, pixels in enumerate(image_arrays(file, self.name)):
            picture = Picture(None, f"{file.name}:{i + 1}", pixels)
            cells = [own[i] for own in others]
            yield picture, *(own[0] if isinstance(own, list) else own for own in cells)

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        """The line of an image is its number, from 1."""
        for line, row in enumerate(self._rows(file), 1):
            yield Row(tuple(row[i] for i in numbers), line)


@contextmanager
def stream(file: TextFile, name: str) -> Iterator[Any]:
    """An array of a file, from its magic number on."""
    path = file.unpacked()
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as content:
            yield content
        return
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as member:
        yield member


def header(content: Any) -> Shape:
    return Shape(*read_header(content))


def array_shapes(file: TextFile) -> dict[str, Shape]:
    """By name; the only one of a .npy file is x."""
    path = file.unpacked()
    try:
        if not zipfile.is_zipfile(path):
            with stream(file, "x") as content:
                return {"x": header(content)}
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
        found = {}
        for name in names:
            with stream(file, name) as content:
                found[name] = header(content)
    except DataError:
        raise
    except Exception:  # it raises whatever its parsers do
        raise damaged(file) from None
    return found


def holds_images(file: TextFile) -> bool:
    """Whether an array is surely one of images: with colours, or of bytes."""
    try:
        shapes = array_shapes(file).values()
    except DataError:
        return False
    return any(own.of_images and (len(own.shape) == 4 or own.dtype == np.uint8) for own in shapes)


def image_arrays(file: TextFile, name: str) -> Iterator[np.ndarray]:
    """The images of an array, one by one."""
    with stream(file, name) as content:
        shape, _, dtype = header(content)
        size = math.prod(shape[1:]) * dtype.itemsize
        for _ in range(shape[0]):
            try:
                data = content.read(size)
            except Exception:  # a damaged archive
                data = b""
            if len(data) < size:
                raise damaged(file)
            yield np.frombuffer(data, dtype).reshape(shape[1:])


def read_array(file: TextFile, name: str) -> list[Any]:
    """The elements of one of the small ones."""
    try:
        with stream(file, name) as content:
            shape, _, dtype = header(content)
            size = math.prod(shape) * dtype.itemsize
            data = content.read(size) if size <= LARGEST else b""
        found: list[Any] = np.frombuffer(data, dtype).reshape(shape).tolist()
    except Exception:  # a damaged archive, too few bytes, or letters that are none
        raise damaged(file) from None
    return found
