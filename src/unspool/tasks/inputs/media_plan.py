"""Plan images, videos, sound and music: their column, and that of their label, number or text.

Such files are a table with a row a file (`data/read/media.py`); any other table may have a column
with their names, beside it in its folder or in a folder there. Captions may be several: rows of the
same file are one row then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from unspool.config import DataConfig
from unspool.data.plan import Plan, split_column
from unspool.data.read import Column, Shape, Table
from unspool.data.read.clip import ENDINGS as CLIP_SUFFIXES
from unspool.data.read.columns import CAPTION_NAMES, LABEL_NAMES, TEXT_NAMES, known
from unspool.data.read.embedded import FEWEST as FEWEST_PIXELS
from unspool.data.read.embedded import pixel_column, pixel_shape
from unspool.data.read.file_index import SAMPLE_SIZE, FileIndex, find_media_folder, find_stems
from unspool.data.read.files import PARTS
from unspool.data.read.grouped import grouped_table
from unspool.data.read.media import IMAGE, LIST_SUFFIXES, MUSIC, Medium, names_files
from unspool.data.read.reader import joined
from unspool.errors import DataError, Message, Option, Setting, worded
from unspool.tasks.inputs.kind import PlanRequest, Target
from unspool.tasks.inputs.media_files import Located
from unspool.tasks.pair_plan import two_texts

FIT = 5
LISTING = (Shape.TABLE, Shape.CORPUS)  # shapes that may name files
TEXTS = ("text", "transcript", "transcription", "sentence", "words", *TEXT_NAMES)
LONGEST_NAME = 100
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
OTHERS: dict[Target, Message] = {
    "text": (Option(task="caption"), " where texts describe what is seen"),
    "caption": (Option(task="transcribe"), " where texts are what is written there"),
}


def media_column(table: Table, data: DataConfig, medium: Medium) -> Column | None:
    """The column of values of a medium, or of names of its files, with suffixes or without."""
    if data.input not in ("auto", medium.name):
        return None
    if table.reader.medium == medium:
        return table.columns[0]
    if table.shape not in LISTING:
        return None
    requested = data.input == medium.name
    columns = table.columns
    if data.series is not None:
        columns = table.several(data.series, option="series")
    values = _column_of_values(table, columns, medium, requested=requested, data=data)
    if values is not None:
        return values
    if requested and data.series is not None:
        return table.column(data.series, option="series")
    for column in columns:
        names = column.profile.strings
        if names and sum(map(medium.named, names)) > 0.9 * len(names):
            # Names that pairs of texts come from, as in corpora of entailment, are no files.
            of_texts = data.series is None and two_texts(table, data) is not None
            in_folder = not of_texts or find_media_folder(names, table.file_index, medium)
            return column if in_folder else None
    match = next((c for c in columns if lacks_suffixes(c, table, data, medium)), None)
    if match is None and requested and medium.stepped:
        return next((c for c in table.columns if names_clips(c, table.file_index)), None)
    return match


def _column_of_values(
    table: Table, columns: Sequence[Column], medium: Medium, *, requested: bool, data: DataConfig
) -> Column | None:
    """The column of images or clips in memory, of encoded images, or those of pixels."""
    if medium == IMAGE and table.header and table.files:
        encoded = next((column for column in columns if column.profile.is_images), None)
        return encoded or (pixel_column(columns) if len(columns) >= FEWEST_PIXELS else None)
    if table.files or not medium.described or (requested and data.series is not None):
        return None
    kinds = (medium.make, np.ndarray, list) if requested else (medium.make,)
    return next((column for column in table.columns if column.profile.is_all(*kinds)), None)


def names_clips(column: Column, index: FileIndex) -> bool:
    """Whether nearly all values are names of files that are clips, or of folders."""
    names = column.profile.strings
    clips = [n.lower().endswith(CLIP_SUFFIXES) or index.has_folder(n.strip()) for n in names]
    return bool(names) and sum(clips) > 0.9 * len(names)


def lacks_suffixes(column: Column, table: Table, data: DataConfig, medium: Medium) -> bool:
    """Whether values are distinct file names without their suffixes: paths, or names of files in a
    folder that the user has named."""
    names = column.profile.strings
    requested = table.in_folder or data.series is not None or data.input == medium.name
    if not requested and not all("/" in name or "\\" in name for name in names):
        return False
    sample = names[:SAMPLE_SIZE]
    if not table.files or not sample or not column.profile.only_strings:
        return False
    if len(set(names)) < len(names) or max(map(len, sample)) > LONGEST_NAME:
        return False
    match = find_stems(sample, table.file_index, medium)
    return match is not None and bool(match.suffix) and two_texts(table, data) is None


def plan_media(
    medium: Medium, files: Column | None, table: Table, data: DataConfig, request: PlanRequest
) -> Plan | None:
    """None where the table holds no such files, or not what the task needs of them.

    files   their column, or None
    """
    task, target, named, outputs = request
    if medium == MUSIC and target == "text" and not named:
        return None
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
        match = answer_column(table, data, files, medium, target, named=named)
        if match is None:
            if named or not any(
                answer_column(table, data, files, medium, other, named=False)
                for other in ("label", "number", "text", "caption")
            ):
                raise nothing_to_learn(task, table, medium, target)
            return None
        answer, why = match
    if target == "caption":
        lines = len(files.sample)
        table, files, answer = by_file(table, data, files, medium, answer)
        if len(files.sample) < lines:
            why += ", all of a file together"
    located = Located(table, files, medium)
    table, columns = located.table, {medium.name: located.column}
    if answer is None:
        convert = located.convert(None)
        return Plan(task, table, columns, FIT, f"{about} -> {task}", convert, settings)
    columns[target] = answer
    summary = f"{about}{located.remark}, {why} -> {task}"
    if medium.described and not named and target in OTHERS:
        summary += f" ({worded(OTHERS[target])})"
    return Plan(task, table, columns, FIT, summary, located.convert(target), settings)


def by_file(
    table: Table, data: DataConfig, files: Column, medium: Medium, captions: Column | None
) -> tuple[Table, Column, Column | None]:
    """The table with a row a file, and its columns."""
    gathered = [] if captions is None else [captions]
    fixed = split_column(table, data)
    grouped = grouped_table(table, files, gathered, same=medium.file_of, fixed=fixed)
    columns = {column.number: column for column in grouped.columns}
    if captions is None:
        return grouped, columns[files.number], None
    parts = joined([columns[part.number] for part in captions.members])
    return grouped, columns[files.number], parts._replace(name=captions.name)


def described(table: Table, files: Column, medium: Medium) -> str:
    if table.reader.medium == medium:
        return table.summary
    if files.parts:
        size = " x ".join(map(str, pixel_shape(files.parts)))
        about = f"{medium.noun} of {size} pixels in columns {files.name}"
        return f"{table.summary}, {about} ({Setting(input='series')} reads series of numbers)"
    return f"{table.summary}, {medium.noun} in {table.reader.noun} {files.name!r}"


def answer_column(
    table: Table, data: DataConfig, files: Column, medium: Medium, target: Target, *, named: bool
) -> tuple[Column, str] | None:
    """The column of what is to be learnt, and how the summary calls it."""
    if target == "tags" and not medium.stepped:
        return None
    of_texts = target in ("text", "caption")
    requested = data.text if of_texts else data.label
    if requested is not None:
        if of_texts and not named and (target == "caption") != (requested in medium.described):
            return None
        if target == "caption":
            answer = joined(table.several(requested, option="text"))
        else:
            answer = table.column(requested, option="text" if of_texts else "label")
        return answer, f"{target} in {answer.name!r}"
    if (data.label if of_texts else data.text) is not None:
        return None
    taken = {*files.members, split_column(table, data)}
    others = [c for c in table.columns if c not in taken]
    names = NAMES[target]
    if of_texts and not named:
        names = text_names(files, medium, target)
    if target == "caption" and (several := several_captions(table, others, named=named)):
        return several, f"captions in {several.name}"
    if table.header and (usual := known(others, names)) is not None:
        lists = usual.profile.is_step_labels
        fits = lists if target == "tags" else of_texts or not lists
        if target == "number":
            fits = fits and usual.profile.all_numbers and not usual.profile.is_label
        return (usual, f"{target} in {usual.name!r}") if named or fits else None
    by_path = {c.name: c for c in others} if table.holds_files(medium) else {}
    if not by_path and table.header and (only := only_answer(others, target)) is not None:
        return only, f"{target} in {only.name!r}"
    if target == "label" and "folder" in by_path and (named or "text" not in by_path):
        ways = other_labels(by_path, medium)
        if "not read" in table.reader.remark and (tables := tables_below(table, medium)):
            ways += f"; {tables[0]} names them, too, and is read where it is named"
        return by_path["folder"], f"label = folder ({ways})"
    texts = [] if by_path or table.header else [c for c in others if c.profile.is_phrases]
    if target == "text" and texts and (named or not medium.described):
        more = "".join(f" (or {text.name}: {Option('text')})" for text in texts[1:2])
        return texts[0], f"text in column {texts[0].name}{more}"
    if target == "text" and named and "folder" in by_path and repeats(by_path["folder"]):
        return by_path["folder"], f"text = folder ({Option(text='name')} for names of files)"
    if target == "text" and named and "name" in by_path:
        how = f"text = name of the file, _ for spaces ({Setting('pattern')} for others)"
        return by_path["name"], how
    return None


def repeats(column: Column) -> bool:
    """Whether values occur twice or more on average, as labels do and transcripts do not."""
    return 2 * len(set(column.sample)) <= len(column.sample)


def other_labels(by_path: Mapping[str, Column], medium: Medium) -> str:
    """Hint at options for other labels than the folder of a file."""
    ways = f"{Option(label='name_1')} or {Setting('pattern')} for others"
    if "folder_1" not in by_path:
        return ways
    if medium == IMAGE:
        ways = f"{ways}; {Setting(input='video')} where each folder is a clip"
    return f"the inner one; {Option(label='folder_1')} for the outer, {ways}"


def only_answer(others: list[Column], target: Target) -> Column | None:
    """The only column that looks like labels, or like numbers on a scale, whatever it is called."""
    if any(column.profile.is_phrases for column in others):
        return None
    labels = [column for column in others if column.profile.is_label]
    numbers = [column for column in others if column not in labels and column.profile.is_scale]
    if target == "label" and len(labels) == 1:
        return labels[0]
    return numbers[0] if target == "number" and not labels and len(numbers) == 1 else None


def text_names(files: Column, medium: Medium, target: Target) -> tuple[str, ...]:
    """Names of columns of texts for `target`, where no task was named."""
    names = [medium.file_of(value) for value in files.sample if isinstance(value, str)]
    if medium.described and len(set(names)) < len(names):
        return NAMES["caption"] if target == "caption" else ()
    if target == "caption":
        return medium.described
    return tuple(name for name in TEXTS if name not in medium.described)


def several_captions(table: Table, others: list[Column], *, named: bool) -> Column | None:
    """Columns such as caption_1 and caption_2 as one; else the only column of texts."""
    if table.header:
        columns = [c for c in others if SEVERAL.fullmatch(c.name.strip().lower())]
        captions = [c for c in columns if c.name.strip().lower().startswith(CAPTION_NAMES)]
        return joined(columns) if captions or (columns and named) else None
    texts = [column for column in others if column.profile.is_phrases]
    return texts[0] if len(texts) == 1 else None


def nothing_to_learn(task: str, table: Table, medium: Medium, target: Target) -> DataError:
    if target == "tags" and medium.stepped:
        return DataError(
            f"holds {medium.noun} without a label for each frame, which {task} needs",
            where=table.name,
            remedy=(
                "name a column of labels, in lists or with spaces between, with ",
                Option("label"),
                "; a label a clip: ",
                Option(task="classify"),
            ),
        )
    if target == "tags":
        return DataError(
            f"holds {medium.noun} without a label for each step, which {task} needs",
            where=table.name,
            remedy=("use ", Option(task="classify"), " or ", Option(task="transcribe")),
        )
    what = {"label": "labels", "number": "numbers", "text": "texts", "caption": "captions"}[target]
    parts = [c for c in table.columns if c.name.startswith("name_")]
    answer = Option("label" if target in ("label", "number") else "text")
    remedy: Message = ("name their column with ", answer)
    if table.holds_files(medium) and target == "caption":
        remedy = "write a table with columns file and caption into their folder"
    elif table.holds_files(medium):
        shown_parts = ", ".join(f"{c.name} ({c.sample[0]})" for c in parts[:4])
        remedy = (
            "put the files of each label into a folder, or name a part of their names with ",
            *((Option("label"), f": {shown_parts}") if parts else (Setting("pattern"),)),
            "; texts: ",
            Option(task="transcribe"),
        )
    if table.holds_files(medium) and (tables := tables_below(table, medium)):
        remedy = f"name the table that has their names: {tables[0]}"
    return DataError(
        f"holds {medium.noun} without {what}, which {task} needs", where=table.name, remedy=remedy
    )


def tables_below(table: Table, medium: Medium) -> list[Path]:
    """Tables in the folder of a table of files that have the names of these, or seem to."""
    place = Path(table.path)
    if not place.is_dir():
        return []
    stems = {Path(file.path).stem for file in table.files}
    paths = [
        path
        for path in sorted(place.rglob("*"))
        if path.suffix.lower() in (*LIST_SUFFIXES, ".json")
    ]
    paths = [
        table_path for table_path in paths[:SAMPLE_SIZE] if names_files(table_path, medium, stems)
    ]
    return sorted(paths, key=lambda table_path: PARTS.get(table_path.stem.lower()) != "train")
