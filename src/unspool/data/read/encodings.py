"""Which encoding bytes are in: what a mark at their start says, what was asked for, what fits."""

from __future__ import annotations

import codecs

from unspool.errors import DataError, nearest

MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like that of UTF-16, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
COMMON = ["utf-8", "utf-16", "latin-1", "cp1252", "shift_jis", "gb18030", "koi8-r"]
WESTERN = "cp1252"
USUAL = (WESTERN, "latin_1", "shift_jis", "euc_kr")
MARKED = ["utf_7", "utf_8", "utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be"]
FEW = 8  # letters from which nothing can be told
TRIED = 1 << 16  # bytes looked at for a suggestion


def find_encoding(name: str) -> str:
    """The codec's own name, or a DataError."""
    try:
        info = codecs.lookup(name)
        # Codecs such as "hex" turn bytes into bytes.
        if info._is_text_encoding:
            return info.name
    except (LookupError, ValueError):
        pass
    near = nearest(name, COMMON)
    raise DataError(
        "unknown encoding",
        where="--encoding",
        got=name,
        remedy=(f"did you mean {near!r}? " if near else "")
        + "common ones are "
        + ", ".join(COMMON),
    )


def encoding_of(head: bytes, asked: str) -> str:
    """The encoding to read with, by the first bytes of the content.

    UTF-8, which is the default, gives way to a byte order mark, and to UTF-16 without one: text in
    UTF-8 holds no zero bytes, and of UTF-16 in most scripts every other byte of a line end is one.
    """
    found = find_encoding(asked)
    if found != "utf-8":
        return found
    for mark, name in MARKS:
        if head.startswith(mark):
            return name
    start = head[:4096]
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = start[first::2].count(0), start[1 - first :: 2].count(0)
        if zeros > 0.3 * len(start) / 2 and others == 0:
            return name
    return found


def suggestion(data: bytes) -> str | None:
    """An encoding in which bytes that are not UTF-8 read like a text, if there is one."""
    from charset_normalizer import from_bytes

    lines = data[:TRIED].split(b"\n")
    # Lines of plain ASCII tell nothing, and hide the few that do.
    telling = b"\n".join(line for line in lines if not line.isascii())
    if rare(telling):
        return WESTERN
    best = from_bytes(telling, cp_exclusion=MARKED).best()
    if best is None:
        return None
    same = [best.encoding, *best.could_be_from_charset]  # the same text by each of them
    return next((name for name in USUAL if name in same), best.encoding).replace("_", "-")


def rare(data: bytes) -> bool:
    """Whether letters beyond ASCII are as few as in Western European text, and valid there."""
    high = sum(byte >= 0x80 for byte in data)
    try:
        data.decode(WESTERN)
    except UnicodeDecodeError:
        return False
    letters = sum(byte >= 0x80 or chr(byte).isalpha() for byte in data)
    return high < max(FEW, 0.06 * letters)
