"""joined: one column as several fields see it, for models that are asked together.

raw: as of the fields. values: `JoinedValues`. tensors: `JoinedBatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from unspool.data.fields.field import Field, Where
from unspool.data.read import Column
from unspool.data.store.columns import ColumnWriter, Progress, WhereStep


class JoinedBatch(NamedTuple):
    members: tuple[Any, ...]  # the batch of each field
    lengths: Tensor  # (B,) of the first

    @property
    def inputs(self) -> tuple[tuple[Tensor, ...], ...]:
        return tuple(member.inputs for member in self.members)


class JoinedValues:
    def __init__(self, members: Sequence[Any]) -> None:
        self.members = list(members)
        self.lengths = np.max([member.lengths for member in members], 0)

    def __len__(self) -> int:
        return len(self.lengths)

    def digests(self) -> np.ndarray:
        return self.members[0].digests()

    def select(self, rows: np.ndarray) -> JoinedValues:
        return JoinedValues([member.select(rows) for member in self.members])


class JoinedWriter:
    def __init__(self, writers: Sequence[ColumnWriter]) -> None:
        self.writers = writers

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        for writer in self.writers:
            writer.add(values, where)

    def close(self) -> None:
        for writer in self.writers:
            writer.close()


class JoinedField(Field):
    """Fitted fields of one column, with separate folders in a run and names in the cache."""

    kind = "joined"
    sized = True

    def __init__(self, name: str, members: Sequence[Field]) -> None:
        super().__init__(name)
        self.members: list[Any] = [
            copy(member)
            for member in members  # each has another name in the cache
        ]
        for number, member in enumerate(self.members, 1):
            member.name = f"{name}-{number}"
        self.form = self.members[0].form
        self.files = tuple(home.name for home in self._folders(Path()))

    @property
    def source(self) -> Any:
        return self.members[0].source

    @property
    def channels(self) -> list[str]:
        return self.members[0].channels

    @property
    def unit(self) -> str:
        return self.members[0].unit

    @property
    def fitted(self) -> Any:
        return self.members[0].fitted

    def recording(self, raw: Any, where: str) -> Any:
        return self.members[0].recording(raw, where)

    def picture(self, raw: Any) -> dict[str, Any]:
        return self.members[0].picture(raw)

    @property
    def vocabulary(self) -> int:
        return max(member.vocabulary for member in self.members)

    def portable_item(self, steps: int, rng: np.random.Generator) -> Any:
        return self.members[0].portable_item(steps, rng)

    def portable_batch(self, items: Sequence[Any]) -> JoinedBatch:
        batches = tuple(member.portable_batch(items) for member in self.members)
        return JoinedBatch(batches, batches[0].lengths)

    def portable(self) -> dict[str, Any]:
        return {"kind": "joined", "members": [member.portable() for member in self.members]}

    def look(self, column: Column) -> None:
        for member in self.members:
            member.look(column)

    def storage_key(self) -> Any:
        return [self.kind, [member.storage_key() for member in self.members]]

    def _folders(self, folder: Path) -> list[Path]:
        return [folder / f"member-{number}" for number in range(1, len(self.members) + 1)]

    def writer(self, folder: Path) -> JoinedWriter:
        return JoinedWriter([member.writer(folder) for member in self.members])

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> list[Any]:
        return [
            member.open(folder, {**key, "member": member.name}, where) for member in self.members
        ]

    def blank(self, column: list[Any]) -> np.ndarray:
        return self.members[0].blank(column[0])

    def fit(
        self, column: list[Any], rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        for member, part in zip(self.members, column):
            member.fit(part, rows, where=where, progress=progress)
        return []

    def invent(self, *, vocab: int, classes: int) -> None:
        for member in self.members:
            member.invent(vocab=vocab, classes=classes)

    def values(self, column: list[Any], progress: Progress = None) -> JoinedValues:
        return JoinedValues([member.values(part) for member, part in zip(self.members, column)])

    def encode(self, raw: Sequence[Any]) -> JoinedValues:
        return JoinedValues([member.encode(raw) for member in self.members])

    def unknown(self, values: JoinedValues, where: Where) -> list[str]:
        first = self.members[0]
        return [
            note.replace(f"{first.name}s", f"{self.name}s")
            for note in first.unknown(values.members[0], where)
        ]

    def collate(self, values: JoinedValues, rows: np.ndarray) -> JoinedBatch:
        pairs = zip(self.members, values.members)
        batches = tuple(member.collate(part, rows) for member, part in pairs)
        return JoinedBatch(batches, batches[0].lengths)

    def save(self, folder: Path) -> None:
        for member, home in zip(self.members, self._folders(folder)):
            home.mkdir(exist_ok=True)
            member.save(home)

    def load(self, folder: Path) -> None:
        for member, home in zip(self.members, self._folders(folder)):
            member.load(home)
