"""Words: a text in, its normal form, words and punctuation marks out; and tokens back into text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

FORMS: dict[str, Literal["NFC", "NFKC"] | None] = {"none": None, "nfc": "NFC", "nfkc": "NFKC"}


@dataclass(frozen=True)
class Normalizer:
    """Unicode normal form first, then case folding by `str.lower`."""

    form: str = "nfc"
    lowercase: bool = False

    def __call__(self, text: str) -> str:
        form = FORMS[self.form]
        if form is not None and not text.isascii():
            text = unicodedata.normalize(form, text)
        return text.lower() if self.lowercase else text

    def form_only(self) -> Normalizer:
        """The same with the case kept."""
        return Normalizer(self.form)


NEWLINE = "\n"

# A word keeps its inner apostrophes (don't); a clitic that was already cut off stays whole ('s);
# <unk> is one token, as language-model corpora write it; other marks stand alone.
_PUNCTUATION = re.compile(
    r"<unk>|\w+(?:['’]\w+)*|['’](?:s|m|d|t|re|ve|ll)\b|[^\w\s]", re.IGNORECASE
)
_SPACE = re.compile(r"\s+")
_JOINERS = "\u200c\u200d"


def split_punctuation(chunk: str) -> list[str]:
    """The tokens of a chunk without white space.

    Combining marks belong to their word (as in Devanagari), yet `\\w` leaves them out; so the
    pattern looks at a shape of the chunk in which they are letters, and cuts the chunk itself.
    """
    if chunk.isalnum():
        return [chunk]
    if chunk.isascii():
        return _PUNCTUATION.findall(chunk)
    shape = "".join("a" if _is_mark(char) else char for char in chunk)
    return [chunk[match.start() : match.end()] for match in _PUNCTUATION.finditer(shape)]


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M" or char in _JOINERS


def split_space(chunk: str) -> list[str]:
    return [chunk]


SPLITTERS: dict[str, Callable[[str], list[str]]] = {
    "punctuation": split_punctuation,
    "space": split_space,
}


def words(text: str, *, split: str, newlines: bool) -> list[str]:
    """The tokens of a text; with `newlines` every line end is a token as well."""
    cut = SPLITTERS[split]
    if not newlines:
        found: list[str] = []
        for chunk in text.split():
            if chunk.isalnum():  # most are, and whole words to any splitter
                found.append(chunk)
            else:
                found += cut(chunk)
        return found
    first, *rest = text.split(NEWLINE)
    found = words(first, split=split, newlines=False)
    for line in rest:
        found.append(NEWLINE)
        found.extend(words(line, split=split, newlines=False))
    return found


def solid(word: str) -> str:
    """A word without white space, which would make it two."""
    return _SPACE.sub("_", word)


class TokenSpan(NamedTuple):
    """A token and where it stands: text[start:stop] == token."""

    token: str
    start: int
    stop: int


_CHUNK = re.compile(r"\S+")


def token_spans(text: str, *, split: str) -> list[TokenSpan]:
    """The tokens of a text with where they start and end.

    The pieces of a chunk follow each other without a gap, so that counting characters is enough.
    """
    cut = SPLITTERS[split]
    found = []
    for chunk in _CHUNK.finditer(text):
        start = chunk.start()
        for token in cut(chunk[0]):
            found.append(TokenSpan(token, start, start + len(token)))
            start += len(token)
    return found


_NO_SPACE_BEFORE = re.compile(r"[.,;:!?%)\]}…”]|n't|['’](?:s|m|d|t|re|ve|ll)", re.IGNORECASE)
_NO_SPACE_AFTER = frozenset("([{$£€#“" + NEWLINE)


def join(tokens: Iterable[str], *, split: str) -> str:
    """Readable text: words apart, punctuation where a typesetter would put it.

    Where words were split at spaces only, spaces alone bring the text back.
    """
    parts: list[str] = []
    last = NEWLINE
    for token in tokens:
        glued = last == NEWLINE or token == NEWLINE
        if split == "punctuation":
            glued = glued or last in _NO_SPACE_AFTER or bool(_NO_SPACE_BEFORE.fullmatch(token))
        parts.append(token if glued else " " + token)
        last = token
    return "".join(parts)
