"""Arrays in NumPy's formats, `.npy` and `.npz`: headers, and elements one by one.

Arrays are never read as a whole, and never unpickled.
"""

from __future__ import annotations

import math
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from unspool.data.read.files import TextFile
from unspool.errors import DataError

ELEMENT_BYTES = 40  # in memory, of a number in a list
ARRAY_BYTES = 1 << 16  # of the budget, for an array of a file, however small
FEW = 8  # arrays that a message names


class ArrayShape(NamedTuple):
    """Header of an array."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @property
    def of_images(self) -> bool:
        grey = len(self.shape) == 3
        coloured = len(self.shape) == 4 and self.shape[3] in (1, 2, 3, 4)
        sizes = all(size >= 0 for size in self.shape)
        return sizes and (grey or coloured) and self.dtype.kind in "biuf" and not self.fortran


def read_header(content: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran order, and type; raises whatever NumPy's parsers do."""
    version = npy.read_magic(content)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    with warnings.catch_warnings():  # about headers of Python 2
        warnings.simplefilter("ignore")
        return read(content)


@contextmanager
def stream(file: TextFile, name: str) -> Iterator[Any]:
    path = file.unpacked()
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as content:
            yield content
        return
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as member:
        yield member


def header(content: Any) -> ArrayShape:
    return ArrayShape(*read_header(content))


def array_shapes(file: TextFile) -> dict[str, ArrayShape]:
    """Read the headers of all arrays by name; the only one of a .npy file is x."""
    path = file.unpacked()
    try:
        if not zipfile.is_zipfile(path):
            with stream(file, "x") as content:
                return {"x": header(content)}
        shapes = {}
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            file.allowance().hold(ARRAY_BYTES * len(names), f"{len(names):,} arrays")
            for name in names:
                with archive.open(name) as content:
                    shapes[name.removesuffix(".npy")] = header(content)
    except DataError:
        raise
    except Exception:  # it raises whatever its parsers do
        raise damaged(file) from None
    return shapes


def elements(
    file: TextFile, name: str, lengths: Sequence[int] | None = None
) -> Iterator[np.ndarray]:
    """The elements of an array one by one, or stretches of so many."""
    with stream(file, name) as content:
        shape, _, dtype = header(content)
        size, allowed = math.prod(shape[1:]) * dtype.itemsize, file.allowance()
        for count in repeat(1, shape[0]) if lengths is None else lengths:
            allowed.fits(count * size, f"an element of {name!r}")
            try:
                data = content.read(count * size)
            except Exception:  # a damaged archive
                data = b""
            if len(data) < count * size:
                raise damaged(file)
            x = np.frombuffer(data, dtype).reshape(count, *shape[1:])
            yield x[0] if lengths is None else x


def described(arrays: Mapping[str, np.ndarray | ArrayShape]) -> str:
    first = islice(arrays.items(), FEW)
    more = [f"{len(arrays) - FEW:,} more"] if len(arrays) > FEW else []
    return ", ".join([*(f"{name} {array.dtype} {array.shape}" for name, array in first), *more])


def read_array(file: TextFile, name: str) -> list[Any]:
    """The elements of one of the small ones."""
    try:
        with stream(file, name) as content:
            shape, _, dtype = header(content)
            count = math.prod(shape)
            file.allowance().hold(
                count * (ELEMENT_BYTES + dtype.itemsize), f"{name!r} of shape {shape}"
            )
            data = content.read(count * dtype.itemsize)
        values: list[Any] = np.frombuffer(data, dtype).reshape(shape).tolist()
    except DataError:
        raise
    except Exception:  # a damaged archive, too few bytes, or letters that are none
        raise damaged(file) from None
    return values


def damaged(file: TextFile) -> DataError:
    return DataError(
        "is a NumPy file that is damaged, or none", where=file.name, remedy="save it again"
    )
