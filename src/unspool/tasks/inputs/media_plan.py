"""Which column of a table are files of sound and the like, and which their label, number or text.

Such files are a table with a row a file (`data/read/media.py`); any other table may have a column
with their names, beside it in its folder.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from unspool.config import DataConfig
from unspool.data.parts import split_column
from unspool.data.plan import Conversion, Plan, Values
from unspool.data.read import Column, Table
from unspool.data.read.columns import LABEL_NAMES, TEXT_NAMES, is_number, known, label_like, shown
from unspool.data.read.files import unreadable
from unspool.data.read.json_lines import json_label, json_text
from unspool.data.read.media import Medium
from unspool.errors import DataError
from unspool.tasks.inputs.kind import Asked, Target

FIT = 5
TABLES = ("csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel", "memory")
TEXTS = ("text", "transcript", "transcription", "sentence", "words", *TEXT_NAMES)
CAPTIONS = ("caption", "captions")  # of images; texts that no line need say, so asked for alone
NUMBERS = ("target", "number", "score", *LABEL_NAMES)
NAMES: dict[Target, tuple[str, ...]] = {
    "label": LABEL_NAMES,
    "number": NUMBERS,
    "tags": (),
    "text": TEXTS,
}


def media_column(table: Table, data: DataConfig, medium: Medium) -> Column | None:
    """The column of the files."""
    if data.input not in ("auto", medium.name):
        return None
    if table.format == medium.name:
        return table.columns[0]
    if table.format not in TABLES:
        return None
    if data.input == medium.name and data.series is not None:
        return table.column(data.series, option="--series")
    for column in table.columns:
        given = [value for value in column.sample if isinstance(value, str) and value]
        if given and sum(map(medium.named, given)) > 0.9 * len(given):
            return column
    return None


def plan_media(
    medium: Medium, files: Column | None, table: Table, data: DataConfig, asked: Asked
) -> Plan | None:
    """None where the table holds no such files, or not what the task needs of them.

    files   their column, or None
    """
    task, target, named, outputs = asked
    if files is None:
        if data.input == medium.name:
            raise DataError(
                f"no {medium.noun} found",
                where=table.name,
                remedy="name a folder of files, or a table with a column of their names",
            )
        return None
    about, settings = described(table, files, medium), {"data.input": medium.name}
    located = Located(table, files, medium)
    columns = {medium.name: located.column}
    if not outputs:
        convert = located.convert(None)
        return Plan(task, table, columns, FIT, f"{about} -> {task}", convert, settings)
    answer = answer_column(table, data, files, medium, target, named=named)
    if answer is None:
        if named or not any(
            answer_column(table, data, files, medium, other, named=False)
            for other in ("label", "number", "text")
        ):
            raise nothing_to_learn(task, table, medium, target)
        return None
    column, why = answer
    columns[target] = column
    summary = f"{about}, {why} -> {task}"
    return Plan(task, table, columns, FIT, summary, located.convert(target), settings)


def described(table: Table, files: Column, medium: Medium) -> str:
    if table.format in (medium.name, "pixels", "chorales", "rolls"):
        return table.summary
    return f"{table.summary}, {medium.noun} in {table.reader.noun} {files.name!r}"


def answer_column(
    table: Table, data: DataConfig, files: Column, medium: Medium, target: Target, *, named: bool
) -> tuple[Column, str] | None:
    """The column of what is to be learnt, and how the summary calls it."""
    if target == "tags":
        return None
    asked = data.text if target == "text" else data.label
    if asked is not None:
        found = table.column(asked, option=f"--{'text' if target == 'text' else 'label'}")
        return found, f"{target} in {found.name!r}"
    if (data.label if target == "text" else data.text) is not None:
        return None
    others = [c for c in table.columns if c.number != files.number]
    others = [c for c in others if c != split_column(table, data)]
    names = (*NAMES[target], *(CAPTIONS if target == "text" and named else ()))
    if table.header and (usual := known(others, names)) is not None:
        values = shown(usual.sample)
        fits = target != "number" or (all(map(is_number, values)) and not label_like(values))
        return (usual, f"{target} in {usual.name!r}") if named or fits else None
    by_path = {c.name: c for c in others} if table.format == medium.name else {}
    if target == "label" and "folder" in by_path:
        return by_path["folder"], "label = folder (--label name_1 or --set pattern= for others)"
    if target == "text" and named and "name" in by_path:
        return by_path["name"], "text = name of the file, _ for spaces (--set pattern= for others)"
    return None


def nothing_to_learn(task: str, table: Table, medium: Medium, target: Target) -> DataError:
    if target == "tags":
        return DataError(
            f"holds {medium.noun} without a label for each step, which {task} needs",
            where=table.name,
            remedy="use --task classify or --task transcribe",
        )
    what = {"label": "labels", "number": "numbers", "text": "texts"}[target]
    parts = [c for c in table.columns if c.name.startswith("name_")]
    remedy = "name their column with " + ("--text" if target == "text" else "--label")
    if table.format == medium.name:
        shown_parts = ", ".join(f"{c.name} ({c.sample[0]})" for c in parts[:4])
        remedy = "put the files of each label into a folder of its own, or name a part of their"
        remedy += f" names with --label: {shown_parts}" if parts else " names with --set pattern="
        remedy += "; texts: --task transcribe"
    return DataError(
        f"holds {medium.noun} without {what}, which {task} needs", where=table.name, remedy=remedy
    )


class Located:
    """The column of a table as files: paths in it are relative to the table's own folder.

    column    with values in place of names
    print     of the sizes and times of all files, for the key of a cache
    """

    def __init__(self, table: Table, files: Column, medium: Medium) -> None:
        self.medium = medium
        self.home = Path()
        self.by_name = table.format == medium.name
        self.column, self.print = files, ""
        if not any(isinstance(value, str) for value in files.sample):  # values already
            return
        self.home = Path(table.files[0].path).parent if table.files else Path()
        digest = hashlib.sha256()
        for row in table.rows([files]):
            own = self.value(row.values[0], table.where(row.line, file=row.file))
            assert own.path is not None
            about = own.path.stat()
            digest.update(f"{own.path}\0{about.st_size}\0{about.st_mtime_ns}\n".encode())
        self.print = digest.hexdigest()
        first = [value for value in files.sample if value not in (None, "")]
        self.column = files._replace(sample=[self.value(value, "") for value in first])

    def value(self, given: Any, where: str) -> Any:
        """What is in a file, by its name."""
        if given is not None and not isinstance(given, str):
            return given
        if not given or not given.strip():
            raise DataError(
                "the name of the file is missing",
                where=where,
                remedy="fill it in, or leave the row out",
            )
        path = self.home / given.strip()
        if not path.is_file():
            error = unreadable(path, str(path), FileNotFoundError())
            raise DataError(str(error), where=where)
        return self.medium.make(path, str(path))

    def convert(self, target: Target | None) -> Conversion:
        def function(values: Values, names: tuple[str, ...], where: str) -> Values:
            own = self.value(values[0], where)
            if target is None:
                return (own,)
            answer = values[1]
            if target == "label":
                answer = json_label(answer, names[1], where)
            elif target == "text":
                answer = json_text(answer, names[1], where)
                if self.by_name:
                    answer = answer.replace("_", " ")
                answer = " ".join(answer.split())
            return own, answer

        return Conversion(f"{self.medium.noun} {self.print} and {target}", function)
