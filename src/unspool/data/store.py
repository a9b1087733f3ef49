"""Token ids of a whole source on disk: flat arrays with offsets, written once, then memory-mapped.

A store holds *pieces*: documents, or consecutive stretches of a stream. Its ids are raw: they
number the distinct tokens (`types`) in the order of their first appearance, so that one pass over
the text is enough and the vocabulary can be chosen afterwards.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

DTYPES = (np.uint8, np.uint16, np.uint32)
COPY = 1 << 24


@dataclass(frozen=True)
class Store:
    """The arrays of one source. N pieces, M tokens in all."""

    ids: np.ndarray  # (M,) raw ids, memory-mapped
    offsets: np.ndarray  # (N + 1,) where each piece starts in `ids`
    characters: np.ndarray  # (N,) characters of each piece's own text
    lines: np.ndarray  # (N,) line of the source where it starts
    labels: np.ndarray | None  # (N,) indices into `names`
    names: list[str]  # labels, in order of appearance
    types: list[str]  # raw id -> token
    counts: np.ndarray  # (types,) how often each occurs

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def tokens(self) -> int:
        return len(self.ids)

    def characters_before(self, token: int) -> int:
        """Characters of the text before a token, exact at the ends of pieces."""
        before = np.concatenate([[0], np.cumsum(self.characters)])
        return round(float(np.interp(token, self.offsets, before)))

    @staticmethod
    def load(folder: Path) -> Store:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        path, dtype = folder / "ids.bin", np.dtype(meta["dtype"])
        empty = path.stat().st_size == 0
        labels = np.load(folder / "labels.npy") if meta["labelled"] else None
        return Store(
            np.empty(0, dtype) if empty else np.memmap(path, dtype, mode="r"),
            offsets=np.load(folder / "offsets.npy"),
            characters=np.load(folder / "characters.npy"),
            lines=np.load(folder / "lines.npy"),
            labels=labels,
            names=meta["names"],
            types=json.loads((folder / "types.json").read_text(encoding="utf-8")),
            counts=np.load(folder / "counts.npy"),
        )


class StoreWriter:
    """Appends pieces to a store in `folder`; `close` makes it loadable."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ids = IdsFile(folder / "ids.bin")
        self.lengths, self.characters, self.lines = array("q"), array("q"), array("q")
        self.labels = array("i")
        self.names: dict[str, int] = {}
        self.counts = np.zeros(0, dtype=np.int64)

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.ids.close()

    def add(
        self,
        ids: np.ndarray,
        lengths: np.ndarray,
        *,
        characters: Sequence[int],
        lines: Sequence[int],
        labels: Sequence[str | None],
    ) -> None:
        self.ids.append(ids)
        counts = np.bincount(ids, minlength=len(self.counts))
        counts[: len(self.counts)] += self.counts
        self.counts = counts
        self.lengths.frombytes(lengths.astype(np.int64).tobytes())
        self.characters.extend(characters)
        self.lines.extend(lines)
        for label in labels:
            if label is not None:
                self.labels.append(self.names.setdefault(label, len(self.names)))

    def close(self, types: list[str]) -> None:
        dtype = self.ids.close()
        lengths = np.frombuffer(self.lengths, dtype=np.int64)
        self._save("offsets", np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
        self._save("characters", np.array(self.characters, dtype=np.int64))
        self._save("lines", np.array(self.lines, dtype=np.int64))
        self._save("counts", np.append(self.counts, [0] * (len(types) - len(self.counts))))
        labelled = bool(self.labels)
        if labelled:
            self._save("labels", np.array(self.labels, dtype=np.int64))
        meta = {"dtype": dtype.name, "names": list(self.names), "labelled": labelled}
        self._write("meta", meta)
        self._write("types", types)

    def _save(self, name: str, values: np.ndarray) -> None:
        np.save(self.folder / f"{name}.npy", values)

    def _write(self, name: str, value: Any) -> None:
        (self.folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")


class IdsFile:
    """A growing file of unsigned integers, as narrow as the largest one allows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.width = 0
        self.file = open(path, "wb")  # noqa: SIM115

    def append(self, ids: np.ndarray) -> None:
        largest = int(ids.max()) if len(ids) else 0
        while largest > np.iinfo(DTYPES[self.width]).max:
            self._widen()
        self.file.write(ids.astype(DTYPES[self.width]).tobytes())

    def _widen(self) -> None:
        self.file.close()
        narrow, old = self.path.with_suffix(".narrow"), DTYPES[self.width]
        self.path.rename(narrow)
        self.width += 1
        self.file = open(self.path, "wb")  # noqa: SIM115
        with open(narrow, "rb") as source:
            while data := source.read(COPY):
                self.file.write(np.frombuffer(data, old).astype(DTYPES[self.width]).tobytes())
        narrow.unlink()

    def close(self) -> np.dtype:
        self.file.close()
        return np.dtype(DTYPES[self.width])
