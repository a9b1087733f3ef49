"""`.npy` and `.npz`: arrays of numbers, never pickled objects.

(N, T, C)                       N series of T steps and C channels
(N, T)                          N series of T steps
x (N, T, C), y (N,)             the series and their labels, by their names or their number of rows
x (M, C), lengths (N,), y (N,)  ragged series, one after the other; also with offsets (N + 1,)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from unspool.config import DataConfig
from unspool.data.read.columns import LABEL_NAMES, plain
from unspool.data.read.files import Report, TextFile, path_columns
from unspool.data.read.npy import array_shapes, damaged, described
from unspool.data.read.reader import SAMPLE, Column, Reader, Row, Shape
from unspool.data.read.recording import NUMERIC, Recording, refuse_infinite
from unspool.errors import DataError, Setting

LENGTHS, OFFSETS = ("lengths", "length", "sizes"), ("offsets", "indptr")
VALUES = ("x", "series", "values", "data", "features", "signals")
LABELS = (*LABEL_NAMES, "targets", "y_train")
ROW_BYTES = 300  # in memory, of a series without steps


class Arrays(Reader):
    """Series, and arrays with an element for each; several files are a series each, or alike."""

    name = "npy"
    shape = Shape.SERIES
    suffixes: ClassVar[tuple[str, ...]] = (".npy", ".npz")
    title = "NumPy arrays"
    typed = binary = header = True

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        first = self.stored(files[0])
        self.alone = len(files) > 1
        self.array = find_values(first, files[0], data.series)
        values, others = self._split(first, files[0])
        self.paths = path_columns(files) if self.alone else []
        names = ["series", *(plain(name) for name in others)]
        self.keys = list(others)
        sample = list(values[:SAMPLE])
        self.columns = [Column(names[0], 0, sample)]
        self.columns += [
            Column(name, i, elements(others[key][: len(sample)], files[0]))
            for i, (name, key) in enumerate(zip(names[1:], self.keys), 1)
        ]
        for name, column in self.paths:
            self.columns.append(Column(name, len(self.columns), column[:SAMPLE]))
        shape = first[self.array].shape
        if len(shape) == 3:
            self.remark = (
                f"{shape[0]:,} series of {shape[1]:,} steps and {shape[2]:,} channels (if it is"
                f" the other way round: np.swapaxes(x, 1, 2); images: {Setting(input='image')})"
            )

    def stored(self, file: TextFile) -> dict[str, np.ndarray]:
        return read_arrays(file)

    def _split(
        self, arrays: dict[str, np.ndarray], file: TextFile
    ) -> tuple[list[Recording], dict[str, np.ndarray]]:
        x = self._array(self.array, arrays, file)
        if not len(x) or (x.ndim == 3 and not x.shape[2]):
            raise DataError(
                f"the array {self.array!r} holds no series",
                where=file.name,
                got=f"the shape {x.shape}",
                remedy="save the series as (series, steps, channels)",
            )
        others = {name: array for name, array in arrays.items() if name != self.array}
        lengths = find_lengths(others, x, file)
        if lengths is not None:
            rows = np.split(x, np.cumsum(lengths)[:-1])
        elif x.ndim == 1 and any(array.shape == x.shape for array in others.values()):
            rows = list(x[:, None])  # of one step each
        elif x.ndim == 1 or (self.alone and x.ndim < 3):
            rows = [x]
        else:
            rows = list(x)
        recordings = [as_steps(row, f"{file.name}:{i}") for i, row in enumerate(rows, 1)]
        fitting = {
            n: array
            for n, array in others.items()
            if array.ndim == 1 and len(array) == len(recordings)
        }
        return recordings, fitting

    def _array(self, name: str, arrays: dict[str, np.ndarray], file: TextFile) -> np.ndarray:
        """The one that has this name in the first file."""
        array = arrays.get(name)
        wanted = array is not None and (
            name != self.array or (array.dtype.kind in NUMERIC and array.ndim in (1, 2, 3))
        )
        if array is None or not wanted:
            raise DataError(
                f"has no array {name!r} that fits, as {self.files[0].name} has",
                where=file.name,
                got=described(arrays) or "no array of one element a series",
                remedy="save the same arrays in every file",
            )
        return array

    @property
    def options(self) -> dict[str, Any]:
        return {"array": self.array, "others": self.keys}

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
        """The line of a series is its number, from 1."""
        values, others = self._split(self.stored(file), file)
        columns: list[Sequence[Any]] = [values]
        columns += [elements(self._array(key, others, file), file) for key in self.keys]
        number = self.files.index(file)
        columns += [[column[number]] * len(values) for _, column in self.paths]
        for line, row in enumerate(zip(*(columns[i] for i in numbers)), 1):
            yield Row(row, line)


def find_lengths(others: dict[str, np.ndarray], x: np.ndarray, file: TextFile) -> np.ndarray | None:
    """(N,) steps of each series, by an array of lengths or offsets, which is taken out."""
    lengths = next((others.pop(n) for n in list(others) if plain(n) in LENGTHS), None)
    offsets = next((others.pop(n) for n in list(others) if plain(n) in OFFSETS), None)
    bounds = lengths if offsets is None else offsets
    if bounds is None:
        return None
    fits = bounds.dtype.kind in "iu" and bounds.ndim == 1 and x.ndim < 3
    if fits and offsets is not None:
        fits = len(offsets) > 1 and offsets[0] == 0
        lengths = np.diff(offsets.astype(np.int64)) if fits else None
    if not fits or lengths is None:
        raise DataError(
            "lengths are whole numbers (series,), offsets these (series + 1,) from 0 on, and the"
            " series themselves (steps, channels)",
            where=file.name,
            got=f"{bounds.dtype} {bounds.shape} for {x.shape}",
            remedy="save them so",
        )
    lengths = lengths.astype(np.int64)
    file.allowance().hold(ROW_BYTES * len(lengths), f"{len(lengths):,} series")
    if (lengths < 0).any() or int(lengths.sum()) != len(x):
        negative = " and one is negative" if (lengths < 0).any() else ""
        raise DataError(
            f"the lengths sum to {int(lengths.sum()):,}{negative}, and there are {len(x):,} steps",
            where=file.name,
            remedy="give the length of each series",
        )
    return lengths


def elements(array: np.ndarray, file: TextFile) -> list[Any]:
    try:
        return array.tolist()
    except (ValueError, SystemError):  # letters that are none
        raise damaged(file) from None


def as_steps(row: np.ndarray, where: str) -> Recording:
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # what is too large becomes infinite, and is refused
        values = np.asarray(row[:, None] if row.ndim == 1 else row, dtype=np.float32)
    refuse_infinite(values, where)
    return Recording(values)


def read_arrays(file: TextFile) -> dict[str, np.ndarray]:
    """Read all arrays by name; the only one of a .npy file is x."""
    hold_arrays(file)
    try:
        with warnings.catch_warnings():  # about headers of Python 2
            warnings.simplefilter("ignore")
            stored = np.load(file.unpacked(), allow_pickle=False)
            if isinstance(stored, np.ndarray):
                return {"x": stored}
            with stored:
                arrays = {name: stored[name] for name in stored.files}
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise damaged(file)  # a member without the beginning of an array is bytes
        return arrays
    except DataError:
        raise
    except Exception as error:  # it raises whatever its parsers do
        if "object arrays" in str(error).lower():
            raise DataError(
                "holds pickled objects, which could run any code",
                where=file.name,
                remedy="save numbers: ragged series as x (all steps, channels) and lengths",
            ) from None
        raise damaged(file) from None


def hold_arrays(file: TextFile) -> None:
    """Declare all arrays by their headers, before any is read: themselves, and as float32; a row
    is an array of its own."""
    allowed = file.allowance()
    for name, array in array_shapes(file).items():
        rows = array.shape[0] if array.shape else 1
        count = math.prod(array.shape)
        size = count * (array.dtype.itemsize + 4) + ROW_BYTES * rows * (len(array.shape) > 1)
        allowed.hold(size, f"{name!r} of shape {array.shape}")


def find_values(arrays: dict[str, np.ndarray], file: TextFile, requested: str | None) -> str:
    """The array of the series: the one asked for, one with a known name, the largest of numbers."""
    fitting = [
        name
        for name, array in arrays.items()
        if array.dtype.kind in NUMERIC
        and array.ndim in (1, 2, 3)
        and plain(name) not in (*LENGTHS, *OFFSETS, *LABELS)
    ]
    if requested in fitting:
        return str(requested)
    if not fitting:
        raise DataError(
            "holds no array of numbers of 1 to 3 dimensions",
            where=file.name,
            got=described(arrays),
            remedy="save the series as (series, steps, channels)",
        )
    known = (name for wanted in VALUES for name in fitting if plain(name) == wanted)
    return next(known, max(fitting, key=lambda name: (arrays[name].ndim, arrays[name].size)))
