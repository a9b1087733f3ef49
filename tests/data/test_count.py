"""Counting tokens within stretches of a column."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unspool.data.fields import vocabulary
from unspool.data.store.ragged import TokenColumn


@given(
    st.lists(st.integers(0, 5), max_size=80),
    st.sets(st.integers(0, 80), max_size=12),
    st.integers(1, 100),
)
def test_counts_within_spans(ids: list[int], edges: set[int], window: int) -> None:
    none = np.empty(0, dtype=np.int64)
    counts = np.bincount(np.array(ids, dtype=np.int64), minlength=6)
    column = TokenColumn(np.array(ids, dtype=np.uint8), none, none, list("abcdef"), counts)
    ordered = sorted(min(edge, len(ids)) for edge in edges)
    pairs = list(zip(ordered[::2], ordered[1::2]))
    spans = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    vocabulary.WINDOW, before = window, vocabulary.WINDOW
    try:
        found = vocabulary.count_types(column, spans)
    finally:
        vocabulary.WINDOW = before
    inside = [i for a, b in pairs for i in ids[a:b]]
    assert found.tolist() == np.bincount(np.array(inside, dtype=np.int64), minlength=6).tolist()
