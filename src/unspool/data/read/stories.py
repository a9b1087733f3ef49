"""bAbI's stories: numbered lines, statements and questions; number 1 begins another story."""

from __future__ import annotations

import re
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

NAMES = ("story", "question", "answer", "supporting")
LINE = re.compile(r"(\d{1,6}) (\S.*)")


class Stories(Reader):
    """A row a question: story (a list, the statements before it), question, answer, and which
    statements support it, from 1."""

    name = "stories"
    shape = Shape.CORPUS
    title = "stories with questions"
    typed = True
    header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """All lines are numbered, from 1, and some are questions."""
        lines = head.lines
        numbered = all(LINE.fullmatch(line.rstrip()) is not None for line in lines)
        asking = any("?" in line and "\t" in line for line in lines)
        return Match.CERTAIN.when(lines[0].startswith("1 ") and numbered and asking)

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        refuse_empty(files[0])
        sample = [row for _, row in zip(range(SAMPLE), self.read(files[0], range(4), None))]
        self.columns = [
            Column(name, i, [row.values[i] for row in sample]) for i, name in enumerate(NAMES)
        ]

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        story: list[str] = []
        places: dict[str, int] = {}  # the number of a line -> that of its statement, from 1
        for line, content in enumerate(file.lines(report), start=1):
            if not content.strip():
                continue
            found = LINE.fullmatch(content.rstrip("\r\n"))
            if found is None:
                raise DataError(
                    "a line of a story is its number, a space and a sentence",
                    where=f"{file.name}:{line}",
                    got=content.strip(),
                    remedy="number the lines of a story from 1",
                )
            number, text = found[1], found[2]
            if number == "1":
                story, places = [], {}
            question, *rest = (own.strip() for own in text.split("\t"))
            if not rest:
                story.append(question)
                places[number] = len(story)
                continue
            if not story:
                raise DataError(
                    "a question without a story before it",
                    where=f"{file.name}:{line}",
                    got=question,
                    remedy="give statements first",
                )
            support = [places[n] for n in " ".join(rest[1:]).split() if n in places]
            row = (list(story), question, rest[0], support)
            yield Row(tuple(row[i] for i in numbers), line)
