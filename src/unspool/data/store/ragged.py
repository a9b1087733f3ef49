"""Sequences of different lengths in one flat array with offsets; a column of token ids on disk.

Raw ids number the distinct tokens (`types`) in the order of their first appearance, so that one
pass over the texts is enough and the vocabulary can be chosen afterwards.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Ragged:
    """N sequences: number n is values[starts[n] : starts[n] + lengths[n]].

    `values` (M, ...) may be memory-mapped, and is shared by all selections of rows.
    """

    def __init__(self, values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> None:
        self.values, self.starts, self.lengths = values, starts, lengths

    @classmethod
    def of(cls, sequences: Sequence[np.ndarray]) -> Ragged:
        lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
        values = np.concatenate(sequences) if len(sequences) else np.empty(0, dtype=np.int64)
        return cls(values, np.cumsum(lengths) - lengths, lengths)

    @classmethod
    def of_offsets(cls, values: np.ndarray, offsets: np.ndarray) -> Ragged:
        return cls(values, offsets[:-1], np.diff(offsets))

    @classmethod
    def of_lengths(cls, values: np.ndarray, lengths: np.ndarray) -> Ragged:
        """Sequences that lie one after the other."""
        return cls(values, np.cumsum(lengths) - lengths, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: int) -> np.ndarray:
        start = self.starts[row]
        return self.values[start : start + self.lengths[row]]

    def select(self, rows: np.ndarray) -> Ragged:
        return Ragged(self.values, self.starts[rows], self.lengths[rows])

    def cut(self, longest: int) -> Ragged:
        return Ragged(self.values, self.starts, np.minimum(self.lengths, longest))

    def windows(self, windows: Windows) -> Ragged:
        """Stretches of the sequences, as sequences."""
        return Ragged(
            self.values, self.starts[windows.origin] + windows.first, windows.lengths.copy()
        )


class Windows(NamedTuple):
    """W stretches of sequences: `lengths` steps from `first` on of sequence `origin`, (W,) each."""

    origin: np.ndarray
    first: np.ndarray
    lengths: np.ndarray


def cut_windows(lengths: np.ndarray, size: int, stride: int) -> Windows:
    """Windows of `size` steps every `stride` steps, the last at the end of its sequence."""
    lengths = lengths.astype(np.int64)
    counts = 1 + -(-np.maximum(lengths - size, 0) // stride)
    origin = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(origin)) - np.repeat(np.cumsum(counts) - counts, counts)
    first = np.minimum(number * stride, np.maximum(lengths - size, 0)[origin])
    return Windows(origin, first, np.minimum(size, lengths[origin]))


def gather(sequences: Ragged) -> np.ndarray:
    """The values of sequences one after the other, wherever they lie."""
    lengths = sequences.lengths.astype(np.int64)
    firsts = np.cumsum(lengths) - lengths
    index = np.arange(int(lengths.sum())) + np.repeat(sequences.starts - firsts, lengths)
    return np.asarray(sequences.values[index])


def side_by_side(sequences: Sequence[Ragged]) -> Ragged:
    """Several sequences of each row as one."""
    lengths = np.stack([sequence.lengths for sequence in sequences], 1).astype(np.int64)  # (N, K)
    values = np.empty(int(lengths.sum()), dtype=sequences[0].values.dtype)
    starts = (np.cumsum(lengths) - lengths.ravel()).reshape(lengths.shape)
    for k, sequence in enumerate(sequences):
        shifts = starts[:, k] - (np.cumsum(lengths[:, k]) - lengths[:, k])
        values[np.arange(int(lengths[:, k].sum())) + np.repeat(shifts, lengths[:, k])] = gather(
            sequence
        )
    return Ragged.of_lengths(values, lengths.sum(1))


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
