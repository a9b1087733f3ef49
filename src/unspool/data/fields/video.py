"""video: frames over time, each of which an image layer makes one vector of.

raw: a `Clip`, the path of a file or of a folder of frames, an array (T, H, W) or (T, H, W, C), a
list of images. values: `Series`. tensors: `SeriesBatch`, a step a frame: its pixels column by
column.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from unspool.data.fields.pixels import (
    PixelSource,
    PixelWriter,
    block_means,
    load_shape,
    one_moments,
    remarks,
)
from unspool.data.fields.series_values import Moments
from unspool.data.fields.source import StoredSize
from unspool.data.fields.tokens import Display
from unspool.data.read.clip import ENDINGS, Clip, as_clip
from unspool.data.read.picture import Decoded, Header, Picture, as_picture, is_pillow
from unspool.data.read.recording import Recording
from unspool.errors import DataError

FILE = "video.json"
LONGEST = 8  # pixels of a side that a linear model reads
GRID = 8  # largest side of the grid of a frame
STORED = 400_000  # bytes of an example that a run keeps, at most
MIXED = "mixed"  # in `Seen.others`: clips whose frames have several sizes
STILL = "still"  # clips of one frame


class ClipWriter(PixelWriter):
    """Decodes clips frame by frame, and stores frames at the size that a model reads."""

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        for i, raw in enumerate(values):
            sizes, count, notes = set(), 0, set()
            read = partial(self._read, where=where(i))
            for header, about, columns in as_clip(raw, where(i)).changed(read):
                count += 1
                sizes.add((header.height, header.width))
                notes.update(set(about) - {"moving"})
                self._write(columns)
            self.lengths.append(count)
            self.sizes.update(sorted(sizes))
            notes |= {MIXED} if len(sizes) > 1 else set()
            self.others.update(notes | ({STILL} if count == 1 else set()))

    def _read(self, frame: Decoded, where: str) -> tuple[Header, Iterable[str], np.ndarray]:
        columns = self.shape.columns(self.shape.resized(frame.pixels, where))
        return frame.header, remarks(*frame), columns

    @property
    def width(self) -> int:
        return self.shape.width * self.shape.height * self.shape.colours


class VideoSource(PixelSource):
    """Clips as frames of one size."""

    kind = "video"
    noun = "clip"
    unit = "frames"
    rows = "clips"
    one = "frame"
    looked = 50  # by their first frames
    files = (FILE,)
    notes: ClassVar[Mapping[str, str]] = {
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
        return self.shape.height * self.shape.width * self.shape.colours

    @property
    def stored_width(self) -> int:
        return self.size

    @property
    def cost(self) -> int:  # type: ignore[override]
        return max(1, self.shape.height * self.shape.width // 64)

    @property
    def elements(self) -> list[str]:
        """Names of the pixels of a frame, column by column."""
        shape = self.shape
        positions = ((i + 1, j + 1) for j in range(shape.width) for i in range(shape.height))
        return [f"{i},{j} {name}" for i, j in positions for name in self.colours]

    @property
    def halvings(self) -> int:
        longer, count = max(self.shape.height, self.shape.width), 1
        while -(-longer // (1 << count)) > GRID:
            count += 1
        return count

    def recording(self, raw: Any, where: str) -> Recording:
        """Return frames (T, W·H·C) from 0 to 255."""
        if isinstance(raw, Recording):
            return raw
        clip = as_clip(raw, where)

        def row(frame: Decoded) -> np.ndarray:
            return self.shape.columns(self.shape.resized(frame.pixels, where)).ravel()

        return Recording(np.stack([*clip.changed(row)]), tuple(self.channels), name=clip.name)

    def writer(self, folder: Path, name: str) -> ClipWriter:
        return ClipWriter(folder, name, self.shape)

    def spread_moments(self, moments: Moments) -> Moments:
        self.channels = self.colours
        return moments

    def summary(self, lengths: np.ndarray) -> str:
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
        high, wide = (-(-side >> self.halvings) for side in (self.shape.height, self.shape.width))
        return f"a CNN with a grid of {high} x {wide}"

    def resized_rows(self, rows: int) -> str:
        """Sizes are those of frames, of which a clip may have several."""
        return "frames of clips"

    def scale(self, x: np.ndarray, moments: Moments | None) -> np.ndarray:
        """(T, W·H·C) by the mean and deviation of each colour"""
        colours = self.shape.colours
        if moments is None:
            moments = one_moments(x, colours)
        mean, std = (part.astype(np.float32) for part in moments)
        return ((x.reshape(len(x), -1, colours) - mean) / std).astype(np.float32).reshape(x.shape)

    def vectors(self, x: np.ndarray) -> np.ndarray:
        return x

    def refuse(self, recording: Recording, where: str) -> None:
        width = recording.values.shape[1]
        if not len(recording) or width != self.size:
            raise DataError(
                f"the model reads frames of {self.size:,} numbers; this clip has"
                f" {len(recording):,} of {width:,}",
                where=where,
                remedy="give the clip itself, whose frames are resized",
            )

    def next_steps(self, raw: Any, state: Any, read: int) -> tuple[Recording, Any]:
        """Return the next frames: an image (H, W, C), an array (T, H, W, C) or a list of images."""
        dimensions = getattr(raw, "ndim", 0)
        image = dimensions == 2 or (dimensions == 3 and raw.shape[2] in (1, 2, 3, 4))
        if isinstance(raw, Picture) or is_pillow(raw) or image:
            raw = [as_picture(raw, "frame")]
        return self.recording(raw, "frame"), None

    def items(self, values: Any) -> Iterable[Any]:
        """An array (T, H, W) or (T, H, W, C) is one clip; (N, T, H, W) and (N, T, H, W, C) are
        several."""
        dimensions = getattr(values, "ndim", 0)
        coloured = dimensions == 4 and values.shape[3] in (1, 2, 3, 4)
        if isinstance(values, str | Path | Clip | Recording) or dimensions == 3 or coloured:
            return [values]
        if not isinstance(values, Iterable):
            as_clip(values, "item")
        return values

    def named(self, name: str) -> Clip | None:
        known = name.lower().endswith(ENDINGS) or Path(name).is_dir()
        return Clip(Path(name), name) if known else None

    def shown(self, raw: Any) -> str:
        name = raw.name if isinstance(raw, Recording) else str(as_clip(raw, "item"))
        return name or "video"

    def to_json(self, raw: Any) -> dict[str, Any]:
        recording = self.recording(raw, "the clip")[: self.longest or None]
        pixels = np.clip(np.rint(self.pixels(recording)), 0, 255).astype(np.uint8)
        return {
            "name": recording.name,
            "frames": len(recording),
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
        recording = self.recording(as_clip(x, where), where)
        return Recording(recording.values, recording.channels, name=name)

    def stored_size(self, value: Any) -> StoredSize:
        return StoredSize(int(value["frames"]), len(value["pixels"]) / STORED)

    @property
    def display(self) -> Display:
        return Display("frames", "image", pixels=True)

    def picture(self, recording: Recording) -> dict[str, Any]:
        means = self.curves(recording)
        return {
            "channels": self.channels,
            "values": [channel.round(2).tolist() for channel in means.values.T],
            "steps": means.steps(),
        }

    def extent(self, raw: Any) -> str:
        return f"{len(self.recording(raw, 'the clip')):,} frames"

    def curves(self, recording: Recording) -> Recording:
        x = recording.values.reshape(len(recording), -1, self.shape.colours)
        x = x.mean(1, dtype=np.float32)
        return Recording(x, tuple(self.channels), name=recording.name)

    def curve_values(self, parts: np.ndarray) -> np.ndarray:
        """(T, W·H·C) -> (T, C)"""
        return parts.reshape(len(parts), -1, self.shape.colours).sum(1)

    def curve_names(self, elements: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.channels)

    def pixels(self, recording: Recording) -> np.ndarray:
        shape = self.shape
        x = recording.values.reshape(len(recording), shape.width, shape.height, shape.colours)
        return x.swapaxes(1, 2)

    def pixel_values(self, parts: np.ndarray) -> np.ndarray:
        shape = self.shape
        x = parts.reshape(len(parts), shape.width, shape.height, shape.colours)
        return x.sum(3).swapaxes(1, 2)

    def cover(self, vectors: np.ndarray, top: int, left: int, side: int) -> np.ndarray:
        shape = self.shape
        x = vectors.reshape(len(vectors), shape.width, shape.height, shape.colours).copy()
        x[:, left : left + side, top : top + side] = 0
        return x.reshape(vectors.shape)

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
        """First, last and mean frame, and the mean change, each averaged to at most 8 x 8"""
        small = x.reshape(len(x), self.shape.width, self.shape.height, self.shape.colours)
        small = block_means(small, self._small, 1)
        change = np.abs(np.diff(small, axis=0)).mean(0) if len(x) > 1 else np.zeros_like(small[0])
        rows = (small[0], small[-1], small.mean(0), change)
        return np.concatenate([row.reshape(-1) for row in rows]).astype(np.float64)

    def load(self, folder: Path) -> None:
        self.shape = load_shape(folder / FILE, "video", len(self.channels))
