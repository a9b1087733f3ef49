"""image: pixels as a sequence of patches, rows or columns; scaled by what the training rows show.

raw: a `Picture`, the path of a file, an array (H, W) or (H, W, C), an image of Pillow. values:
`Series`. tensors: `SeriesBatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from unspool.data.fields.image_shape import ImageShape, patches, uncut
from unspool.data.fields.pixels import (
    PixelSource,
    PixelWriter,
    block_means,
    load_shape,
    not_a_shape,
    one_moments,
    remarks,
)
from unspool.data.fields.series_values import Moments
from unspool.data.fields.tokens import Display
from unspool.data.read.picture import ENDINGS, Decoded, Header, Picture, as_picture, is_pillow
from unspool.data.read.recording import Recording, numbers
from unspool.errors import DataError, Setting

FILE = "image.json"
LONGEST = 16  # pixels of a side that a linear model reads


def of_columns(moments: Moments, shape: ImageShape) -> Moments:
    """Moments of each colour -> those of each element of a column"""
    return Moments(*(np.tile(part, shape.height) for part in moments))


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


class ImageSource(PixelSource):
    """Images as patches, rows or columns.

    encoder   file of a trained encoder, with which that of a new model starts; None: there is none,
              or it has its weights already
    """

    kind = "image"
    noun = "image"
    rows = "images"
    one = "image"
    looked = 200
    files = (FILE,)
    whole_reason = "an image is read as a whole"
    notes: ClassVar[Mapping[str, str]] = {
        "turned": "are turned upright as their EXIF says",
        "clear": "with transparent parts are put on white",
        "moving": (
            f"are animations, of which the first frame is read ({Setting(input='video')}: all)"
        ),
        "deep": "have more than 8 bits, and are kept with all of them",
    }

    def __init__(self, shape: ImageShape, *, encoder: Path | None = None) -> None:
        super().__init__(shape)
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
    def elements(self) -> list[str]:
        return self.shape.elements()

    @property
    def stride(self) -> int:  # type: ignore[override]
        return self.shape.stride

    @property
    def most_steps(self) -> int:  # type: ignore[override]
        rows, columns = (0, 0) if self.shape.any_width else self.shape.grid
        return rows * columns

    def recording(self, raw: Any, where: str) -> Recording:
        """Return columns (W, H·C) from 0 to 255."""
        if isinstance(raw, Recording):
            return raw
        picture = as_picture(raw, where)
        decoded: Decoded = picture.decode()
        x = self.shape.columns(self.shape.resized(decoded.pixels, where))
        return Recording(x, tuple(self.channels), name=picture.name)

    def writer(self, folder: Path, name: str) -> ImageWriter:
        return ImageWriter(folder, name, self.shape)

    def spread_moments(self, moments: Moments) -> Moments:
        rows = range(1, self.shape.height + 1)
        self.channels = [f"{row} {name}" for row in rows for name in self.colours]
        return of_columns(moments, self.shape)

    def summary(self, lengths: np.ndarray) -> str:
        shape = self.shape
        what = {
            "patches": f"{self.most_steps:,} patches of {shape.patch} x {shape.patch}",
            "rows": f"{shape.height:,} rows",
            "columns": "their columns",
            "cnn": (
                f"a convolutional grid of {shape.grid[0]} x {shape.grid[1]}" if shape.width else ""
            ),
            "encoder": f"the grid of {shape.grid[0]} x {shape.grid[1]} of a trained encoder",
            "cnn_columns": f"columns of a convolutional grid, one for {shape.stride}",
        }[shape.reading]
        return f"image: {len(lengths):,} in train, {self.size_note()}, read as {what}"

    def scale(self, x: np.ndarray, moments: Moments | None) -> np.ndarray:
        if moments is None:
            moments = of_columns(one_moments(x, self.shape.colours), self.shape)
        return super().scale(x, moments)

    def step_counts(self, lengths: np.ndarray) -> np.ndarray:
        return self.shape.steps(lengths.astype(np.int64))

    def vectors(self, x: np.ndarray) -> np.ndarray:
        return self.shape.vectors(x)

    def hide(self, vectors: np.ndarray, step: int, mean: np.ndarray) -> None:
        if self.shape.reading not in ("cnn", "encoder"):
            return super().hide(vectors, step, mean)
        down, across = (self.stride * at for at in divmod(step, self.shape.grid[1]))
        pixels = vectors.reshape(len(vectors), self.shape.height, self.shape.colours)
        pixels[across : across + self.stride, down : down + self.stride] = 0
        return None

    def refuse(self, recording: Recording, where: str) -> None:
        self.refuse_channels(recording, where)
        if not self.shape.any_width and len(recording) != self.shape.width:
            raise DataError(
                f"the model reads images of {self.shape.width} columns; this one has"
                f" {len(recording)}",
                where=where,
                remedy="give the image itself, which is resized",
            )

    def example_steps(self, steps: int) -> int:
        if self.shape.any_width:
            return steps
        return int(self.shape.steps(np.array([self.shape.width]))[0])

    def fixed_settings(self) -> dict[str, Any]:
        return self.shape.settings()

    def items(self, values: Any) -> Iterable[Any]:
        """An array (H, W) or (H, W, C) is one image; (N, H, W) and (N, H, W, C) are several."""
        dimensions = getattr(values, "ndim", 0)
        coloured = dimensions == 3 and values.shape[2] in (1, 2, 3, 4)
        if isinstance(values, str | Path | Picture | Recording) or is_pillow(values):
            return [values]
        if dimensions == 2 or coloured:
            return [values]
        if not isinstance(values, Iterable):
            as_picture(values, "item")
        return values

    def named(self, name: str) -> Picture | None:
        return Picture(Path(name), name) if name.lower().endswith(ENDINGS) else None

    def shown(self, raw: Any) -> str:
        name = raw.name if isinstance(raw, Recording) else str(as_picture(raw, "item"))
        return name or "image"

    @property
    def display(self) -> Display:
        return Display("heat map", "image", pixels=True)

    def picture(self, recording: Recording) -> dict[str, Any]:
        steps = self.curves(recording)
        return {
            "channels": list(steps.channels),
            "values": [numbers(channel) for channel in steps.values.T],
            "steps": self.shape.names(len(recording), shown=True),
        }

    def extent(self, raw: Any) -> str:
        return ""

    def step_names(self, recording: Recording) -> list[str]:
        return self.shape.names(len(recording))

    def curves(self, recording: Recording) -> Recording:
        x = self.shape.shown(np.asarray(recording.values, dtype=np.float32))
        grid = self.shape.reading in ("cnn", "encoder")
        channels = self.colours if grid else self.shape.elements()
        return Recording(x, tuple(channels), name=recording.name)

    def image(self, raw: Any) -> np.ndarray:
        return self.pixels(self.recording(raw, "the image"))

    def pixels(self, recording: Recording) -> np.ndarray:
        height, colours = self.shape.height, self.shape.colours
        return recording.values.reshape(len(recording), height, colours).swapaxes(0, 1)

    def pixel_values(self, parts: np.ndarray) -> np.ndarray:
        return uncut(parts, self.shape.height, *self.shape.patches).sum(2)[None]

    def cover(self, vectors: np.ndarray, top: int, left: int, side: int) -> np.ndarray:
        x = uncut(vectors, self.shape.height, *self.shape.patches).copy()
        x[top : top + side, left : left + side] = 0
        return patches(x, *self.shape.patches)

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
        """Pixels of images of one size, averaged to at most 16 x 16; else statistics of columns"""
        if self.shape.any_width:
            return super().features(x)
        pixels = x.reshape(self.shape.width, self.shape.height, self.shape.colours)
        small = block_means(pixels, self._small)
        return small.swapaxes(0, 1).reshape(-1).astype(np.float64)

    def load(self, folder: Path) -> None:
        self.shape = load_shape(folder / FILE, "image")
        if len(self.channels) != self.shape.height * self.shape.colours:
            raise not_a_shape(folder / FILE, "image")
        self.encoder = None
