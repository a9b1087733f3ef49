"""ImageShape: from an image to a sequence, by its size in pixels and what a step is.

pixels (H, W, C) -> resized -> columns (W, H·C), as they are stored -> vectors (T, ph·pw·C)

Every reading cuts an image into patches of ph x pw pixels, row by row: rows are patches of 1 x W,
columns those of H x 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unspool.data.read.picture import Header, pillow
from unspool.errors import ConfigError

LARGEST = 64  # pixels of the longer side, or of the height of columns, where no size is set
WHOLE = 8  # patches along the shorter side
LEAST = 2  # pixels of a side
CNN = ("cnn", "cnn_columns", "encoder")  # what a convolutional input layer reads, as columns
ONE_SIZE = ("patches", "rows", "cnn", "encoder")  # which need images of one size
ENCODED = 224  # pixels of a side that a trained encoder reads


class PatchShape(NamedTuple):
    height: int
    width: int


class ImageShape(NamedTuple):
    """Size and steps of an image that a model reads.

    height, width   in pixels; 0: to be settled. The width of `columns` stays 0: it is any
    colours         1: grey, 3: red, green and blue; 0: to be settled
    reading         what a step is: see `data.reading`
    patch           side of a patch of `patches`; 0: to be settled
    resize          "stretch" or "crop"
    """

    height: int = 0
    width: int = 0
    colours: int = 0
    reading: str = "rows"
    patch: int = 0
    resize: str = "stretch"

    def settings(self) -> dict[str, Any]:
        """Settings with which another corpus is read alike."""
        return {
            "data.height": self.height,
            "data.width": self.width,
            "data.colours": "grey" if self.colours == 1 else "rgb",
            "data.reading": self.reading,
            "data.patch_size": self.patch,
            "data.resize": self.resize,
        }

    @property
    def any_width(self) -> bool:
        return self.reading not in ONE_SIZE

    @property
    def patches(self) -> PatchShape:
        """Patch of a step as the field gives it; a convolutional layer reads columns."""
        if self.reading == "rows":
            return PatchShape(1, self.width)
        if self.reading == "patches":
            return PatchShape(self.patch, self.patch)
        return PatchShape(self.height, 1)

    @property
    def size(self) -> int:
        """Numbers of the vector of a step."""
        return self.patches.height * self.patches.width * self.colours

    @property
    def halvings(self) -> int:
        """Number of times that a convolutional layer halves both sides; 0 where there is none."""
        if self.reading not in CNN:
            return 0
        if self.reading == "encoder":
            return 5
        return 2 if min(self.height, self.width or self.height) >= 16 else 1

    @property
    def stride(self) -> int:
        """Columns that a convolutional layer makes one of."""
        return 1 << self.halvings

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of what the network reads of an image of one size."""
        if self.halvings:
            return -(-self.height // self.stride), -(-self.width // self.stride)
        return self.height // self.patches.height, self.width // self.patches.width

    def steps(self, columns: np.ndarray) -> np.ndarray:
        """(N,) steps of images of so many columns."""
        high, wide = self.patches
        return columns * self.height // (high * wide)

    def settled(self, headers: Sequence[Header]) -> ImageShape:
        """With what the first images show, where the settings leave it open."""
        shape = self
        if not shape.colours:
            grey = all(header.colours == 1 for header in headers)
            shape = shape._replace(colours=1 if grey else 3)
        sides = np.array(
            [(header.height, header.width) for header in headers] or [(LARGEST, LARGEST)]
        )
        high, wide = np.median(sides, 0).astype(int).tolist()
        if self.height and not self.width:
            high, wide = self.height, max(LEAST, round(wide * self.height / high))
        elif self.width and not self.height:
            high, wide = max(LEAST, round(high * self.width / wide)), self.width
        elif self.width and self.height:
            high, wide = self.height, self.width
        else:
            longer = high if self.any_width else max(high, wide)
            scale = min(1.0, LARGEST / longer)
            high, wide = (max(LEAST, round(side * scale)) for side in (high, wide))
        if self.any_width:
            return shape._replace(height=high, width=0)
        if self.reading != "patches":
            return shape._replace(height=high, width=wide)
        return shape._replace(height=high, width=wide)._with_patches(self)

    def _with_patches(self, settings: ImageShape) -> ImageShape:
        """Sides that were not asked for become multiples of the patch."""
        patch = self.patch or max(LEAST, round(min(self.height, self.width) / WHOLE))
        sides = []
        for name, side, wanted in (
            ("height", self.height, settings.height),
            ("width", self.width, settings.width),
        ):
            if wanted and wanted % patch:
                raise ConfigError(
                    f"data.{name} must be a multiple of the {patch} pixels of a patch",
                    got=wanted,
                    remedy=f"set {name}={-(-wanted // patch) * patch}, or another patch_size",
                )
            sides.append(wanted or max(1, round(side / patch)) * patch)
        return self._replace(height=sides[0], width=sides[1], patch=patch)

    def resized(self, pixels: np.ndarray, where: str) -> np.ndarray:
        """(h, w, c) of any size and colours -> (H, W, C)"""
        pixels = with_colours(pixels, self.colours)
        height, width = pixels.shape[:2]
        wide = self.width or max(1, round(width * self.height / height))
        if (height, width) == (self.height, wide):
            return pixels
        box: tuple[float, ...] = (0.0, 0.0, float(width), float(height))
        if self.resize == "crop" and not self.any_width:
            scale = min(height / self.height, width / wide)
            cut = (width - wide * scale) / 2, (height - self.height * scale) / 2
            box = (cut[0], cut[1], width - cut[0], height - cut[1])
        return resize(pixels, self.height, wide, box, where)

    def columns(self, pixels: np.ndarray) -> np.ndarray:
        """(H, W, C) -> (W, H·C)"""
        return np.ascontiguousarray(pixels.swapaxes(0, 1)).reshape(pixels.shape[1], -1)

    def vectors(self, columns: np.ndarray) -> np.ndarray:
        """(W, H·C) -> (T, ph·pw·C)"""
        high, wide = self.patches
        if high == self.height and wide == 1:
            return columns
        x = columns.reshape(len(columns), self.height, self.colours).swapaxes(0, 1)  # (H, W, C)
        return patches(x, high, wide)

    def shown(self, columns: np.ndarray) -> np.ndarray:
        """(W, H·C) -> (T, K), of each step what a page shows: its elements; of a place of the grid
        of a convolution the mean colours of the pixels that it stands for. Where a convolution
        makes columns, those of the image are shown"""
        if self.reading not in ("cnn", "encoder"):
            return self.vectors(columns)
        x = columns.reshape(len(columns), self.height, self.colours).swapaxes(0, 1)  # (H, W, C)
        side = self.stride
        x = np.pad(x, ((0, -x.shape[0] % side), (0, -x.shape[1] % side), (0, 0)), "edge")
        cut = patches(x, side, side)
        return cut.reshape(len(cut), -1, self.colours).mean(1)

    def spread(self, values: np.ndarray, columns: int) -> np.ndarray:
        """A number for each step that the network reads, (T,), at its pixels: (H, W)"""
        high, wide = self.patches
        if self.halvings:
            high, wide = self.height if self.any_width else self.stride, self.stride
        grid = values.reshape(-(-self.height // high), -1)
        return np.kron(grid, np.ones((high, wide)))[: self.height, :columns]

    def names(self, columns: int, *, shown: bool = False) -> list[str]:
        """Names of the steps that the network reads, or of those that are `shown`."""
        if self.reading == "rows":
            return [f"row {i + 1}" for i in range(self.height)]
        if self.any_width:
            return [f"column {i + 1}" for i in range(0, columns, 1 if shown else self.stride)]
        rows, across = self.grid
        return [f"{i + 1},{j + 1}" for i in range(rows) for j in range(across)]

    def elements(self) -> list[str]:
        """Names of the elements of the vector of a step."""
        high, wide = self.patches
        places = [(i + 1, j + 1) for i in range(high) for j in range(wide)]
        return [f"{i},{j} {colour}" for i, j in places for colour in colour_names(self.colours)]


def colour_names(colours: int) -> list[str]:
    return ["grey"] if colours == 1 else ["red", "green", "blue"]


def patches(x: np.ndarray, high: int, wide: int) -> np.ndarray:
    """(H, W, C) -> (H/ph · W/pw, ph · pw · C), row by row"""
    height, width, colours = x.shape
    cut = x.reshape(height // high, high, width // wide, wide, colours)
    return cut.swapaxes(1, 2).reshape(-1, high * wide * colours)


def uncut(vectors: np.ndarray, height: int, high: int, wide: int) -> np.ndarray:
    """Join what `patches` has cut: (H/ph · W/pw, ph · pw · C) -> (H, W, C)"""
    x = vectors.reshape(height // high, -1, high, wide, vectors.shape[1] // (high * wide))
    x = x.swapaxes(1, 2)
    return x.reshape(height, -1, x.shape[-1])


def with_colours(pixels: np.ndarray, colours: int) -> np.ndarray:
    """(H, W, 1 or 3) -> (H, W, colours); grey is the luma of ITU-R 601, as Pillow has it"""
    if pixels.shape[2] == colours:
        return pixels
    if colours == 3:
        return np.repeat(pixels, 3, 2)
    if pixels.dtype == np.uint8:
        whole = pixels.astype(np.uint32) @ np.array([19595, 38470, 7471], np.uint32)
        return ((whole + 0x8000) >> 16).astype(np.uint8)[..., None]
    return (pixels @ np.array([0.299, 0.587, 0.114], np.float32))[..., None]


def resize(
    pixels: np.ndarray, height: int, width: int, box: tuple[float, ...], where: str
) -> np.ndarray:
    """Bilinear, with all pixels under each new one where it gets smaller, by Pillow."""
    Image: Any = pillow(where)
    bilinear = Image.Resampling.BILINEAR
    planes = [pixels] if pixels.dtype == np.uint8 else list(pixels.transpose(2, 0, 1))
    channels = []
    for plane in planes:
        flat = plane[..., 0] if plane.ndim == 3 and plane.shape[2] == 1 else plane
        image = Image.fromarray(np.ascontiguousarray(flat))
        channels.append(np.asarray(image.resize((width, height), bilinear, box=box)))
    if len(channels) > 1:
        return np.stack(channels, 2)
    return channels[0] if channels[0].ndim == 3 else channels[0][..., None]
