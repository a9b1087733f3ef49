"""label: one name a row, out of a fixed set.

raw: str, a number or a truth value. values: `Labels`, indices into the names in natural order.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.field import Field, Where
from unspool.data.store.columns import Progress, WhereStep
from unspool.data.values import is_missing, is_number
from unspool.errors import DataError, Option, RunError
from unspool.io.files import AGAIN, read_json, write_json

FILE = "labels.json"
MISSING_SIGNS = (".", "-", "--", "?")
OTHER = "(another answer)"
NO_LABEL = "-1"  # in data sets of Hugging Face


class LabelColumn(NamedTuple):
    """(N,) indices into the names, which stand in the order of their appearance."""

    ids: np.ndarray
    names: list[str]


class Labels:
    """(N,) indices into the names that the model knows; -1 for another one of `unknown`."""

    def __init__(self, ids: np.ndarray, unknown: Sequence[str] = ()) -> None:
        self.ids, self.unknown = ids, unknown

    def __len__(self) -> int:
        return len(self.ids)

    def prints(self, common: dict[str, int]) -> np.ndarray:
        return self.ids

    def select(self, rows: np.ndarray) -> Labels:
        return Labels(self.ids[rows], [self.unknown[row] for row in rows] if self.unknown else ())


class LabelWriter:
    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.ids, self.names = array("q"), dict[str, int]()

    def add(self, values: list[Any], where: Callable[[int], str]) -> None:
        for i, value in enumerate(values):
            label = "" if value is None else label_name(value, where, i)
            self.ids.append(self.names.setdefault(label, len(self.names)))

    def close(self) -> None:
        np.save(self.folder / f"{self.name}.npy", np.array(self.ids, dtype=np.int64))
        names = self.folder / f"{self.name}.json"
        names.write_text(json.dumps(list(self.names)), encoding="utf-8")


def label_name(value: Any, where: Callable[[int], str], row: int) -> str:
    """Labels may be written as strings, numbers or truth values."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise DataError(
        "the value is not a label",
        where=where(row),
        got=value if value is not None else "null",
        remedy=("a label is a string or a number; name its field with ", Option("label")),
    )


class NamesField(Field):
    """A field whose values are names out of a fixed set.

    names     that are fitted
    missing   what is done about rows without one; "keep": what looks like a missing value is a name
    """

    unit = "labels"
    is_target = True
    several = False
    files = (FILE,)

    def __init__(self, name: str, missing: str = "drop") -> None:
        super().__init__(name)
        self.missing = missing
        self.names: list[str] = []

    def storage_key(self) -> Any:
        return self.kind

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, self.names)

    def load(self, folder: Path) -> None:
        self.names = read_names(folder / FILE)


