"""Rows that are nearly the same as others, within a file and in two parts: drafts of findings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from unspool.data.check.duplicates import LEAST, near_duplicates
from unspool.data.check.findings import Draft
from unspool.data.check.rows import Rows


class NearGroups(NamedTuple):
    """Rows with the same inputs are a group; pairs of groups that are nearly the same.

    group        (N,) of each row, from 0 to G
    pairs        (P, 2) of groups
    similarity   (P,)
    """

    group: np.ndarray
    pairs: np.ndarray
    similarity: np.ndarray

    @classmethod
    def of(cls, rows: Rows) -> NearGroups:
        first, group = np.unique(rows.inputs, return_index=True, return_inverse=True)[1:]
        first = np.sort(first)
        # A kind for each part and target: leaks and contradictions are found in a crowd, too.
        targets = np.unique(rows.targets[first], return_inverse=True)[1]
        kinds = targets * len(rows.parts) + rows.part[first]
        near = near_duplicates(rows.shingles, first, kinds=kinds)
        return cls(group, group[near.pairs], near.similarity)

    def first_rows(self, some: np.ndarray) -> np.ndarray:
        """(G,) of each group the first of some rows, in their order, that belongs to it; or -1."""
        first = np.full(int(self.group.max()) + 1, -1)
        first[self.group[some[::-1]]] = some[::-1]
        return first


class Partners:
    """The most similar other row of each row, or group, that has one.

    keys         what has a partner
    others       a row for each
    """

    def __init__(self, keys: np.ndarray, others: np.ndarray, similarity: np.ndarray) -> None:
        order = np.lexsort((others, -similarity, keys))
        self.keys, first = np.unique(keys[order], return_index=True)
        self.others, self.similarity = others[order][first], similarity[order][first]

    def of(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(M,) the partners of some keys, all of which have one, and their similarity."""
        place = np.searchsorted(self.keys, keys)
        return self.others[place], self.similarity[place]


def near_repetitions(rows: Rows, unit: str) -> Iterator[Draft]:
    if not rows.examiners:
        return
    near = NearGroups.of(rows)
    compared = next(iter(rows.examiners.values())).shingle
    share = f"at least {100 * LEAST:.0f} % of their {compared} are the same"
    for name, in_file in rows.files().items():
        of = unit if name == "train" else f"{unit} of the {name} file"
        position = np.full(len(rows), -1)
        position[in_file] = np.arange(len(in_file))
        firsts = near.first_rows(in_file)[near.pairs]
        inside = (firsts >= 0).all(1)
        pairs, similarity = firsts[inside], near.similarity[inside]
        pairs = np.take_along_axis(pairs, np.argsort(position[pairs], axis=1), axis=1)
        other = rows.targets[pairs[:, 0]] != rows.targets[pairs[:, 1]]
        same = Partners(pairs[~other, 1], pairs[~other, 0], similarity[~other])
        yield near_draft(
            rows,
            "near",
            f"{of} nearly repeat the {rows.read} of an earlier one ({share})",
            same.keys,
            same,
            "look whether they are copies",
        )
        differ = Partners(pairs[other, 1], pairs[other, 0], similarity[other])
        yield near_draft(
            rows,
            "near-contradiction",
            f"{of} nearly repeat the {rows.read} of an earlier one, but not its {rows.wanted}",
            differ.keys,
            differ,
            f"decide on the {rows.wanted}",
        )
    yield from near_leaks(rows, near, unit)


def near_leaks(rows: Rows, near: NearGroups, unit: str) -> Iterator[Draft]:
    """Rows of a part whose group is not in an earlier part, but a similar one is."""
    both = np.concatenate([near.pairs, near.pairs[:, ::-1]])
    similarity = np.tile(near.similarity, 2)
    for a, b in combinations(rows.names, 2):
        known, later = near.first_rows(rows.of_part(a)), rows.of_part(b)
        leaks = (known[both[:, 0]] < 0) & (known[both[:, 1]] >= 0)
        partners = Partners(both[leaks, 0], known[both[leaks, 1]], similarity[leaks])
        leaking = later[np.isin(near.group[later], partners.keys)]
        yield near_draft(
            rows,
            "near-leak",
            f"{unit} of {b} have a {rows.read} that is nearly the same in {a}",
            leaking,
            partners,
            f"drop them from one of the two: what {a} has seen says little in {b}",
            keys=near.group[leaking],
        )


def near_draft(
    rows: Rows,
    kind: str,
    what: str,
    doubtful: np.ndarray,
    partners: Partners,
    remedy: str,
    keys: np.ndarray | None = None,
) -> Draft:
    """The most similar rows first; `keys` of the rows among the partners, if not themselves."""
    others, similarity = partners.of(doubtful if keys is None else keys)
    order = np.argsort(-similarity, kind="stable")
    doubtful, others, similarity = doubtful[order], others[order], similarity[order]
    place = {row: i for i, row in enumerate(doubtful.tolist())}

    def note(row: int) -> str:
        i = place[row]
        return f"{100 * similarity[i]:.0f} % as {rows.relative_position(row, int(others[i]))}"

    return Draft(kind, what, doubtful, remedy, note)
