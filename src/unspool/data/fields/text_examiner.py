"""Checks of texts: n-grams to compare and to learn from, scripts and languages,
damage."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unspool.data.fields.examiner import UNKNOWN, Examiner, Flaw
from unspool.data.fields.ngrams import Alphabet, ngrams
from unspool.data.store.ragged import Ragged, side_by_side
from unspool.errors import Option
from unspool.text.checks import CONTINUATION, LEADS, main_scripts, repair_mojibake
from unspool.text.languages import languages

if TYPE_CHECKING:
    from unspool.data.fields.tokens import Tokens

SHORT = 10  # words of a text below which its characters are compared
# Elements of HTML by their names, with attributes if any: <<notes.doc>> and <3 are none.
TAG = re.compile(
    r"</?(?:a|abbr|b|big|blockquote|body|br|button|center|code|dd|div|dl|dt|em|font|form|h[1-6]|head"
    r"|hr|html|i|iframe|img|input|label|li|link|meta|object|ol|option|p|param|pre|s|script|select"
    r"|small|span|strike|strong|style|sub|sup|table|tbody|td|textarea|tfoot|th|thead|title|tr|tt|u"
    r"|ul)(?:\s[^<>]{0,300}=[^<>]{0,300})?\s*/?>",
    re.IGNORECASE,
)
ENTITY = re.compile(r"&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")
# C0 but tab and line ends, DEL, and a byte order mark inside of a text.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff]")
# C1: nobody writes these, but in Windows-1252 their bytes are quotation marks and dashes.
WINDOWS = re.compile("[\x80-\x84\x86-\x9f]")
SUSPICIOUS = re.compile(f"[{LEADS}][{CONTINUATION}]")
SEEN_AT = {
    "mojibake": SUSPICIOUS,
    "lost": re.compile("\ufffd"),
    "windows": WINDOWS,
    "control": CONTROL,
    "html": re.compile(f"{TAG.pattern}|{ENTITY.pattern}", re.IGNORECASE),
}
SHOWN, BEFORE = 70, 25  # characters of an excerpt, and of it before a flaw


class TextExaminer(Examiner):
    """Texts of words are compared by pairs of words; texts of characters, and very short ones, by
    runs of four characters.

    train   the training values, which decide this
    words   whether their tokens are words, or pieces of words
    unit    what tokens are called
    """

    FAMILIES: ClassVar = ("script", "language")
    FLAWS: ClassVar = {
        "mojibake": Flaw(
            "hold text that was decoded in the wrong encoding, such as Ã© for é",
            "make the file again from its source, with the right encoding",
            "decoded anew",
            usual=True,
        ),
        "lost": Flaw(
            "hold U+FFFD, which stands for a character that was lost",
            "make the file again from its source: nothing can bring the character back",
        ),
        "windows": Flaw(
            "hold quotation marks or dashes of Windows-1252 that were read as Latin-1",
            (Option(encoding="cp1252"), " if the file was read as latin-1"),
            "read as Windows-1252",
            usual=True,
        ),
        "control": Flaw("hold control characters", "", "control characters removed", usual=True),
        "html": Flaw(
            "hold HTML: tags such as <br /> or entities such as &amp;",
            "",
            "tags removed, entities as characters",
        ),
    }

    def __init__(self, train: Tokens, *, words: bool, unit: str) -> None:
        sizes = train.sizes
        self.words = words
        self.spelled = words and len(sizes) > 0 and float(np.median(sizes)) < SHORT
        whole = words and not self.spelled
        self.size = 2 if whole else 4
        self.shingle = f"pairs of {unit}" if whole else "runs of 4 characters"
        self.grams = (1, 2) if words else (1, 2, 3, 4)
        self._alphabets: dict[tuple[int, bool], tuple[Sequence[str], Alphabet]] = {}

    def _symbols(self, values: Tokens, rows: np.ndarray, *, spelled: bool) -> Ragged:
        key = (id(values.types), spelled)
        if key not in self._alphabets:  # the types are kept so that no others get their id
            self._alphabets[key] = values.types, Alphabet(values.types, spelled=spelled)
        kept = Ragged(values.raw.values, values.raw.starts[rows], values.sizes[rows])
        return self._alphabets[key][1].sequences(kept)

    def shingles(self, values: Tokens, rows: np.ndarray) -> Ragged:
        return ngrams(self._symbols(values, rows, spelled=self.spelled), self.size)

    def features(self, values: Tokens, rows: np.ndarray) -> Ragged:
        symbols = self._symbols(values, rows, spelled=False)
        return side_by_side([ngrams(symbols, n) for n in self.grams])

    def families(self, name: str, raw: Sequence[Any]) -> list[str]:
        texts = [as_text(value) for value in raw]
        if name == "script":
            return main_scripts(texts)
        return [language or UNKNOWN for language in languages(texts)]

    def flaws(self, raw: Sequence[Any]) -> dict[str, np.ndarray]:
        texts = [as_text(value) for value in raw]
        flags = {
            "mojibake": (is_mojibake(text) for text in texts),
            "lost": ("\ufffd" in text for text in texts),
            "windows": (WINDOWS.search(text) is not None for text in texts),
            "control": (CONTROL.search(text) is not None for text in texts),
            "html": (is_html(text) for text in texts),
        }
        return {
            name: np.fromiter(values, dtype=bool, count=len(raw)) for name, values in flags.items()
        }

    def correct(self, raw: Any, flaw: str) -> Any:
        if isinstance(raw, list):
            return raw  # words with tags: their number must not change
        repair: dict[str, Callable[[str], str]] = {
            "mojibake": repair_mojibake,
            "windows": as_windows,
            "control": lambda text: CONTROL.sub("", text),
            "html": without_html,
        }
        return repair[flaw](raw) if flaw in repair else raw

    def excerpt(self, raw: Any, flaw: str | None = None) -> str:
        text = as_text(raw)
        seen = SEEN_AT[flaw].search(text) if flaw in SEEN_AT else None
        start = max(0, seen.start() - BEFORE) if seen is not None else 0
        shown = " ".join(text[start : start + 4 * SHOWN].split())
        shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)
        cut = len(shown) > SHOWN
        shown = shown[: SHOWN - 1].rstrip() if cut else shown
        return ("…" if start else "") + shown + ("…" if cut else "")


def as_text(raw: Any) -> str:
    return " ".join(raw) if isinstance(raw, list) else str(raw)


def is_mojibake(text: str) -> bool:
    if text.isascii() or SUSPICIOUS.search(text) is None:
        return False
    return repair_mojibake(text) != text


def is_html(text: str) -> bool:
    if "<" in text and TAG.search(text):
        return True
    return "&" in text and any(
        html.unescape(match[0]) != match[0] for match in ENTITY.finditer(text)
    )


def as_windows(text: str) -> str:
    return WINDOWS.sub(lambda match: match[0].encode("latin-1").decode("cp1252", "ignore"), text)


def without_html(text: str) -> str:
    """Tags become spaces, entities their characters; white space is not doubled by it."""
    if not is_html(text):
        return text
    bare = ENTITY.sub(lambda match: html.unescape(match[0]), TAG.sub(" ", text))
    return re.sub(r"[ \u00a0]{2,}", " ", bare).strip()
