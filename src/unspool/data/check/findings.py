"""Rows that are doubtful when they are compared with others: `Rows` in, drafts of findings out.

Two inputs are the same if a model sees the same: if they differ only in what the tokenizer leaves
out (white space between words, case if it is folded).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from unspool.data.check.rows import Rows
from unspool.errors import Setting

RATIO = 3  # a side so many times longer than usual, against the other, is probably another text
LONG = 10  # tokens below which such a ratio means nothing
FAR = 3.0  # times the distance of the quartiles, beyond which a length is far out (Tukey 1977)


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
    note: Callable[[int], str] = lambda row: ""
    listed: int = 5


def repetitions(rows: Rows, unit: str) -> Iterator[Draft]:
    """Rows that came before in their file, with the same targets or with others; leaks."""
    both = np.unique(np.stack([rows.inputs, rows.targets]), axis=1, return_inverse=True)[1]
    for name, in_file in rows.files().items():
        of = unit if name == "train" else f"{unit} of the {name} file"
        copies, earlier = again(both.ravel()[in_file])
        wanted = f" and the {rows.wanted}" if rows.wanted else ""
        yield Draft(
            "repeated",
            f"{of} repeat the {rows.read}{wanted} of an earlier one",
            in_file[copies],
            note=noted(rows, in_file[copies], in_file[earlier], "as {}"),
        )
        if rows.wanted:
            group = np.unique(rows.inputs[in_file], return_inverse=True)[1]
            lowest, highest = extremes(group, rows.targets[in_file])
            yield Draft(
                "contradiction",
                f"{of} have the {rows.read} of another one, but not its {rows.wanted}",
                in_file[(lowest != highest)[group]],
                f"decide on the {rows.wanted}",
            )
    for a, b in combinations(rows.names, 2):
        known, in_file = rows.of_part(a), rows.of_part(b)
        yield Draft(
            "leak",
            f"{unit} of {b} have a {rows.read} that is also in {a}",
            in_file[np.isin(rows.inputs[in_file], rows.inputs[known])],
            f"drop them from one of the two: what {a} has seen says little in {b}",
        )


def again(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The positions of keys that came before, and the first positions of the same keys."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    copies = np.flatnonzero(first[group] != np.arange(len(keys)))
    return copies, first[group][copies]


def extremes(group: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    return np.minimum.reduceat(values[order], starts), np.maximum.reduceat(values[order], starts)


def noted(rows: Rows, copies: np.ndarray, originals: np.ndarray, text: str) -> Callable[[int], str]:
    partner = dict(zip(copies.tolist(), originals.tolist()))
    return lambda row: text.format(rows.relative_position(row, partner[row]))


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
    cuts = len(sized) == 1 or rows.corpus.fields[sized[0]].vocabulary > 0  # no recording of a text
    lengths = np.concatenate([part.lengths[:, sized.index(key)] for part in rows.parts])
    logs = np.log(np.maximum(lengths, 1))
    low, high = np.percentile(logs, (25, 75))
    fence = FAR * max(high - low, np.log(1.25))
    for kind_name, word, far in (
        ("long", "longer", logs > high + fence),
        ("short", "shorter", logs < low - fence),
    ):
        outliers = np.flatnonzero(far)
        worst = outliers[np.argsort(-np.abs(logs[outliers] - np.median(logs)), kind="stable")]
        yield Draft(
            kind_name,
            f"{unit} have a {key} far {word} than the others (median {np.median(lengths):,.0f}"
            f" {kind.unit})",
            worst,
            "look whether they belong here" + f"; {Setting('max_length')} cuts" * cuts
            if kind_name == "long"
            else "look whether anything was lost",
            lambda row: f"{lengths[row]:,.0f} {kind.unit}",
        )
