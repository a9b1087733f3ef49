"""Labels of a source: names in a file in, class indices out; what cannot be learnt is refused."""

from __future__ import annotations

import numpy as np

from unspool.data.source import Source
from unspool.data.store import Store
from unspool.errors import DataError


def require_labels(source: Source, store: Store) -> np.ndarray:
    """(N,) indices into `store.names`."""
    if store.labels is None:
        raise DataError(
            "holds no labels, which classify needs",
            where=source.name,
            remedy="name their column with --label, or use --task generate",
        )
    return store.labels


def class_names(source: Source, store: Store, found: np.ndarray) -> list[str]:
    """The labels that occur in training, sorted; at least two."""
    names = sorted(store.names[i] for i in np.unique(found))
    if len(names) < 2:
        raise DataError(
            "all rows have the same label, so there is nothing to tell apart",
            where=source.name,
            got=names[0],
            remedy="add rows of another class, name the label column with --label, or use"
            " --task generate for a text without labels",
        )
    return names


def class_indices(source: Source, store: Store, rows: np.ndarray, names: list[str]) -> np.ndarray:
    """(rows,) indices into `names`; a label that is not among them is refused with its place."""
    found = require_labels(source, store)
    index = {name: i for i, name in enumerate(names)}
    numbers = np.array([index.get(name, -1) for name in store.names], dtype=np.int64)
    labels = numbers[found[rows]]
    if (labels < 0).any():
        row = rows[int(np.argmax(labels < 0))]
        label = store.names[found[row]]
        raise DataError(
            f"label {label!r} does not occur in the training data",
            where=source.where(int(store.lines[row]), label),
            remedy="the known labels are " + listed(names),
        )
    return labels


def single_examples(store: Store, found: np.ndarray) -> list[str]:
    """Labels with only one row, sorted."""
    return sorted(store.names[i] for i in np.flatnonzero(np.bincount(found) == 1))


def listed(names: list[str], most: int = 10) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
