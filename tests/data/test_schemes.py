"""Schemes of tags: read, converted and recognised; against a plain reading of their definition."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from unspool.data.schemes import (
    Spans,
    WrongTag,
    allowed_transitions,
    as_iobes,
    breaches,
    find_spans,
    from_iobes,
    guess_letters,
    parse_tags,
    tag_name,
)

LETTERS = {"iob1": "BI", "iob2": "BI", "iobes": "BIES", "bioul": "BILU"}


def spans_by_definition(tags: list[str], scheme: str) -> list[tuple[int, int, str]]:
    """conlleval, token by token: where a chunk ends and where one starts, from two neighbours."""
    same = {"L": "E", "U": "S"} if scheme == "bioul" else {}
    cut = [(same.get(tag[0], tag[0]), tag[2:]) for tag in tags]
    found, start = [], None
    for i, ((was, was_type), (now, now_type)) in enumerate(
        zip([("O", ""), *cut], [*cut, ("O", "")])
    ):
        ends = (
            was in "ES" or (was in "BI" and now in "BSO") or (was != "O" and was_type != now_type)
        )
        begins = (
            now in "BS" or (now in "IE" and was in "OES") or (now != "O" and was_type != now_type)
        )
        if was != "O" and ends and start is not None:
            found.append((start, i, was_type))
            start = None
        if begins:
            start = i
    return found


def random_tags(rng: random.Random, scheme: str) -> list[str]:
    names = ["O"] + [f"{letter}-{kind}" for letter in LETTERS[scheme] for kind in "XY"]
    return rng.choices(names, k=rng.randint(1, 12))


def read(tags: list[str], scheme: str, **options) -> list[tuple[int, int, str]]:
    names = sorted(set(tags))
    marks = parse_tags(names, scheme)
    numbers = np.array([names.index(tag) for tag in tags])
    found = find_spans(marks.at(numbers), np.array([0]), scheme=scheme, **options)
    return [(int(a), int(b), marks.names[k]) for a, b, k in zip(*found)]


@pytest.mark.parametrize("scheme", LETTERS)
def test_spans_as_conlleval_defines_them(scheme) -> None:
    rng = random.Random(1)
    for _ in range(1500):
        tags = random_tags(rng, scheme)
        assert read(tags, scheme) == spans_by_definition(tags, scheme), tags


@pytest.mark.parametrize("scheme", ["iob2", "iobes"])
def test_strict_spans_as_seqeval(scheme) -> None:
    pytest.importorskip("seqeval")
    from seqeval.scheme import IOB2, IOBES, Entities

    kind = {"iob2": IOB2, "iobes": IOBES}[scheme]
    rng = random.Random(2)
    for _ in range(1500):
        tags = random_tags(rng, scheme)
        theirs = [(e.start, e.end, e.tag) for e in Entities([tags], kind).entities[0]]
        assert read(tags, scheme, convention="strict") == theirs, tags


def test_sentences_do_not_touch() -> None:
    names = ["O", "B-X", "I-X", "E-X"]
    marks = parse_tags(names, "iobes")
    numbers = np.array([1, 2, 2, 3])
    found = find_spans(marks.at(numbers), np.array([0, 2]))
    assert list(zip(*found)) == [(0, 2, 0), (2, 4, 0)]
    assert [part.tolist() for part in find_spans(marks.at(numbers[:0]), np.array([]))] == [[]] * 3


@pytest.mark.parametrize("scheme", LETTERS)
def test_conversion_keeps_the_spans_and_the_rules(scheme) -> None:
    rng = random.Random(3)
    for _ in range(300):
        tags = random_tags(rng, scheme)
        names = sorted(set(tags))
        marks = parse_tags(names, scheme).at(np.array([names.index(tag) for tag in tags]))
        letters = as_iobes(marks, np.array([0]))
        again = [
            tag_name(letter, marks.names[kind]) if kind >= 0 else "O"
            for letter, kind in zip(letters.tolist(), marks.types.tolist())
        ]
        assert read(again, "iobes") == spans_by_definition(tags, scheme)
        assert read(again, "iobes", convention="strict") == spans_by_definition(tags, scheme)
        assert not len(breaches(marks._replace(letters=letters), np.array([0]), "iobes"))


def test_moves_are_allowed_exactly_where_no_rule_breaks() -> None:
    names = ["O", *(f"{letter}-{kind}" for kind in "XY" for letter in "BIES")]
    marks = parse_tags(names, "iobes")
    follow, first, last = allowed_transitions(marks)
    for i in range(len(names)):
        for j in range(len(names)):
            # Between two tags that may stand at the ends, only the move itself can be wrong.
            before = {"I": "B", "E": "B"}.get(names[i][0])
            after = {"B": "E", "I": "E"}.get(names[j][0])
            tags = [before and before + names[i][1:], names[i], names[j],
                    after and after + names[j][1:]]  # fmt: skip
            numbers = np.array([names.index(tag) for tag in tags if tag])
            legal = not len(breaches(marks.at(numbers), np.array([0]), "iobes"))
            assert follow[i, j] == legal, tags
        assert first[i] == (names[i][0] in "OBS")
        assert last[i] == (names[i][0] in "OES")


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["O", "I-PER", "B-PER"], "iob2"),
        (["O", "B-PER", "I-PER"], "iob2"),
        (["O", "S-PER"], "iobes"),
        (["O", "U-PER", "B-PER", "L-PER"], "bioul"),
        (["NN", "VB", "-LRB-"], "none"),
        (["B", "I", "O"], "iob2"),
        (["B", "NN", "O"], "none"),
    ],
)
def test_the_letters_of_a_scheme(tags, scheme) -> None:
    assert guess_letters(tags) == scheme


@pytest.mark.parametrize(
    ("tags", "wrong"), [(["O", "B-PER", "X-PER"], "X-PER"), (["U-A", "L-A", "E-A"], "E-A")]
)
def test_tags_of_no_scheme(tags, wrong) -> None:
    with pytest.raises(WrongTag) as error:
        guess_letters(tags)
    assert error.value.tag == wrong


def test_spans_are_arrays() -> None:
    assert isinstance(
        find_spans(parse_tags(["O"], "iobes").at(np.array([0])), np.array([0])), Spans
    )


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("iob1", "I-A I-A B-A O I-B B-B I-B I-A O O I-A"),
        ("iob2", "B-A I-A B-A O B-B B-B I-B B-A O O B-A"),
        ("iobes", "B-A E-A S-A O S-B B-B E-B S-A O O S-A"),
        ("bioul", "B-A L-A U-A O U-B B-B L-B U-A O O U-A"),
    ],
)
def test_the_same_spans_in_every_scheme(scheme, tags) -> None:
    iobes = ["B-A", "E-A", "S-A", "O", "S-B", "B-B", "E-B", "S-A", "O", "O", "S-A"]
    assert from_iobes(iobes, scheme) == tags.split()


@pytest.mark.parametrize("scheme", ["iob1", "iob2", "bioul"])
def test_tags_that_break_the_rules_mark_the_same_spans_in_another_scheme(scheme) -> None:
    """All sequences of four tags, as a softmax may give them."""
    names = ["O", "B-A", "I-A", "E-A", "S-A", "I-B"]
    begin = np.array([0])
    for tags in itertools.product(names, repeat=4):
        spans = find_spans(parse_tags(names, "iobes").at(ids_of(names, tags)), begin)
        written = from_iobes(tags, scheme)
        different = list(dict.fromkeys(written))
        marks = parse_tags(different, scheme)
        found = find_spans(marks.at(ids_of(different, written)), begin, scheme=scheme)
        assert found.starts.tolist() == spans.starts.tolist(), (tags, written)
        assert found.stops.tolist() == spans.stops.tolist(), (tags, written)


def test_a_piece_of_a_text_may_begin_within_a_span() -> None:
    assert from_iobes(["E-A", "S-A"], "iob2", whole=False) == ["I-A", "B-A"]
    assert from_iobes(["S-A", "O"], "iob1", whole=False) == ["B-A", "O"]


def ids_of(names, tags) -> np.ndarray:
    return np.array([names.index(tag) for tag in tags])
