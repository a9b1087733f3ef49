"""Folds of a cross-validation, and groups of rows that stay together: classes or groups in, rows of
each part out.

All depends on the data and the seed alone, and on no version of scikit-learn: its folds have the
same sizes, but other rows, and take three times as long (bench/metrics.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from unspool.data.plan import Plan
from unspool.data.split import HoldOut, nothing_left, stratified
from unspool.errors import DataError


def split_rows(
    strata: np.ndarray, groups: np.ndarray | None, hold_out: HoldOut, *, where: str
) -> dict[str, np.ndarray]:
    """Sorted rows of each part. With a fold, its rows are "test", and "valid" is held out of the
    others; or they are "valid", of what is left when "test" has been held out. No group has rows in
    two parts."""
    if not hold_out.fold:
        return _held_out(strata, groups, hold_out, where=where)
    if hold_out.fold_part == "valid":
        parts = _held_out(strata, groups, hold_out._replace(valid=0.0), where=where)
        rest = parts.pop("train")
        return {**_one_fold(rest, strata, groups, hold_out, where=where), **parts}
    parts = _one_fold(np.arange(len(strata)), strata, groups, hold_out, where=where)
    rest = parts.pop("train")
    own = None if groups is None else groups[rest]
    others = _held_out(strata[rest], own, hold_out._replace(test=0.0), where=where)
    return {**{name: rest[rows] for name, rows in others.items()}, **parts}


def _one_fold(
    rows: np.ndarray,
    strata: np.ndarray,
    groups: np.ndarray | None,
    hold_out: HoldOut,
    *,
    where: str,
) -> dict[str, np.ndarray]:
    """Some rows as "train" and the fold."""
    if groups is None:
        fold = stratified_folds(strata[rows], hold_out.folds, hold_out.seed, where=where)
    else:
        own = np.unique(groups[rows], return_inverse=True)[1].reshape(-1)
        fold = grouped_folds(own, hold_out.folds, hold_out.seed, where=where)
    held = fold == hold_out.fold - 1
    return {"train": rows[~held], hold_out.fold_part: rows[held]}


def _held_out(
    strata: np.ndarray, groups: np.ndarray | None, hold_out: HoldOut, *, where: str
) -> dict[str, np.ndarray]:
    if groups is None:
        return stratified(strata, hold_out, where=where)
    return grouped(groups, hold_out, where=where)


def stratified_folds(strata: np.ndarray, folds: int, seed: int, *, where: str) -> np.ndarray:
    """(N,) the fold of each row, from 0.

    Rows of a class are dealt out in a random order, each class where the one before it stopped, so
    that the folds, and each class in them, have equal numbers of rows but for one.
    """
    counts = np.bincount(strata)
    if len(strata) < folds or (counts == 1).any():
        short = f"{len(strata)} rows" if len(strata) < folds else "a label with a single row"
        raise DataError(
            f"{short} cannot be split into {folds} folds",
            where=where,
            remedy="give fewer --folds, or more rows of each label",
        )
    order = np.random.default_rng(seed).permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    fold = np.empty(len(strata), dtype=np.int64)
    fold[order] = np.arange(len(strata)) % folds
    return fold


def grouped_folds(groups: np.ndarray, folds: int, seed: int, *, where: str) -> np.ndarray:
    """(N,) the fold of each row, from 0: the largest groups first, each into the fold that has the
    fewest rows; groups of one size in a random order."""
    counts = np.bincount(groups)
    if len(counts) < folds:
        raise DataError(
            f"{len(counts)} groups cannot be split into {folds} folds",
            where=where,
            remedy="give fewer --folds",
        )
    order = np.random.default_rng(seed).permutation(len(counts))
    order = order[np.argsort(-counts[order], kind="stable")]
    sizes, home = np.zeros(folds, dtype=np.int64), np.empty(len(counts), dtype=np.int64)
    for group in order.tolist():
        home[group] = np.argmin(sizes)
        sizes[home[group]] += counts[group]
    return home[groups]


def grouped(groups: np.ndarray, hold_out: HoldOut, *, where: str) -> dict[str, np.ndarray]:
    """Sorted rows of each part; groups are held out in a random order as long as that brings a part
    nearer to its share."""
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


def read_groups(plan: Plan, name: str) -> np.ndarray:
    """(N,) the name of each row's group: its value in a column."""
    column = plan.table.column(name, option="--group")
    rows = replace(plan, columns={"group": column}, convert=None).rows()
    return np.array([str(row.values[0]).strip() for row in rows])


def refuse_shared(groups: np.ndarray, other: np.ndarray, *, where: Callable[[int], str]) -> None:
    """A group that rows of another source belong to as well; where(row) is that of such a row."""
    shared = np.flatnonzero(np.isin(other, groups))
    if len(shared):
        raise DataError(
            "a group is in the training data, too",
            where=where(int(shared[0])),
            got=str(other[shared[0]]),
            remedy="keep all rows of a group in one part, or leave out --group",
        )
