"""UTF-8 that was read as Windows-1252 or Latin-1: "cafÃ©" in, "café" out.

Only what is a whole UTF-8 sequence is replaced, and only where nobody would write its characters
on purpose: "CAFÉ…" is also the bytes of U+0245, and stays.
"""

from __future__ import annotations

import re


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


def _repaired(found: re.Match[str]) -> str:
    run, text = found[0], found.string
    sequences = re.findall(SEQUENCE, run)
    if len(sequences) == 1 and not _plausible(run, text[found.start() - 1 : found.start()]):
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
