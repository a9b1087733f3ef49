"""Facts about columns, each computed once."""

from __future__ import annotations

import numpy as np
import pytest

from unspool.config import DataConfig
from unspool.data import profile as module
from unspool.data.profile import ColumnProfile
from unspool.data.read import Column
from unspool.errors import DataError
from unspool.tasks.planner import open_plan

COLUMNS = {
    "is_label": ["pos", "neg"] * 20,
    "is_scale": [i / 7 for i in range(100)],
    "is_numbers": ["1", "2.5", "", "NaN"],
    "is_dates": ["2026-05-01", "2026-05-02"],
    "is_flags": ["0", "1", None],
    "is_texts": [f"a text of words {i}" for i in range(20)],
    "is_single_words": [f"word{i}" for i in range(20)],
    "is_codes": [f"{i % 4 + 1}Q{70 + i}" for i in range(20)],
    "is_group": ["a", "a", "b", "b"],
    "is_step_labels": [["a", "b"], ["b"]],
}


@pytest.mark.parametrize("fact", COLUMNS)
def test_facts(fact: str) -> None:
    assert getattr(ColumnProfile(COLUMNS[fact]), fact)


def test_text_is_not_taken_for_anything_else() -> None:
    found = ColumnProfile(COLUMNS["is_texts"])
    names = [fact for fact in COLUMNS if getattr(found, fact)]
    assert names == ["is_texts"]


def test_each_fact_is_computed_once(monkeypatch) -> None:
    calls = []
    real = module.label_like
    monkeypatch.setattr(module, "label_like", lambda values: calls.append(1) or real(values))
    column = Column("label", 0, COLUMNS["is_label"])
    assert column.profile.is_label
    assert column.profile.is_label
    assert column.profile.is_class
    assert len(calls) == 1


def test_arrays_of_gaps_alone_are_named(tmp_path) -> None:
    np.save(tmp_path / "gaps.npy", np.full((20, 10, 3), np.nan))
    with pytest.raises(DataError, match=r"gaps.npy: holds arrays without a number: all .* NaN"):
        open_plan(str(tmp_path / "gaps.npy"), DataConfig(), None)
