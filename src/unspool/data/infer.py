"""What a file holds, by looking at its name and its first lines: a `Layout` and a task.

The user's settings always win; what was inferred is said in one line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from unspool.config import DataConfig
from unspool.data.read.columns import (
    KNOWN_NAMES,
    LABEL_NAMES,
    SOURCE_NAMES,
    TEXT_NAMES,
    find_column,
    has_header,
    known,
    label_like,
    longest,
    plain,
)
from unspool.data.read.files import TextFile, stem
from unspool.data.rows import Layout, cut_label, json_field, json_rows, table_rows
from unspool.data.tables import SAMPLE, only_a_header, refuse_empty, sample_table
from unspool.errors import DataError

DEEP_SAMPLE = 100_000  # rows looked at to see whether a column changes in a sorted file
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
SPLIT_NAMES = frozenset({"train", "valid", "validation", "val", "dev", "test"})


UNLABELLED = ("pretrain", "elmo")  # tasks that read documents and no labels


class Guess(NamedTuple):
    """How to read a file, what to learn from it, and the line that says so."""

    layout: Layout
    task: str
    says: str


def infer(
    files: Sequence[TextFile], name: str, data: DataConfig, task: str | None, *, labelled: bool
) -> Guess:
    """The layout and the task of a file, or of the files of a folder."""
    labelled = labelled and task not in UNLABELLED
    if not labelled:
        data = data.model_copy(update={"label": None, "text": data.text or data.source})
    if Path(name).is_dir():
        return _folder(files, name, task)
    file = files[0]
    format = (
        data.format if data.format != "auto" else guess_format(file, data, task, labelled=labelled)
    )
    if format in ("csv", "tsv"):
        return _table(file, format, data, task, labelled=labelled)
    if format == "jsonl":
        return _jsonl(file, data, task, labelled=labelled)
    refuse_empty(file)
    if labelled and (data.text or data.label):
        raise DataError(
            f"was read as {PLAIN_NAMES[format]}, which has no columns to choose from",
            where=name,
            remedy="leave out --text and --label, or name the format with --set format=csv",
        )
    task = task or ("classify" if format == "labelled" else "generate")
    if format in ("lines", "labelled") and task == "generate":
        format = "text"
    layout = Layout(format, delimiter=label_delimiter(file.head(SAMPLE)))
    return Guess(layout, task, f"{file.name}: {PLAIN_NAMES[format]} -> {task}")


PLAIN_NAMES = {
    "labelled": "lines of `label text`",
    "lines": "one document a line",
    "text": "one long text",
}


def guess_format(file: TextFile, data: DataConfig, task: str | None, *, labelled: bool) -> str:
    """The format by the file's suffix, otherwise by its first lines."""
    suffix = Path(file.path.name.removesuffix(".gz")).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    lines = file.head(SAMPLE)
    if not lines:
        refuse_empty(file)
        return "text"
    if _is_json_object(lines[0]):
        return "jsonl"
    for format, delimiter in (("tsv", "\t"), ("csv", ",")):
        if _looks_like_table(lines, delimiter, asked=data.text):
            return format
    if not labelled:
        return "lines"
    if data.text or data.label:
        return "tsv" if "\t" in lines[0] else "csv"
    if task == "generate":
        return "text"
    widths = {line.count("\t") for line in lines}
    if len(widths) == 1 and min(widths) > 1:
        return "tsv"
    if _looks_labelled(lines):
        return "labelled"
    if widths == {1} and label_like([line.split("\t")[1] for line in lines]):
        return "tsv"
    return "lines" if task == "classify" else "text"


def _is_json_object(line: str) -> bool:
    if not line.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _looks_like_table(lines: Sequence[str], delimiter: str, *, asked: str | None) -> bool:
    """A first line of names, a known one among them, and columns in the line below it."""
    names = {plain(name) for name in lines[0].split(delimiter)}
    known_names = KNOWN_NAMES | ({plain(asked)} if asked else set())
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


def label_delimiter(lines: Sequence[str]) -> str:
    """A tab where every line has one, otherwise a space."""
    return "\t" if lines and all("\t" in line.strip() for line in lines) else " "


def _folder(files: Sequence[TextFile], name: str, task: str | None) -> Guess:
    stems = [stem(file.path) for file in files]
    if {plain(found) for found in stems} <= SPLIT_NAMES:
        raise DataError(
            f"the folder's files are named like splits, not like labels ({', '.join(stems)})",
            where=name,
            remedy="name the training file, and the others with --valid and --test",
        )
    task = task or "classify"
    if task == "generate":
        return Guess(Layout("text"), task, f"{name}: {len(files)} files of text -> {task}")
    if task in UNLABELLED:
        said = f"{name}: {len(files)} files, one item a line -> {task}"
        return Guess(Layout("lines"), task, said)
    said = f"{name}: {len(files)} files, one item a line, label = file name -> {task}"
    return Guess(Layout("folder"), task, said)


