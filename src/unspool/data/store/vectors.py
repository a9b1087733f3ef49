"""A column of series on disk: float32 vectors in one flat array with offsets, memory-mapped."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unspool.data.store.ragged import Ragged

FLUSH = 1 << 24  # bytes that are written at once


@dataclass(frozen=True)
class VectorColumn:
    """N series of M steps in all.

    values    (M, C) float32, memory-mapped; a gap is NaN
    times     (M,) float64 of each step; None where there are none
    channels  names of the C channels
    dated     whether the times are dates
    static    of each series, raw values that it has as a whole
    """

    values: Ragged
    times: Ragged | None
    channels: list[str]
    dated: bool
    static: list[list[Any]]

    def __len__(self) -> int:
        return len(self.values)

    @staticmethod
    def load(folder: Path, name: str) -> VectorColumn:
        about = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        offsets = np.load(folder / f"{name}.offsets.npy")
        width = len(about["channels"])

        def mapped(what: str, dtype: type) -> np.ndarray:
            path = folder / f"{name}.{what}.bin"
            if path.stat().st_size == 0:
                return np.empty(0, dtype)
            return np.memmap(path, dtype, mode="r")

        values = mapped("values", np.float32).reshape(-1, width)
        timed = about["timed"]
        times = Ragged.of_offsets(mapped("times", np.float64), offsets) if timed else None
        series = Ragged.of_offsets(values, offsets)
        static = about.get("static") or [[]] * len(series)
        return VectorColumn(series, times, about["channels"], about["dated"], static)


class VectorWriter:
    """Appends series to a column in `folder`; `close` makes it loadable."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.lengths = array("q")
        self.pending = {"values": bytearray(), "times": bytearray()}
        self.static: list[list[Any]] = []

    def add(self, values: np.ndarray, times: np.ndarray | None, static: Sequence[Any] = ()) -> None:
        """(T, C), and (T,) or None"""
        self.static.append(list(static))
        self.lengths.append(len(values))
        self.pending["values"] += np.ascontiguousarray(values, dtype=np.float32).tobytes()
        if times is not None:
            self.pending["times"] += np.ascontiguousarray(times, dtype=np.float64).tobytes()
        if len(self.pending["values"]) >= FLUSH:
            self._flush()

    def _flush(self) -> None:
        for what, content in self.pending.items():
            with open(self.folder / f"{self.name}.{what}.bin", "ab") as file:
                file.write(content)
            content.clear()

    def close(self, channels: Sequence[str], *, timed: bool, dated: bool) -> None:
        self._flush()
        lengths = np.frombuffer(self.lengths, dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        np.save(self.folder / f"{self.name}.offsets.npy", offsets)
        about: dict[str, Any] = {"channels": list(channels), "timed": timed, "dated": dated}
        if any(self.static):
            about["static"] = self.static
        (self.folder / f"{self.name}.json").write_text(json.dumps(about), encoding="utf-8")
