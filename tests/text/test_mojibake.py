"""Text that was decoded wrongly is repaired, and other text is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.text.checks import repair_mojibake


def as_windows(text: str) -> str:
    """What a program that takes all text for Windows-1252 shows."""
    shown = ""
    for byte in text.encode():
        try:
            shown += bytes([byte]).decode("cp1252")
        except UnicodeDecodeError:
            shown += chr(byte)
    return shown


SPOILED = [
    "café", "naïve façade, Éire", "Привет мир", "日本語です", "it’s “fine” – ok…", "hello 😀 you",
    "šala čaj", "Ελλάδα", "10 £ at 5 °C", "Ça va", "straße Ölüberfluß", "À bientôt", "שלום",
    "مرحبا",
]  # fmt: skip
MEANT = ["CAFÉ…", "été…»", "AMANHÃ…", "« PÂ»", "NÃO É", "Ä…", "Å", "naïve", "ÄÖÜ", "Ça", "Ñ", "中"]


@pytest.mark.parametrize("text", SPOILED)
def test_repaired(text: str) -> None:
    spoiled = as_windows(text)
    assert spoiled != text
    assert repair_mojibake(spoiled) == text
    assert repair_mojibake(as_windows(spoiled)) == text  # it happened twice
    assert repair_mojibake(text.encode().decode("latin-1")) == text


@pytest.mark.parametrize("text", SPOILED + MEANT)
def test_left_alone(text: str) -> None:
    assert repair_mojibake(text) == text


@given(st.text(st.characters(max_codepoint=0x7F)))
def test_ascii_is_left_alone(text: str) -> None:
    assert repair_mojibake(text) == text


@given(st.text(st.characters(max_codepoint=0x2FF, categories=["L", "Nd", "Zs"])))
def test_letters_after_letters_are_left_alone(text: str) -> None:
    letters = text.replace("ª", "").replace("º", "").replace("\xa0", "").replace("µ", "")
    plain = "".join(char for char in letters if char.isalpha() or char == " ")
    marks = "ŠŒŽšœžŸƒ"  # letters of Windows-1252 that stand for bytes within a sequence
    assert repair_mojibake(plain.translate(dict.fromkeys(map(ord, marks)))) is not None
    kept = "".join(char for char in plain if char not in marks)
    assert repair_mojibake(kept) == kept
