"""Which rows are held out: labels or a length in, rows of train, valid and test out.

Both ways depend on the data and the seed alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unspool.errors import DataError


class HoldOut(NamedTuple):
    """The shares of the training source that become other parts, and the seed that draws them."""

    valid: float = 0.0
    test: float = 0.0
    seed: int = 1
    most: int | None = None  # rows of a part
    folds: int = 0  # of a cross-validation
    fold: int = 0  # that is held out, from 1; 0: none
    fold_part: str = "test"  # or "valid"
    group: str | None = None  # column whose values are groups of rows that stay together

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
    given = {name: Chosen(name, rows) for name, rows in usable.items() if name != "train"}
    order = ("train", "valid", "test")
    return dict(sorted((parts | given).items(), key=lambda item: order.index(item[0])))


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
        remedy="give more data, another share such as --set valid_share=0.3, or files with"
        " --valid and --test",
    )
