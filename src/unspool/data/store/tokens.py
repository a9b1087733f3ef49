"""A column of texts on disk: raw token ids in one flat array with offsets, memory-mapped.

Raw ids number the distinct tokens (`types`) in the order of their first appearance, so that one
pass over the texts is enough and the vocabulary can be chosen afterwards.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

DTYPES = (np.uint8, np.uint16, np.uint32)
COPY = 1 << 24


@dataclass(frozen=True)
class TokenColumn:
    """N texts, or consecutive pieces of a stream, of M tokens in all."""

    ids: np.ndarray  # (M,) raw ids, memory-mapped
    offsets: np.ndarray  # (N + 1,) where each text starts in `ids`
    characters: np.ndarray  # (N,) characters of each text
    types: list[str]  # raw id -> token
    counts: np.ndarray  # (types,) how often each occurs
    key: dict[str, Any] = field(default_factory=dict)  # its name in the cache
    where: Callable[[int, int], str] = lambda row, step: ""  # file:line of a token of a text

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def where_token(self, token: int) -> str:
        """file:line of a token of the column, for a message."""
        row = int(np.searchsorted(self.offsets, token, "right")) - 1
        return self.where(row, token - int(self.offsets[row]))

    @property
    def tokens(self) -> int:
        return len(self.ids)

    def spans(self, cuts: Sequence[int] = ()) -> np.ndarray:
        """(N, 2) where each text begins and ends, cut at further positions as well."""
        edges = np.union1d(self.offsets, np.array(cuts, dtype=np.int64)) if cuts else self.offsets
        return np.stack([edges[:-1], edges[1:]], axis=1)

    def characters_before(self, token: int) -> int:
        """Characters of the texts before a token, exact at the ends of texts."""
        before = np.concatenate([[0], np.cumsum(self.characters)])
        return round(float(np.interp(token, self.offsets, before)))

    @staticmethod
    def load(
        folder: Path,
        name: str,
        key: dict[str, Any],
        where: Callable[[int, int], str] = lambda row, step: "",
    ) -> TokenColumn:
        def array_of(what: str) -> np.ndarray:
            return np.load(folder / f"{name}.{what}.npy")

        path, dtype = folder / f"{name}.ids.bin", np.dtype(DTYPES[int(array_of("width"))])
        empty = path.stat().st_size == 0
        return TokenColumn(
            np.empty(0, dtype) if empty else np.memmap(path, dtype, mode="r"),
            offsets=array_of("offsets"),
            characters=array_of("characters"),
            types=json.loads((folder / f"{name}.types.json").read_text(encoding="utf-8")),
            counts=array_of("counts"),
            key=key,
            where=where,
        )


class TokenWriter:
    """Appends texts to a column in `folder`; `close` makes it loadable."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.ids = IdsFile(folder / f"{name}.ids.bin")
        self.lengths, self.characters = array("q"), array("q")
        self.counts = np.zeros(0, dtype=np.int64)

    def add(self, ids: np.ndarray, lengths: np.ndarray, characters: Sequence[int]) -> None:
        self.ids.append(ids)
        counts = np.bincount(ids, minlength=len(self.counts))
        counts[: len(self.counts)] += self.counts
        self.counts = counts
        self.lengths.frombytes(lengths.astype(np.int64).tobytes())
        self.characters.extend(characters)

    def close(self, types: list[str]) -> None:
        lengths = np.frombuffer(self.lengths, dtype=np.int64)
        self._save("width", np.array(self.ids.width))
        self._save("offsets", np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
        self._save("characters", np.array(self.characters, dtype=np.int64))
        self._save("counts", np.append(self.counts, [0] * (len(types) - len(self.counts))))
        path = self.folder / f"{self.name}.types.json"
        path.write_text(json.dumps(types), encoding="utf-8")

    def _save(self, what: str, values: np.ndarray) -> None:
        np.save(self.folder / f"{self.name}.{what}.npy", values)


class IdsFile:
    """A growing file of unsigned integers, as narrow as the largest one allows."""

    def __init__(self, path: Path) -> None:
        self.path, self.width = path, 0  # which of `DTYPES` the integers have
        path.touch()

    def append(self, ids: np.ndarray) -> None:
        largest = int(ids.max()) if len(ids) else 0
        while largest > np.iinfo(DTYPES[self.width]).max:
            self._widen()
        with open(self.path, "ab") as file:
            file.write(ids.astype(DTYPES[self.width]).tobytes())

    def _widen(self) -> None:
        narrow, old = self.path.with_suffix(".narrow"), DTYPES[self.width]
        self.path.rename(narrow)
        self.width += 1
        with open(narrow, "rb") as source, open(self.path, "wb") as file:
            while data := source.read(COPY):
                file.write(np.frombuffer(data, old).astype(DTYPES[self.width]).tobytes())
        narrow.unlink()
