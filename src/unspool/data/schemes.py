"""Tags that mark spans: names of tags in, spans out, and the same in another scheme.

    token    EU     rejects  German  call  to  Peter   Blackburn
    IOB1     I-ORG  O        I-MISC  O     O   I-PER   I-PER       B- only between two of a type
    IOB2     B-ORG  O        B-MISC  O     O   B-PER   I-PER       B- begins every span
    IOBES    S-ORG  O        S-MISC  O     O   B-PER   E-PER       E- ends one, S- is one alone

BIOUL is IOBES with other letters (L for E, U for S). Tags without such letters, as of parts of
speech, have the scheme "none": each stands for itself.

Inside the program all spans are IOBES. There the tags of a span mark where it begins and where it
ends, so that its probability under a model is that of its own tags; and a linear chain can forbid
more (Ratinov & Roth 2009; Lample et al. 2016 use it as well).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

Scheme = Literal["iob1", "iob2", "iobes", "bioul", "none"]
SCHEMES = get_args(Scheme)
SchemeSetting = Literal["auto", "iob1", "iob2", "iobes", "bioul", "none"]
Convention = Literal["conlleval", "strict"]

O, B, I, E, S = range(5)  # noqa: E741
LETTERS = "OBIES"
KNOWN_LETTERS: dict[Scheme, dict[str, int]] = {
    "iob1": {"B": B, "I": I},
    "iob2": {"B": B, "I": I},
    "iobes": {"B": B, "I": I, "E": E, "S": S},
    "bioul": {"B": B, "I": I, "L": E, "U": S},
}
_SPAN_TAG = re.compile(r"([BIESLU])(?:-(.+))?")


class Marks(NamedTuple):
    """Tags taken apart: numbers of letters in `LETTERS` and of types in `names`, -1 for O."""

    letters: np.ndarray
    types: np.ndarray
    names: list[str]

    def at(self, tags: np.ndarray) -> Marks:
        """The spans of a sequence of tags, given by their numbers."""
        return Marks(self.letters[tags], self.types[tags], self.names)


class Spans(NamedTuple):
    """Spans in the order of the text: first token, the one after the last, number of the type."""

    starts: np.ndarray
    stops: np.ndarray
    types: np.ndarray


class WrongTag(ValueError):
    """A tag that has no place in a scheme."""

    def __init__(self, tag: str, why: str) -> None:
        super().__init__(why)
        self.tag = tag


def guess_letters(tags: Sequence[str]) -> Scheme:
    """The scheme that the letters of some different tags suggest; of IOB1 and IOB2, IOB2.

    Raises WrongTag where some mark spans and others cannot.
    """
    found = [tag for tag in tags if tag != "O"]
    matches = {tag: match for tag in found if (match := _SPAN_TAG.fullmatch(tag))}
    typed = any(match[2] for match in matches.values())
    if not matches or not (typed or ("O" in tags and len(matches) == len(found))):
        return "none"
    for tag in found:
        if tag not in matches:
            raise WrongTag(tag, f"fits no scheme, while {next(iter(matches))!r} marks a span")
    letters = {match[1] for match in matches.values()}
    if letters & {"L", "U"}:
        for tag, match in matches.items():
            if match[1] in "ES":
                raise WrongTag(tag, "is of IOBES, while others are of BIOUL")
        return "bioul"
    return "iobes" if letters & {"E", "S"} else "iob2"


def parse_tags(tags: Sequence[str], scheme: Scheme) -> Marks:
    """Take different tags apart; a tag outside the scheme is a WrongTag."""
    letters, types = np.zeros(len(tags), dtype=np.int64), np.full(len(tags), -1)
    names: dict[str, int] = {}
    for i, tag in enumerate(tags):
        if tag == "O":
            continue
        letter, _, name = tag.partition("-")
        if letter not in KNOWN_LETTERS[scheme] or tag.endswith("-"):
            known = ", ".join(f"{known}-" for known in KNOWN_LETTERS[scheme])
            raise WrongTag(tag, f"is outside the scheme {scheme.upper()}, which has O, {known}")
        letters[i] = KNOWN_LETTERS[scheme][letter]
        types[i] = names.setdefault(name, len(names))
    return Marks(letters, types, list(names))


class Edges(NamedTuple):
    """Which tokens are the first, and which the last of a span."""

    first: np.ndarray
    last: np.ndarray


def find_edges(marks: Marks, begins: np.ndarray) -> Edges:
    """The convention of conlleval, which reads any sequence of tags; `begins` are the positions
    where sentences begin.

    A span begins at B and S, and at I or E where no span of its type is open; it ends with E and S,
    and before O, before another span, and with the sentence.
    """
    letters, types, _ = marks
    if not len(letters):
        return Edges(np.zeros(0, dtype=bool), np.zeros(0, dtype=bool))
    before = np.roll(letters, 1)
    before[begins] = O
    same = np.roll(types, 1) == types
    inside = (letters == I) | (letters == E)
    is_open = ((before == B) | (before == I)) & same
    first = (letters == B) | (letters == S) | (inside & ~is_open)
    ends_here = np.append(first[1:] | (letters[1:] == O), True)
    ends_here[begins[begins > 0] - 1] = True
    last = (letters != O) & ((letters == E) | (letters == S) | ends_here)
    return Edges(first, last)


def find_spans(
    marks: Marks,
    begins: np.ndarray,
    *,
    scheme: Scheme = "iobes",
    convention: Convention = "conlleval",
) -> Spans:
    """The spans of a sequence of tags.

    conlleval   also those that break the rules of the scheme: see `find_edges`
    strict      only those that the scheme allows: in IOBES B I* E and S, in IOB2 B I*
    """
    first, last = find_edges(marks, begins)
    starts, stops = np.flatnonzero(first), np.flatnonzero(last) + 1
    spans = Spans(starts, stops, marks.types[starts])
    if convention == "conlleval" or scheme == "iob1":
        return spans
    legal = marks.letters[starts] == B
    if scheme in ("iobes", "bioul"):
        ended = marks.letters[stops - 1] == E
        alone = (stops - starts == 1) & (marks.letters[starts] == S)
        legal = (legal & ended) | alone
    return Spans(*(part[legal] for part in spans))


def breaches(marks: Marks, begins: np.ndarray, scheme: Scheme) -> np.ndarray:
    """Places where a sequence of tags breaks the rules of its scheme."""
    letters = marks.letters
    first, last = find_edges(marks, begins)
    if scheme == "iob1":
        before = np.roll(marks.types, 1)
        before[begins] = -1
        return np.flatnonzero((letters == B) & (before != marks.types))
    wrong = first & ((letters == I) | (letters == E))
    if scheme in ("iobes", "bioul"):
        wrong |= last & ((letters == B) | (letters == I))
    return np.flatnonzero(wrong)


def as_iobes(marks: Marks, begins: np.ndarray) -> np.ndarray:
    """The letters of the same spans in IOBES."""
    first, last = find_edges(marks, begins)
    letters = np.where(first, np.where(last, S, B), np.where(last, E, I))
    return np.where(marks.letters == O, O, letters)


def from_iobes(tags: Sequence[str], scheme: Scheme, *, whole: bool = True) -> list[str]:
    """The tags of one text in IOBES as another scheme writes them; also of tags that break the
    rules, as conlleval reads them.

    whole   False: a piece of a text, whose first span may have begun before it
    """
    if scheme in ("iobes", "none"):
        return list(tags)
    if scheme == "bioul":
        return ["OBILU"[LETTERS.index(tag[0])] + tag[1:] for tag in tags]
    renamed, before = [], "O"
    for i, tag in enumerate(tags):
        letter, kind = tag[0], tag[1:]
        same = before != "O" and before[1:] == kind
        goes_on = letter in "IE" and ((same and before[0] in "BI") or (i == 0 and not whole))
        begins = "B" if same or scheme == "iob2" or not whole else "I"
        renamed.append("O" if letter == "O" else ("I" if goes_on else begins) + kind)
        before = tag
    return renamed


def tag_name(letter: int, name: str) -> str:
    """`S-PER`; the only type may have no name, as in B, I and O."""
    return LETTERS[letter] if letter == O or not name else f"{LETTERS[letter]}-{name}"


def allowed_transitions(marks: Marks) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which of C tags in IOBES may follow which (C, C), begin (C,) and end (C,) a text."""
    letters, types = marks.letters, marks.types
    opens, goes_on = np.isin(letters, (B, I)), np.isin(letters, (I, E))  # needs one after, before
    same = types[:, None] == types
    follow = np.where(opens[:, None], goes_on & same, ~goes_on)
    return follow, ~goes_on, ~opens
