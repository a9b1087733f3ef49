"""Pixels of one size, stored as bytes and scaled by colour: shared by images and videos."""

from __future__ import annotations

import base64
import json
import tempfile
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unspool.data.fields.image_shape import ImageShape, colour_names
from unspool.data.fields.series_values import FittedChannels, Moments, Scaler, Series
from unspool.data.fields.source import VectorSource
from unspool.data.read import Column
from unspool.data.read.picture import Header
from unspool.data.read.recording import Recording, file_schema
from unspool.data.store.ragged import Ragged
from unspool.errors import DataError, RunError, Setting
from unspool.io.files import AGAIN, stored_state, write_json

FLUSH = 1 << 24  # bytes that are written, or summed, at once
SHOWN = 3  # sizes in a note


class Seen(NamedTuple):
    """Counts of what was found in the files of a column.

    sizes   how many images have each (height, width)
    others  how many were turned, were transparent, move, or have more than 8 bits
    """

    sizes: dict[tuple[int, int], int]
    others: dict[str, int]


class PixelColumn(NamedTuple):
    """N images or clips: rows of pixels `values` (M, ·), uint8 or float32, memory-mapped."""

    values: Ragged
    seen: Seen
    times: None = None

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def load(cls, folder: Path, name: str) -> PixelColumn:
        about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        path = folder / f"{name}.values.bin"
        empty = path.stat().st_size == 0
        dtype = np.dtype(about["dtype"])
        flat = np.empty(0, dtype) if empty else np.memmap(path, dtype, mode="r")
        lengths = np.load(folder / f"{name}.lengths.npy")
        seen = Seen({(h, w): many for h, w, many in about["sizes"]}, about["others"])
        return cls(Ragged.of_lengths(flat.reshape(-1, about["width"]), lengths), seen)


class PixelWriter(ABC):
    """Stores pixels at the size that a model reads: as bytes, or float32 if one has more bits."""

    def __init__(self, folder: Path, name: str, shape: ImageShape) -> None:
        self.folder, self.name, self.shape = folder, name, shape
        self.path = folder / f"{name}.values.bin"
        self.path.touch()
        self.dtype: np.dtype[Any] = np.dtype(np.uint8)
        self.pending = bytearray()
        self.lengths = array("q")
        self.sizes: Counter[tuple[int, int]] = Counter()
        self.others: Counter[str] = Counter()

    @abstractmethod
    def add(self, values: list[Any], where: Callable[[int], str]) -> None: ...

    def _write(self, x: np.ndarray) -> None:
        if x.dtype != self.dtype and self.dtype == np.uint8:
            self._widen()
        self.pending += x.astype(self.dtype).tobytes()
        if len(self.pending) >= FLUSH:
            self._flush()

    @property
    @abstractmethod
    def width(self) -> int:
        """Values of a row of what is stored."""

    def _flush(self) -> None:
        with open(self.path, "ab") as file:
            file.write(self.pending)
        self.pending.clear()

    def _widen(self) -> None:
        self._flush()
        self.dtype = np.dtype(np.float32)
        narrow = self.path.with_suffix(".narrow")
        self.path.rename(narrow)
        with open(narrow, "rb") as source, open(self.path, "wb") as file:
            while data := source.read(FLUSH):
                file.write(np.frombuffer(data, np.uint8).astype(np.float32).tobytes())
        narrow.unlink()

    def close(self) -> None:
        self._flush()
        lengths = np.frombuffer(self.lengths, dtype=np.int64)
        np.save(self.folder / f"{self.name}.lengths.npy", lengths)
        about = {
            "dtype": self.dtype.name,
            "width": self.width,
            "sizes": [[*size, many] for size, many in self.sizes.most_common()],
            "others": dict(self.others),
        }
        (self.folder / f"{self.name}.json").write_text(json.dumps(about), encoding="utf-8")


def remarks(header: Header, pixels: np.ndarray) -> list[str]:
    """Return the properties of an image that notes count."""
    flags = {
        "turned": header.turned,
        "clear": header.clear,
        "moving": header.frames > 1,
        "deep": pixels.dtype != np.uint8,
    }
    return [name for name, holds in flags.items() if holds]


