"""The readers of all formats by name, and which of them a file needs."""

from __future__ import annotations

import re
from typing import NamedTuple

from unspool.config import DataConfig
from unspool.data.read.arff import Arff
from unspool.data.read.arrays import Arrays
from unspool.data.read.arrow import Arrow, Parquet
from unspool.data.read.chats import Chat
from unspool.data.read.clips import ClipArrays, Clips
from unspool.data.read.conll import Conll, ConllU
from unspool.data.read.content import SCORE, TO_MIDI
from unspool.data.read.corpora import Coco, Seg, Squad, Stories
from unspool.data.read.delimited import Csv, Tsv
from unspool.data.read.excel import Excel
from unspool.data.read.files import TextFile
from unspool.data.read.inkml import InkMl
from unspool.data.read.json_frames import JsonFrame
from unspool.data.read.json_lines import JsonArray, JsonLines
from unspool.data.read.markup import HtmlTable, MarkupText
from unspool.data.read.matlab import MatlabArrays
from unspool.data.read.media import MidiFiles, Pictures, Sounds, medium_of
from unspool.data.read.pixels import Idx, Pixels
from unspool.data.read.plain import (
    FastText,
    Folder,
    Folders,
    Labelled,
    LabelledLines,
    Lines,
    LongText,
    Parallel,
)
from unspool.data.read.reader import FileHead, Match, Reader, Shape
from unspool.data.read.rolls import Chorales, PianoRolls
from unspool.data.read.sketch import Sketches
from unspool.data.read.ts import Ts
from unspool.data.read.tsf import Tsf
from unspool.data.read.unipen import Unipen
from unspool.errors import DataError, Option, choose

# Order matters: later entries are tried first, so general formats precede specific ones.
FORMATS: dict[str, type[Reader]] = {
    reader.name: reader
    for reader in (
        LongText, Lines, MarkupText, Folder, Folders, Parallel, LabelledLines, Labelled, Csv, Tsv,
        JsonLines, JsonArray, JsonFrame, Coco, Squad, Stories, Seg, FastText, Chat, Unipen, InkMl,
        Ts, Arff, Tsf, Conll, ConllU, HtmlTable, Excel, Parquet, Arrow, Arrays, MatlabArrays,
        Pixels, ClipArrays, Sketches, Idx, Chorales, PianoRolls, Sounds, Pictures, Clips, MidiFiles,
    )
}  # fmt: skip
AUTO = "auto"
MARKDOWN = re.compile(r"\|?( *:?-{3,}:? *\|)+( *:?-{3,}:? *)?")  # below the names of a table

BIBTEX = re.compile(r"\s*@(article|book|inproceedings|misc|comment|string|phdthesis)\s*[{(]", re.I)


class Guess(NamedTuple):
    """A format; `certain` where a setting, suffix, JSON or header shows it."""

    reader: type[Reader]
    certain: bool


def guess_format(file: TextFile, data: DataConfig, *, sentences: bool = True) -> Guess:
    """The format by the settings, the first bytes, the file's suffix, or its first lines.

    sentences   whether it may be one of sentences in columns
    """
    if data.format != AUTO:
        return Guess(FORMATS[choose("format", data.format, [AUTO, *FORMATS])], certain=True)
    head = FileHead(file, data)
    readers = [r for r in reversed(FORMATS.values()) if sentences or r.shape != Shape.SENTENCES]
    for reader in readers:  # whatever it is called
        if reader.magic and head.magic.startswith(reader.magic) and reader.is_signed(head):
            return Guess(reader, certain=True)
    named = [reader for reader in readers if reader.is_named(head)]
    if named:  # the last is the most general
        return Guess(next((r for r in named[:-1] if r.sniff(head)), named[-1]), certain=True)
    if not head.lines:
        file.refuse_empty()
    else:
        refuse_unread(head)
        for reader in readers:
            if not reader.binary and (match := reader.sniff(head)):
                return Guess(reader, certain=match == Match.CERTAIN)
    return Guess(LongText, certain=False)


def refuse_unread(head: FileHead) -> None:
    """Raise a DataError for text in formats that are not read."""
    lines, name = head.lines, head.file.name
    if len(lines) > 1 and MARKDOWN.fullmatch(lines[1].strip()):
        raise DataError("is a table in Markdown", where=name, remedy="save it as CSV")
    if any(line.lstrip().startswith(("<score-partwise", "<score-timewise")) for line in lines):
        raise DataError(f"is {SCORE}", where=name, remedy=TO_MIDI)
    if lines[0].lstrip().startswith("<?xml") or head.suffix in (".xml", ".tei"):
        markup = (Option(format="markup"), " reads its text without tags; save rows as CSV")
        raise DataError("is XML", where=name, remedy=markup)
    if BIBTEX.match(lines[0]) or head.suffix == ".bib":
        remedy = ("export it as CSV, as Zotero and JabRef do; ", Option(format="text"), " reads it")
        raise DataError("is BibTeX", where=name, remedy=(*remedy, " as it stands"))
    cells = [line.split(" ") for line in lines]
    listed = len(lines) > 1 and all(len(row) == 2 and medium_of(row[0]) for row in cells)
    if listed and not (head.data.text or head.data.label):
        raise DataError(
            "is a list of files with spaces between their names and labels",
            where=name,
            remedy="put commas in place of the spaces, and a line file,label above them",
        )
