"""image: pixels as a sequence of patches, rows or columns; scaled by what the training rows show.

raw: a `Picture`, the path of a file, an array (H, W) or (H, W, C), an image of Pillow. values:
`Images`. tensors: `SeriesBatch`.
"""

from __future__ import annotations

import base64
import json
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from unspool.data.fields.field import Where
from unspool.data.fields.image_shape import ImageShape, colour_names, patches, uncut
from unspool.data.fields.series import SeriesField
from unspool.data.fields.series_examiner import SeriesExaminer
from unspool.data.fields.series_features import FeatureField
from unspool.data.fields.series_values import Moments, Series
from unspool.data.read import Column
from unspool.data.read.picture import ENDINGS, Decoded, Header, Picture, as_picture, is_pillow
from unspool.data.read.recording import Recording, numbers
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.store.ragged import Ragged
from unspool.errors import DataError, RunError
from unspool.io.files import AGAIN, read_json, write_json

FILE = "image.json"
LOOKED = 200  # images whose headers are looked at
FLUSH = 1 << 24  # bytes that are written, or summed, at once
SHOWN = 3  # sizes in a note
LONGEST = 16  # pixels of a side that a linear model reads


class Seen(NamedTuple):
    """What was found in the files of a column.

    sizes   how many images have each (height, width)
    others  how many were turned, were transparent, move, or have more than 8 bits
    """

    sizes: dict[tuple[int, int], int]
    others: dict[str, int]


class Images(Series):
    """N images as columns (W, H·C), and how a row of them becomes a sequence of T steps.

    seen   what was found in their files; None of those in memory
    """

    def __init__(
        self, raw: Ragged, moments: Moments | None, shape: ImageShape, seen: Seen | None = None
    ) -> None:
        super().__init__(raw, None, moments)
        self.shape, self.seen = shape, seen
        self.lengths = shape.steps(raw.lengths.astype(np.int64))

    def _with(self, raw: Ragged, times: Ragged | None, rows: np.ndarray) -> Images:
        return Images(raw, self.moments, self.shape, self.seen)

    def scaled(self, row: int) -> np.ndarray:
        """(W, H·C) float32"""
        x = self.raw[row]
        own = self.moments
        if own is None:
            mean, std = colour_moments([x], self.shape.colours)
            own = of_columns(Moments(mean, np.where(std > 1e-6, std, 1.0)), self.shape)
        return ((x - own.mean) / own.std).astype(np.float32)


class ImageColumn(NamedTuple):
    """N images: `values` (M, H·C) columns, uint8 or float32, memory-mapped."""

    values: Ragged
    seen: Seen
    times: None = None

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def load(cls, folder: Path, name: str) -> ImageColumn:
        """What a writer has stored."""
        about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        path = folder / f"{name}.values.bin"
        empty = path.stat().st_size == 0
        dtype = np.dtype(about["dtype"])
        flat = np.empty(0, dtype) if empty else np.memmap(path, dtype, mode="r")
        lengths = np.load(folder / f"{name}.lengths.npy")
        seen = Seen({(h, w): many for h, w, many in about["sizes"]}, about["others"])
        return cls(Ragged.of_lengths(flat.reshape(-1, about["width"]), lengths), seen)


class ImageWriter:
    """Decodes images, and stores them at the size that a model reads: bytes, until one has more
    than 8 bits; from then on float32."""

    def __init__(self, folder: Path, name: str, shape: ImageShape) -> None:
        self.folder, self.name, self.shape = folder, name, shape
        self.path = folder / f"{name}.values.bin"
        self.path.touch()
        self.dtype: np.dtype[Any] = np.dtype(np.uint8)
        self.pending = bytearray()
        self.lengths = array("q")
        self.sizes: Counter[tuple[int, int]] = Counter()
        self.others: Counter[str] = Counter()

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        for i, raw in enumerate(values):
            header, pixels = as_picture(raw, where(i)).decode()
            self.sizes[header.height, header.width] += 1
            self.others.update(remarks(header, pixels))
            x = self.shape.columns(self.shape.resized(pixels, where(i)))
            self.lengths.append(len(x))
            self._write(x)

    def _write(self, x: np.ndarray) -> None:
        if x.dtype != self.dtype and self.dtype == np.uint8:
            self._widen()
        self.pending += x.astype(self.dtype).tobytes()
        if len(self.pending) >= FLUSH:
            self._flush()

    @property
    def width(self) -> int:
        """Values of a row of what is stored: of a column of pixels."""
        return self.shape.height * self.shape.colours

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
    """What a note counts about an image."""
    found = {
        "turned": header.turned,
        "clear": header.clear,
        "moving": header.frames > 1,
        "deep": pixels.dtype != np.uint8,
    }
    return [name for name, holds in found.items() if holds]


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


