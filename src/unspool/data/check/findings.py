"""Rows that are doubtful when they are compared with others: `Rows` in, drafts of findings out.

Two inputs are the same if a model sees the same: if they differ only in what the tokenizer leaves
out (white space between words, case if it is folded).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from unspool.data.check.duplicates import LEAST, Near, near_duplicates
from unspool.data.check.rows import Rows

RATIO = 3  # a side so many times longer than usual, against the other, is probably another text
LONG = 10  # tokens below which such a ratio means nothing
FAR = 3.0  # times the distance of the quartiles, beyond which a length is far out (Tukey 1977)


def no_note(row: int) -> str:
    return ""


@dataclass(frozen=True)
class Draft:
    """A finding before its examples are read.

    kind    its name, for programs
    rows    (M,) numbers of the rows, the worst first
    note    what is said about one of them
    listed  how many of them become examples
    """

    kind: str
    what: str
    rows: np.ndarray
    remedy: str = ""
    note: Callable[[int], str] = field(default=no_note)
    listed: int = 5


def repetitions(rows: Rows, unit: str) -> Iterator[Draft]:
    """Rows that came before in their file, with the same targets or with others; leaks."""
    both = np.unique(np.stack([rows.inputs, rows.targets]), axis=1, return_inverse=True)[1]
    for name, own in rows.files().items():
        of = unit if name == "train" else f"{unit} of the {name} file"
        copies, earlier = again(both.ravel()[own])
        wanted = f" and the {rows.wanted}" if rows.wanted else ""
        yield Draft(
            "repeated",
            f"{of} repeat the {rows.read}{wanted} of an earlier one",
            own[copies],
            note=noted(rows, own[copies], own[earlier], "as {}"),
        )
        if rows.wanted:
            group = np.unique(rows.inputs[own], return_inverse=True)[1]
            lowest, highest = extremes(group, rows.targets[own])
            yield Draft(
                "contradiction",
                f"{of} have the {rows.read} of another one, but not its {rows.wanted}",
                own[(lowest != highest)[group]],
                f"decide which {rows.wanted} is right",
            )
    for a, b in combinations(rows.names, 2):
        known, own = rows.of_part(a), rows.of_part(b)
        yield Draft(
            "leak",
            f"{unit} of {b} have a {rows.read} that is also in {a}",
            own[np.isin(rows.inputs[own], rows.inputs[known])],
            f"drop them from one of the two: what {a} has seen says little in {b}",
        )


def near_repetitions(rows: Rows, unit: str) -> Iterator[Draft]:
    """Rows that are nearly the same as others: within a file, and in two parts."""
    if not rows.examiners:
        return
    first, group = np.unique(rows.inputs, return_index=True, return_inverse=True)[1:]
    near = near_duplicates(rows.shingles, np.sort(first))
    compared = next(iter(rows.examiners.values())).shingle
    share = f"at least {LEAST:.0%} of their {compared} are the same".replace("%", " %")
    best = best_partners(near, len(rows))
    # In the order of the files, so that of two rows the later one counts.
    for name, own in rows.files().items():
        of = unit if name == "train" else f"{unit} of the {name} file"
        position = np.full(len(rows), -1)
        position[own] = np.arange(len(own))
        inside = near.pairs[(position[near.pairs] >= 0).all(1)]
        order = np.argsort(position[inside], axis=1)
        inside = np.take_along_axis(inside, order, axis=1)
        other = rows.targets[inside[:, 0]] != rows.targets[inside[:, 1]]
        later = np.unique(inside[~other, 1])
        like = noted_best(rows, best)
        yield Draft(
            "near",
            f"{of} nearly repeat the {rows.read} of an earlier one ({share})",
            sorted_by_similarity(later, best),
            "look whether they are copies",
            like,
        )
        if rows.wanted:
            yield Draft(
                "near-contradiction",
                f"{of} nearly repeat the {rows.read} of an earlier one, but not its {rows.wanted}",
                sorted_by_similarity(np.unique(inside[other, 1]), best),
                f"decide which {rows.wanted} is right",
                like,
            )
    yield from near_leaks(rows, near, group, unit)


def near_leaks(rows: Rows, near: Near, group: np.ndarray, unit: str) -> Iterator[Draft]:
    """A pair stands for all rows with the same inputs, in whatever part they are."""
    has = np.zeros((int(group.max()) + 1, len(rows.names)), dtype=bool)
    has[group, rows.part] = True
    beside = np.zeros_like(has)
    for one, two in ((0, 1), (1, 0)):
        np.logical_or.at(beside, group[near.pairs[:, one]], has[group[near.pairs[:, two]]])
    best = best_partners(near, len(rows))
    for a, b in combinations(range(len(rows.names)), 2):
        own = np.flatnonzero(rows.part == b)
        leaks = beside[group[own], a] & ~has[group[own], a]
        yield Draft(
            "near-leak",
            f"{unit} of {rows.names[b]} have a {rows.read} that is nearly the same in"
            f" {rows.names[a]}",
            sorted_by_similarity(own[leaks], best),
            f"drop them from one of the two: what {rows.names[a]} has seen says little in"
            f" {rows.names[b]}",
            noted_best(rows, best),
        )


def again(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The positions of keys that came before, and the first positions of the same keys."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    copies = np.flatnonzero(first[group] != np.arange(len(keys)))
    return copies, first[group][copies]


def extremes(group: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest value of each group."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    return np.minimum.reduceat(values[order], starts), np.maximum.reduceat(values[order], starts)


class Partners(NamedTuple):
    """(N,) of each row the most similar other one, -1 where there is none, and how similar."""

    row: np.ndarray
    similarity: np.ndarray


def best_partners(near: Near, size: int) -> Partners:
    pairs = np.concatenate([near.pairs, near.pairs[:, ::-1]])
    both = np.tile(near.similarity, 2)
    order = np.argsort(both, kind="stable")  # the last one that is written is the most similar
    row, similarity = np.full(size, -1), np.zeros(size)
    row[pairs[order, 0]] = pairs[order, 1]
    similarity[pairs[order, 0]] = both[order]
    return Partners(row, similarity)


def sorted_by_similarity(found: np.ndarray, best: Partners) -> np.ndarray:
    return found[np.argsort(-best.similarity[found], kind="stable")]


def noted(rows: Rows, found: np.ndarray, others: np.ndarray, text: str) -> Callable[[int], str]:
    partner = dict(zip(found.tolist(), others.tolist()))
    return lambda row: text.format(rows.beside(row, partner[row]))


def noted_best(rows: Rows, best: Partners) -> Callable[[int], str]:
    def note(row: int) -> str:
        other = int(best.row[row])
        if other < 0:
            return ""
        return f"{100 * best.similarity[row]:.0f} % as {rows.beside(row, other)}"

    return note


def odd_sides(rows: Rows, sides: Sequence[str], unit: str) -> Iterator[Draft]:
    """Two texts that are the same, or of which one is far too long for the other."""
    for name, part, edge in zip(rows.names, rows.parts, rows.edges):
        what = unit if name == "train" else f"{unit} of {name}"
        common: dict[str, int] = {}
        a, b = (part[side].prints(common) for side in sides)
        same = f"{what} have the same {sides[0]} and {sides[1]}"
        yield Draft("copied", same, edge + np.flatnonzero(a == b), "drop what is not a pair")
        lengths = part.lengths.astype(float)
        ratio = lengths[:, 1] / lengths[:, 0]
        usual = float(np.median(ratio))
        odd = (lengths.max(1) >= LONG) & ((ratio > RATIO * usual) | (ratio < usual / RATIO))
        longer = f"{what} have a side much longer than the other"
        yield Draft("ratio", longer, edge + np.flatnonzero(odd), "look whether they are pairs")


def odd_lengths(rows: Rows, sized: Sequence[str], key: str, unit: str) -> Iterator[Draft]:
    """Rows far longer or shorter than the others, by the quartiles of the logarithm."""
    kind = rows.corpus.fields[key]
    lengths = np.concatenate([part.lengths[:, sized.index(key)] for part in rows.parts])
    logs = np.log(np.maximum(lengths, 1))
    low, high = np.percentile(logs, (25, 75))
    fence = FAR * max(high - low, np.log(1.25))
    for kind_name, word, far in (
        ("long", "longer", logs > high + fence),
        ("short", "shorter", logs < low - fence),
    ):
        found = np.flatnonzero(far)
        worst = found[np.argsort(-np.abs(logs[found] - np.median(logs)), kind="stable")]
        yield Draft(
            kind_name,
            f"{unit} have a {key} far {word} than the others (median {np.median(lengths):,.0f}"
            f" {kind.unit})",
            worst,
            "look whether they belong here; --set max_length= cuts"
            if kind_name == "long"
            else "look whether anything was lost",
            lambda row: f"{lengths[row]:,.0f} {kind.unit}",
        )
