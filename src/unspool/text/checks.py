"""Checks of the characters of a text: scripts that are mixed, and mojibake."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np


def _as_read(byte: int) -> str:
    """The characters that a byte becomes: Windows-1252's, and Latin-1's where they differ."""
    try:
        shown = bytes([byte]).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)
    return shown if shown == chr(byte) else shown + chr(byte)


BYTES = {char: byte for byte in range(0x80, 0x100) for char in _as_read(byte)}
CONTINUATION = re.escape("".join(char for char, byte in BYTES.items() if byte < 0xC0))
LEADS = "".join(char for char, byte in BYTES.items() if 0xC2 <= byte <= 0xF4)
TWO, THREE, FOUR = (
    "".join(char for char in LEADS if first <= ord(char) <= last)
    for first, last in ((0xC2, 0xDF), (0xE0, 0xEF), (0xF0, 0xF4))
)
SEQUENCE = (
    f"(?:[{TWO}][{CONTINUATION}]|[{THREE}][{CONTINUATION}]{{2}}|[{FOUR}][{CONTINUATION}]{{3}})"
)
RUN = re.compile(f"{SEQUENCE}+")
PUNCTUATION = frozenset("…“”’‘–—»›•€™‚„†‡‰·´¨°®©ª º")  # what may follow a letter on purpose
# One sequence alone is believed if it begins like those of Western letters, of quotation marks and
# dashes, of emoji, or of a byte order mark.
WESTERN, LATIN = "ÂÃ", "ÄÅ"
MARKS = re.compile(f"â[€\x80‚\x82„\x84][{CONTINUATION}]|ðŸ..|ð\x9f..|ï¸\x8f|ï»¿", re.DOTALL)


def repair_mojibake(text: str) -> str:
    """The text as it was meant, also where this happened twice."""
    for _ in range(3):
        repaired = RUN.sub(_repaired, text)
        if repaired == text:
            return text
        text = repaired
    return text


def _repaired(match: re.Match[str]) -> str:
    run, text = match[0], match.string
    sequences = re.findall(SEQUENCE, run)
    if len(sequences) == 1 and not _plausible(run, text[match.start() - 1 : match.start()]):
        return run
    try:
        return bytes(BYTES[char] for char in run).decode("utf-8")
    except UnicodeDecodeError:
        return run


def _plausible(run: str, before: str) -> bool:
    if run[0] in WESTERN:
        return not (before.isupper() and run[1] in PUNCTUATION)
    if run[0] in LATIN:
        return run[1] not in PUNCTUATION
    return MARKS.fullmatch(run) is not None


# Han and kana are one: Japanese is written in both.
RANGES = (
    (0x41, 0x5A, "Latin"), (0x61, 0x7A, "Latin"), (0xAA, 0xAA, "Latin"), (0xBA, 0xBA, "Latin"),
    (0xC0, 0xD6, "Latin"), (0xD8, 0xF6, "Latin"), (0xF8, 0x2AF, "Latin"),
    (0x370, 0x373, "Greek"), (0x376, 0x37F, "Greek"), (0x386, 0x3FF, "Greek"),
    (0x400, 0x52F, "Cyrillic"), (0x531, 0x587, "Armenian"), (0x5D0, 0x5F4, "Hebrew"),
    (0x620, 0x64A, "Arabic"), (0x66E, 0x6D5, "Arabic"), (0x6E5, 0x6FF, "Arabic"),
    (0x710, 0x74F, "Syriac"), (0x750, 0x77F, "Arabic"), (0x780, 0x7BF, "Thaana"),
    (0x870, 0x8C9, "Arabic"),
    (0x904, 0x963, "Devanagari"), (0x971, 0x97F, "Devanagari"), (0x980, 0x9FF, "Bengali"),
    (0xA00, 0xA7F, "Gurmukhi"), (0xA80, 0xAFF, "Gujarati"), (0xB00, 0xB7F, "Oriya"),
    (0xB80, 0xBFF, "Tamil"), (0xC00, 0xC7F, "Telugu"), (0xC80, 0xCFF, "Kannada"),
    (0xD00, 0xD7F, "Malayalam"), (0xD80, 0xDFF, "Sinhala"), (0xE01, 0xE5B, "Thai"),
    (0xE80, 0xEFF, "Lao"), (0xF00, 0xFFF, "Tibetan"), (0x1000, 0x109F, "Myanmar"),
    (0x10A0, 0x10FF, "Georgian"), (0x1100, 0x11FF, "Hangul"), (0x1200, 0x139F, "Ethiopic"),
    (0x13A0, 0x13FF, "Cherokee"), (0x1780, 0x17FF, "Khmer"), (0x1820, 0x18AA, "Mongolian"),
    (0x1C80, 0x1C8F, "Cyrillic"), (0x1E00, 0x1EFF, "Latin"), (0x1F00, 0x1FFF, "Greek"),
    (0x2C60, 0x2C7F, "Latin"), (0x2DE0, 0x2DFF, "Cyrillic"), (0x3005, 0x3007, "Han or kana"),
    (0x3041, 0x30FF, "Han or kana"), (0x3131, 0x318E, "Hangul"), (0x31F0, 0x31FF, "Han or kana"),
    (0x3400, 0x4DBF, "Han or kana"), (0x4E00, 0x9FFF, "Han or kana"), (0xA640, 0xA69F, "Cyrillic"),
    (0xA722, 0xA7FF, "Latin"), (0xAB30, 0xAB6F, "Latin"), (0xAC00, 0xD7FF, "Hangul"),
    (0xF900, 0xFAFF, "Han or kana"), (0xFB00, 0xFB06, "Latin"), (0xFB1D, 0xFB4F, "Hebrew"),
    (0xFB50, 0xFDFF, "Arabic"), (0xFE70, 0xFEFC, "Arabic"), (0xFF21, 0xFF3A, "Latin"),
    (0xFF41, 0xFF5A, "Latin"), (0xFF66, 0xFF9F, "Han or kana"), (0x20000, 0x3134F, "Han or kana"),
)  # fmt: skip
NAMES = ["", *dict.fromkeys(name for _, _, name in RANGES)]
STARTS = np.array([first for first, _, _ in RANGES])
ENDS = np.array([last for _, last, _ in RANGES])
WHICH = np.array([NAMES.index(name) for _, _, name in RANGES])
BMP = 0x10000


def script_numbers(codes: np.ndarray) -> np.ndarray:
    """The script of each code point as an index into NAMES; 0 for digits, marks, symbols."""
    place = np.maximum(np.searchsorted(STARTS, codes, side="right") - 1, 0)
    inside = (codes >= STARTS[place]) & (codes <= ENDS[place])
    return np.where(inside, WHICH[place], 0)


TABLE = script_numbers(np.arange(BMP)).astype(np.uint8)


def main_scripts(texts: Sequence[str]) -> list[str]:
    """The script of most letters of each text; "" where it has no letter."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "replace"), dtype=np.uint32)
    scripts = TABLE[np.minimum(codes, BMP - 1)]
    high = codes >= BMP
    if high.any():
        scripts = np.where(high, script_numbers(codes), scripts)
    owner = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    counts = np.bincount(owner * len(NAMES) + scripts, minlength=len(texts) * len(NAMES))
    counts = counts.reshape(len(texts), len(NAMES))
    counts[:, 0] = 0
    return [NAMES[i] if n else "" for i, n in zip(counts.argmax(1).tolist(), counts.max(1))]
