"""Damage: bytes, text, values and JSON, changed at random in ways that have hurt readers before."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

PIECES = [
    b"\0", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\x80", b"\xc3", b"\xed\xa0\x80", b"\r", b"\n",
    b"\n\n", b"\r\n", b"\t", b",", b";", b"|", b'"', b"'", b'""', b'",', b"\\", b"{", b"}", b"[",
    b"]", b":", b"#", b"=", b" ", b"  ", b"-", b"_", b"<unk>", b"<mask>", b"</s>", b"__label__",
    b"__label__ ", b"NaN", b"nan", b"-inf", b"1e999", b"-0", b"1_0", b"0x10", b"null", b"None",
    b"true", b"B-", b"I-PER", b"E-LOC", b"O", b"-DOCSTART- -X- O O\n", b"1-2\t_\t_", b"1.1\t_",
    b"# sent_id = \n", b"9" * 400, b"9" * 5000, b"[" * 2000, b'{"a":' * 2000, b"=1+1", b"\x1b[31m",
    b"\x1a", b"%00", b"../", b"<script>", "²".encode(), "½".encode(), "٣".encode(), "１".encode(),
    "\u2028".encode(), "\u0085".encode(), "\u00a0".encode(), "\u200b".encode(), "\u202e".encode(),
    "\ufeff".encode(), "\ufffd".encode(), "é".encode(), "e\u0301".encode(), "中文".encode(),
    "🎉".encode(), "\u0301".encode() * 3000, "ﷺ".encode() * 50, "İ".encode(), "ß".encode(),
    b'"\\ud800"', b"\\u0000", b"a" * 20_000, b"a " * 5_000, b"x\n" * 2_000, b",," * 500,
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 7, 0.0, -0.0, 0.5, -1.5, 1e-300, 1e308, 2**31, 2**53 + 1,
    2**63, -(2**63) - 1, 10**30, 10**400, "", " ", "x", "0", "-1", "nan", "1e999", "²", "\0",
    "\ud800", "é",
    "../..", "/dev/zero", "/dev/stdin", "a" * 10_000, [], [0], [None], [[]], ["a", "a"], {},
    {"": 0}, {"a": {"b": []}}, float("nan"), float("inf"), [1] * 1000, "none", "auto",
    "lstm", "linear",
]  # fmt: skip


def damage(content: bytes, rng: random.Random, times: int | None = None) -> bytes:
    """Some bytes changed, taken out, moved, put in; mostly once."""
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 6]) if times is None else times):
        content = rng.choice(DAMAGES)(content, rng)
    return content


def flip(content: bytes, rng: random.Random) -> bytes:
    """One bit."""
    return flip_at(content, rng.randrange(8 * len(content))) if content else content


def flip_at(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def span(content: bytes, rng: random.Random, most: int | None = None) -> tuple[int, int]:
    start = rng.randint(0, len(content))
    length = rng.choice([1, 2, 10, 100, len(content)])
    return start, min(len(content), start + rng.randint(0, min(length, most or length)))


def put_piece(content: bytes, rng: random.Random) -> bytes:
    place = rng.randint(0, len(content))
    return content[:place] + rng.choice(PIECES) + content[place:]


def replace_piece(content: bytes, rng: random.Random) -> bytes:
    start, end = span(content, rng, 50)
    return content[:start] + rng.choice(PIECES) + content[end:]


def replace_field(content: bytes, rng: random.Random) -> bytes:
    """What stands between two separators."""
    separators = [i for i, byte in enumerate(content[:20_000]) if byte in b",\t\n |;: "]
    if not separators:
        return put_piece(content, rng)
    i = rng.randrange(len(separators))
    start, end = separators[i] + 1, ([*separators, len(content)])[i + 1]
    return content[:start] + rng.choice(PIECES) * rng.choice([1, 1, 1, 3]) + content[end:]


def cut_out(content: bytes, rng: random.Random) -> bytes:
    start, end = span(content, rng)
    return content[:start] + content[end:]


def cut_off(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randint(0, len(content))]


def repeat(content: bytes, rng: random.Random) -> bytes:
    start, end = span(content, rng)
    times = rng.choice([1, 2, 3, 50])
    return content[:end] + content[start:end] * (times if end - start < 2000 else 1) + content[end:]


def shuffle_lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def drop_line(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


def replace_byte(content: bytes, rng: random.Random) -> bytes:
    """One character, everywhere."""
    one, other = (bytes([rng.choice(b",\t\n ;|\"'abe0O-_:{}[]")]) for _ in range(2))
    return content.replace(one, other)


def recode(content: bytes, rng: random.Random) -> bytes:
    codec = rng.choice(["utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "cp037"])
    return content.decode("utf-8", "replace").encode(codec, "replace")


def upper(content: bytes, rng: random.Random) -> bytes:
    return content.upper()


DAMAGES: list[Callable[[bytes, random.Random], bytes]] = [
    flip, flip, put_piece, put_piece, replace_piece, replace_piece, replace_field, replace_field,
    replace_field, replace_field, replace_field, cut_out, cut_out, cut_off, repeat, repeat,
    shuffle_lines, drop_line, drop_line, replace_byte, recode, upper,
]  # fmt: skip


def damage_json(content: bytes, rng: random.Random) -> bytes:
    """A JSON file with a value somewhere in it replaced, moved, taken out or renamed."""
    value = json.loads(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        value = damage_value(value, rng)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.08:  # what no Python value says
        text = text.replace(rng.choice(["0", "1", "2", "null"]), rng.choice(ODD_JSON), 1)
    return text.encode("utf-8", "surrogatepass")


ODD_JSON = [
    "9" * 5000,
    "1e5000",
    "[" * 3000 + "]" * 3000,
    "-",
    "1.0",
    "NaN",
    "Infinity",
    '"\\ud800"',
]


def damage_value(value: Any, rng: random.Random) -> Any:
    """A copy with one change."""
    value = copy.deepcopy(value)
    spots = places(value)
    if not spots:
        return rng.choice(VALUES)
    holder, key = rng.choice(spots)
    old = holder[key]
    action = rng.random()
    if action < 0.6:
        holder[key] = rng.choice(VALUES)
    elif action < 0.7:
        holder[key] = nudged(old, rng)
    elif action < 0.8:
        del holder[key]
    elif action < 0.9:
        other, place = rng.choice(spots)
        holder[key] = copy.deepcopy(other[place])
    elif isinstance(holder, dict):
        del holder[key]
        holder[rng.choice(["", "x", "__class__", str(key) + " ", str(key).upper()])] = old
    else:
        holder.insert(0, copy.deepcopy(old))
    return value


def nudged(value: Any, rng: random.Random) -> Any:
    """Nearly the same value."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice([value + 1, value - 1, -value, value * 1000, value + 0.5])
    if isinstance(value, str):
        return rng.choice([value + "x", value[1:], value.upper(), value * 100])
    if isinstance(value, list):
        return rng.choice([value[:-1], value[::-1], value * 2, value[1:]])
    return value


def places(value: Any) -> list[tuple[Any, Any]]:
    """(holder, key) of every value inside."""
    found: list[tuple[Any, Any]] = []
    keys: list[Any] = list(value) if isinstance(value, dict) else []
    if isinstance(value, list):
        keys = list(range(len(value)))
    for key in keys:
        found += [(value, key), *places(value[key])]
    return found


def odd_text(rng: random.Random) -> str:
    """A text for a person to have typed."""
    words = ["good", "bad", "film", "Anna", "Bern", "red", "house", "not"]
    base = " ".join(rng.choices(words, k=rng.randint(0, 8))).encode()
    return damage(base, rng, rng.randint(0, 3)).decode("utf-8", "replace").replace("\0", "")
