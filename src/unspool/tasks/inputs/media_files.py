"""Files that a table names: their folder, and the values in them.

In: a table and its column of names. Out: the column with values in place of names. Files are in the
folder of the table, in a folder there, or beside it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from unspool.data.fields.texts import texts_of
from unspool.data.plan import Conversion, Values
from unspool.data.read import Column, Table
from unspool.data.read.clip import is_clip
from unspool.data.read.embedded import encoded_picture, picture_of_cells, pixel_shape
from unspool.data.read.file_index import MediaFolder, files_by_name, find_media_folder, find_stems
from unspool.data.read.files import unreadable
from unspool.data.read.json_lines import json_label, json_text
from unspool.data.read.media import Medium, stamp
from unspool.data.read.usable import bad_files_remark, with_usable_files
from unspool.data.values import is_encoded
from unspool.errors import DataError
from unspool.tasks.inputs.kind import Target
from unspool.tasks.inputs.series_plan import step_labels

ADDRESS = re.compile(r"(https?|s3|gs)://")


class Located:
    """The column of a table as files: paths in it are relative to the table's own folder.

    table     without the rows whose file cannot be read, where the settings skip these
    column    with values in place of names
    print     of the sizes and times of all files, for the key of a cache
    remark    for the summary: where they are, if not beside the table, and how many it leaves out
    """

    def __init__(self, table: Table, files: Column, medium: Medium) -> None:
        self.medium, self.table = medium, table
        self.home, self.ending = Path(), ""
        self.scattered: Mapping[str, Path] = {}
        self.by_name = table.holds_files(medium)
        self.column, self.print, self.remark = files, "", ""
        self.shape = pixel_shape(files.parts)
        if files.parts or any(map(is_encoded, files.sample)):
            self.column = files._replace(sample=[])
            for value in files.sample:
                with suppress(DataError):  # which is raised with its line when rows are read
                    self.column.sample.append(self.value(value, table.name))
            return
        if not any(isinstance(value, str) for value in files.sample):  # values already
            return
        self.home, index = table.folder, table.file_index
        names = [name for name in files.sample if isinstance(name, str) and name.strip()]
        match: MediaFolder | None = None
        if names and (folder := find_media_folder(names, index, medium)) is not None:
            match = MediaFolder(folder)
        elif names:
            match = find_stems(names, index, medium)
        if match is not None:
            if match.folder != self.home:
                self.remark = f" in the folder {match.folder.name}"
            self.home, self.ending = match
        elif names:
            self.scattered = files_by_name(names, index, medium)
            self.remark = " in several folders" if self.scattered else ""
        if self.ending:
            self.remark += f", called {names[0]}{self.ending} and so on"
        if not self.by_name:
            self.table = table = with_usable_files(table, files, self._decode)
            if bad_files := table.reader.bad_files:
                self.remark += f", {bad_files_remark(len(bad_files))}"
        digest, named = hashlib.sha256(), set[str]()
        for row in table.rows([files]):
            file = self.value(row.values[0], table.where(row.line, file=row.file))
            assert file.path is not None
            named.add(file.path.name)
            digest.update(stamp(file.path))
        self.print = digest.hexdigest()
        first = (row.values[0] for row in islice(table.rows([files]), len(files.sample)))
        self.column = files._replace(
            sample=[self.value(name, table.name) for name in first if name not in (None, "")]
        )
        if table.files and not self.by_name:
            left = sum(
                path.name not in named
                and (is_clip(path) if medium.stepped else medium.named(path.name))
                for path in self.home.iterdir()
            )
            if left:
                self.remark += f" ({left:,} {medium.plural} of its folder are not in the table)"

    def _decode(self, cell: Any, where: str) -> None:
        for _ in self.medium.decode(self.value(cell, where)):
            pass

    def value(self, cell: Any, where: str) -> Any:
        """Return the value of a file, by its name, or that of a cell."""
        if self.shape:
            return picture_of_cells(cell, self.shape, where)
        if isinstance(cell, dict | bytes) or is_encoded(cell):
            return encoded_picture(cell, where)
        if cell is not None and not isinstance(cell, str):
            return cell
        if not cell or not cell.strip():
            raise DataError(
                "the name of the file is missing",
                where=where,
                remedy="fill it in, or leave the row out",
            )
        if ADDRESS.match(cell.strip()):
            raise DataError(
                "is an address, and nothing is downloaded",
                where=where,
                got=cell,
                remedy="download the files, and give their names",
            )
        name = self.medium.file_of(cell.strip())
        path = self.scattered.get(name, self.home / f"{name}{self.ending}")
        if not path.is_file() and not (self.medium.stepped and path.is_dir()):
            error = unreadable(path, str(path), FileNotFoundError())
            raise DataError(error.message, where=where)
        return self.medium.make(path, str(path))

    def convert(self, target: Target | None) -> Conversion:
        def function(values: Values, names: tuple[str, ...], where: str) -> Values:
            value = self.value(values[0], where)
            if target is None:
                return (value,)
            answer = values[1]
            if target == "label":
                answer = json_label(answer, names[1], where)
            elif target == "tags":
                labels = answer.split() if isinstance(answer, str) else answer
                answer = step_labels(value, labels, names[1], where)
            elif target == "caption":
                answer = texts_of(answer, names[1], where)
            elif target == "text":
                answer = json_text(answer, names[1], where)
                if self.by_name:
                    answer = answer.replace("_", " ")
                answer = " ".join(answer.split())
            return value, answer

        return Conversion(f"{self.medium.noun} {self.print} and {target}", function)
