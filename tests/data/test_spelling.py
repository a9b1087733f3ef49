"""Words by their bytes, and the words of a batch by their spelling."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from small_tasks import token_part
from unspool.data.fields.spelling import BYTE_IDS, LONGEST_WORD, ByteSpellings, collate_words
from unspool.data.fields.tokens import Pieces, Tokens

WORDS = st.lists(st.text(max_size=60), min_size=1, max_size=5)


def spelled(table: ByteSpellings, word: int) -> bytes:
    ids, sizes = table.padded(np.array([word]))
    return bytes((ids[0, : sizes[0]] - 1).tolist())


@given(WORDS)
def test_a_word_is_its_bytes(words) -> None:
    table = ByteSpellings(words)
    for i, word in enumerate(words):
        found = spelled(table, i)
        assert (found[:1], found[-1:]) == (b"\xfe", b"\xff")
        assert found[1:-1] == word.encode("utf-8", "replace")[:LONGEST_WORD]
    ids, _ = table.padded(np.arange(len(words) + 2))
    assert ids.max() < BYTE_IDS


@given(WORDS)
def test_no_word_is_spelled_like_the_ends_of_a_text(words) -> None:
    table = ByteSpellings(words)
    ends = {spelled(table, table.begin), spelled(table, table.end)}
    assert len(ends) == 2
    assert not ends & {spelled(table, i) for i in range(len(words))}


def part(*texts: str) -> Tokens:
    words = [text.split() for text in texts]
    return token_part([np.ones(len(each), dtype=np.int64) for each in words], words)["text"]


def test_the_words_of_a_batch() -> None:
    texts = part("a b a", "c", "b a")
    words = collate_words(texts, np.array([2, 0]))
    assert words.which.shape == (2, 5)
    assert words.lengths.tolist() == [2, 3]
    assert len(words.spellings) == 4  # a, b, and the two ends
    first = [spelled_row(words, p) for p in words.which[0, :4]]
    assert first == [b"\xc0", b"b", b"a", b"\xc1"]
    second = [spelled_row(words, p) for p in words.which[1]]
    assert second == [b"\xc0", b"a", b"b", b"a", b"\xc1"]


def spelled_row(words, place) -> bytes:
    size = int(words.sizes[place])
    return bytes((words.spellings[place, :size] - 1).tolist())[1:-1]


def test_pieces_keep_their_words() -> None:
    texts = part("a b c d e", "f")
    pieces = Pieces(texts, 2)
    kinds = ["a", "b", "c", "d", "e", "f"]
    found = [[kinds[w] for w in pieces.words(row)] for row in range(len(pieces))]
    assert found == [["a", "b"], ["c", "d"], ["e"], ["f"]]
