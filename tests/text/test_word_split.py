"""Where words end, and how they are joined again."""

import pytest

from unspool.text.words import join, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A fine film.", ["A", "fine", "film", "."]),
        ("it's (not) good!!", ["it's", "(", "not", ")", "good", "!", "!"]),
        ("it 's n't", ["it", "'s", "n't"]),
        ("'hello'", ["'", "hello", "'"]),
        ("the <unk> N", ["the", "<unk>", "N"]),
        ("naïve café—déjà", ["naïve", "café", "—", "déjà"]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया", "।"]),
        ("a\x85b\u3000c", ["a", "b", "c"]),
        ("", []),
    ],
)
def test_punctuation(text: str, expected: list[str]) -> None:
    assert words(text, split="punctuation", newlines=False) == expected


def test_space_only() -> None:
    assert words("a b.c  d", split="space", newlines=False) == ["a", "b.c", "d"]


def test_newlines_are_tokens_of_a_stream() -> None:
    assert words("a\n\nb c\n", split="space", newlines=True) == ["a", "\n", "\n", "b", "c", "\n"]


@pytest.mark.parametrize(
    "text", ["A fine film, isn't it? (Yes.)", "one\ntwo three\n", "costs $5 or 5%"]
)
def test_join_brings_plain_text_back(text: str) -> None:
    assert join(words(text, split="punctuation", newlines=True), split="punctuation") == text


def test_join_of_space_split_uses_spaces_only() -> None:
    assert join(["so", ",", "this", "\n", "that"], split="space") == "so , this\nthat"
