"""Plain text: one long text, a document a line, lines of `label text`, folders of texts, two
parallel files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from unspool.config import DataConfig
from unspool.data.profile import label_like
from unspool.data.read.columns import plain
from unspool.data.read.files import Report, TextFile, stem
from unspool.data.read.reader import (
    SAMPLE,
    Column,
    FileHead,
    Match,
    Reader,
    Record,
    Row,
    Shape,
    sampled,
)
from unspool.errors import DataError, Option

MARK = "__label__"  # before every label in fastText's format


class Lines(Reader):
    """One document a line; a blank line is an empty one."""

    name = "lines"
    shape = Shape.TEXTS
    editable = True
    title = "one document a line"

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        if len(files) == 1:
            files[0].refuse_empty()
        self.columns = [Column("text", 0, files[0].head(SAMPLE))]

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
        for line, content in enumerate(file.lines(report), start=1):
            yield Row((content.strip(),) * len(numbers), line)


class LongText(Lines):
    """One long text, in pieces that join to the whole."""

    name = "text"
    editable = False
    title = "one long text"

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        if files[0].content_name.lower().endswith(".abc"):
            self.remark = (
                "tunes in ABC as letters (compose reads MIDI, which abc2midi makes of them)"
            )

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
        line = 1
        for piece in file.pieces(report):
            yield Row((piece,) * len(numbers), line)
            line += piece.count("\n")


class Labelled(Reader):
    """`label<space or tab>text`, one a line; a label before a tab may hold spaces."""

    name = "labelled"
    shape = Shape.TEXTS
    editable = True
    title = "lines of `label text`"

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        return Match.LIKELY.when(looks_labelled(head.lines))

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        files[0].refuse_empty()
        lines = files[0].head(SAMPLE)
        self.delimiter = label_delimiter(lines)
        self.columns = sampled(
            ("label", "text"), (cut_label(line, self.delimiter) for line in lines)
        )

    @property
    def options(self) -> dict[str, Any]:
        return {"delimiter": self.delimiter}

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        for line, content in enumerate(file.lines(report), start=1):
            if content.strip():
                yield line, cut_label(content, self.delimiter)


class FastText(Reader):
    """`__label__a __label__b text`, one a line; where a line has several labels, all are lists."""

    name = "fasttext"
    shape = Shape.TEXTS
    editable = True
    marked = True
    title = "fastText lines"

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        marked = sum(line.lstrip().startswith(MARK) for line in head.lines)
        return Match.CERTAIN.when(marked > 0.5 * len(head.lines))

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        files[0].refuse_empty()
        lines = files[0].head(SAMPLE)
        self.typed = any(len(cut_marked(line)[0]) > 1 for line in lines)
        self.columns = sampled(("label", "text"), map(self._cut, lines))

    def _cut(self, line: str) -> tuple[Any, str]:
        labels, text = cut_marked(line)
        return labels if self.typed else " ".join(labels), text

    @property
    def options(self) -> dict[str, Any]:
        return {"several": self.typed}

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        for line, content in enumerate(file.lines(report), start=1):
            if content.strip():
                yield line, self._cut(content)


def cut_marked(line: str) -> tuple[list[str], str]:
    """The labels before a text, each a word that begins with `__label__`, and the text."""
    labels, rest = [], line.strip()
    while rest.startswith(MARK):
        label, _, rest = rest.partition(" ")
        labels.append(label.removeprefix(MARK))
        rest = rest.strip()
    return labels, rest


def label_delimiter(lines: Sequence[str]) -> str:
    """A tab where every line has one, otherwise a space."""
    return "\t" if lines and all("\t" in line.strip() for line in lines) else " "


def cut_label(line: str, delimiter: str) -> tuple[str, str]:
    """(label, text): cut at the first tab, or with a space as delimiter at any white space."""
    label, *text = line.strip().split("\t" if delimiter == "\t" else None, 1)
    return label.strip(), text[0].strip() if text else ""


def looks_labelled(lines: Sequence[str]) -> bool:
    """Whether the first words are few and come again and again, each before some text."""
    delimiter = label_delimiter(lines)
    pairs = [cut_label(line, delimiter) for line in lines]
    if sum(bool(text) for _, text in pairs) < 0.9 * len(pairs):
        return False
    counts = Counter(label for label, _ in pairs)
    if len(lines) < 20:
        return len(lines) > 1 and min(counts.values()) > 1
    return len(counts) <= max(2, len(lines) // 10)


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
        self.columns = sampled(("text", "label"), (row.values for row in self.rows([0, 1])))

    @classmethod
    def probe(cls, file: TextFile, data: DataConfig) -> tuple[str, ...]:
        for _ in file.blocks():
            pass
        return ()

    def label(self, file: TextFile) -> str:
        return stem(file.path)

    def split(self, names: Sequence[str]) -> DataError:
        return DataError(
            f"the folder's files are named like splits, not like labels ({', '.join(names)})",
            where=Path(self.files[0].name).parent,
            remedy=("name the training file, and the others with ", Option("valid", "test")),
        )

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        label = self.label(file)
        for line, content in enumerate(file.lines(report), start=1):
            if content.strip():
                yield line, (content.strip(), label)


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

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        yield 1, (file.document(report), self.label(file))


class Parallel(Reader):
    """Both files must have as many lines."""

    name = "parallel"
    shape = Shape.PAIRS
    title = "pairs of lines"

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        self.columns = [Column(str(i + 1), i, file.head(SAMPLE)) for i, file in enumerate(files)]

    def rows(self, numbers: Sequence[int], report: Report = None) -> Iterator[Row]:
        if len(numbers) == 1:
            for line, content in enumerate(self.files[numbers[0]].lines(report), start=1):
                yield Row((content.strip(),), line)
            return
        both = zip_longest(self.files[0].lines(report), self.files[1].lines())
        for line, pair in enumerate(both, start=1):
            if None in pair:
                raise self._no_partner(line)
            yield Row(tuple(pair[i].strip() for i in numbers), line)

    def _no_partner(self, line: int) -> DataError:
        sizes = [sum(1 for _ in file.lines()) for file in self.files]
        longer = self.files[int(sizes[1] > sizes[0])]
        return DataError(
            f"this line has no partner: {self.files[0].name} has {sizes[0]:,} lines and"
            f" {self.files[1].name} {sizes[1]:,}",
            where=f"{longer.name}:{line}",
            remedy="give files in which line n of one belongs to line n of the other",
        )


class LabelledLines(Parallel):
    """Two files, of which one repeats few values: the labels of the lines of the other."""

    name = "labelled_lines"
    shape = Shape.TEXTS
    title = "lines of texts and of their labels"
    header = True

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        labels = label_file(files)
        names = ["label" if i == labels else "text" for i in (0, 1)]
        self.columns = [c._replace(name=name) for c, name in zip(self.columns, names)]
        self.remark = f"labels in {files[labels].path.name} ({Option(format='parallel')} for pairs)"


def label_file(files: Sequence[TextFile]) -> int:
    """Index of the file that repeats few values while the other does not; -1: neither does."""
    heads = [file.head(SAMPLE) for file in files]
    labels = [label_like(lines) and len(set(lines)) > 1 for lines in heads]
    return labels.index(True) if sum(labels) == 1 and all(heads) else -1
