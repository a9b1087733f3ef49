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
RUSSIAN = "оеаинтсрвлкмдпуяыь"
JAPANESE = "のにはをたがでてとしれさいかなこもらすきまるっあうく。、ーん"
# Characters that come often in what is written in each encoding; of equals the first one wins.
COMMON_LETTERS = {
    "cp1252": "äöüßÄÖÜÉÀéèàçñóíáêôœúâîïëãõåæø’‘“”–—…€£°«»",
    "cp1251": RUSSIAN,
    "koi8-r": RUSSIAN,
    "cp1250": "ąćęłńóśźżčěřšťďňůýžáéíúőű",
    "cp1253": "αειοντσκηρςάέήίόύώλμπυ",
    "cp1254": "ığşçöüİĞŞÇÖÜâî",
    "cp1255": "אבגדהוזחטיכלמנסעפצקרשתםןךףץ",
    "cp1256": "ايلمنتوربةدعفهسحكقأ",
    "gb18030": "的一是不了在人有我他这个们中来上大为和国地到说要就会可你对生能而子那得于看很好，。",
    "big5": "的一是不了在人有我他這個們中來上大為和國地到說要就會可你對生能而子那得於看很好，。",
    "shift_jis": JAPANESE,
    "euc_jp": JAPANESE,
    "euc_kr": "이다는을를에의고가한지도로기하사은나어자리라인아시정대습니있었그것들해수서보면만게",
}
LATIN = ("cp1252", "cp1250", "cp1254")
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
        if zeros > 0.3 * len(start) / 2 and others < zeros / 20:  # some characters have one, too
            return name
    return found


def suggestion(data: bytes) -> str | None:
    """The encoding in which most of the characters of bytes beyond ASCII are common ones.

    (charset-normalizer takes Russian for Japanese where a text is short, so it is not asked.)
    """
    lines = data[:TRIED].split(b"\n")[:-1] or [data[:TRIED]]  # the last one may be cut
    telling = b"\n".join(line for line in lines if not line.isascii())
    letters = sum(byte >= 0x80 or chr(byte).isalpha() for byte in telling)
    few = sum(byte >= 0x80 for byte in telling) < 0.5 * letters  # so the letters are Latin ones
    candidates = [name for name in COMMON_LETTERS if (name in LATIN) == few]
    scores = {name: share_of_common(telling, name) for name in candidates}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] > 0.2 else None


def share_of_common(data: bytes, encoding: str) -> float:
    """Of the characters beyond ASCII, the share of common ones beyond that of random bytes; 0 where
    bytes are invalid."""
    try:
        found = [char for char in data.decode(encoding) if not char.isascii()]
    except UnicodeDecodeError:
        return 0.0
    share = sum(char in COMMON_LETTERS[encoding] for char in found) / max(1, len(found))
    chance = len(COMMON_LETTERS[encoding]) / 128 if encoding[:2] in ("cp", "ko") else 0.0
    return (share - chance) / (1 - chance)