def colour_moments(images: Iterable[np.ndarray], colours: int) -> Moments:
    """Mean and standard deviation of each colour, (C,) each, of images as columns (W, H·C)."""
    count, total, squares = 0, np.zeros(colours), np.zeros(colours)
    for x in images:
        pixels = x.reshape(-1, colours).astype(np.float64)
        count += len(pixels)
        total += pixels.sum(0)
        squares += (pixels**2).sum(0)
    mean = total / max(1, count)
    return Moments(mean, np.sqrt(np.maximum(squares / max(1, count) - mean**2, 0)))


def one_moments(x: np.ndarray, colours: int) -> Moments:
    """Return the moments by which an image or clip is scaled by itself."""
    return safe(colour_moments([x], colours))


def safe(moments: Moments) -> Moments:
    """With 1 for the deviation of a colour that is everywhere the same."""
    return Moments(moments.mean, np.where(moments.std > 1e-6, moments.std, 1.0))


def block_means(x: np.ndarray, counts: Sequence[int], first: int = 0) -> np.ndarray:
    """Averaged to `counts` blocks along the axes from `first` on."""
    for axis, count in enumerate(counts, first):
        ends = np.arange(count + 1) * x.shape[axis] // count
        sizes = np.diff(ends).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        x = np.add.reduceat(x, ends[:-1], axis) / sizes
    return x


def load_shape(path: Path, noun: str, colours: int = 0) -> ImageShape:
    """Load what `save` has written of a shape; `colours` that it must have, 0: any."""
    with stored_state(path, f"invalid {noun} settings") as stored:
        shape = ImageShape(**stored)
        sides = (shape.height, shape.width, shape.patch)
        valid = all(isinstance(side, int) and 0 <= side <= 8192 for side in sides)
        valid &= shape.height > 0 and shape.colours in ((colours,) if colours else (1, 3))
        valid &= shape.any_width == (shape.width == 0)
        if valid and shape.reading == "patches":
            high, wide = shape.patches
            valid = high > 0 and not shape.height % high and not shape.width % wide
        if not valid:
            raise ValueError
    return shape


@contextmanager
def given_file(value: dict[str, Any], where: str) -> Iterator[Path]:
    """A file that came in JSON, {"name": ..., "file": its bytes in base64}, on disk."""
    try:
        data = base64.b64decode(value["file"], validate=True)
        ending = Path(str(value.get("name") or "")).suffix.lower()[:8]
    except (TypeError, ValueError):
        raise DataError(
            "no file: its bytes are not in base64", where=where, remedy="give it as base64"
        ) from None
    with tempfile.TemporaryDirectory(prefix="unspool-given-") as folder:
        path = Path(folder) / f"given{ending if ending.isascii() else ''}"
        path.write_bytes(data)
        yield path


def not_a_shape(path: Path, noun: str) -> RunError:
    return RunError(f"invalid {noun} settings", where=path, remedy=AGAIN)


