"""Opinions towards targets: three lines each, a sentence with $T$ where its target stands, the
target, and a polarity (-1, 0 or 1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unspool.config import DataConfig
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import (
    SAMPLE,
    Column,
    FileHead,
    Match,
    Reader,
    Row,
    Shape,
    refuse_empty,
)
from unspool.errors import DataError

TARGET = "$T$"
NAMES = ("text", "target", "polarity")
POLARITIES = ("-1", "0", "1")


class Seg(Reader):
    """Columns text, target and polarity."""

    name = "seg"
    shape = Shape.CORPUS
    suffixes = (".seg",)
    title = "opinions, three lines each"
    header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """Every third line is a polarity, and sentences have their targets."""
        lines = head.lines
        whole = len(lines) // 3 * 3
        polarities = all(line.strip() in POLARITIES for line in lines[2:whole:3])
        targets = all(TARGET in line for line in lines[0:whole:3])
        return Match.CERTAIN.when(whole > 0 and polarities and targets)

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        refuse_empty(files[0])
        lines = files[0].head(3 * SAMPLE)
        whole = len(lines) // len(NAMES) * len(NAMES)
        self.columns = [
            Column(name, i, [line.strip() for line in lines[i:whole:3]])
            for i, name in enumerate(NAMES)
        ]

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        found: list[str] = []
        line = 0
        for line, content in enumerate(file.lines(report), start=1):
            if not found and not content.strip():
                continue
            found.append(content.strip())
            if len(found) == len(NAMES):
                if TARGET not in found[0] or found[2] not in POLARITIES:
                    raise DataError(
                        f"an opinion is a sentence with {TARGET}, a target, and -1, 0 or 1",
                        where=f"{file.name}:{line - 2}",
                        got=found[2] if TARGET in found[0] else found[0],
                        remedy="give three lines for each",
                    )
                yield Row(tuple(found[i] for i in numbers), line - 2)
                found = []
        if found:
            raise DataError(
                f"the last opinion has {len(found)} of 3 lines",
                where=f"{file.name}:{line}",
                got=found[-1],
                remedy=f"give a sentence with {TARGET}, a target, and -1, 0 or 1",
            )
