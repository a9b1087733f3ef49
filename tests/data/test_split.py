"""Hold-outs: exact, stratified, seeded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.data.split import HoldOut, stratified, stream_cuts
from unspool.errors import DataError

LABELS = st.lists(st.integers(0, 4), min_size=20, max_size=200).map(np.array)


@given(LABELS, st.integers(0, 5), st.sampled_from([0.1, 0.25, 0.5]), st.sampled_from([0, 0.2]))
def test_every_row_once_and_shares_kept(labels, seed: int, valid: float, test: float) -> None:
    parts = stratified(labels, HoldOut(valid, test, seed), where="f")
    rows = np.concatenate(list(parts.values()))
    assert sorted(rows.tolist()) == list(range(len(labels)))
    assert all((np.diff(part) > 0).all() for part in parts.values())
    spare = (np.maximum(np.bincount(labels) - 1, 0)).sum()
    assert len(parts["valid"]) <= round(valid * len(labels)) + 1
    if spare >= round((valid + test) * len(labels)) + 2 and np.bincount(labels).min() > 4:
        assert len(parts["valid"]) == round(valid * len(labels))
    for label, count in enumerate(np.bincount(labels)):
        if count:
            assert (labels[parts["train"]] == label).any()
            assert abs((labels[parts["valid"]] == label).sum() - valid * count) < 1.01


def test_seeded() -> None:
    labels = np.arange(100) % 3
    one, same, other = (
        stratified(labels, HoldOut(0.2, 0.1, seed), where="f") for seed in (1, 1, 2)
    )
    assert all((one[name] == same[name]).all() for name in one)
    assert (one["valid"] != other["valid"]).any()


def test_test_part_does_not_depend_on_the_share_of_valid() -> None:
    labels = np.arange(100) % 3
    a = stratified(labels, HoldOut(0.1, 0.1, 1), where="f")
    b = stratified(labels, HoldOut(0.3, 0.1, 1), where="f")
    assert (a["test"] == b["test"]).all()


def test_single_examples_stay_in_train() -> None:
    labels = np.array([0] * 30 + [1] * 30 + [2])
    parts = stratified(labels, HoldOut(0.5, 0.0, 1), where="f")
    assert 60 in parts["train"]


def test_no_shares() -> None:
    assert list(stratified(np.array([0, 1]), HoldOut(0, 0, 1), where="f")) == ["train"]


def test_nothing_left() -> None:
    with pytest.raises(DataError, match=r"f: a share of 0\.1 of 4 rows leaves nothing for valid"):
        stratified(np.array([0, 0, 1, 1]), HoldOut(0.1, 0, 1), where="f")


def test_stream_cuts_are_exact() -> None:
    assert stream_cuts(1000, HoldOut(0.1, 0.05), where="f") == {
        "train": (0, 850),
        "valid": (850, 950),
        "test": (950, 1000),
    }
    assert stream_cuts(5, HoldOut(0, 0), where="f") == {"train": (0, 5)}


def test_of_a_very_long_stream_a_million_tokens_are_held_out() -> None:
    assert stream_cuts(10**9, HoldOut(0.1, 0), where="f") == {
        "train": (0, 999_000_000),
        "valid": (999_000_000, 10**9),
    }
