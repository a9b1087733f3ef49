"""What is drawn is drawn as often as it should be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.embed.word2vec import alias_table, keep_probabilities


@given(st.lists(st.floats(0.01, 1000), min_size=1, max_size=50))
def test_alias_table_is_the_distribution(weights: list[float]) -> None:
    table = alias_table(np.array(weights))
    drawn = np.zeros(len(weights))
    np.add.at(drawn, np.arange(len(weights)), table.share)
    np.add.at(drawn, table.alias, 1 - table.share)
    np.testing.assert_allclose(drawn / len(weights), weights / np.sum(weights), atol=1e-5)
    assert (table.share >= 0).all()
    assert (table.share <= 1 + 1e-6).all()


def test_frequent_words_are_often_left_out() -> None:
    counts = np.array([9000, 990, 10])
    keep = keep_probabilities(counts, 1e-2)
    share = 0.9
    assert keep[0] == pytest.approx((0.01 / share) ** 0.5 + 0.01 / share, rel=1e-5)
    assert keep[2] == 1
    assert (keep_probabilities(counts, 0) == 1).all()