def of_columns(moments: Moments, shape: ImageShape) -> Moments:
    """Of each colour -> of each element of a column"""
    return Moments(*(np.tile(own, shape.height) for own in moments))


def load_shape(path: Path, noun: str, colours: int = 0) -> ImageShape:
    """What `save` has written of a shape; `colours` that it must have, 0: any."""
    try:
        shape = ImageShape(**read_json(path))
        sides = (shape.height, shape.width, shape.patch)
        fine = all(isinstance(own, int) and 0 <= own <= 8192 for own in sides)
        fine &= shape.height > 0 and shape.colours in ((colours,) if colours else (1, 3))
        fine &= shape.any_width == (shape.width == 0)
        if fine and shape.reading == "patches":
            high, wide = shape.patches
            fine = high > 0 and not shape.height % high and not shape.width % wide
    except (TypeError, ValueError, KeyError):
        fine = False
    if not fine:
        raise not_a_shape(path, noun)
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
    return RunError(f"not how {noun} are read", where=path, remedy=AGAIN)


class ImageSource(SeriesField):
    """What fields of images have in common: how a file becomes columns of pixels."""

    kind = "image"
    pictured = True
    shape: ImageShape

    @property
    def unit(self) -> str:  # type: ignore[override]
        if self.shape.reading == "patches":
            return "patches"
        return "rows of pixels" if self.shape.reading == "rows" else "columns of pixels"

    @property
    def size(self) -> int:
        return self.shape.size

    @property
    def inputs(self) -> list[str]:
        return self.shape.elements()

    @property
    def colours(self) -> list[str]:
        return colour_names(self.shape.colours)

    @property
    def stride(self) -> int:
        return self.shape.stride

    @property
    def most_steps(self) -> int:
        rows, columns = (0, 0) if self.shape.any_width else self.shape.grid
        return rows * columns

    def look(self, column: Column) -> None:
        headers = [as_picture(raw, "item").header() for raw in column.sample[:LOOKED]]
        self.shape = self.shape.settled(headers)

    def recording(self, raw: Any, where: str) -> Recording:
        """Columns (W, H·C) from 0 to 255"""
        if isinstance(raw, Recording):
            return raw
        picture = as_picture(raw, where)
        decoded: Decoded = picture.decode()
        x = self.shape.columns(self.shape.resized(decoded.pixels, where))
        return Recording(x, tuple(self.channels), name=picture.name)

    def storage_key(self) -> Any:
        own = self.shape
        return [self.kind, own.height, own.width, own.colours, own.resize]

    def writer(self, folder: Path) -> Any:
        return ImageWriter(folder, self.name, self.shape)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> Any:
        return ImageColumn.load(folder, self.name)

    def blank(self, column: Any) -> np.ndarray:
        """None: an image has pixels."""
        return np.zeros(len(column), dtype=bool)

    def fit(
        self,
        column: Any,
        rows: np.ndarray,
        *,
        where: str,
        progress: Progress | None = None,
    ) -> list[str]:
        found = colour_moments((column.values[row] for row in rows), self.shape.colours)
        if not found.std.max() > 1e-6:
            raise DataError(
                "every image of the training part is of the same colour, so there is nothing to"
                " learn",
                where=where,
                got=", ".join(f"{own:g}" for own in found.mean),
                remedy="look at the files",
            )
        self._set_moments(Moments(found.mean, np.where(found.std > 1e-6, found.std, 1.0)))
        return [self.described(len(rows)), *self.changed(column.seen)]

    def _set_moments(self, found: Moments) -> None:
        self.mean, self.std = of_columns(found, self.shape)
        rows = range(1, self.shape.height + 1)
        self.channels = [f"{row} {name}" for row in rows for name in self.colours]

    def described(self, count: int) -> str:
        own = self.shape
        size = f"{own.height} x {own.width}" if own.width else f"{own.height} high, of any width"
        what = {
            "patches": f"{self.most_steps:,} patches of {own.patch} x {own.patch}",
            "rows": f"{own.height:,} rows",
            "columns": "their columns",
            "cnn": f"a convolutional grid of {own.grid[0]} x {own.grid[1]}" if own.width else "",
            "encoder": f"the grid of {own.grid[0]} x {own.grid[1]} of a trained encoder",
            "cnn_columns": f"columns of a convolutional grid, one for {own.stride}",
        }[own.reading]
        colours = "grey" if own.colours == 1 else "red, green and blue"
        return f"image: {count:,} in train, {size} (height x width), {colours}, read as {what}"

    def changed(self, seen: Seen) -> list[str]:
        """What was done to the images of files."""
        own, notes = self.shape, []
        same = {
            size: many
            for size, many in seen.sizes.items()
            if size[0] == own.height and (own.any_width or size[1] == own.width)
        }
        other = {size: many for size, many in seen.sizes.items() if size not in same}
        if other:
            listed = [f"{many:,} of {h} x {w}" for (h, w), many in list(other.items())[:SHOWN]]
            more = f" and {len(other) - SHOWN:,} more sizes" if len(other) > SHOWN else ""
            how = "in proportion" if own.any_width else f"({own.resize})"
            notes.append(
                f"{sum(other.values()):,} images resized {how} to"
                f" {own.height} x {own.width or 'any width'}: {', '.join(listed)}{more}"
                f" (--set height={'' if own.any_width else ' and width'}= for another size)"
            )
        said = {
            "turned": "are turned upright as their EXIF says",
            "clear": "with transparent parts are put on white",
            "moving": "are animations, of which the first frame is read (--set input=video: all)",
            "deep": "have more than 8 bits, and are kept with all of them",
        }
        notes += [f"{seen.others[k]:,} images {t}" for k, t in said.items() if k in seen.others]
        return notes

    def invent(self, *, vocab: int, classes: int) -> None:
        self.shape = self.shape.settled([Header(32, 32, 1, "L")])
        colours = self.shape.colours
        self._set_moments(Moments(np.zeros(colours), np.ones(colours)))

    def values(self, column: Any, progress: Progress | None = None) -> Any:
        found = self._series(column.values, None)
        found.seen = column.seen
        return found

    def _series(self, raw: Ragged, times: Ragged | None) -> Any:
        moments: Moments | None = Moments(self.mean, self.std)
        if self.scaling == "none":
            moments = Moments(np.zeros_like(self.mean), np.ones_like(self.std))
        return Images(raw, None if self.scaling == "series" else moments, self.shape)

    def unknown(self, values: Any, where: Where) -> list[str]:
        return self.changed(values.seen) if getattr(values, "seen", None) else []

    def vectors(self, values: Any, row: int) -> np.ndarray:
        return self.shape.vectors(values.scaled(row))

    def hide(self, vectors: np.ndarray, step: int, mean: np.ndarray) -> None:
        if self.shape.reading not in ("cnn", "encoder"):
            return super().hide(vectors, step, mean)
        down, across = (self.stride * at for at in divmod(step, self.shape.grid[1]))
        pixels = vectors.reshape(len(vectors), self.shape.height, self.shape.colours)
        pixels[across : across + self.stride, down : down + self.stride] = 0
        return None

    def refuse(self, own: Recording, where: str) -> None:
        self.refuse_channels(own, where)
        if not self.shape.any_width and len(own) != self.shape.width:
            raise DataError(
                f"the model reads images of {self.shape.width} columns; this one has {len(own)}",
                where=where,
                remedy="give the image itself, which is resized",
            )

    def items(self, given: Any) -> Iterable[Any]:
        """An array (H, W), or (H, W, C) with 1 to 4 colours, is one image; (N, H, W) and
        (N, H, W, C) are several."""
        dimensions = getattr(given, "ndim", 0)
        coloured = dimensions == 3 and given.shape[2] in (1, 2, 3, 4)
        if isinstance(given, str | Path | Picture | Recording) or is_pillow(given):
            return [given]
        if dimensions == 2 or coloured:
            return [given]
        if not isinstance(given, Iterable):
            as_picture(given, "item")
        return given

    def shown(self, raw: Any) -> str:
        name = raw.name if isinstance(raw, Recording) else str(as_picture(raw, "item"))
        return name or "image"

    def named(self, name: str) -> Picture | None:
        return Picture(Path(name), name) if name.lower().endswith(ENDINGS) else None

    def streaming_unsupported_reason(self) -> str:
        return "an image is read as a whole"

    def labels(self, raw: Any) -> list[str]:
        return self.shape.names(len(self.recording(raw, "item")))

    @property
    def shown_as(self) -> str:
        return "heat map"

    def picture(self, raw: Any) -> dict[str, Any]:
        own = self.recording(raw, "the image")
        seen = self.as_read(own)
        return {
            "channels": list(seen.channels),
            "values": [numbers(channel) for channel in seen.values.T],
            "steps": self.shape.names(len(own), shown=True),
        }

    def as_read(self, own: Recording) -> Recording:
        """With the steps that are shown."""
        x = self.shape.shown(np.asarray(own.values, dtype=np.float32))
        channels = (
            self.colours if self.shape.reading in ("cnn", "encoder") else self.shape.elements()
        )
        return Recording(x, tuple(channels), name=own.name)

    def image(self, raw: Any) -> np.ndarray:
        """(H, W, C) from 0 to 255, as the model reads it"""
        return self.pixels(self.recording(raw, "the image"))

    def pixels(self, own: Recording) -> np.ndarray:
        """(W, H·C) -> (H, W, C), as the model reads it"""
        return own.values.reshape(len(own), self.shape.height, self.shape.colours).swapaxes(0, 1)

    def example(self, steps: int) -> tuple[Tensor, ...]:
        """A whole image, where all are of one size."""
        if not self.shape.any_width:
            steps = int(self.shape.steps(np.array([self.shape.width]))[0])
        return super().example(steps)

    def pixel_values(self, vectors: np.ndarray) -> np.ndarray:
        """Numbers of the elements of steps, of each pixel, its colours together: (1, H, W)"""
        own = self.shape
        return uncut(vectors, own.height, *own.patches).sum(2)[None]

    def covered(self, vectors: np.ndarray, top: int, left: int, side: int) -> np.ndarray:
        """Steps of an image with the mean colour, 0, in a square of it."""
        x = uncut(vectors, self.shape.height, *self.shape.patches).copy()
        x[top : top + side, left : left + side] = 0
        return patches(x, *self.shape.patches)

    def from_json(self, value: Any, where: str) -> Recording:
        if isinstance(value, dict) and "file" in value:
            with given_file(value, where) as path:
                return self.recording(Picture(path, str(value.get("name") or "given")), where)
        return super().from_json(value, where)

    def advise(self, values: Any, unknown: float) -> Iterator[tuple[str | None, str]]:
        return iter(())

    def examiner(self, values: Any) -> SeriesExaminer | None:
        """None: pixels are not compared one by one."""
        return None

    @property
    def files(self) -> tuple[str, ...]:
        return (*super().files, FILE)

    def save(self, folder: Path) -> None:
        super().save(folder)
        write_json(folder / FILE, self.shape._asdict())

    def load(self, folder: Path) -> None:
        super().load(folder)
        self.shape = load_shape(folder / FILE, "images")
        if len(self.channels) != self.shape.height * self.shape.colours:
            raise not_a_shape(folder / FILE, "images")


