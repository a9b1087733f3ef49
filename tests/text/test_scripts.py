"""Scripts by ranges, against the names of Unicode's characters."""

import unicodedata

import numpy as np

from unspool.text.checks import NAMES, RANGES, main_scripts, script_numbers


def test_ranges_are_in_order() -> None:
    ends = [-1, *(last for _, last, _ in RANGES)]
    assert all(end < first <= last for end, (first, last, _) in zip(ends, RANGES))


def test_letters_have_the_script_of_their_name() -> None:
    codes = np.arange(0x41, 0x20000)
    for code, number in zip(codes.tolist(), script_numbers(codes).tolist()):
        name = unicodedata.name(chr(code), "")
        if not unicodedata.category(chr(code)).startswith("L"):
            continue
        for script in ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC", "DEVANAGARI", "THAI"):
            if name.startswith(f"{script} ") and code < 0x1D00 and "SIGN" not in name:
                assert NAMES[number] == script.title(), name
        if name.startswith(("CJK UNIFIED", "HIRAGANA", "KATAKANA LETTER")) and code < 0x10000:
            assert NAMES[number] == "Han or kana", name
        if name.startswith("HANGUL SYLLABLE"):
            assert NAMES[number] == "Hangul", name


def test_main_script() -> None:
    texts = ["a fine film", "отличный film", "", "123 !?", "日本語です", "한국어", "αβγ a", "𠀀𠀁"]
    assert main_scripts(texts) == [
        "Latin", "Cyrillic", "", "", "Han or kana", "Hangul", "Greek", "Han or kana",
    ]  # fmt: skip
    assert main_scripts([]) == []
