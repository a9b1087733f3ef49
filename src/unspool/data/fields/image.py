"""image: pixels as a sequence of patches, rows or columns; scaled by what the training rows show.

raw: a `Picture`, the path of a file, an array (H, W) or (H, W, C), an image of Pillow. values:
`Images`. tensors: `SeriesBatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from unspool.data.fields.image_shape import ImageShape, patches, uncut
from unspool.data.fields.pixels import (
    PixelField,
    PixelWriter,
    Seen,
    block_means,
    load_shape,
    not_a_shape,
    one_moments,
    remarks,
)
from unspool.data.fields.series_values import Moments, Series
from unspool.data.read.picture import ENDINGS, Decoded, Header, Picture, as_picture, is_pillow
from unspool.data.read.recording import Recording, numbers
from unspool.data.store.ragged import Ragged
from unspool.errors import DataError

FILE = "image.json"
LONGEST = 16  # pixels of a side that a linear model reads


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
            own = of_columns(one_moments(x, self.shape.colours), self.shape)
        return ((x - own.mean) / own.std).astype(np.float32)


def of_columns(moments: Moments, shape: ImageShape) -> Moments:
    """Of each colour -> of each element of a column"""
    return Moments(*(np.tile(own, shape.height) for own in moments))


class ImageWriter(PixelWriter):
    """Stores columns of pixels."""

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        for i, raw in enumerate(values):
            header, pixels = as_picture(raw, where(i)).decode()
            self.sizes[header.height, header.width] += 1
            self.others.update(remarks(header, pixels))
            x = self.shape.columns(self.shape.resized(pixels, where(i)))
            self.lengths.append(len(x))
            self._write(x)

    @property
    def width(self) -> int:
        return self.shape.height * self.shape.colours


class ImageField(PixelField):
    """Images as steps for a network.

    encoder   the file of a trained encoder, from which that of a new model starts; None: there is
              none, or it has its weights already
    """

    kind = "image"
    rows = "images"
    one = "image"
    looked = 200
    file = FILE
    remarks: ClassVar[Mapping[str, str]] = {
        "turned": "are turned upright as their EXIF says",
        "clear": "with transparent parts are put on white",
        "moving": "are animations, of which the first frame is read (--set input=video: all)",
        "deep": "have more than 8 bits, and are kept with all of them",
    }

    def __init__(
        self,
        name: str,
        shape: ImageShape,
        *,
        scaling: str = "channel",
        encoder: Path | None = None,
    ) -> None:
        super().__init__(name, shape, scaling=scaling)
        self.encoder = encoder

    def header(self, raw: Any) -> Header:
        return as_picture(raw, "item").header()

    def opened(self, path: Path, name: str) -> Picture:
        return Picture(path, name)

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
    def stride(self) -> int:
        return self.shape.stride

    @property
    def most_steps(self) -> int:
        rows, columns = (0, 0) if self.shape.any_width else self.shape.grid
        return rows * columns

    def recording(self, raw: Any, where: str) -> Recording:
        """Columns (W, H·C) from 0 to 255"""
        if isinstance(raw, Recording):
            return raw
        picture = as_picture(raw, where)
        decoded: Decoded = picture.decode()
        x = self.shape.columns(self.shape.resized(decoded.pixels, where))
        return Recording(x, tuple(self.channels), name=picture.name)

    def writer(self, folder: Path) -> Any:
        return ImageWriter(folder, self.name, self.shape)

    def _set_moments(self, found: Moments) -> None:
        self.mean, self.std = of_columns(found, self.shape)
        rows = range(1, self.shape.height + 1)
        self.channels = [f"{row} {name}" for row in rows for name in self.colours]

    def described(self, lengths: np.ndarray) -> str:
        own = self.shape
        what = {
            "patches": f"{self.most_steps:,} patches of {own.patch} x {own.patch}",
            "rows": f"{own.height:,} rows",
            "columns": "their columns",
            "cnn": f"a convolutional grid of {own.grid[0]} x {own.grid[1]}" if own.width else "",
            "encoder": f"the grid of {own.grid[0]} x {own.grid[1]} of a trained encoder",
            "cnn_columns": f"columns of a convolutional grid, one for {own.stride}",
        }[own.reading]
        return f"image: {len(lengths):,} in train, {self.size_note()}, read as {what}"

    def series_of(self, raw: Ragged, times: Ragged | None) -> Any:
        return Images(raw, self.scaled_by(), self.shape)

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

    def load(self, folder: Path) -> None:
        super().load(folder)
        self.shape = load_shape(folder / FILE, "images")
        if len(self.channels) != self.shape.height * self.shape.colours:
            raise not_a_shape(folder / FILE, "images")
        self.encoder = None

    @property
    def _small(self) -> tuple[int, int]:
        return min(LONGEST, self.shape.width), min(LONGEST, self.shape.height)

    @property
    def feature_names(self) -> list[str]:
        if self.shape.any_width:
            return super().feature_names
        wide, high = self._small
        small = self.shape._replace(reading="patches", patch=1, height=high, width=wide)
        return [f"{at} {name[4:]}" for at in small.names(wide) for name in small.elements()]

    def features(self, x: np.ndarray) -> np.ndarray:
        """Pixels of images of one size, averaged to at most 16 x 16; statistics of the columns of
        others"""
        if self.shape.any_width:
            return super().features(x)
        pixels = x.reshape(self.shape.width, self.shape.height, self.shape.colours)
        small = block_means(pixels, self._small)
        return small.swapaxes(0, 1).reshape(-1).astype(np.float64)
