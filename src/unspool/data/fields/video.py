"""video: frames over time, each of which an image layer makes one vector of.

raw: a `Clip`, the path of a file or of a folder of frames, an array (T, H, W) or (T, H, W, C), a
list of images. values: `Clips`. tensors: `SeriesBatch`, a step a frame: its pixels column by
column.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from unspool.data.fields.field import Chunk, Where
from unspool.data.fields.image_shape import colour_names
from unspool.data.fields.pixels import (
    PixelField,
    PixelWriter,
    Seen,
    block_means,
    load_shape,
    one_moments,
    remarks,
)
from unspool.data.fields.recordings import StoredSize
from unspool.data.fields.series import SeriesBatch
from unspool.data.fields.series_values import Moments, Series
from unspool.data.read.clip import ENDINGS, Clip, as_clip
from unspool.data.read.picture import Header, Picture, as_picture, is_pillow
from unspool.data.read.recording import Recording
from unspool.data.store.columns import Progress
from unspool.data.store.ragged import Ragged
from unspool.errors import DataError

FILE = "video.json"
LONGEST = 8  # pixels of a side that a linear model reads
GRID = 8  # largest side of the grid of a frame
STORED = 400_000  # bytes of an example that a run keeps, at most
MIXED = "mixed"  # in `Seen.others`: clips whose frames have several sizes
STILL = "still"  # clips of one frame


class Clips(Series):
    """N clips of frames (T, W·H·C), and what each colour is scaled by."""

    def __init__(
        self, raw: Ragged, moments: Moments | None, colours: int, seen: Seen | None = None
    ) -> None:
        super().__init__(raw, None, moments)
        self.colours, self.seen = colours, seen

    def _with(self, raw: Ragged, times: Ragged | None, rows: np.ndarray) -> Clips:
        return Clips(raw, self.moments, self.colours, self.seen)

    def scaled(self, row: int) -> np.ndarray:
        """(T, W·H·C) float32"""
        return scale(self.raw[row], self.moments, self.colours)


def scale(x: np.ndarray, moments: Moments | None, colours: int) -> np.ndarray:
    """(T, W·H·C) by the mean and deviation of each colour; None: its own"""
    if moments is None:
        moments = one_moments(x, colours)
    mean, std = (own.astype(np.float32) for own in moments)
    return ((x.reshape(len(x), -1, colours) - mean) / std).astype(np.float32).reshape(x.shape)


class ClipWriter(PixelWriter):
    """Decodes clips frame by frame, and stores frames at the size that a model reads."""

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        for i, raw in enumerate(values):
            sizes, count, notes = set(), 0, set()
            for header, pixels in as_clip(raw, where(i)).frames():
                count += 1
                sizes.add((header.height, header.width))
                notes.update(set(remarks(header, pixels)) - {"moving"})
                self._write(self.shape.columns(self.shape.resized(pixels, where(i))))
            self.lengths.append(count)
            self.sizes.update(sorted(sizes))
            notes |= {MIXED} if len(sizes) > 1 else set()
            self.others.update(notes | ({STILL} if count == 1 else set()))

    @property
    def width(self) -> int:
        return self.shape.width * self.shape.height * self.shape.colours


class VideoField(PixelField):
    """Clips as frames of one size."""

    kind = "video"
    unit = "frames"
    filmed = True
    rows = "clips"
    one = "frame"
    looked = 50  # by their first frames
    file = FILE
    remarks: ClassVar[Mapping[str, str]] = {
        MIXED: "have frames of different sizes",
        STILL: "have one frame, which does not move",
        "turned": "are turned upright",
        "clear": "with transparent parts are put on white",
        "deep": "have more than 8 bits, and are kept with all of them",
    }

    def header(self, raw: Any) -> Header:
        return as_clip(raw, "item").header()

    def opened(self, path: Path, name: str) -> Clip:
        return Clip(path, name)

    @property
    def size(self) -> int:
        own = self.shape
        return own.height * own.width * own.colours

    @property
    def cost(self) -> int:  # type: ignore[override]
        return max(1, self.shape.height * self.shape.width // 64)

    @property
    def inputs(self) -> list[str]:
        """Names of the pixels of a frame, column by column."""
        own = self.shape
        places = ((i + 1, j + 1) for j in range(own.width) for i in range(own.height))
        return [f"{i},{j} {name}" for i, j in places for name in colour_names(own.colours)]

    @property
    def halvings(self) -> int:
        """How often a CNN halves the sides of a frame."""
        longer, found = max(self.shape.height, self.shape.width), 1
        while -(-longer // (1 << found)) > GRID:
            found += 1
        return found

    def recording(self, raw: Any, where: str) -> Recording:
        """Frames (T, W·H·C) from 0 to 255"""
        if isinstance(raw, Recording):
            return raw
        clip = as_clip(raw, where)
        found = [self.shape.columns(self.shape.resized(x, where)).ravel() for _, x in clip.frames()]
        return Recording(np.stack(found), tuple(self.channels), name=clip.name)

    def writer(self, folder: Path) -> Any:
        return ClipWriter(folder, self.name, self.shape)

    def fit(
        self,
        column: Any,
        rows: np.ndarray,
        *,
        where: str,
        progress: Progress | None = None,
    ) -> list[str]:
        lengths = column.values.lengths[rows]
        if self.window and int(lengths.max()) < self.window:
            raise DataError(
                f"the window is longer than every clip: {self.window:,} frames, and the longest has"
                f" {int(lengths.max()):,}",
                where=where,
                remedy="set a smaller window, or none",
            )
        return super().fit(column, rows, where=where, progress=progress)

    def described(self, lengths: np.ndarray) -> str:
        least, most = int(lengths.min()), int(lengths.max())
        many = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        return (
            f"video: {len(lengths):,} clips in train, {many} frames each, {self.size_note()}, a"
            f" frame read by {self.reader_note()}"
        )

    def reader_note(self) -> str:
        if self.shape.reading == "patches":
            rows, columns = self.shape.grid
            return f"{rows * columns:,} patches of {self.shape.patch} x {self.shape.patch}"
        high, wide = (-(-own >> self.halvings) for own in (self.shape.height, self.shape.width))
        return f"a CNN with a grid of {high} x {wide}"

    def counted(self, rows: int) -> str:
        """Sizes are those of their frames, of which a clip may have several."""
        return "frames of clips"

    def _set_moments(self, found: Moments) -> None:
        self.mean, self.std = found
        self.channels = colour_names(self.shape.colours)

    def series_of(self, raw: Ragged, times: Ragged | None) -> Any:
        raw = raw.cut(self.max_length) if self.max_length else raw
        return Clips(raw, self.scaled_by(), self.shape.colours)

    def check(self, values: Any, where: Where) -> list[str]:
        return []

    def vectors(self, values: Any, row: int) -> np.ndarray:
        return values.scaled(row)

    def refuse(self, own: Recording, where: str) -> None:
        if not len(own) or own.values.shape[1] != self.size:
            raise DataError(
                f"the model reads frames of {self.size:,} numbers; this clip has"
                f" {len(own):,} of {own.values.shape[1]:,}",
                where=where,
                remedy="give the clip itself, whose frames are resized",
            )

    def items(self, given: Any) -> Iterable[Any]:
        """An array (T, H, W), or (T, H, W, C) with 1 to 4 colours, is one clip; (N, T, H, W) and
        (N, T, H, W, C) are several."""
        dimensions = getattr(given, "ndim", 0)
        coloured = dimensions == 4 and given.shape[3] in (1, 2, 3, 4)
        if isinstance(given, str | Path | Clip | Recording) or dimensions == 3 or coloured:
            return [given]
        if not isinstance(given, Iterable):
            as_clip(given, "item")
        return given

    def shown(self, raw: Any) -> str:
        name = raw.name if isinstance(raw, Recording) else str(as_clip(raw, "item"))
        return name or "video"

    def named(self, name: str) -> Clip | None:
        known = name.lower().endswith(ENDINGS) or Path(name).is_dir()
        return Clip(Path(name), name) if known else None

    def as_steps(self, raw: Any) -> Recording:
        """The next frames of a clip: one image, an array (T, H, W) or (T, H, W, C), a list of
        images. (H, W, C) with up to 4 colours is one image."""
        dimensions = getattr(raw, "ndim", 0)
        image = dimensions == 2 or (dimensions == 3 and raw.shape[2] in (1, 2, 3, 4))
        if isinstance(raw, Picture) or is_pillow(raw) or image:
            raw = [as_picture(raw, "frame")]
        return self.recording(raw, "frame")

    def chunk(self, raw: Any, before: Any, read: int) -> Chunk:
        own = self.as_steps(raw)
        self.refuse(own, f"frame {read + 1}")
        room = max(0, self.max_length - read) if self.max_length else len(own)
        x = scale(own.values[:room], self.scaled_by(), self.shape.colours)
        if not len(x):
            return Chunk((), 0, before, cut=True)
        inputs = SeriesBatch(torch.from_numpy(x[None]), torch.tensor([len(x)])).inputs
        return Chunk(inputs, len(x), None, len(x) < len(own))

    def pixels(self, own: Recording) -> np.ndarray:
        """(T, W·H·C) -> (T, H, W, C), as the model reads it"""
        x = own.values.reshape(len(own), self.shape.width, self.shape.height, self.shape.colours)
        return x.swapaxes(1, 2)

    def pixel_values(self, parts: np.ndarray) -> np.ndarray:
        """Numbers of the elements of frames, (T, W·H·C), of each pixel: (T, H, W)"""
        own = self.shape
        return parts.reshape(len(parts), own.width, own.height, own.colours).sum(3).swapaxes(1, 2)

    def may_be_stored(self, raw: Any) -> bool:
        return True

    def stored_size(self, value: Any) -> StoredSize:
        return StoredSize(int(value["frames"]), len(value["pixels"]) / STORED)

    def to_json(self, raw: Any) -> dict[str, Any]:
        own = self.as_read(self.recording(raw, "the clip"))
        pixels = np.clip(np.rint(self.pixels(own)), 0, 255).astype(np.uint8)
        return {
            "name": own.name,
            "frames": len(own),
            "size": list(pixels.shape[1:]),
            "pixels": base64.b64encode(pixels.tobytes()).decode(),
        }

    def from_json(self, value: Any, where: str) -> Recording:
        if isinstance(value, dict) and "file" in value:
            return super().from_json(value, where)
        try:
            name, count = str(value.get("name") or ""), int(value["frames"])
            size = [int(side) for side in value["size"]]
            data = base64.b64decode(value["pixels"], validate=True)
            x = np.frombuffer(data, np.uint8).reshape(count, *size)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, binascii.Error):
            raise DataError(
                "no clip: it has no frames, or other pixels than its size says",
                where=where,
                remedy="give its frames, size [height, width, colours] and pixels in base64",
            ) from None
        found = self.recording(as_clip(x, where), where)
        return Recording(found.values, found.channels, name=name)

    @property
    def shown_as(self) -> str:
        return "frames"

    def curves(self, own: Recording) -> Recording:
        """The mean of each colour over time."""
        own = self.as_read(own)
        x = own.values.reshape(len(own), -1, self.shape.colours).mean(1, dtype=np.float32)
        return Recording(x, tuple(self.channels), name=own.name)

    def covered(self, vectors: np.ndarray, top: int, left: int, side: int) -> np.ndarray:
        """Frames (T, W·H·C) with the mean colour, 0, in a square of each."""
        own = self.shape
        x = vectors.reshape(len(vectors), own.width, own.height, own.colours).copy()
        x[:, left : left + side, top : top + side] = 0
        return x.reshape(vectors.shape)

    def by_curve(self, parts: np.ndarray) -> np.ndarray:
        """Numbers of the elements of frames, (T, W·H·C), of each colour: (T, C)"""
        return parts.reshape(len(parts), -1, self.shape.colours).sum(1)

    def picture(self, raw: Any) -> dict[str, Any]:
        own = self.curves(self.recording(raw, "the clip"))
        return {
            "channels": self.channels,
            "values": [channel.round(2).tolist() for channel in own.values.T],
            "steps": own.steps(),
        }

    def load(self, folder: Path) -> None:
        super().load(folder)
        self.shape = load_shape(folder / FILE, "videos", len(self.channels))

    @property
    def _small(self) -> tuple[int, int]:
        return min(LONGEST, self.shape.width), min(LONGEST, self.shape.height)

    @property
    def feature_names(self) -> list[str]:
        wide, high = self._small
        positions = [f"{i + 1},{j + 1}" for j in range(wide) for i in range(high)]
        kinds = ("first", "last", "mean", "change")
        return [
            f"{kind} {at} {name}" for kind in kinds for at in positions for name in self.colours
        ]

    def features(self, x: np.ndarray) -> np.ndarray:
        """The first frame, the last, their mean, and the mean change from one to the next, each
        averaged to at most 8 x 8"""
        small = x.reshape(len(x), self.shape.width, self.shape.height, self.shape.colours)
        small = block_means(small, self._small, 1)
        change = np.abs(np.diff(small, axis=0)).mean(0) if len(x) > 1 else np.zeros_like(small[0])
        rows = (small[0], small[-1], small.mean(0), change)
        return np.concatenate([row.reshape(-1) for row in rows]).astype(np.float64)
