"""A folder of NAME.txt files, one item a line: the file's name is the label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from unspool.config import DataConfig
from unspool.data.read.columns import plain
from unspool.data.read.files import Report, TextFile, stem
from unspool.data.read.reader import SAMPLE, Column, Reader, Row
from unspool.errors import DataError

SPLIT_NAMES = frozenset({"train", "valid", "validation", "val", "dev", "test"})


class Folder(Reader):
    """Blank lines are no items."""

    title = "one item a line"

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        stems = [stem(file.path) for file in files]
        if {plain(name) for name in stems} <= SPLIT_NAMES:
            raise DataError(
                f"the folder's files are named like splits, not like labels ({', '.join(stems)})",
                where=Path(files[0].name).parent,
                remedy="name the training file, and the others with --valid and --test",
            )
        first = list(islice(self.rows([0, 1]), SAMPLE))
        self.columns = [
            Column(name, i, [row.values[i] for row in first])
            for i, name in enumerate(("text", "label"))
        ]

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        label = stem(file.path)
        for line, content in enumerate(file.lines(report), start=1):
            if content.strip():
                pair = (content.strip(), label)
                yield Row(tuple(pair[i] for i in numbers), line)
