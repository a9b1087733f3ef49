"""The tags of a source: what was stored in, numbers of tags out, spans in IOBES.

The scheme is seen from the tags, or named by the user, and then kept to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unspool.data.schemes import (
    LETTERS,
    Asked,
    Marks,
    Scheme,
    WrongTag,
    as_iobes,
    breaches,
    find_spans,
    guess_letters,
    parse_tags,
    tag_name,
)
from unspool.data.source import Source
from unspool.data.store import Store
from unspool.errors import DataError


class TagColumn(NamedTuple):
    """The tags of a source: of each word (M,) the place in `names`; spans are in IOBES."""

    ids: np.ndarray
    names: list[str]
    summary: str


def read_tags(source: Source, store: Store, asked: Asked) -> TagColumn:
    """The tags of a store, spans as IOBES; `asked` is a scheme that must be kept to, or auto."""
    types, ids = store.types[1:], store.ids.astype(np.int64) - 1  # raw id 0 is no tag
    begins = store.offsets[:-1]
    try:
        scheme: Scheme = guess_letters(types) if asked == "auto" else asked
        if scheme == "none":
            return TagColumn(ids, types, f"{len(types)} different, which mark no spans")
        marks = parse_tags(types, scheme)
    except WrongTag as error:
        place = _place(source, store, int(np.argmax(ids == types.index(error.tag))))
        raise DataError(
            f"tag {error.tag!r} {error}",
            where=place,
            remedy="mend it, or say how to read the tags: --set scheme=none takes them as they are",
        ) from None
    places = marks.at(ids)
    wrong = breaches(places, begins, scheme)
    if len(wrong) and asked != "auto":
        raise _breach(source, store, types, ids, int(wrong[0]), scheme)
    if scheme == "iob2" and len(other := breaches(places, begins, "iob1")) < len(wrong):
        scheme, wrong = "iob1", other
    said = f"{scheme.upper()}, spans of {len(marks.names)} types{_listed(places, begins)}"
    if len(wrong):
        where = _place(source, store, int(wrong[0]))
        said += f"; {len(wrong):,} tags break its rules, the first at {where}, read as by conlleval"
    codes = np.where(places.types < 0, 0, places.types * len(LETTERS) + as_iobes(places, begins))
    found, numbers = np.unique(codes, return_inverse=True)
    names = [
        "O" if code == 0 else tag_name(code % len(LETTERS), marks.names[code // len(LETTERS)])
        for code in found.tolist()
    ]
    return TagColumn(numbers, names, said)


def _listed(marks: Marks, begins: np.ndarray) -> str:
    """` (LOC 12, PER 3)`, the most frequent first."""
    counts = np.bincount(find_spans(marks, begins).types, minlength=len(marks.names))
    order = np.argsort(-counts, kind="stable")[:8]
    shown = [f"{marks.names[i]} {counts[i]:,}".strip() for i in order]
    return f" ({', '.join(shown)}{', ...' if len(counts) > len(shown) else ''})"


def _place(source: Source, store: Store, token: int) -> str:
    """file:line of a token of the store."""
    row = int(np.searchsorted(store.offsets, token, "right")) - 1
    line = source.plan.table.token_line(row, token - int(store.offsets[row]))
    return source.where(line)


def _breach(
    source: Source, store: Store, types: list[str], ids: np.ndarray, token: int, scheme: str
) -> DataError:
    first = token in store.offsets
    before = "the beginning of the sentence" if first else repr(types[ids[token - 1]])
    return DataError(
        f"tag {types[ids[token]]!r} after {before} breaks the rules of {scheme.upper()}",
        where=_place(source, store, token),
        remedy="mend it, or leave out data.scheme, so that such tags are read as conlleval does",
    )
