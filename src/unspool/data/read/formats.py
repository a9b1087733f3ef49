"""Which format a file has, by its name and its first lines, and the reader of each format."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from unspool.config import DataConfig
from unspool.data.read.arrays import Arrays
from unspool.data.read.arrow import Arrow, Parquet
from unspool.data.read.clips import ClipArrays, Clips, holds_clips
from unspool.data.read.coco import Coco, looks_like_coco
from unspool.data.read.columns import KNOWN_NAMES, TEXT_NAMES, is_number, label_like, plain
from unspool.data.read.conll import Conll, ConllU, conll_format, looks_like_conll
from unspool.data.read.content import SCORE, TO_MIDI, is_idx
from unspool.data.read.delimited import Csv, Tsv
from unspool.data.read.excel import Excel
from unspool.data.read.files import TextFile
from unspool.data.read.folder import Folder, Folders
from unspool.data.read.idx import Idx
from unspool.data.read.inkml import InkMl
from unspool.data.read.json_lines import JsonArray, JsonLines
from unspool.data.read.media import MidiFiles, Pictures, Sounds, medium_of
from unspool.data.read.parallel import Parallel
from unspool.data.read.pixels import Pixels, holds_images
from unspool.data.read.plain import (
    MARK,
    FastText,
    Labelled,
    Lines,
    LongText,
    cut_label,
    label_delimiter,
)
from unspool.data.read.reader import SAMPLE, Reader, refuse_empty
from unspool.data.read.rolls import Chorales, PianoRolls, holds_chords
from unspool.data.read.seg import Seg, looks_like_seg
from unspool.data.read.sketch import Sketches, holds_sketches
from unspool.data.read.squad import Squad, looks_like_squad
from unspool.data.read.stories import Stories, looks_like_stories
from unspool.data.read.ts import Ts
from unspool.data.read.unipen import Unipen
from unspool.errors import DataError

FORMATS: dict[str, type[Reader]] = {
    "csv": Csv,
    "tsv": Tsv,
    "jsonl": JsonLines,
    "json": JsonArray,
    "parquet": Parquet,
    "arrow": Arrow,
    "excel": Excel,
    "ts": Ts,
    "npy": Arrays,
    "audio": Sounds,
    "image": Pictures,
    "music": MidiFiles,
    "chorales": Chorales,
    "rolls": PianoRolls,
    "pixels": Pixels,
    "idx": Idx,
    "video": Clips,
    "clips": ClipArrays,
    "sketch": Sketches,
    "inkml": InkMl,
    "unipen": Unipen,
    "labelled": Labelled,
    "fasttext": FastText,
    "lines": Lines,
    "text": LongText,
    "folder": Folder,
    "folders": Folders,
    "conll": Conll,
    "conllu": ConllU,
    "parallel": Parallel,
    "seg": Seg,
    "squad": Squad,
    "coco": Coco,
    "stories": Stories,
}
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".ts": "ts",
    ".npy": "npy",
    ".npz": "npy",
    ".mat": "rolls",
    ".inkml": "inkml",
    ".unp": "unipen",
    ".unipen": "unipen",
    ".seg": "seg",
}
SENTENCE_SUFFIXES = {
    ".conll": "conll",
    ".iob": "conll",
    ".iob2": "conll",
    ".bio": "conll",
    ".conllu": "conllu",
}
MARKDOWN = re.compile(r"\|?( *:?-{3,}:? *\|)+( *:?-{3,}:? *)?")  # below the names of a table
FEWEST_NUMBERS = 3  # columns of a table of numbers


class Guess(NamedTuple):
    """A format; `certain` where a setting, the suffix, JSON or a header of known names shows it,
    rather than the look of the lines."""

    format: str
    certain: bool


def guess_format(file: TextFile, data: DataConfig, *, sentences: bool = True) -> Guess:
    """The format by the settings, by the file's suffix, otherwise by its first lines.

    sentences   whether it may be one of sentences in columns
    """
    if data.format != "auto":
        return Guess(data.format, True)
    suffix = Path(file.content_name).suffix.lower()
    if suffix == ".npz" and holds_sketches(file):
        return Guess("sketch", True)
    if suffix in (".npz", ".npy"):
        asked, auto = data.input, data.input == "auto"
        if asked == "video" or (auto and holds_clips(file)):
            return Guess("clips", True)
        if asked == "image" or (auto and holds_images(file)):
            return Guess("pixels", True)
    if suffix in SUFFIXES:
        return Guess(SUFFIXES[suffix], True)
    if is_idx(file.content_name):
        return Guess("idx", True)
    if suffix == ".json" and holds_chords(file, asked=data.input == "music"):
        return Guess("chorales", True)
    if suffix == ".json" and looks_like_squad(file):
        return Guess("squad", True)
    if suffix == ".json" and looks_like_coco(file):
        return Guess("coco", True)
    if suffix == ".json":
        return Guess("json" if _is_json_array(file) else "jsonl", True)
    if sentences and suffix in SENTENCE_SUFFIXES:
        found = SENTENCE_SUFFIXES[suffix]
        return Guess(conll_format(file) if found == "conll" else found, True)
    if sentences and looks_like_conll(file, data):
        return Guess(conll_format(file), False)
    lines = file.head(SAMPLE)
    if not lines:
        refuse_empty(file)
        return Guess("text", False)
    if len(lines) > 1 and MARKDOWN.fullmatch(lines[1].strip()):
        raise DataError("is a table in Markdown", where=file.name, remedy="save it as CSV")
    if any(line.lstrip().startswith(("<score-partwise", "<score-timewise")) for line in lines):
        raise DataError(f"is {SCORE}", where=file.name, remedy=TO_MIDI)
    if lines[0].lower().startswith("@problemname"):
        return Guess("ts", True)
    if any(line.startswith(".PEN_DOWN") for line in lines):
        return Guess("unipen", True)
    if sum(line.lstrip().startswith(MARK) for line in lines) > 0.5 * len(lines):
        return Guess("fasttext", True)
    if looks_like_seg(lines):
        return Guess("seg", True)
    if looks_like_stories(lines):
        return Guess("stories", True)
    if _is_json_object(lines[0]) or lines[0].lstrip().startswith("[["):
        return Guess("jsonl", True)
    if _is_json_array(file):
        return Guess("json", True)
    names = {plain(name) for own in data.columns.values() for name in own}
    names |= {plain(data.text)} if data.text else set()
    for format, delimiter in (("tsv", "\t"), ("csv", ",")):
        if _looks_like_table(lines, delimiter, names):
            return Guess(format, True)
    if numbers := _number_table(lines):
        return Guess(numbers, True)
    return Guess(_by_look(lines, data, file.name), False)


def _number_table(lines: Sequence[str]) -> str | None:
    """A table, where each line has as many cells, and nearly all of them are numbers."""
    for format, delimiter in (("tsv", "\t"), ("csv", ",")):
        rows = [line.split(delimiter) for line in lines]
        cells = [cell.strip() for row in rows[1:] for cell in row]
        filled = [cell for cell in cells if cell]
        if min(map(len, rows)) < FEWEST_NUMBERS or len({len(row) for row in rows}) > 1:
            continue
        if sum(map(is_number, filled)) > 0.8 * len(filled):
            return format
    return None


def _by_look(lines: Sequence[str], data: DataConfig, name: str) -> str:
    """A table where columns were asked for, or lines are cut alike by tabs; lines of `label text`;
    otherwise one long text."""
    if data.text or data.label:
        return "tsv" if "\t" in lines[0] else "csv"
    widths = {line.count("\t") for line in lines}
    if len(widths) == 1 and min(widths) > 1:
        return "tsv"
    if widths == {1} and all(medium_of(line.split("\t")[0]) for line in lines):
        return "tsv"
    cells = [line.split(" ") for line in lines]
    if len(lines) > 1 and all(len(own) == 2 and medium_of(own[0]) for own in cells):
        raise DataError(
            "is a list of files with spaces between their names and labels",
            where=name,
            remedy="put commas in place of the spaces, and a line file,label above them",
        )
    if _looks_labelled(lines):
        return "labelled"
    if widths == {1} and label_like([line.split("\t")[1] for line in lines]):
        return "tsv"
    return "text"


def _is_json_object(line: str) -> bool:
    if not line.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _is_json_array(file: TextFile) -> bool:
    """An array of objects; or an object over several lines, or one that holds such an array."""
    start = next(file.blocks(), "").lstrip()
    if re.match(r"\[\s*[{\]]", start):
        return True
    line = start.partition("\n")[0]
    if not _is_json_object(line):
        return bool(re.match(r'\{\s*("|$)', start))
    found = json.loads(line)
    lists = {name: own for name, own in found.items() if isinstance(own, list) and own}
    more = start[len(line) :].strip()
    # Of columns in an object, which is refused by what it is.
    columns = any(name in TEXT_NAMES for name in lists) or {"columns", "data"} <= lists.keys()
    return not more and (columns or any(isinstance(own[0], dict) for own in lists.values()))


def _looks_like_table(lines: Sequence[str], delimiter: str, asked: Collection[str]) -> bool:
    """A first line of names, a known one or one asked for among them, and columns in the line below
    it."""
    names = {plain(name) for name in lines[0].split(delimiter)}
    known_names = KNOWN_NAMES.union(asked)
    return len(lines) > 1 and len(names) > 1 and delimiter in lines[1] and bool(names & known_names)


def _looks_labelled(lines: Sequence[str]) -> bool:
    """Whether the first words are few and come again and again, each before some text."""
    delimiter = label_delimiter(lines)
    pairs = [cut_label(line, delimiter) for line in lines]
    if sum(bool(text) for _, text in pairs) < 0.9 * len(pairs):
        return False
    counts = Counter(label for label, _ in pairs)
    if len(lines) < 20:
        return len(lines) > 1 and min(counts.values()) > 1
    return len(counts) <= max(2, len(lines) // 10)
