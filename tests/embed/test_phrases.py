"""Phrases: counted, scored and joined as one would by hand."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.config import DataConfig, TokenizerConfig
from unspool.data.store.ragged import TokenColumn
from unspool.embed import phrases
from unspool.embed.corpus import encode_words, open_corpus
from unspool.embed.phrases import count_pairs, every_other, find_phrases

TEXT = (
    "in new york city\nnew york is new\n\nthe york of old\nnew york\n"
    "in the city\nis of the old\nin of is city\n"
) * 3


def words_of(column: TokenColumn) -> list[list[str]]:
    cut = np.split(column.ids, column.offsets[1:-1])
    return [[column.types[i] for i in piece] for piece in cut]


def encode(path: Path, text: str = TEXT, **options: float) -> TokenColumn:
    path.write_text(text)
    settings = TokenizerConfig(kind="word", min_count=1)
    return encode_words(open_corpus(str(path), DataConfig()), settings, **options)


@pytest.mark.parametrize("window", [1, 5, 1 << 22])
def test_pairs_are_counted_within_lines(tmp_path, monkeypatch, window: int) -> None:
    monkeypatch.setattr(phrases, "WINDOW", window)
    column = encode(tmp_path / "a.txt")
    by_hand = Counter(pair for line in words_of(column) for pair in pairwise(line))
    pairs, counts = count_pairs(column, least=0)
    found = {
        (column.types[pair >> 32], column.types[pair & 0xFFFFFFFF]): count
        for pair, count in zip(pairs.tolist(), counts.tolist())
    }
    assert found == by_hand


@pytest.mark.parametrize("window", [1, 5, 1 << 22])
def test_what_goes_together_is_joined(tmp_path, monkeypatch, window: int) -> None:
    monkeypatch.setattr(phrases, "WINDOW", window)
    monkeypatch.setenv("UNSPOOL_CACHE", str(tmp_path / "cache"))
    column = encode(tmp_path / "a.txt", phrases=1, phrase_score=3.5)
    lines = [line for line in words_of(column) if line]
    assert lines[0] == ["in", "new_york", "city"]
    assert lines[1] == ["new_york", "is", "new"]
    assert lines[3] == ["new_york"]
    assert column.counts[column.types.index("new_york")] == 9


def test_a_second_pass_joins_what_was_joined(tmp_path) -> None:
    text = "he saw new york city hall now\nthe old city and new ideas\n" * 8
    column = encode(tmp_path / "b.txt", text, phrases=2, phrase_score=3.0)
    assert any(word.count("_") > 1 for word in column.types)


def test_the_score_is_that_of_the_paper(tmp_path) -> None:
    column = encode(tmp_path / "a.txt")
    counts = dict(zip(column.types, column.counts.tolist()))
    wanted = (9 - 1) * column.tokens / (counts["new"] * counts["york"])
    for score, is_one in ((wanted - 0.01, True), (wanted + 0.01, False)):
        found = find_phrases(column, score=score, least=1)
        pair = (column.types.index("new") << 32) | column.types.index("york")
        assert (pair in found) == is_one


def test_very_many_pairs_are_forgotten_from_the_rarest(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(phrases, "MOST_PAIRS", 2)
    monkeypatch.setattr(phrases, "WINDOW", 1)
    column = encode(tmp_path / "a.txt", "a b\n" * 9 + "c d\ne f\ng h\ni j\n" + "a b\n" * 9)
    assert count_pairs(column, least=0).counts.max() >= 17


@given(st.lists(st.booleans(), max_size=40))
def test_overlapping_phrases_are_taken_from_the_left(found: list[bool]) -> None:
    by_hand, free = [], True
    for is_one in found:
        by_hand.append(is_one and free)
        free = not by_hand[-1]
    assert every_other(np.array(found, bool)).tolist() == by_hand
