"""Where the files are that a table names, and what is in them.

In: a table and its column of names. Out: the column with values in place of names. Files are in the
folder of the table, in a folder there, or beside it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from unspool.data.fields.texts import texts_of
from unspool.data.plan import Conversion, Values
from unspool.data.read import Column, Table
from unspool.data.read.clip import is_clip
from unspool.data.read.embedded import (
    encoded_picture,
    is_encoded,
    picture_of_cells,
    pixel_shape,
)
from unspool.data.read.files import unreadable
from unspool.data.read.json_lines import json_label, json_text
from unspool.data.read.media import Medium, stamp
from unspool.errors import DataError
from unspool.tasks.inputs.kind import Target
from unspool.tasks.inputs.series_plan import step_labels

LOOKED_AT = 20  # names of files, to find where they are
ADDRESS = re.compile(r"(https?|s3|gs)://")


class Home(NamedTuple):
    """Where files are, and the ending that a table leaves out of their names."""

    folder: Path
    ending: str = ""


def home_of(
    table: Table, names: Sequence[str], medium: Medium, *, short: bool = False
) -> Home | None:
    """The folder of the first files: the table's own, one in it, or one beside it. The nearest that
    has any of them: a file that is missing there is not taken from farther away.

    short   whether names lack their endings; then the table's folder or one in it has all of them
    """
    own = Path(table.files[0].path).parent if table.files else Path()
    first = [medium.file_of(name.strip()) for name in names[:LOOKED_AT]]

    def there(folder: Path, end: str) -> list[bool]:
        known = (folder / f"{name}{end}" for name in first)
        return [each.is_file() or (medium.stepped and each.is_dir()) for each in known]

    if short:
        endings = [each for end in medium.endings for each in (end, end.upper())]
        choices = ((folder, end) for folder in inside(own) for end in ("", *endings))
        return next((Home(*each) for each in choices if all(there(*each))), None)
    for folders in ([own], inside(own)[1:], inside(around(own))[1:]):
        found = [(sum(there(folder, "")), folder) for folder in folders]
        most, folder = max(found, key=lambda each: each[0], default=(0, own))
        if most:
            return Home(folder)
    return None


def scattered(own: Path, names: Sequence[str], medium: Medium) -> dict[str, Path]:
    """Files below a folder, or below that around it, by their names, where the first ones of a
    table are among them and no two have the same name."""
    for folder in (own, around(own)):
        found = [each for each in inside(folder)[1:] if folder == own or each != own]
        files = [file for each in found for file in each.rglob("*") if medium.named(file.name)]
        known = {file.name: file for file in files}
        first = [medium.file_of(name.strip()) for name in names[:LOOKED_AT]]
        if len(known) == len(files) and known.keys() >= set(first):
            return known
    return {}


def inside(folder: Path) -> list[Path]:
    """A folder, and those in it."""
    try:
        found = sorted(own for own in folder.iterdir() if own.is_dir())
    except OSError:
        found = []
    return [folder, *(own for own in found if not own.name.startswith("."))]


def around(folder: Path) -> Path:
    return folder / ".." if folder.name in ("", "..") else folder.parent


class Located:
    """The column of a table as files: paths in it are relative to the table's own folder.

    column    with values in place of names
    print     of the sizes and times of all files, for the key of a cache
    remark    for the summary: where they are, if not beside the table, and how many it leaves out
    """

    def __init__(self, table: Table, files: Column, medium: Medium) -> None:
        self.medium = medium
        self.home, self.ending = Path(), ""
        self.scattered: Mapping[str, Path] = {}
        self.by_name = table.format == medium.name
        self.column, self.print, self.remark = files, "", ""
        self.shape = pixel_shape(files.parts)
        if files.parts or any(map(is_encoded, files.sample)):
            self.column = files._replace(sample=[])
            for value in files.sample:
                with suppress(DataError):  # which is raised with its line when rows are read
                    self.column.sample.append(self.value(value, ""))
            return
        if not any(isinstance(value, str) for value in files.sample):  # values already
            return
        self.home, self.ending = Path(table.files[0].path).parent if table.files else Path(), ""
        names = [own for own in files.sample if isinstance(own, str) and own.strip()]
        homes = (home_of(table, names, medium, short=short) for short in (False, True))
        if found := next(filter(None, homes), None) if names else None:
            if found.folder != self.home:
                self.remark = f" in the folder {found.folder.name}"
            self.home, self.ending = found
        elif names:
            self.scattered = scattered(self.home, names, medium)
            self.remark = " in several folders" if self.scattered else ""
        if self.ending:
            self.remark += f", called {names[0]}{self.ending} and so on"
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

    def value(self, given: Any, where: str) -> Any:
        """What is in a file, by its name; or in a cell."""
        if self.shape:
            return picture_of_cells(given, self.shape, where)
        if isinstance(given, dict | bytes) or is_encoded(given):
            return encoded_picture(given, where)
        if given is not None and not isinstance(given, str):
            return given
        if not given or not given.strip():
            raise DataError(
                "the name of the file is missing",
                where=where,
                remedy="fill it in, or leave the row out",
            )
        if ADDRESS.match(given.strip()):
            raise DataError(
                "is an address, and nothing is downloaded",
                where=where,
                got=given,
                remedy="download the files, and give their names",
            )
        name = self.medium.file_of(given.strip())
        path = self.scattered.get(name, self.home / f"{name}{self.ending}")
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
