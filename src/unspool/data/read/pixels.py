"""`.npy` and `.npz` of images: (N, H, W) or (N, H, W, C), and arrays of N labels and the like.

Arrays are read image by image, never as a whole, and never unpickled.

MNIST's files: `train-images-idx3-ubyte` with images, and beside it `train-labels-idx1-ubyte`:
two zeros, a type, how many dimensions, the size of each as four bytes, the values.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unspool.config import DataConfig
from unspool.data.read.columns import plain
from unspool.data.read.content import IDX
from unspool.data.read.files import Report, TextFile
from unspool.data.read.media import IMAGE
from unspool.data.read.npy import array_shapes, image_arrays, read_array
from unspool.data.read.picture import MOST_PIXELS, Picture
from unspool.data.read.reader import SAMPLE, Column, FileHead, Match, Reader, Row, Shape
from unspool.errors import DataError, Option, Setting

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
        fitting = [name for name, array in shapes.items() if array.of_images]
        if not fitting:
            listed = ", ".join(
                f"{name} {array.dtype} {array.shape}" for name, array in shapes.items()
            )
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
            for name, array in shapes.items()
            if array.shape in (shape[:1], (*shape[:1], 1))
            and array.dtype.kind in "biufU"
            and name != self.array
        ]
        first = list(islice(self._rows(files[0]), SAMPLE))
        names = ["image", *(plain(name) for name in self.keys)]
        self.columns = [Column(name, i, [r[i] for r in first]) for i, name in enumerate(names)]
        self.remark = f"{self.array!r} of shape {shape} and type {shapes[self.array].dtype}"
        if others := [name for name in fitting if name != self.array]:
            shown = ", ".join(f"{name} ({shapes[name].shape[0]:,})" for name in others)
            self.remark += f", other images not read: {shown} ({Option('series')} names an array)"
        if len(shape) == 3 and data.input == "auto":
            self.remark += f" ({Setting(input='series')} where it holds series of numbers)"

    @property
    def options(self) -> dict[str, Any]:
        return {"array": self.array, "others": self.keys}

    def _rows(self, file: TextFile) -> Iterator[tuple[Any, ...]]:
        others = [read_array(file, key) for key in self.keys]
        for i, pixels in enumerate(image_arrays(file, self.array)):
            picture = Picture(None, f"{file.name}:{i + 1}", pixels)
            cells = [column[i] for column in others]
            yield picture, *(cell[0] if isinstance(cell, list) else cell for cell in cells)

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
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


TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
MOST = 1 << 28  # labels


class Idx(Reader):
    """Columns: the image and, where there is a file of labels beside, its label. The line of an
    image is its number, from 1."""

    name = "idx"
    file_pattern = IDX
    shape = Shape.ARRAYS
    medium = IMAGE
    title = "images of idx files"
    typed = True
    binary = True
    header = True

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        file = files[0]
        with open(file.unpacked(), "rb") as content:
            shape, _ = header(content, file)
        if len(shape) not in (3, 4) or (len(shape) == 4 and shape[3] not in (1, 3)):
            raise DataError(
                "holds no images (count, height, width)",
                where=file.name,
                got=f"an array of shape {shape}",
                remedy="name the file of the images; that of their labels is found beside it",
            )
        if not math.prod(shape) or math.prod(shape[1:3]) > MOST_PIXELS:
            raise DataError(
                f"images have from 1 to {MOST_PIXELS:,} pixels", where=file.name, got=shape
            )
        self.labels = labels_beside(file)
        first = list(islice(self._rows(file), SAMPLE))
        names = ("image", "label") if self.labels is not None else ("image",)
        self.columns = [Column(name, i, [r[i] for r in first]) for i, name in enumerate(names)]
        self.remark = f"{shape[0]:,} of {shape[1]} x {shape[2]} pixels"
        if self.labels is not None:
            self.remark += f", labels of {self.labels.path.name}"

    @property
    def options(self) -> dict[str, Any]:
        if self.labels is None:
            return {}
        digest = hashlib.sha256()
        self.labels.add_to(digest)
        return {"labels": digest.hexdigest()}

    def _rows(self, file: TextFile) -> Iterator[tuple[Any, ...]]:
        labels = read_labels(self.labels) if self.labels is not None else None
        with open(file.unpacked(), "rb") as content:
            shape, dtype = header(content, file)
            if labels is not None and self.labels is not None and len(labels) != shape[0]:
                raise DataError(
                    f"has {len(labels):,} labels for {shape[0]:,} images",
                    where=self.labels.name,
                    remedy="put the labels of these images beside them",
                )
            size = math.prod(shape[1:]) * dtype.itemsize
            for i in range(shape[0]):
                data = content.read(size)
                if len(data) < size:
                    raise ends_early(file)
                pixels = np.frombuffer(data, dtype).reshape(shape[1:])
                pixels = pixels.astype(dtype.newbyteorder("="), copy=False)
                picture = Picture(None, f"{file.name}:{i + 1}", pixels)
                yield (picture,) if labels is None else (picture, labels[i])

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
        for line, row in enumerate(self._rows(file), 1):
            yield Row(tuple(row[i] for i in numbers), line)


def header(content: BinaryIO, file: TextFile) -> tuple[tuple[int, ...], np.dtype[Any]]:
    start = content.read(4)
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] not in TYPES:
        raise DataError(
            "is called like an idx file of MNIST, and is none",
            where=file.name,
            got=f"it begins with {start!r}",
            remedy="download it again, or rename it",
        )
    sizes = content.read(4 * start[3])
    if len(sizes) < 4 * start[3]:
        raise ends_early(file)
    return tuple(np.frombuffer(sizes, ">u4").tolist()), np.dtype(TYPES[start[2]])


def ends_early(file: TextFile) -> DataError:
    return DataError("the file ends too early", where=file.name, remedy="copy or download it again")


def labels_beside(file: TextFile) -> TextFile | None:
    """`train-labels-idx1-ubyte.gz` of `train-images-idx3-ubyte.gz`."""
    name = re.sub(r"images?(?=[-.]idx)", "labels", file.path.name)
    path = file.path.with_name(re.sub(r"idx[34]", "idx1", name))
    ending = "" if path.suffix == ".gz" else ".gz"
    for candidate in (path, Path(f"{path}{ending}"), path.with_suffix("") if not ending else path):
        if candidate != file.path and candidate.is_file():
            return TextFile(candidate, str(candidate))
    return None


def read_labels(file: TextFile) -> list[str]:
    with open(file.unpacked(), "rb") as content:
        shape, dtype = header(content, file)
        count = math.prod(shape)
        data = content.read(count * dtype.itemsize) if len(shape) == 1 and count < MOST else b""
    if len(data) < count * dtype.itemsize:
        raise ends_early(file)
    return [str(label) for label in np.frombuffer(data, dtype).tolist()]