class ImageField(ImageSource):
    """Steps for a network.

    encoder   the file of a trained encoder, from which that of a new model starts; None: there is
              none, or it has its weights already
    """

    def __init__(
        self,
        name: str,
        shape: ImageShape,
        *,
        scaling: str = "channel",
        encoder: Path | None = None,
    ) -> None:
        super().__init__(name, scaling=scaling)
        self.shape, self.encoder = shape, encoder

    def load(self, folder: Path) -> None:
        super().load(folder)
        self.encoder = None


class ImageFeatures(FeatureField, ImageSource):
    """Pixels for a linear model: of images of one size, averaged to at most 16 x 16; of others,
    statistics of their columns."""

    def __init__(self, name: str, shape: ImageShape, *, scaling: str = "channel") -> None:
        super().__init__(name, scaling=scaling)
        self.shape = shape

    @property
    def _small(self) -> tuple[int, int]:
        return min(LONGEST, self.shape.height), min(LONGEST, self.shape.width)

    @property
    def names(self) -> list[str]:
        if self.shape.any_width:
            return super().names
        high, wide = self._small
        small = self.shape._replace(reading="patches", patch=1, height=high, width=wide)
        return [f"{place} {name[4:]}" for place in small.names(wide) for name in small.elements()]

    def features_of(self, x: np.ndarray) -> np.ndarray:
        if self.shape.any_width:
            return super().features_of(x)
        pixels = x.reshape(self.shape.width, self.shape.height, self.shape.colours)
        for axis, count in enumerate(reversed(self._small)):
            ends = np.arange(count + 1) * pixels.shape[axis] // count
            sums = np.add.reduceat(pixels, ends[:-1], axis)
            pixels = sums / np.expand_dims(np.diff(ends), [i for i in range(3) if i != axis])
        return pixels.swapaxes(0, 1).reshape(-1).astype(np.float64)
