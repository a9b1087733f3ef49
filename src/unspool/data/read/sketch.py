"""`.npz` of sketch-rnn: arrays of drawings, one for each part, as offsets (dx, dy, pen up).

The drawings differ in length, so NumPy has pickled them; `pickled.py` reads them and runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from unspool.config import DataConfig
from unspool.data.read.files import Report, TextFile, path_columns
from unspool.data.read.pickled import holds_objects, object_arrays
from unspool.data.read.reader import FileHead, Match, Reader, Record, Shape, sampled
from unspool.errors import DataError

PARTS = ("train", "valid", "test")


class Sketches(Reader):
    """Columns: the drawing, the name of its array as `split`, and what names of files say."""

    name = "sketch"
    shape = Shape.DRAWINGS
    suffixes = (".npz",)
    stroke_layout = "offsets"
    title = "drawings of sketch-rnn"
    typed = binary = header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """A .npz file whose arrays are all made of objects."""
        return Match.CERTAIN.when(holds_objects(head.file.unpacked()))

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        self.paths = path_columns(files) if len(files) > 1 else []
        names = ["strokes", "split", *(name for name, _ in self.paths)]
        self.columns = sampled(names, (values for _, values in self.records(files[0])))
        if not self.columns[0].sample:
            raise DataError("holds no drawing", where=files[0].name, remedy="name another file")
        self.remark = "in the arrays " + ", ".join(dict.fromkeys(self.columns[1].sample))

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        """The line of a drawing is its number, from 1; the parts are train, valid and test."""
        arrays = object_arrays(file.unpacked(), file.name)
        number = self.files.index(file)
        more = tuple(column[number] for _, column in self.paths)
        line = 0
        for name, drawings in sorted(arrays.items(), key=lambda item: order(item[0])):
            for drawing in drawings:
                line += 1
                if not isinstance(drawing, np.ndarray) or drawing.ndim != 2:
                    raise DataError(
                        "is not an array of rows of dx, dy and pen up",
                        where=f"{file.name}:{line}",
                        # A list that names another twice, and so on, could be of any length.
                        got=f"a {type(drawing).__name__}",
                        remedy="save every drawing as an array (points, 3), and pieces of music as"
                        ' JSON: {"train": [[[60, 64], ...]]}',
                    )
                yield line, (drawing, name, *more)


def order(name: str) -> tuple[int, str]:
    return (PARTS.index(name) if name in PARTS else len(PARTS)), name
