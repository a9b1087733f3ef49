"""Which column of a table are files of sound and the like, and which their label, number or text.

Such files are a table with a row a file (`data/read/media.py`); any other table may have a column
with their names, beside it in its folder or in a folder there. Captions may be several: rows of the
same file are one row then.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from unspool.config import DataConfig
from unspool.data.fields.texts import texts_of
from unspool.data.parts import split_column
from unspool.data.plan import Conversion, Plan, Values
from unspool.data.read import Column, Table
from unspool.data.read.clip import is_clip
from unspool.data.read.columns import (
    CAPTION_NAMES,
    LABEL_NAMES,
    TEXT_NAMES,
    is_number,
    known,
    label_like,
    shown,
)
from unspool.data.read.files import unreadable
from unspool.data.read.grouped import grouped_table
from unspool.data.read.json_lines import json_label, json_text
from unspool.data.read.media import MEDIA, MUSIC, Medium, stamp
from unspool.data.read.reader import joined
from unspool.errors import DataError
from unspool.tasks.inputs.kind import Asked, Target
from unspool.tasks.inputs.series_plan import step_labels

FIT = 5
ROLLS = ("chorales", "rolls")  # formats of frames of music
TABLES = ("csv", "tsv", "jsonl", "json", "parquet", "arrow", "excel", "memory")
TEXTS = ("text", "transcript", "transcription", "sentence", "words", *TEXT_NAMES)
SEVERAL = re.compile(r"(caption|description|text|sentence)s?[ _-]?\d+")  # caption_1, caption_2
NUMBERS = ("target", "number", "score", *LABEL_NAMES)
NAMES: dict[Target, tuple[str, ...]] = {
    "label": LABEL_NAMES,
    "number": NUMBERS,
    "tags": ("tags", "labels", "frames", *LABEL_NAMES),
    "text": (*TEXTS, *CAPTION_NAMES),
    "caption": (*CAPTION_NAMES, *TEXTS),
}
# Of two tasks that learn texts, which the other one is for.
OTHERS: dict[Target, str] = {
    "text": "--task caption where texts describe what is seen",
    "caption": "--task transcribe where texts are what is written there",
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
    columns = table.columns
    if data.series is not None:
        columns = table.several(data.series, option="--series")
    for column in columns:
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
    answer, why = None, ""
    if outputs:
        found = answer_column(table, data, files, medium, target, named=named)
        if found is None:
            if named or not any(
                answer_column(table, data, files, medium, other, named=False)
                for other in ("label", "number", "text", "caption")
            ):
                raise nothing_to_learn(task, table, medium, target)
            return None
        answer, why = found
    if target == "caption":
        lines = len(files.sample)
        table, files, answer = by_file(table, data, files, medium, answer)
        if len(files.sample) < lines:
            why += ", all of a file together"
    located = Located(table, files, medium)
    columns = {medium.name: located.column}
    if answer is None:
        convert = located.convert(None)
        return Plan(task, table, columns, FIT, f"{about} -> {task}", convert, settings)
    columns[target] = answer
    summary = f"{about}{located.remark}, {why} -> {task}"
    if medium.described and not named and target in OTHERS:
        summary += f" ({OTHERS[target]})"
    return Plan(task, table, columns, FIT, summary, located.convert(target), settings)


def by_file(
    table: Table, data: DataConfig, files: Column, medium: Medium, captions: Column | None
) -> tuple[Table, Column, Column | None]:
    """The table with a row a file, and its columns."""
    gathered = [] if captions is None else [captions]
    fixed = split_column(table, data)
    found = grouped_table(table, files, gathered, same=medium.file_of, fixed=fixed)
    own = {column.number: column for column in found.columns}
    if captions is None:
        return found, own[files.number], None
    parts = joined([own[part.number] for part in captions.own])
    return found, own[files.number], parts._replace(name=captions.name)


def described(table: Table, files: Column, medium: Medium) -> str:
    if table.format in (medium.name, "pixels", *ROLLS):
        return table.summary
    return f"{table.summary}, {medium.noun} in {table.reader.noun} {files.name!r}"


def refuse_media(table: Table, task: str) -> None:
    """Files whose names are all the text that there is, where texts are learnt."""
    found = [own for own in MEDIA if table.format == own.name]
    music = found == [MUSIC] or table.format in ROLLS
    if not found and not music:
        return
    raise DataError(
        f"holds {'music' if music else found[0].noun}, and {task} learns texts",
        where=table.name,
        remedy="--task compose goes on with music" if music else "name a file of texts",
    )


def answer_column(
    table: Table, data: DataConfig, files: Column, medium: Medium, target: Target, *, named: bool
) -> tuple[Column, str] | None:
    """The column of what is to be learnt, and how the summary calls it."""
    if target == "tags" and not medium.stepped:
        return None
    of_texts = target in ("text", "caption")
    asked = data.text if of_texts else data.label
    if asked is not None:
        if of_texts and not named and (target == "caption") != (asked in medium.described):
            return None
        if target == "caption":
            found = joined(table.several(asked, option="--text"))
        else:
            found = table.column(asked, option=f"--{'text' if of_texts else 'label'}")
        return found, f"{target} in {found.name!r}"
    if (data.label if of_texts else data.text) is not None:
        return None
    others = [c for c in table.columns if c.number != files.number]
    others = [c for c in others if c != split_column(table, data)]
    names = NAMES[target]
    if of_texts and not named:
        names = text_names(files, medium, target)
    if target == "caption" and (several := several_captions(table, others, named=named)):
        return several, f"captions in {several.name}"
    if table.header and (usual := known(others, names)) is not None:
        values, lists = shown(usual.sample), a_step(usual)
        fits = lists if target == "tags" else of_texts or not lists
        if target == "number":
            fits = fits and all(map(is_number, values)) and not label_like(values)
        return (usual, f"{target} in {usual.name!r}") if named or fits else None
    by_path = {c.name: c for c in others} if table.format == medium.name else {}
    if target == "label" and "folder" in by_path:
        return by_path["folder"], "label = folder (--label name_1 or --set pattern= for others)"
    if target == "text" and named and "name" in by_path:
        return by_path["name"], "text = name of the file, _ for spaces (--set pattern= for others)"
    return None


def a_step(column: Column) -> bool:
    """Whether values are a label for each step: lists, or words between spaces, fewer than rows."""
    given = [value for value in column.sample if value not in (None, "")]
    if not given or all(isinstance(value, list) for value in given):
        return bool(given)
    words = [str(value).split() for value in given]
    few = len({word for own in words for word in own}) <= max(2, len(given) // 2)
    return few and sum(len(own) > 1 for own in words) > 0.9 * len(given)


def text_names(files: Column, medium: Medium, target: Target) -> tuple[str, ...]:
    """Names of columns whose texts are for `target`, where no task was named: those that describe
    files, or any of files that occur again, are captions."""
    names = [medium.file_of(own) for own in files.sample if isinstance(own, str)]
    if medium.described and len(set(names)) < len(names):
        return NAMES["caption"] if target == "caption" else ()
    if target == "caption":
        return medium.described
    return tuple(name for name in TEXTS if name not in medium.described)


def several_captions(table: Table, others: list[Column], *, named: bool) -> Column | None:
    """Columns such as caption_1 and caption_2, as one; or the only column of texts beside the names
    of files, in a table without a header."""
    if table.header:
        found = [c for c in others if SEVERAL.fullmatch(c.name.strip().lower())]
        captions = [c for c in found if c.name.strip().lower().startswith(CAPTION_NAMES)]
        return joined(found) if captions or (found and named) else None
    spoken = [c for c in others if sum(" " in own for own in shown(c.sample)) > len(c.sample) / 2]
    return spoken[0] if len(spoken) == 1 else None


def nothing_to_learn(task: str, table: Table, medium: Medium, target: Target) -> DataError:
    if target == "tags" and medium.stepped:
        return DataError(
            f"holds {medium.noun} without a label for each frame, which {task} needs",
            where=table.name,
            remedy="name a column of lists of labels, or of labels with spaces between them, with"
            " --label; a label a clip: --task classify",
        )
    if target == "tags":
        return DataError(
            f"holds {medium.noun} without a label for each step, which {task} needs",
            where=table.name,
            remedy="use --task classify or --task transcribe",
        )
    what = {"label": "labels", "number": "numbers", "text": "texts", "caption": "captions"}[target]
    parts = [c for c in table.columns if c.name.startswith("name_")]
    remedy = "name their column with " + ("--label" if target in ("label", "number") else "--text")
    if table.format == medium.name and target == "caption":
        remedy = "write a table with columns file and caption into their folder"
    elif table.format == medium.name:
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
    remark    for the summary: where they are, if not beside the table, and how many it leaves out
    """

    def __init__(self, table: Table, files: Column, medium: Medium) -> None:
        self.medium = medium
        self.home = Path()
        self.by_name = table.format == medium.name
        self.column, self.print, self.remark = files, "", ""
        if not any(isinstance(value, str) for value in files.sample):  # values already
            return
        self.home = Path(table.files[0].path).parent if table.files else Path()
        self._look_in_folders(files)
        digest, named = hashlib.sha256(), set[str]()
        for row in table.rows([files]):
            own = self.value(row.values[0], table.where(row.line, file=row.file))
            assert own.path is not None
            named.add(own.path.name)
            digest.update(stamp(own.path))
        self.print = digest.hexdigest()
        first = [value for value in files.sample if value not in (None, "")]
        self.column = files._replace(sample=[self.value(value, "") for value in first])
        if table.files and not self.by_name:
            left = sum(
                own.name not in named
                and (is_clip(own) if medium.stepped else medium.named(own.name))
                for own in self.home.iterdir()
            )
            if left:
                self.remark += f" ({left:,} {medium.plural} of its folder are not in the table)"

    def _look_in_folders(self, files: Column) -> None:
        """Where the first file is not beside the table, but in a folder there, all are."""
        names = (self.medium.file_of(own.strip()) for own in files.sample if isinstance(own, str))
        name = next(filter(None, names), None)
        if name is None or (self.home / name).exists() or not self.home.is_dir():
            return
        for folder in sorted(own for own in self.home.iterdir() if own.is_dir()):
            if (folder / name).is_file():
                self.home, self.remark = folder, f" in the folder {folder.name}"
                return

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
        path = self.home / self.medium.file_of(given.strip())
        if not path.is_file() and not (self.medium.stepped and path.is_dir()):
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
            elif target == "tags":
                labels = answer.split() if isinstance(answer, str) else answer
                answer = step_labels(own, labels, names[1], where)
            elif target == "caption":
                answer = texts_of(answer, names[1], where)
            elif target == "text":
                answer = json_text(answer, names[1], where)
                if self.by_name:
                    answer = answer.replace("_", " ")
                answer = " ".join(answer.split())
            return own, answer

        return Conversion(f"{self.medium.noun} {self.print} and {target}", function)
