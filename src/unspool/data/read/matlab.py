"""`.mat` of MATLAB: arrays of series, as in `.npz`.

x (N, T, C), y (N, 1)        series and their labels; a cell array of numbers is ragged
cells {(T, C), ...}          a series each
"""

from __future__ import annotations

import io
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unspool.data.read.arrays import Arrays
from unspool.data.read.budget import Allowance, size_of
from unspool.data.read.files import TextFile
from unspool.data.read.recording import NUMERIC
from unspool.errors import DataError
from unspool.io.files import read_regular

COMPRESSED = 15  # the type of an element of a MATLAB file
CELL_RATIO = 4  # bytes in memory for each of an array, of which many may be small


class MatlabArrays(Arrays):
    """Arrays by name: columns and rows are vectors, cells of words are words, and cells of series
    are one array with lengths."""

    name = "mat"
    suffixes = (".mat",)
    title = "MATLAB arrays"

    def stored(self, file: TextFile) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for name, array in stored_matlab(file).items():
            if array.dtype != object:
                arrays[name] = vector(array)
                continue
            cells = [vector(np.asarray(cell)) for cell in array.ravel().tolist()]
            if all(cell.dtype.kind in "US" and cell.size == 1 for cell in cells):
                arrays[name] = np.array([str(cell.item()) for cell in cells])
            elif all(cell.dtype.kind in NUMERIC and cell.ndim in (1, 2) for cell in cells):
                arrays |= ragged(name, cells, file)
        return arrays


def vector(array: np.ndarray) -> np.ndarray:
    """(N,) of a row or a column, whole numbers as such; other arrays as they are."""
    if array.dtype.kind in "US":
        array = np.char.strip(array)
    if array.ndim == 2 and 1 in array.shape and array.size > 1:
        array = array.ravel()
    if array.ndim == 1 and array.dtype.kind == "f" and (np.mod(array, 1) == 0).all():
        return array.astype(np.int64)
    return array


def ragged(name: str, cells: list[np.ndarray], file: TextFile) -> dict[str, np.ndarray]:
    """Series of different lengths, one after the other, and their lengths."""
    series: list[Any] = [cell[:, None] if cell.ndim == 1 else cell for cell in cells]
    if len({cell.shape[1] for cell in series}) > 1:
        raise DataError(
            f"the cells of {name!r} have different numbers of columns",
            where=file.name,
            got=", ".join(str(cell.shape) for cell in series[:4]),
            remedy="save each series as (steps, channels)",
        )
    if len({len(cell) for cell in series}) == 1:
        return {name: np.stack(series)}
    return {name: np.concatenate(series), "lengths": np.array([len(cell) for cell in series])}


def stored_matlab(file: TextFile) -> dict[str, np.ndarray]:
    """The arrays of a file by name."""
    path = file.unpacked()
    return _stored_matlab(path, file.name, path.stat().st_mtime_ns)


@lru_cache(1)
def _stored_matlab(path: Path, name: str, changed: int) -> dict[str, np.ndarray]:
    from scipy.io import loadmat

    allowed = Allowance(name, size_of(path))
    try:
        content = read_regular(path, allowed.memory)
        hold_matlab(content, allowed)
        with allowed.spending():
            stored = loadmat(io.BytesIO(content))
    except (DataError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # the parser raises whatever damage leads it to
        raise DataError(
            f"is not a MATLAB file that can be read ({type(error).__name__})",
            where=name,
            remedy="save it again, with -v7 and not -v7.3",
        ) from None
    return {
        key: array
        for key, array in stored.items()
        if not key.startswith("__") and isinstance(array, np.ndarray)
    }


def hold_matlab(content: bytes, allowed: Allowance) -> None:
    """Declare the arrays of a file of version 5: each may be compressed."""
    order: Any = "little" if content[126:128] == b"IM" else "big"
    at = 128
    while at + 8 <= len(content):
        kind, size = (int.from_bytes(content[i : i + 4], order) for i in (at, at + 4))
        at += 8
        data, unpacked = content[at : at + size], zlib.decompressobj()
        at += size
        if kind != COMPRESSED:
            allowed.hold(CELL_RATIO * len(data))
            continue
        while data and not unpacked.eof:
            allowed.hold(CELL_RATIO * len(unpacked.decompress(data, 1 << 20)), "decompressed")
            data = unpacked.unconsumed_tail