def _table(
    file: TextFile, format: str, data: DataConfig, task: str | None, *, labelled: bool
) -> Guess:
    labelled = labelled and task != "generate"
    delimiter, quoted, rows = sample_table(file, format)
    width = len(rows[0])
    asked = (data.text, data.label if labelled else None)
    header = data.header if data.header is not None else has_header(rows, asked=asked)
    names = [cell.strip() for cell in rows[0]] if header else [str(i + 1) for i in range(width)]
    body = rows[1:] if header else rows
    if not body:
        raise only_a_header(file)
    columns = {i: [row[i].strip() for row in body] for i in range(width)}
    titles = dict(enumerate(names)) if header else {}
    where = f"{file.name}:1"

    text = label = None
    if data.text is not None:
        text = find_column(data.text, names, option="--text", where=where)
    if data.label is not None and labelled:
        label = find_column(data.label, names, option="--label", where=where)
    if text is None:
        text = known({i: name for i, name in titles.items() if i != label}, text_names(task))
    if text is None:
        text = 0 if task == "translate" else longest(columns, but=label)
    if text is None or text == label:
        raise _same_column(names[label or 0], where)
    if label is None and labelled:
        label = known({i: name for i, name in titles.items() if i != text}, LABEL_NAMES)
        if label is None:
            label = _likely_label(file, delimiter, quoted, columns, text)
    task = task or ("generate" if label is None else "classify")
    layout = Layout(format, text, label, delimiter, quoted, header, width)
    shown = [repr(name) if header else name for name in names]
    said = f"{file.name}: {format.upper()}{'' if header else ' without a header'}"
    said += f", text in column {shown[text]}"
    if label is not None:
        said += f", label in {shown[label]}" if header else f", label in column {shown[label]}"
    return Guess(layout, task, f"{said} -> {task}")


def text_names(task: str | None) -> tuple[str, ...]:
    """What the column of the texts may be called."""
    return SOURCE_NAMES + TEXT_NAMES if task == "translate" else TEXT_NAMES


def _likely_label(
    file: TextFile, delimiter: str, quoted: bool, columns: dict[int, list[str]], text: int
) -> int | None:
    """The label-like column with the fewest values, the leftmost of equals.

    A file sorted by label may show only one value at first, so columns that have been constant so
    far are followed further down.
    """
    kinds = {
        i: len(set(values)) for i, values in columns.items() if i != text and label_like(values)
    }
    constant = {i: columns[i][0] for i, n in kinds.items() if n == 1}
    if constant and len(columns[text]) >= SAMPLE - 1:
        rows = table_rows(file, delimiter=delimiter, quoted=quoted)
        for _, row in islice(rows, SAMPLE, DEEP_SAMPLE):
            if not constant:
                break
            for i in [i for i, value in constant.items() if i < len(row) and row[i] != value]:
                kinds[i] = 2
                del constant[i]
    varied = {i: n for i, n in kinds.items() if n > 1} or kinds
    return min(varied, key=lambda i: (varied[i], i)) if varied else None


def _jsonl(file: TextFile, data: DataConfig, task: str | None, *, labelled: bool) -> Guess:
    labelled = labelled and task != "generate"
    rows = list(islice(json_rows(file), SAMPLE))
    if not rows:
        refuse_empty(file)
    line, first = rows[0]
    where = f"{file.name}:{line}"
    names = {name: name for name in first}
    columns = {name: [str(row.get(name, "")) for _, row in rows] for name in first}
    strings = {name: values for name, values in columns.items() if isinstance(first[name], str)}

    text, label = data.text, data.label if labelled else None
    for asked in (text, label):
        if asked is not None:
            json_field(first, asked, where)
    text = text or known({n: n for n in strings if n != label}, text_names(task))
    text = text or longest(strings, but=label)
    if text is None:
        raise DataError(
            f"no field holds a text among {', '.join(names) or 'none'}",
            where=where,
            remedy="name the field of the text with --text",
        )
    if text == label:
        raise _same_column(text, where)
    if label is None and labelled:
        others = {name: name for name in names if name != text}
        label = known(others, LABEL_NAMES)
        if label is None:
            kinds = {n: len(set(columns[n])) for n in others if label_like(columns[n])}
            varied = {n: k for n, k in kinds.items() if k > 1} or kinds
            label = min(varied, key=lambda n: varied[n]) if varied else None
    task = task or ("generate" if label is None else "classify")
    said = f"{file.name}: JSON lines, text in field {text!r}"
    said += f", label in {label!r}" if label is not None else ""
    return Guess(Layout("jsonl", text, label), task, f"{said} -> {task}")


def _same_column(name: str, where: str) -> DataError:
    return DataError(
        f"the text and the label are the same column {name!r}",
        where=where,
        remedy="name two different columns with --text and --label",
    )
