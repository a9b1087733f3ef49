"""Two files of plain lines as a table of two columns: lines of one number belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from unspool.config import DataConfig
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import SAMPLE, Column, Reader, Row, Shape
from unspool.errors import DataError


class Parallel(Reader):
    """Both files must have as many lines."""

    name = "parallel"
    shape = Shape.PAIRS
    title = "pairs of lines"

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        self.columns = [Column(str(i + 1), i, file.head(SAMPLE)) for i, file in enumerate(files)]

    def rows(self, numbers: Sequence[int], report: Report | None = None) -> Iterator[Row]:
        if len(numbers) == 1:
            yield from self.read(self.files[numbers[0]], [0], report)
            return
        both = zip_longest(self.files[0].lines(report), self.files[1].lines())
        for line, pair in enumerate(both, start=1):
            if None in pair:
                raise self._no_partner(line)
            yield Row(tuple(pair[i].strip() for i in numbers), line)

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        for line, content in enumerate(file.lines(report), start=1):
            yield Row((content.strip(),), line)

    def _no_partner(self, line: int) -> DataError:
        sizes = [sum(1 for _ in file.lines()) for file in self.files]
        longer = self.files[int(sizes[1] > sizes[0])]
        return DataError(
            f"this line has no partner: {self.files[0].name} has {sizes[0]:,} lines and"
            f" {self.files[1].name} {sizes[1]:,}",
            where=f"{longer.name}:{line}",
            remedy="give files in which line n of one is the translation of line n of the other",
        )
