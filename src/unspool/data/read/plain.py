"""Plain text: one long text, a document a line, or lines of `label text`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

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
            refuse_empty(files[0])
        self.columns = [Column("text", 0, files[0].head(SAMPLE))]

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
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

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
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
        refuse_empty(files[0])
        lines = files[0].head(SAMPLE)
        self.delimiter = label_delimiter(lines)
        pairs = [cut_label(line, self.delimiter) for line in lines]
        self.columns = [
            Column(name, i, [pair[i] for pair in pairs]) for i, name in enumerate(("label", "text"))
        ]

    @property
    def options(self) -> dict[str, Any]:
        return {"delimiter": self.delimiter}

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        for line, content in enumerate(file.lines(report), start=1):
            if content.strip():
                pair = cut_label(content, self.delimiter)
                yield Row(tuple(pair[i] for i in numbers), line)


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
        refuse_empty(files[0])
        pairs = [cut_marked(line) for line in files[0].head(SAMPLE)]
        self.typed = any(len(labels) > 1 for labels, _ in pairs)
        texts = [text for _, text in pairs]
        names = [labels if self.typed else " ".join(labels) for labels, _ in pairs]
        self.columns = [Column("label", 0, names), Column("text", 1, texts)]

    @property
    def options(self) -> dict[str, Any]:
        return {"several": self.typed}

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        for line, content in enumerate(file.lines(report), start=1):
            if content.strip():
                labels, text = cut_marked(content)
                pair = (labels if self.typed else " ".join(labels), text)
                yield Row(tuple(pair[i] for i in numbers), line)


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
