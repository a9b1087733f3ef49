"""Which column of a table is sound, and which its label, number or text.

Files of sound are a table with a row a file (`data/read/sounds.py`); any other table may have a
column with the names of such files, beside it in its folder.
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
from unspool.data.read.sound import Sound, is_sound
from unspool.errors import DataError
from unspool.tasks.inputs.kind import Target

FIT = 5
AUDIO = "audio"  # the format of files of sound, and the field
TABLES = ("csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel", "memory")
TEXTS = ("text", "transcript", "transcription", "sentence", "words", *TEXT_NAMES)
NUMBERS = ("target", "number", "score", *LABEL_NAMES)
NAMES: dict[Target, tuple[str, ...]] = {
    "label": LABEL_NAMES,
    "number": NUMBERS,
    "tags": (),
    "text": TEXTS,
}


def sound_column(table: Table, data: DataConfig) -> Column | None:
    """The column of the sound."""
    if data.input not in ("auto", AUDIO):
        return None
    if table.format == AUDIO:
        return table.columns[0]
    if table.format not in TABLES:
        return None
    if data.input == AUDIO and data.series is not None:
        return table.column(data.series, option="--series")
    for column in table.columns:
        given = [value for value in column.sample if isinstance(value, str) and value]
        if given and sum(map(is_sound, given)) > 0.9 * len(given):
            return column
    return None


def plan_audio(
    task: str, table: Table, data: DataConfig, *, target: Target, named: bool, outputs: bool
) -> Plan | None:
    """None where the table holds no sound, or not what the task needs of it."""
    sound = sound_column(table, data)
    if sound is None:
        if data.input == AUDIO and named:
            raise DataError(
                "no files of sound were found",
                where=table.name,
                remedy="name a folder of them, or a table with a column of their names",
            )
        return None
    about, settings = described(table, sound), {"data.input": AUDIO}
    located = with_files(table, sound)
    if not outputs:
        plan = {AUDIO: located.column}
        return Plan(task, table, plan, FIT, f"{about} -> {task}", located.convert(None), settings)
    answer = answer_column(table, data, sound, target, named=named)
    if answer is None:
        if named or not any(
            answer_column(table, data, sound, other, named=False)
            for other in ("label", "number", "text")
        ):
            raise nothing_to_learn(task, table, target)
        return None
    column, why = answer
    columns = {AUDIO: located.column, target: column}
    summary = f"{about}, {why} -> {task}"
    return Plan(task, table, columns, FIT, summary, located.convert(target), settings)


def described(table: Table, sound: Column) -> str:
    if table.format == AUDIO:
        return table.summary
    return f"{table.summary}, sound in {table.reader.noun} {sound.name!r}"


def answer_column(
    table: Table, data: DataConfig, sound: Column, target: Target, *, named: bool
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
    others = [c for c in table.columns if c.number != sound.number]
    others = [c for c in others if c != split_column(table, data)]
    if table.header and (usual := known(others, NAMES[target])) is not None:
        values = shown(usual.sample)
        fits = target != "number" or (all(map(is_number, values)) and not label_like(values))
        return (usual, f"{target} in {usual.name!r}") if named or fits else None
    by_path = {c.name: c for c in others} if table.format == AUDIO else {}
    if target == "label" and "folder" in by_path:
        return by_path["folder"], "label = folder (--label name_1 or --set pattern= for others)"
    if target == "text" and named and "name" in by_path:
        return by_path["name"], "text = name of the file, _ for spaces (--set pattern= for others)"
    return None


def nothing_to_learn(task: str, table: Table, target: Target) -> DataError:
    if target == "tags":
        return DataError(
            f"sound has no label for each step, which {task} needs",
            where=table.name,
            remedy="use --task classify or --task transcribe",
        )
    what = {"label": "labels", "number": "numbers", "text": "texts"}[target]
    parts = [c for c in table.columns if c.name.startswith("name_")]
    remedy = "name their column with " + ("--text" if target == "text" else "--label")
    if table.format == AUDIO:
        shown_parts = ", ".join(f"{c.name} ({c.sample[0]})" for c in parts[:4])
        remedy = "put the files of each label into a folder of its own, or name a part of their"
        remedy += f" names with --label: {shown_parts}" if parts else " names with --set pattern="
        remedy += "; texts: --task transcribe"
    return DataError(
        f"holds sound without {what}, which {task} needs", where=table.name, remedy=remedy
    )


class Located:
    """The column of a table as files: paths in it are relative to the table's own folder.

    column    with sounds in place of names
    print     of the sizes and times of all files, for the key of a cache
    """

    def __init__(self, table: Table, sound: Column) -> None:
        self.home: Path | None = None
        self.column, self.print = sound, ""
        if table.format == AUDIO:
            return
        self.home = Path(table.files[0].path).parent if table.files else Path()
        digest = hashlib.sha256()
        for row in table.rows([sound]):
            own = self.sound(row.values[0], table.where(row.line, file=row.file))
            assert own.path is not None
            about = own.path.stat()
            digest.update(f"{own.path}\0{about.st_size}\0{about.st_mtime_ns}\n".encode())
        self.print = digest.hexdigest()
        first = [value for value in sound.sample if value not in (None, "")]
        self.column = sound._replace(sample=[self.sound(value, "") for value in first])

    def sound(self, value: Any, where: str) -> Sound:
        if isinstance(value, Sound):
            return value
        assert self.home is not None
        if not isinstance(value, str) or not value.strip():
            raise DataError(
                "the name of the sound is missing",
                where=where,
                remedy="fill it in, or leave the row out",
            )
        path = self.home / value.strip()
        if not path.is_file():
            error = unreadable(path, str(path), FileNotFoundError())
            raise DataError(str(error), where=where)
        return Sound(path, str(path))

    def convert(self, target: Target | None) -> Conversion:
        def function(values: Values, names: tuple[str, ...], where: str) -> Values:
            sound = self.sound(values[0], where)
            if target is None:
                return (sound,)
            answer = values[1]
            if target == "label":
                answer = json_label(answer, names[1], where)
            elif target == "text":
                answer = json_text(answer, names[1], where)
                if self.home is None:  # of a name
                    answer = answer.replace("_", " ")
                answer = " ".join(answer.split())
            return sound, answer

        return Conversion(f"sound {self.print} and {target}", function)


def with_files(table: Table, sound: Column) -> Located:
    return Located(table, sound)
