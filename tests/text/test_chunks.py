"""Chunks of long texts are those of str.split, each handed over once and in order."""

from hypothesis import given
from hypothesis import strategies as st

from unspool.text.words import ChunkCache, ChunkTable

CHARS = st.sampled_from("ab.,é日\u0301 \n\t\x85\u3000\x1c")
TEXTS = st.lists(st.text(CHARS, max_size=200), min_size=1, max_size=5)


class Numbers:
    """Two ids a chunk: its number, and its length."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, chunk: str) -> tuple[int, int]:
        if chunk not in self.seen:
            self.seen.append(chunk)
        return self.seen.index(chunk), len(chunk)


@given(TEXTS)
def test_table_equals_split(texts: list[str]) -> None:
    numbers = Numbers()
    table = ChunkTable(numbers)
    for text in texts:
        expected = [i for chunk in text.split() for i in numbers(chunk)]
        assert table(text).tolist() == expected


@given(TEXTS)
def test_new_chunks_come_in_order_and_once(texts: list[str]) -> None:
    asked: list[str] = []
    table = ChunkTable(lambda chunk: [asked.append(chunk) or 1])
    for text in texts:
        table(text)
    assert asked == list(dict.fromkeys(" ".join(texts).split()))


def test_long_chunks_and_forgetting() -> None:
    numbers = Numbers()
    table = ChunkTable(numbers, most=3)
    chunks = ["x" * n for n in (1, 7, 8, 9, 16, 17, 255, 256, 257, 1000)] + ["y" * 1000]
    for _ in range(3):
        expected = [i for chunk in chunks for i in numbers(chunk)]
        assert table(" ".join(chunks)).tolist() == expected


def test_cache_starts_afresh_when_full() -> None:
    calls = []
    cache = ChunkCache(lambda chunk: [calls.append(chunk) or len(chunk)], most=2)
    assert [cache[chunk] for chunk in ("a", "bb", "a", "ccc", "a")] == [
        (1,),
        (2,),
        (1,),
        (3,),
        (1,),
    ]
    assert calls == ["a", "bb", "ccc", "a"]
