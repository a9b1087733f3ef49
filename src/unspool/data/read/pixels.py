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
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np

from unspool.config import DataConfig
from unspool.data.read.columns import plain
from unspool.data.read.content import IDX
from unspool.data.read.files import Report, TextFile
from unspool.data.read.media import IMAGE, Medium
from unspool.data.read.npy import (
    ELEMENT_BYTES,
    ArrayShape,
    array_shapes,
    described,
    elements,
    read_array,
)
from unspool.data.read.picture import Picture, hold_pixels
from unspool.data.read.reader import FileHead, Match, Reader, Record, Shape, sampled
from unspool.errors import DataError, Option, Setting


class MediaArrays(Reader):
    """Columns: the values of a medium, in one array, and the arrays that have an element for each.

    usual    names that the array often has, in lower case
    layout   how it is to be saved
    """

    shape = Shape.ARRAYS
    suffixes = (".npy", ".npz")
    medium: ClassVar[Medium]
    typed = binary = header = True
    usual: ClassVar[tuple[str, ...]]
    layout: ClassVar[str]
    keys: list[str]

    @staticmethod
    def is_certain(array: ArrayShape) -> bool:
        """Whether an array can be nothing else than one of such values."""
        raise NotImplementedError

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        wanted = head.data.input
        try:
            fits = wanted == "auto" and any(map(cls.is_certain, array_shapes(head.file).values()))
        except DataError:
            fits = False
        return Match.CERTAIN.when(wanted == cls.medium.name or fits)

    def choose(self, shapes: dict[str, ArrayShape], fitting: list[str], requested: Any) -> None:
        """Choose one of the arrays that fit: the requested, one with a usual name, the largest."""
        if not fitting:
            raise DataError(
                f"holds no array of {self.medium.plural}",
                where=self.files[0].name,
                got=described(shapes),
                remedy=self.layout,
            )
        known = (name for wanted in self.usual for name in fitting if plain(name) == wanted)
        largest = max(fitting, key=lambda name: math.prod(shapes[name].shape))
        self.array = requested if requested in fitting else next(known, largest)
        self.remark = (
            f"{self.array!r} of shape {shapes[self.array].shape} and type"
            f" {shapes[self.array].dtype}"
        )

    @property
    def options(self) -> dict[str, Any]:
        return {"array": self.array, "others": self.keys}


def refuse_size(sizes: Sequence[int], pixels: Sequence[int], what: str, file: TextFile) -> None:
    """Raise an error unless images of (height, width) pixels have some, and not too many."""
    if not math.prod(sizes):
        raise DataError(
            f"{what} have no pixels",
            where=file.name,
            got=f"the shape {tuple(sizes)}",
            remedy="leave them out",
        )
    hold_pixels(file.allowance(), pixels[1], pixels[0])


class Pixels(MediaArrays):
    """Images, in the order of the array; the line of an image is its number, from 1."""

    name = "pixels"
    medium = IMAGE
    title = "arrays of images"
    usual = ("image", "images", "x", "data", "pixels", "x_train")
    layout = "save them as (images, height, width) or (images, height, width, colours)"

    @staticmethod
    def is_certain(array: ArrayShape) -> bool:
        """With colours, or of bytes."""
        return array.of_images and (len(array.shape) == 4 or array.dtype == np.uint8)

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        shapes = array_shapes(files[0])
        fitting = [name for name, array in shapes.items() if array.of_images]
        self.choose(shapes, fitting, data.series)
        shape = shapes[self.array].shape
        refuse_size(shape, shape[1:3], "images", files[0])
        self.keys = [
            name
            for name, array in shapes.items()
            if array.shape in (shape[:1], (*shape[:1], 1))
            and array.dtype.kind in "biufU"
            and name != self.array
        ]
        names = ["image", *(plain(name) for name in self.keys)]
        self.columns = sampled(names, (values for _, values in self.records(files[0])))
        if others := [name for name in fitting if name != self.array]:
            shown = ", ".join(f"{name} ({shapes[name].shape[0]:,})" for name in others)
            self.remark += f", other images not read: {shown} ({Option('series')} names an array)"
        if len(shape) == 3 and data.input == "auto":
            self.remark += f" ({Setting(input='series')} where it holds series of numbers)"

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        others = [read_array(file, key) for key in self.keys]
        for i, pixels in enumerate(elements(file, self.array)):
            picture = Picture(None, f"{file.name}:{i + 1}", pixels)
            cells = [column[i] for column in others]
            yield i + 1, (picture, *(c[0] if isinstance(c, list) else c for c in cells))


TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


class Idx(Reader):
    """Columns: the image and, where there is a file of labels beside it, its label."""

    name = "idx"
    file_pattern = IDX
    shape = Shape.ARRAYS
    medium = IMAGE
    title = "images of idx files"
    typed = binary = header = True

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
        refuse_size(shape, shape[1:3], "images", file)
        self.labels = labels_beside(file)
        names = ("image", "label") if self.labels is not None else ("image",)
        self.columns = sampled(names, (values for _, values in self.records(file)))
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

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
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
                yield i + 1, (picture,) if labels is None else (picture, labels[i])


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
        file.allowance().hold(ELEMENT_BYTES * count, "labels")
        data = content.read(count * dtype.itemsize) if len(shape) == 1 else b""
    if len(data) < count * dtype.itemsize:
        raise ends_early(file)
    return [str(label) for label in np.frombuffer(data, dtype).tolist()]
