"""Folds and groups, by the properties of scikit-learn's StratifiedKFold and GroupKFold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, StratifiedKFold

from small_tasks import load_data
from unspool.data.split import HoldOut, grouped, grouped_folds, split_rows, stratified_folds
from unspool.errors import DataError

CLASSES = st.lists(st.integers(2, 40), min_size=1, max_size=6)


def labels_of(counts: list[int], seed: int) -> np.ndarray:
    labels = np.repeat(np.arange(len(counts)), counts)
    return np.random.default_rng(seed).permutation(labels)


@settings(max_examples=50, deadline=None)
@given(CLASSES, st.integers(2, 10), st.integers(0, 5))
def test_every_class_is_dealt_out_evenly(counts, folds, seed) -> None:
    labels = labels_of(counts, seed)
    if len(labels) < folds:
        return
    fold = stratified_folds(labels, folds, seed, where="")
    sizes = np.array([np.bincount(labels[fold == k], minlength=len(counts)) for k in range(folds)])
    assert (sizes.max(0) - sizes.min(0) <= 1).all()
    assert np.ptp(sizes.sum(1)) <= 1
    assert (sizes.sum(0) == counts).all()


def test_as_even_as_scikit_learn() -> None:
    labels = labels_of([50, 23, 11], 0)
    own = stratified_folds(labels, 5, 1, where="")
    theirs = np.empty_like(own)
    for k, (_, rows) in enumerate(StratifiedKFold(5).split(labels, labels)):
        theirs[rows] = k
    for name in range(3):
        found, wanted = (np.bincount(f[labels == name], minlength=5) for f in (own, theirs))
        assert sorted(found) == sorted(wanted)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=10, max_size=40), st.integers(2, 8), st.integers(0, 5))
def test_no_group_is_in_two_folds(counts, folds, seed) -> None:
    groups = labels_of(counts, seed)
    fold = grouped_folds(groups, folds, seed, where="")
    assert all(len(set(fold[groups == g])) == 1 for g in range(len(counts)))
    assert set(fold) == set(range(folds))
    own = np.bincount(fold, minlength=folds)
    theirs = [len(rows) for _, rows in GroupKFold(folds).split(groups, groups=groups)]
    assert sorted(own) == sorted(theirs)  # both put the largest into the emptiest


@pytest.mark.parametrize("with_groups", [False, True])
def test_every_row_is_tested_once_and_is_in_no_other_part(with_groups) -> None:
    labels, groups = labels_of([60, 40], 1), np.random.default_rng(2).integers(0, 23, 100)
    found = []
    for fold in range(1, 6):
        hold_out = HoldOut(valid=0.2, folds=5, fold=fold)
        parts = split_rows(labels, groups if with_groups else None, hold_out, where="")
        assert sorted(np.concatenate(list(parts.values()))) == list(range(100))
        assert all(len(rows) for rows in parts.values())
        if with_groups:
            names = [group for rows in parts.values() for group in set(groups[rows])]
            assert len(names) == len(set(names))
        found.append(parts["test"])
    assert sorted(np.concatenate(found)) == list(range(100))


def test_groups_are_held_out_whole() -> None:
    groups = np.random.default_rng(0).integers(0, 50, 1000)
    parts = grouped(groups, HoldOut(valid=0.1, test=0.2, seed=3), where="")
    assert sorted(np.concatenate(list(parts.values()))) == list(range(1000))
    assert abs(len(parts["valid"]) - 100) < 20
    assert abs(len(parts["test"]) - 200) < 20
    for one, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not set(groups[parts[one]]) & set(groups[parts[other]])


def test_a_column_of_groups(tmp_path) -> None:
    path = tmp_path / "some.csv"
    rows = [f"word{i} film,{'xy'[i % 2]},author {i % 20}" for i in range(200)]
    path.write_text("text,label,author\n" + "\n".join(rows) + "\n")
    loaded = load_data(path, data={"group": "author"})
    authors = {name: {int(row) % 20 for row in part.rows} for name, part in loaded.parts.items()}
    assert not authors["train"] & authors["valid"]
    assert "groups by column 'author'" in loaded.notes[0]
    with pytest.raises(DataError, match="--group"):
        load_data(path, data={"group": "writer"})


def test_what_cannot_be_split() -> None:
    with pytest.raises(DataError, match="3 rows cannot be split into 5 folds"):
        stratified_folds(np.array([0, 0, 1]), 5, 1, where="a.csv")
    with pytest.raises(DataError, match="a label with a single row cannot be split into 2 folds"):
        stratified_folds(np.array([0, 0, 0, 1]), 2, 1, where="a.csv")
    with pytest.raises(DataError, match="2 groups cannot be split into 3 folds"):
        grouped_folds(np.array([0, 0, 1]), 3, 1, where="a.csv")
    with pytest.raises(DataError, match="leaves nothing for test"):
        grouped(np.array([0, 0, 0]), HoldOut(test=0.5), where="a.csv")


@pytest.mark.parametrize("grouped", [False, True])
def test_folds_to_validate_on_leave_the_test_part_alone(grouped) -> None:
    strata = np.arange(60) % 3
    groups = np.arange(60) // 2 if grouped else None
    parts = [
        split_rows(
            strata,
            groups,
            HoldOut(valid=0.1, test=0.2, folds=4, fold=fold, fold_part="valid"),
            where="",
        )
        for fold in range(1, 5)
    ]
    test = parts[0]["test"]
    assert len(test) == 12
    for own in parts:
        np.testing.assert_array_equal(own["test"], test)
        together = np.sort(np.concatenate(list(own.values())))
        np.testing.assert_array_equal(together, np.arange(60))
    held = np.sort(np.concatenate([own["valid"] for own in parts]))
    np.testing.assert_array_equal(held, np.setdiff1d(np.arange(60), test))
