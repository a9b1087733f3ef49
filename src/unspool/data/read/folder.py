"""Folders: a NAME.txt file a label with one item a line, or a folder a label with a file a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from unspool.config import DataConfig
from unspool.data.read.columns import plain
from unspool.data.read.files import Report, TextFile, stem
from unspool.data.read.reader import SAMPLE, Column, Reader, Row, Shape
from unspool.errors import DataError

SPLIT_NAMES = frozenset({"train", "valid", "validation", "val", "dev", "test"})
UNLABELLED = frozenset({"unsup", "unlabeled", "unlabelled"})


class Folder(Reader):
    """A file a label; blank lines are no items."""

    name = "folder"
    shape = Shape.FOLDER
    label_source = "file name"
    title = "one item a line"

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        names = list(dict.fromkeys(self.label(file) for file in files))
        if {plain(name) for name in names} <= SPLIT_NAMES:
            raise self.split(names)
        first = list(islice(self.rows([0, 1]), SAMPLE))
        self.columns = [
            Column(name, i, [row.values[i] for row in first])
            for i, name in enumerate(("text", "label"))
        ]

    def label(self, file: TextFile) -> str:
        return stem(file.path)

    def split(self, names: Sequence[str]) -> DataError:
        return DataError(
            f"the folder's files are named like splits, not like labels ({', '.join(names)})",
            where=Path(self.files[0].name).parent,
            remedy="name the training file, and the others with --valid and --test",
        )

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        label = self.label(file)
        for line, content in enumerate(file.lines(report), start=1):
            if content.strip():
                pair = (content.strip(), label)
                yield Row(tuple(pair[i] for i in numbers), line)


class Folders(Folder):
    """A folder a label; a file is a text. Texts in a folder called `unsup` have no label."""

    name = "folders"
    label_source = "folder"
    one_row = True
    title = "a text a file"

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        labelled = [file for file in files if plain(self.label(file)) not in UNLABELLED]
        super().__init__(labelled or files, data)
        folders = len({self.label(file) for file in self.files})
        self.remark = f"in {folders} folders"
        if left := len(files) - len(self.files):
            self.remark += f", {left:,} unlabelled files left out"

    def label(self, file: TextFile) -> str:
        return file.path.parent.name

    def split(self, names: Sequence[str]) -> DataError:
        root = Path(self.files[0].name).parent.parent
        return DataError(
            f"its folders are named like splits, not like labels ({', '.join(names)})",
            where=root,
            remedy=f"name the one to train on, such as {root / names[0]}",
        )

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        pair = ("".join(file.blocks(report)).strip(), self.label(file))
        yield Row(tuple(pair[i] for i in numbers), 1)
