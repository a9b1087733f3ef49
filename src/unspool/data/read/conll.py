"""Sentences in columns: CoNLL and CoNLL-U, a token a line, a blank line after each sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from unspool.config import DataConfig
from unspool.data.profile import label_like
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import SAMPLE, Column, FileHead, Match, Reader, Row, Shape
from unspool.data.schemes import WrongTag, guess_letters
from unspool.errors import DataError
from unspool.text.words import solid

CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
LONG = 10_000  # tokens of a sentence after which its memory is looked at
FIELD_BYTES = 150  # in memory, of a token's field
DOCUMENT_MARK = "-DOCSTART-"
_COMMENT = re.compile(r"#\s*\w[\w. ]*=")  # as in `# sent_id = 3`
_SPACES = re.compile(r"[ \t]+")


class Token(NamedTuple):
    """One line of a sentence."""

    line: int
    fields: list[str]


class Conll(Reader):
    """Columns between tabs, or between spaces, without a header."""

    name = "conll"
    shape = Shape.SENTENCES
    suffixes: ClassVar[tuple[str, ...]] = (".conll", ".iob", ".iob2", ".bio")
    title = "CoNLL columns"

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        return Match.LIKELY.when(looks_like_conll(head.file, head.data))

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        files[0].refuse_empty()
        self.delimiter, names = self.layout(first_row(files[0]))
        self.width = len(names)
        sentences = list(islice(self.sentences(files[0]), SAMPLE))
        if sentences:
            self.first_line = sentences[0][0].line
        self.columns = [
            Column(name, i, [[token.fields[i] for token in sentence] for sentence in sentences])
            for i, name in enumerate(names)
        ]

    def layout(self, first: str) -> tuple[str, Sequence[str]]:
        """(delimiter, names of the columns), by the first row."""
        delimiter = "\t" if "\t" in first else " "
        return delimiter, [str(i + 1) for i in range(len(cut_fields(first, delimiter)))]

    @property
    def options(self) -> dict[str, Any]:
        return {"delimiter": self.delimiter, "width": self.width}

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
        for sentence in self.sentences(file, report):
            values = tuple([solid(token.fields[i].strip()) for token in sentence] for i in numbers)
            for number, column in zip(numbers, values):
                if "" in column:
                    raise DataError(
                        f"column {number + 1} is empty",
                        where=f"{file.name}:{sentence[column.index('')].line}",
                        remedy="fill it in, or remove the row",
                    )
            yield Row(values, sentence[0].line)

    def sentences(self, file: TextFile, report: Report = None) -> Iterator[list[Token]]:
        """The tokens of each sentence: a blank line or a mark of a document ends one."""
        sentence: list[Token] = []
        for number, line in enumerate(file.lines(report), start=1):
            fields = cut_fields(line, self.delimiter)
            if not line.strip() or fields[0] == DOCUMENT_MARK:
                if sentence:
                    yield sentence
                sentence = []
                continue
            if is_comment(line, fields, self.width):
                continue
            if len(fields) != self.width:
                raise DataError(
                    f"expected {self.width} columns, found {len(fields)}",
                    where=f"{file.name}:{number}",
                    remedy="correct the row; a blank line ends a sentence",
                )
            if self.is_word(fields):
                sentence.append(Token(number, fields))
                if not len(sentence) % LONG:
                    file.allowance().fits(FIELD_BYTES * len(fields) * len(sentence), "a sentence")
        if sentence:
            yield sentence

    @property
    def word_and_tag(self) -> tuple[str, str]:
        return self.columns[0].name, self.columns[-1].name

    def is_word(self, fields: list[str]) -> bool:
        return True

    def token_line(self, row: int, token: int) -> int:
        return next(islice(self.sentences(self.files[0]), row, None))[token].line


class ConllU(Conll):
    """Ten named columns between tabs."""

    name = "conllu"
    suffixes = (*Conll.suffixes, ".conllu")
    title = "CoNLL-U"

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        likely = head.suffix in cls.suffixes or super().sniff(head)
        return Match.LIKELY.when(bool(likely and is_conllu(first_row(head.file))))

    def layout(self, first: str) -> tuple[str, Sequence[str]]:
        return "\t", CONLLU

    @property
    def word_and_tag(self) -> tuple[str, str]:
        return "form", "upos"

    def is_word(self, fields: list[str]) -> bool:
        return fields[0].isdigit()  # 1-2 is written as one word and counted as two, 1.1 not written


def cut_fields(line: str, delimiter: str) -> list[str]:
    if delimiter == "\t":
        return line.rstrip("\n").split("\t")
    return _SPACES.split(line.strip(" \t\n"))


def is_comment(line: str, fields: list[str], width: int) -> bool:
    """A line that begins with # and has not the columns of a token; # may be a word itself."""
    return line.startswith("#") and (len(fields) != width or bool(_COMMENT.match(line)))


def first_row(file: TextFile) -> str:
    """The first line that is not a comment; where all look like one, the first of them."""
    file.refuse_empty()
    lines = [line for line in file.head(SAMPLE) if not line.startswith(DOCUMENT_MARK)]
    rows = [line for line in lines if not line.startswith("#")]
    if not lines:
        raise DataError(
            "holds no sentence", where=file.name, remedy="name a file with words and their tags"
        )
    return (rows or lines)[0]


def conll_format(file: TextFile) -> str:
    """conll or conllu, by the first row."""
    return "conllu" if is_conllu(first_row(file)) else "conll"


def is_conllu(row: str) -> bool:
    """Ten columns between tabs; the first counts words from 1, the seventh names another word."""
    fields = row.split("\t")
    if len(fields) != len(CONLLU):
        return False
    return fields[0].split("-")[0] == "1" and (fields[6].isdigit() or fields[6] == "_")


def looks_like_conll(file: TextFile, data: DataConfig) -> bool:
    """Whether the first lines are rows of one width, with something like tags at their ends.

    Tags that mark spans are enough; others must repeat, and blank lines must break the rows.
    """
    lines = list(islice(file.lines(), SAMPLE))
    rows = [line for line in lines if line.strip() and not line.startswith(("#", DOCUMENT_MARK))]
    if not rows:
        return False
    delimiter = "\t" if all("\t" in row for row in rows) else " "
    widths = {len(cut_fields(row, delimiter)) for row in rows}
    width = widths.pop()
    if widths or width < 2:
        return False
    cut = [cut_fields(line, delimiter) for line in lines if line.strip()]
    tokens = [fields for fields in cut if len(fields) == width and fields[0] != DOCUMENT_MARK]
    if delimiter == "\t" and is_conllu("\t".join(tokens[0])):
        return True
    ends = [fields[-1] for fields in tokens]
    broken = any(not line.strip() for line in lines[: max(1, len(lines) - 1)])
    try:
        spans = guess_letters(list(dict.fromkeys(ends))) != "none"
    except WrongTag:
        return broken
    return spans or (broken and len(ends) > 10 and label_like(ends) and not data.text)