class PixelSource(VectorSource):
    """Files as pixels of one size; a subclass decides what a step is.

    rows      name of the rows of a column
    one       name of one image of them
    looked    rows whose headers are looked at
    notes     texts about rows, by what was seen in their files
    """

    self_scaled = ("series", "window")
    patches_across = 8  # along the longer side, of those that are hidden to explain an answer
    rows: ClassVar[str]
    one: ClassVar[str]
    looked: ClassVar[int]
    notes: ClassVar[Mapping[str, str]]

    def __init__(self, shape: ImageShape) -> None:
        super().__init__()
        self.shape = shape

    @abstractmethod
    def header(self, raw: Any) -> Header:
        """Return the header of an image, or of the first frame of a clip."""

    @abstractmethod
    def opened(self, path: Path, name: str) -> Any:
        """Return a file as `recording` takes it."""

    @abstractmethod
    def spread_moments(self, moments: Moments) -> Moments:
        """Name the channels; return their moments, given those of each colour."""

    @abstractmethod
    def pixels(self, recording: Recording) -> np.ndarray:
        """Return (H, W, C), or (T, H, W, C) of frames, from 0 to 255 as a model reads them."""

    @abstractmethod
    def pixel_values(self, parts: np.ndarray) -> np.ndarray:
        """Numbers of the elements of steps (T, size) -> those of pixels (F, H, W), F frames"""

    @abstractmethod
    def cover(self, vectors: np.ndarray, top: int, left: int, side: int) -> np.ndarray:
        """Return steps (T, size) with the mean colour, 0, in a square."""

    def covered(
        self, vectors: np.ndarray, item: Any, side: int, encode: Callable[[Any], np.ndarray]
    ) -> Iterator[np.ndarray]:
        """Yield steps with each square covered, row by row; `encode` makes steps of a value."""
        for top in range(0, self.shape.height, side):
            for left in range(0, self.pixel_values(vectors).shape[2], side):
                yield self.cover(vectors, top, left, side)

    @property
    def colours(self) -> list[str]:
        return colour_names(self.shape.colours)

    def look(self, column: Column) -> None:
        self.shape = self.shape.settled([self.header(raw) for raw in column.sample[: self.looked]])

    def storage_key(self) -> Any:
        shape = self.shape
        return [self.kind, shape.height, shape.width, shape.colours, shape.resize]

    def open(self, folder: Path, name: str) -> PixelColumn:
        return PixelColumn.load(folder, name)

    def blank(self, column: Any) -> np.ndarray:
        """No row is blank: all have pixels."""
        return np.zeros(len(column), dtype=bool)

    def fit(self, column: Any, rows: np.ndarray, *, where: str) -> FittedChannels:
        moments = colour_moments((column.values[row] for row in rows), self.shape.colours)
        if not moments.std.max() > 1e-6:
            raise DataError(
                f"every {self.one} of the training part is of the same colour, so there is nothing"
                " to learn",
                where=where,
                got=", ".join(f"{mean:g}" for mean in moments.mean),
                remedy="look at the files",
            )
        mean, std = self.spread_moments(safe(moments))
        none = np.zeros(len(mean), dtype=bool)
        return FittedChannels(mean, std, none, none)

    def fit_notes(self, column: Any, rows: np.ndarray, fitted: FittedChannels) -> list[str]:
        return [self.summary(column.values.lengths[rows]), *self.changed(column.seen)]

    def invent(self) -> Moments:
        self.shape = self.shape.settled([Header(32, 32, 1, "L")])
        colours = self.shape.colours
        return self.spread_moments(Moments(np.zeros(colours), np.ones(colours)))

    def size_note(self) -> str:
        shape = self.shape
        size = f"{shape.height} x {shape.width}"
        if not shape.width:
            size = f"{shape.height} high, of any width"
        return f"{size} (height x width), {'grey' if shape.colours == 1 else 'red, green and blue'}"

    def resized_rows(self, rows: int) -> str:
        return f"{rows:,} {self.rows}"

    def changed(self, seen: Seen) -> list[str]:
        """Report how the pixels of files were changed."""
        shape, notes = self.shape, []
        other = {
            (h, w): many
            for (h, w), many in seen.sizes.items()
            if h != shape.height or not (shape.any_width or w == shape.width)
        }
        if other:
            listed = [f"{many:,} of {h} x {w}" for (h, w), many in list(other.items())[:SHOWN]]
            more = f" and {len(other) - SHOWN:,} more sizes" if len(other) > SHOWN else ""
            how = "in proportion" if shape.any_width else f"({shape.resize})"
            size = Setting("height") if shape.any_width else Setting("height", "width")
            notes.append(
                f"{self.resized_rows(sum(other.values()))} resized {how} to {shape.height} x"
                f" {shape.width or 'any width'}: {', '.join(listed)}{more} ({size} for"
                " another size)"
            )
        notes += [
            f"{seen.others[name]:,} {self.rows} {text}"
            for name, text in self.notes.items()
            if name in seen.others
        ]
        return notes

    def unknown(self, values: Series, gappy: list[int]) -> list[str]:
        return self.changed(values.seen) if values.seen else []

    json_schema: ClassVar = file_schema("file", "image/*")

    def from_json(self, value: Any, where: str) -> Recording:
        if isinstance(value, dict) and "file" in value:
            with given_file(value, where) as path:
                return self.recording(self.opened(path, str(value.get("name") or "given")), where)
        return super().from_json(value, where)

    def advise(self, lengths: np.ndarray) -> Iterator[tuple[Setting | None, str]]:
        return iter(())

    def examiner(self, values: Series, scaler: Scaler) -> None:
        """Pixels are not compared one by one."""
        return

    def save(self, folder: Path) -> None:
        write_json(folder / self.files[0], self.shape._asdict())
