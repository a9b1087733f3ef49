"""Files of sound, a row each: what their names and folders say are columns, too.

{label}_{speaker}_{n}.wav    a pattern of names: columns label, speaker and n
{speaker}/{text}             of folders too; the ending may be left out
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from unspool.config import DataConfig
from unspool.data.read.files import Report, TextFile, path_columns, readable_name
from unspool.data.read.reader import SAMPLE, Column, Reader, Row
from unspool.data.read.sound import ENDINGS, Sound, is_sound
from unspool.errors import ConfigError, DataError

TABLES = (".csv", ".tsv", ".jsonl")  # in which a folder of sound may have its texts or labels


class Sounds(Reader):
    """Columns: the sound; those of the pattern; the folder and the parts of the name."""

    title = "recordings of sound"
    typed = True
    binary = True
    one_row = True
    header = True

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        self.pattern = data.pattern
        named = [] if data.pattern is None else matched(files, data.pattern)
        taken = {name for name, _ in named}
        named += [own for own in path_columns(files) if own[0] not in taken]
        sounds: list[Any] = [Sound(file.path, file.name) for file in files]
        self.values: list[list[Any]] = [sounds, *(own for _, own in named)]
        names = ["audio", *(name for name, _ in named)]
        self.columns = [
            Column(name, i, own[:SAMPLE]) for i, (name, own) in enumerate(zip(names, self.values))
        ]
        self.remark = "" if data.pattern is None else f"named {data.pattern}"

    @property
    def options(self) -> dict[str, Any]:
        return {"pattern": self.pattern}

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        row = self.files.index(file)
        yield Row(tuple(self.values[i][row] for i in numbers), 1)
        if report is not None:
            report(1.0)

    def rows(self, numbers: Sequence[int], report: Report | None = None) -> Iterator[Row]:
        for row in range(len(self.files)):
            if report is not None:
                report(row / len(self.files))
            yield Row(tuple(self.values[i][row] for i in numbers), 1, row)


def pattern_of(pattern: str) -> re.Pattern[str]:
    """A pattern of names as a regular expression; {name} is as few characters as can be."""
    ending = Path(pattern).suffix if is_sound(pattern) else ""
    parts = re.split(r"\{(\w+)\}", pattern.removesuffix(ending))
    names = parts[1::2]
    if not names or len(set(names)) < len(names) or not all(map(str.isidentifier, names)):
        raise ConfigError(
            "data.pattern needs names in braces, each once",
            got=pattern,
            remedy="write it like {label}_{speaker}_{n}.wav",
        )
    last = len(parts) - 2
    found = [
        re.escape(part) if i % 2 == 0 else f"(?P<{part}>[^/]+{'' if i == last else '?'})"
        for i, part in enumerate(parts)
    ]
    return re.compile("".join(found))


def matched(files: Sequence[TextFile], pattern: str) -> list[tuple[str, list[str]]]:
    """What the names in a pattern stand for, of each file; one that does not fit is refused."""
    expression, depth = pattern_of(pattern), pattern.count("/") + 1
    found: dict[str, list[str]] = {name: [] for name in expression.groupindex}
    for file in files:
        path = file.path.with_suffix("") if is_sound(file.path) else file.path
        own = expression.fullmatch("/".join(path.parts[-depth:]))
        if own is None:
            raise DataError(
                f"its name does not fit the pattern {pattern}",
                where=file.name,
                remedy="set another pattern, or rename the file",
            )
        for name, value in own.groupdict().items():
            found[name].append(value)
    return list(found.items())


def find_sounds(path: str, data: DataConfig) -> list[TextFile] | None:
    """The sound files at a path: itself, or those of a folder and of the folders in it; the table
    in that folder, if one has their names and no pattern is set. None where there are none, or
    fewer than texts."""
    place = Path(path)
    if data.input not in ("auto", "audio") or "\0" in path:
        return None
    if is_sound(path) and place.is_file():
        return [TextFile(place, path, data.encoding)]
    if not place.is_dir():
        return None
    visible = [
        own
        for own in sorted(place.rglob("*"))
        if not any(part.startswith(".") for part in own.relative_to(place).parts)
    ]
    found = [own for own in visible if own.name.lower().endswith(ENDINGS)]
    texts = [own for own in visible if own.name.endswith((".txt", ".txt.gz"))]
    if not found or (len(texts) > len(found) and data.input == "auto"):
        return None
    tables = [own for own in visible if own.parent == place and own.suffix.lower() in TABLES]
    listing = [own for own in tables if names_sounds(own)]
    if listing and data.pattern is None:
        if len(listing) > 1:
            raise DataError(
                f"holds several tables of recordings ({', '.join(own.name for own in listing)})",
                where=path,
                remedy=f"name the one to read, such as {listing[0]}",
            )
        return [TextFile(listing[0], str(listing[0]), data.encoding)]
    return [TextFile(own, readable_name(own), data.encoding) for own in found]


def names_sounds(table: Path) -> bool:
    """Whether the first lines of a table name files of sound."""
    with open(table, "rb") as file:
        lines = file.read(1 << 16).decode("utf-8", "replace").splitlines()[1:10]
    ending = re.compile(rf"({'|'.join(map(re.escape, ENDINGS))})\b", re.IGNORECASE)
    return bool(lines) and sum(bool(ending.search(line)) for line in lines) > 0.5 * len(lines)
