"""The time that reading may take, by what deflate leaves of the files."""

from __future__ import annotations

import os

import pytest

from unspool.config import DataConfig
from unspool.data.read.budget import MEGABYTE, PER_MEGABYTE, PER_STORED, Budget


@pytest.mark.parametrize(
    ("content", "megabytes"),
    [(os.urandom(4 * MEGABYTE), 4.0), (b"a" * 4 * MEGABYTE, 0.0)],
    ids=["random", "repeated"],
)
def test_time_grows_with_what_deflate_leaves(content, megabytes, tmp_path) -> None:
    settings = DataConfig(read_seconds=0.1)
    path = tmp_path / "x"
    path.write_bytes(content)
    budget = Budget(settings)
    budget.sizes[str(path)] = len(content)
    expected = max(4 * PER_STORED, PER_MEGABYTE * megabytes)
    assert budget.limit == pytest.approx(expected, rel=0.05)


def test_a_block_counts_once_in_all_files(tmp_path) -> None:
    content, budget = os.urandom(MEGABYTE), Budget(DataConfig(read_seconds=0.1))
    for i in range(4):
        path = tmp_path / str(i)
        path.write_bytes(content)
        budget.sizes[str(path)] = len(content)
    assert budget.limit == pytest.approx(PER_MEGABYTE, rel=0.05)


def test_what_cannot_be_opened_counts_as_stored() -> None:
    budget = Budget(DataConfig(read_seconds=0.1))
    budget.sizes["a.zip/member"] = 2 * MEGABYTE
    assert budget.limit == 2 * PER_MEGABYTE
