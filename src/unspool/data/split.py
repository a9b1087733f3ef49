"""Rows of train, valid and test: a seeded hold-out, groups that stay together, cross-validation.

Everything depends on the data and the seed alone, and on no version of scikit-learn: its folds have
the same sizes, but other rows, and take three times as long (bench/metrics.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from unspool.errors import DataError, Option, Setting


class HoldOut(NamedTuple):
    """The shares of the training source that become other parts, and the seed that draws them."""

    valid: float = 0.0
    test: float = 0.0
    seed: int = 1
    most: int | None = None  # rows of a part
    folds: int = 0  # of a cross-validation
    fold: int = 0  # that is held out, from 1; 0: none
    fold_part: str = "test"  # or "valid"
    group: str = "auto"  # column whose values are groups of rows that stay together

    @property
    def grouped(self) -> bool:
        return self.group not in ("auto", "none")

    def of(self, rows: int) -> HoldOut:
        """The same for so many rows, with no share of more than `most`."""
        share = 1.0 if self.most is None else self.most / max(1, rows)
        return self._replace(valid=min(self.valid, share), test=min(self.test, share))


def stratified(labels: np.ndarray, hold_out: HoldOut, *, where: str) -> dict[str, np.ndarray]:
    """Sorted rows of each part; every class gives its share, as nearly as whole rows allow.

    The last example of a class always stays in train. Test rows are sampled first, so that another
    share of validation leaves the test part unchanged.
    """
    rng = np.random.default_rng(hold_out.seed)
    counts = np.bincount(labels)
    # A random order in which every class is one run: rows of class c at starts[c] : starts[c + 1].
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(counts)])
    spare = np.maximum(counts - 1, 0)
    taken = np.zeros_like(counts)
    parts = {}
    for name, share in (("test", hold_out.test), ("valid", hold_out.valid)):
        if share == 0:
            continue
        size = quotas(counts, share, spare - taken)
        if size.sum() == 0:
            raise nothing_left(name, share, f"{len(labels)} rows", where)
        parts[name] = np.sort(
            np.concatenate([order[a : a + n] for a, n in zip(starts[:-1] + taken, size)])
        )
        taken = taken + size
    held = np.zeros(len(labels), dtype=bool)
    for rows in parts.values():
        held[rows] = True
    return {"train": np.flatnonzero(~held), **parts}


class Chosen(NamedTuple):
    """Which rows a part has, and of which source: the training one, unless it has its own."""

    home: str
    rows: np.ndarray


def choose_rows(split: dict[str, np.ndarray], usable: dict[str, np.ndarray]) -> dict[str, Chosen]:
    """The rows of each part.

    split    parts of `usable["train"]`, which are numbered from 0
    usable   of each source that was given, the rows that can be used
    """
    parts = {name: Chosen("train", usable["train"][rows]) for name, rows in split.items()}
    separate = {name: Chosen(name, rows) for name, rows in usable.items() if name != "train"}
    order = ("train", "valid", "test")
    return dict(sorted((parts | separate).items(), key=lambda item: order.index(item[0])))


def quotas(counts: np.ndarray, share: float, spare: np.ndarray) -> np.ndarray:
    """How many rows each class gives: share * count, rounded so that the total is right too.

    Largest remainders first; never more than the class can spare.
    """
    exact = counts * share
    size = np.minimum(np.floor(exact).astype(np.int64), spare)
    missing = round(share * int(counts.sum())) - int(size.sum())
    for i in np.argsort(size - exact, kind="stable"):
        if missing <= 0:
            break
        if size[i] < spare[i]:
            size[i] += 1
            missing -= 1
    return size


MOST_HELD_OUT = 1_000_000  # tokens of a stream


def stream_cuts(tokens: int, hold_out: HoldOut, *, where: str) -> dict[str, tuple[int, int]]:
    """(first, end) of each part: train, then valid, then test, in the order of the text.

    No more is held out than compares two models: of a very long text the rest is for training.
    """
    shares = {"valid": hold_out.valid, "test": hold_out.test}
    sizes = {name: min(round(tokens * share), MOST_HELD_OUT) for name, share in shares.items()}
    for name, share in shares.items():
        if share and sizes[name] < 2:
            raise nothing_left(name, share, f"{tokens} tokens", where)
    end_train = tokens - sizes["valid"] - sizes["test"]
    if end_train < 2:
        raise nothing_left("train", 1 - sum(shares.values()), f"{tokens} tokens", where)
    parts = {"train": (0, end_train)}
    if sizes["valid"]:
        parts["valid"] = (end_train, end_train + sizes["valid"])
    if sizes["test"]:
        parts["test"] = (end_train + sizes["valid"], tokens)
    return parts


def check_shares(hold_out: HoldOut) -> None:
    if hold_out.valid + hold_out.test >= 1:
        raise DataError(
            f"valid_share={hold_out.valid:g} and test_share={hold_out.test:g} leave nothing"
            " to train on",
            remedy="their sum must be below 1",
        )


def nothing_left(name: str, share: float, size: str, where: str) -> DataError:
    return DataError(
        f"a share of {share:g} of {size} leaves nothing for {name}",
        where=where,
        remedy=("give more data, ", Setting(valid_share=0.3), ", or ", Option("valid", "test")),
    )


def split_rows(
    strata: np.ndarray,
    groups: np.ndarray | None,
    hold_out: HoldOut,
    *,
    where: str,
    names: Sequence[str] = (),
) -> dict[str, np.ndarray]:
    """Sorted rows of each part. With a fold, its rows are "test", and "valid" is held out of the
    others; or they are "valid", of what is left when "test" has been held out. No group has rows in
    two parts. `names` are those of the strata."""
    if not hold_out.fold:
        return _held_out(strata, groups, hold_out, where=where)
    if hold_out.fold_part == "valid":
        parts = _held_out(strata, groups, hold_out._replace(valid=0.0), where=where)
        rest = parts.pop("train")
        fold = _one_fold(rest, strata, groups, hold_out, where=where, names=names)
        return {**fold, **parts}
    rows = np.arange(len(strata))
    parts = _one_fold(rows, strata, groups, hold_out, where=where, names=names)
    rest = parts.pop("train")
    rest_groups = None if groups is None else groups[rest]
    split = _held_out(strata[rest], rest_groups, hold_out._replace(test=0.0), where=where)
    return {**{name: rest[rows] for name, rows in split.items()}, **parts}


def _one_fold(
    rows: np.ndarray,
    strata: np.ndarray,
    groups: np.ndarray | None,
    hold_out: HoldOut,
    *,
    where: str,
    names: Sequence[str],
) -> dict[str, np.ndarray]:
    """Some rows as "train" and the fold."""
    if groups is None:
        folds, seed = hold_out.folds, hold_out.seed
        fold = stratified_folds(strata[rows], folds, seed, where=where, names=names)
    else:
        numbers = np.unique(groups[rows], return_inverse=True)[1].reshape(-1)
        fold = grouped_folds(numbers, hold_out.folds, hold_out.seed, where=where)
    held = fold == hold_out.fold - 1
    return {"train": rows[~held], hold_out.fold_part: rows[held]}


def _held_out(
    strata: np.ndarray, groups: np.ndarray | None, hold_out: HoldOut, *, where: str
) -> dict[str, np.ndarray]:
    if groups is None:
        return stratified(strata, hold_out, where=where)
    return grouped(groups, hold_out, where=where)


def stratified_folds(
    strata: np.ndarray, folds: int, seed: int, *, where: str, names: Sequence[str] = ()
) -> np.ndarray:
    """(N,) the fold of each row, from 0.

    Rows of a class are dealt out in a random order, each class where the one before it stopped, so
    that the folds, and each class in them, have equal numbers of rows but for one.
    """
    counts = np.bincount(strata)
    if len(strata) < folds or (counts == 1).any():
        short = f"{len(strata)} rows"
        if len(strata) >= folds:
            single = [
                repr(names[i]) for i in np.flatnonzero(counts == 1).tolist() if i < len(names)
            ]
            listed = f" ({', '.join(single[:3])})" if single else ""
            short = f"a label with a single row{listed}"
        raise DataError(
            f"{short} cannot be split into {folds} folds",
            where=where,
            remedy=("give fewer ", Option("folds"), ", or more rows of each label"),
        )
    order = np.random.default_rng(seed).permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    fold = np.empty(len(strata), dtype=np.int64)
    fold[order] = np.arange(len(strata)) % folds
    return fold


def grouped_folds(groups: np.ndarray, folds: int, seed: int, *, where: str) -> np.ndarray:
    """(N,) the fold of each row: the largest groups first, each into the smallest fold."""
    counts = np.bincount(groups)
    if len(counts) < folds:
        raise DataError(
            f"{len(counts)} groups cannot be split into {folds} folds",
            where=where,
            remedy=("give fewer ", Option("folds")),
        )
    order = np.random.default_rng(seed).permutation(len(counts))
    order = order[np.argsort(-counts[order], kind="stable")]
    sizes, home = np.zeros(folds, dtype=np.int64), np.empty(len(counts), dtype=np.int64)
    for group in order.tolist():
        home[group] = np.argmin(sizes)
        sizes[home[group]] += counts[group]
    return home[groups]


def grouped(groups: np.ndarray, hold_out: HoldOut, *, where: str) -> dict[str, np.ndarray]:
    """Sorted rows of each part; groups are held out as long as a part gets nearer to its share."""
    counts = np.bincount(groups)
    order = np.random.default_rng(hold_out.seed).permutation(len(counts)).tolist()
    home = np.full(len(counts), "train", dtype="<U5")
    for name, share in (("test", hold_out.test), ("valid", hold_out.valid)):
        wanted, taken = share * len(groups), 0
        for group in [g for g in order if home[g] == "train"]:
            left = (home == "train").sum() > 1
            if left and abs(wanted - taken - counts[group]) < abs(wanted - taken):
                home[group] = name
                taken += counts[group]
        if share and not taken:
            raise nothing_left(name, share, f"{len(counts)} groups", where)
    parts = {name: np.flatnonzero(home[groups] == name) for name in ("train", "test", "valid")}
    return {name: rows for name, rows in parts.items() if len(rows)}


def refuse_shared(groups: np.ndarray, other: np.ndarray, *, where: Callable[[int], str]) -> None:
    """A group that rows of another source belong to as well; where(row) is that of such a row."""
    shared = np.flatnonzero(np.isin(other, groups))
    if len(shared):
        raise DataError(
            "a group is in the training data, too",
            where=where(int(shared[0])),
            got=str(other[shared[0]]),
            remedy=("keep all rows of a group in one part, or leave out ", Option("group")),
        )