class LabelField(NamesField):
    """The names, sorted, are fitted: those that occur in training.

    counts    (C,) how often each occurs there
    type      of the labels as they were given: a column of integers with gaps holds integers
    other     whether labels that do not occur there are one more, `OTHER`, which no model learns to
              give, so that it counts as wrong
    """

    kind = "label"

    def __init__(self, name: str, missing: str = "drop", *, other: bool = False) -> None:
        super().__init__(name, missing)
        self.other = other
        self.counts = np.zeros(0, dtype=np.int64)
        self.type: type = str

    def look(self, column: Any) -> None:
        self.type = label_type(column.sample)

    @property
    def typed(self) -> list[Any]:
        """The names as values of the type of the labels."""
        return [name if self.type is str else json.loads(name) for name in self.names]

    def save(self, folder: Path) -> None:
        write_json(folder / FILE, self.typed)

    def load(self, folder: Path) -> None:
        values = read_names(folder / FILE, (str, bool, int, float))
        self.type = label_type(values)
        self.names = [v if isinstance(v, str) else json.dumps(v) for v in values]

    def writer(self, folder: Path) -> LabelWriter:
        return LabelWriter(folder, self.name)

    def open(self, folder: Path, key: dict[str, Any], where: WhereStep) -> LabelColumn:
        names = json.loads((folder / f"{self.name}.json").read_text(encoding="utf-8"))
        ids = np.load(folder / f"{self.name}.npy")
        if self.type is not int:
            return LabelColumn(ids, names)
        whole = [name.removesuffix(".0") if is_number(name) else name for name in names]
        index = {name: i for i, name in enumerate(dict.fromkeys(whole))}
        return LabelColumn(np.array([index[name] for name in whole], dtype=np.int64)[ids], [*index])

    def blank(self, column: LabelColumn) -> np.ndarray:
        signs = sign_of_missing(column.names)
        blank = [
            not name if self.missing == "keep" else is_missing(name) or name == signs
            for name in column.names
        ]
        return np.array(blank, dtype=bool)[column.ids]

    def what_is_missing(self, column: LabelColumn, rows: np.ndarray) -> str:
        counts = Counter(column.names[i] for i in column.ids[rows])
        empty, total = counts.pop("", 0), len(rows)
        if not counts:
            return "an empty label"
        spelled = [f"{count:,} {name!r}" for name, count in counts.most_common()]
        signs = ", ".join([*([f"{empty:,} empty"] if empty else []), *spelled])
        return f"no label ({signs}; {Option(missing='keep')} makes labels of them)" if total else ""

    def strata(self, column: LabelColumn) -> np.ndarray:
        return column.ids

    def survey(self, column: LabelColumn, rows: np.ndarray, *, where: str) -> None:
        names = [column.names[i] for i in np.unique(column.ids[rows])]
        if not names:
            raise DataError(
                "no row has both a label and what it is learnt from",
                where=where,
                remedy=(
                    "fill the empty cells, or name other columns with ",
                    Option("label", "text"),
                ),
            )
        if len(names) < 2:
            raise DataError(
                "all rows have the same label, so there is nothing to learn",
                where=where,
                got=names[0],
                remedy=(
                    "name another column with ",
                    Option("label"),
                    ", or learn the text alone with ",
                    Option(task="generate"),
                ),
            )

    def fit(
        self, column: LabelColumn, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        ids = column.ids[rows]
        count = {column.names[i]: int(n) for i, n in enumerate(np.bincount(ids)) if n}
        self.names = sorted(count, key=natural_order)
        self.counts = np.array([count[name] for name in self.names], dtype=np.int64)
        if not all(map(is_json_number, self.names)) and self.type is not bool:
            self.type = str
        single = [name for name in self.names if count[name] == 1]
        notes = (
            [f"labels with one example, which stays in train: {listed(single)}"] if single else []
        )
        if alike := spelled_alike(self.names):
            notes.append(
                "labels that differ only in spelling are different classes:"
                f" {shown_alike(alike)}; write each in one way"
            )
        remaining = [name for name in self.names if name != NO_LABEL]
        if (
            NO_LABEL in self.names
            and len(remaining) > 2
            and remaining == [*map(str, range(len(remaining)))]
        ):
            notes.append(
                f"label {NO_LABEL} beside 0 to {remaining[-1]} is a class of its own; some data"
                " sets write it where there is no label: leave these rows out then"
            )
        if len(single) > max(10, len(self.names) / 2):
            hint = f"is it the right column? {Option('label')} names another"
            if all(map(is_number, single)):
                hint = f"{Option(task='regress')} learns numbers"
            notes.append(f"{len(single):,} of {len(self.names):,} labels occur once: {hint}")
        if self.other:
            self.names, self.type = [*self.names, OTHER], str
            self.counts = np.append(self.counts, self.counts.max())  # for weights of classes
        return notes

    def invent(self, *, vocab: int, classes: int) -> None:
        self.names = [f"class{i}" for i in range(classes)]

    def values(self, column: LabelColumn, progress: Progress = None) -> Labels:
        index = {name: i for i, name in enumerate(self.names)}
        numbers = np.array([index.get(name, -1) for name in column.names], dtype=np.int64)
        ids = numbers[column.ids]
        unknown = [column.names[i] for i in column.ids] if (ids < 0).any() else ()
        return self._known(Labels(ids, unknown))

    def _known(self, labels: Labels) -> Labels:
        if not self.other:
            return labels
        return Labels(np.where(labels.ids < 0, len(self.names) - 1, labels.ids), labels.unknown)

    def check(self, values: Labels, where: Where) -> list[str]:
        unseen = values.ids == len(self.names) - 1
        if self.other and unseen.any():
            first = where(int(np.argmax(unseen)))
            return [
                f"{int(unseen.sum()):,} answers do not occur in the training data and count as"
                f" wrong, the first at {first}"
            ]
        missed = np.flatnonzero(values.ids < 0)
        if not len(missed):
            return []
        names = dict.fromkeys(values.unknown[row] for row in missed.tolist())
        return [
            f"{len(missed):,} of {len(values):,} rows have labels that do not occur in the training"
            f" data ({listed(list(names), 3)}) and count as missed, the first at"
            f" {where(int(missed[0]))} ({Option(unseen='error')} stops there)"
        ]

    def refuse_unseen(self, values: Labels, where: Where) -> None:
        for row in np.flatnonzero(values.ids < 0)[:1].tolist():
            raise DataError(
                f"label {values.unknown[row]!r} does not occur in the training data",
                where=where(row),
                remedy="the known labels are " + listed(self.names),
            )

    def encode(self, raw: Sequence[Any]) -> Labels:
        index = {name: i for i, name in enumerate(self.names)}
        ids = np.array([index.get(str(label), -1) for label in raw], dtype=np.int64)
        return self._known(Labels(ids, raw))

    def collate(self, values: Labels, rows: np.ndarray) -> Tensor:
        """(B,) int64"""
        return torch.from_numpy(values.ids[rows])

    def classes(self, values: Labels) -> np.ndarray:
        return values.ids

    def tally(self, values: Labels) -> dict[str, int]:
        counts = np.bincount(values.ids[values.ids >= 0], minlength=len(self.names))
        return dict(zip(self.names, counts.tolist()))


def label_type(values: Sequence[Any]) -> type:
    """The type that all labels have; floats that are whole numbers are integers."""
    filled = [value for value in values if value is not None]
    for kind in (bool, int):
        if filled and all(type(value) is kind for value in filled):
            return kind
    if not filled or not all(type(value) in (int, float) for value in filled):
        return str
    return int if all(float(value).is_integer() for value in filled) else float


def is_json_number(name: str) -> bool:
    try:
        return type(json.loads(name)) in (int, float)
    except ValueError:
        return False


def natural_order(name: str) -> list[tuple[bool, int, str]]:
    """Sort key that puts 2 before 10, and v2 before v10."""
    parts = re.split(r"(\d{1,18})", name)  # every second one is digits
    keys = [(i % 2 == 0, int(part) if i % 2 else 0, part) for i, part in enumerate(parts)]
    return [key for key in keys if key[2]]


def sign_of_missing(names: Sequence[str]) -> str | None:
    """The only sign, such as the `.` of Stata, among at least two labels of letters or digits."""
    signs = [name for name in names if name and not any(map(str.isalnum, name))]
    remaining = len({name for name in names if not is_missing(name)}) - 1
    return signs[0] if len(signs) == 1 and signs[0] in MISSING_SIGNS and remaining > 1 else None


def spelled_alike(names: Iterable[str]) -> list[list[str]]:
    """Names that differ only in case, in white space, or in how they write a number."""
    same: dict[Any, list[str]] = {}
    for name in names:
        key = float(name) if is_number(name) else " ".join(name.casefold().split())
        same.setdefault(key, []).append(name)
    return [group for group in same.values() if len(group) > 1]


def shown_alike(alike: list[list[str]]) -> str:
    return "; ".join(" and ".join(map(repr, names)) for names in alike[:3])


def read_names(path: Path, types: tuple[type, ...] = (str,)) -> list[Any]:
    """The labels of a run folder, all of one type; a RunError where they are damaged."""
    return checked_names(read_json(path), path, types)


def checked_names(names: Any, path: Path, types: tuple[type, ...] = (str,)) -> list[Any]:
    """Different names, all of one type; a RunError where they are none."""
    if not (
        isinstance(names, list)
        and any(all(type(name) is kind for name in names) for kind in types)
        and len(set(names)) == len(names) > 1
    ):
        raise RunError("not a list of at least two different labels", where=path, remedy=AGAIN)
    return names


def listed(names: list[str], most: int = 10) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
