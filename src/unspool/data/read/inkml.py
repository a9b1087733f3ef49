"""InkML (W3C 2011): a drawing a file, its strokes as <trace> elements.

<ink xmlns="http://www.w3.org/2003/InkML">
  <annotation type="truth">hello</annotation>
  <traceFormat><channel name="X"/><channel name="Y"/><channel name="T"/></traceFormat>
  <trace>10 20 0, 11 22 10, 13 25 20</trace>
</ink>
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from xml.parsers import expat

import numpy as np

from unspool.config import DataConfig
from unspool.data.read.files import Report, TextFile, path_columns
from unspool.data.read.reader import SAMPLE, Reader, Record, Shape, sampled
from unspool.errors import DataError

TEXT_RATIO = 40  # bytes in memory for each of a file
DEEPEST = 64  # elements inside of each other
NUMBER = re.compile(r"([!'\"]?) ?([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[TF?*])")
TRUTHS = ("truth", "label", "transcription", "text", "groundtruth")


class Parsed:
    """Content of one file.

    traces        (n, 2) each
    annotations   of the whole drawing, by type
    """

    def __init__(self, file: TextFile) -> None:
        self.file = file
        self.traces: list[np.ndarray] = []
        self.annotations: dict[str, str] = {}
        self.axes = (0, 1)
        self._channels: list[str] = []
        self._path: list[str] = []
        self._text: list[str] = []
        self._type = ""
        self._allowed = file.allowance()
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._read()

    def _read(self) -> None:
        try:
            with self.file._open() as (content, _):
                while data := content.read(1 << 16):
                    self._allowed.hold(TEXT_RATIO * len(data))
                    self._allowed.tick()
                    self._parser.Parse(data, False)
                self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise DataError(
                f"not valid XML ({expat.ErrorString(error.code)})",
                where=f"{self.file.name}:{error.lineno}",
                remedy="write it again as InkML",
            ) from None
        except (LookupError, ValueError) as error:  # of the encoding that its first line names
            raise DataError(
                f"its encoding cannot be read ({error})",
                where=self.file.name,
                remedy="save it as UTF-8",
            ) from None

    @property
    def where(self) -> str:
        return f"{self.file.name}:{self._parser.CurrentLineNumber}"

    def _doctype(self, *declared: Any) -> None:
        raise DataError(
            "declares a document type, whose entities could grow without bounds",
            where=self.where,
            remedy="remove <!DOCTYPE ...> and write characters as they are",
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        element = name.rpartition(" ")[2]
        self._path.append(element)
        if len(self._path) > DEEPEST:
            raise DataError(
                f"has more than {DEEPEST} elements inside of each other",
                where=self.where,
                remedy="write it again as InkML",
            )
        self._text.clear()
        self._type = attributes.get("type", "")
        if element == "traceFormat":
            self._channels.clear()
        if element == "channel":
            self._channels.append(attributes.get("name", "").upper())

    def _end(self, name: str) -> None:
        element = self._path.pop()
        if element == "traceFormat" and self._channels:
            if not {"X", "Y"} <= set(self._channels):
                raise DataError(
                    "its traces have no X and Y",
                    where=self.where,
                    got=", ".join(self._channels),
                    remedy="name the channels X and Y",
                )
            self.axes = (self._channels.index("X"), self._channels.index("Y"))
        elif element == "trace":
            text = "".join(self._text).strip()
            if text:
                self.traces.append(self._trace(text))
        elif element == "annotation" and len(self._path) == 1:
            self.annotations[self._type.lower() or "annotation"] = "".join(self._text).strip()
        self._text.clear()

    @np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused
    def _trace(self, text: str) -> np.ndarray:
        """Numbers as they are, after ' as differences, after " as differences of these, until
        changed."""
        width = len(self._channels) or 2
        signs = ["!"] * max(width, 2)
        value, speed = np.zeros(len(signs)), np.zeros(len(signs))
        points = []
        for number, point in enumerate(text.split(",")):
            point = " ".join(point.split())
            parts = NUMBER.findall(point)
            if NUMBER.sub("", point).strip() or len(parts) <= max(self.axes):
                raise self._bad(number, point)
            for i, (sign, digits) in enumerate(parts[: len(signs)]):
                signs[i] = sign or signs[i]
                if digits in "TF?*":
                    if i in self.axes:
                        raise self._bad(number, point)
                    continue
                given = float(digits)
                before = value[i]
                if signs[i] == "!":
                    value[i] = given
                else:
                    speed[i] = given if signs[i] == "'" else speed[i] + given
                    value[i] = before + speed[i]
            points.append(value[list(self.axes)])
        xy = np.array(points)
        if not np.isfinite(xy).all():
            raise self._bad(int(np.argmax(~np.isfinite(xy).all(1))), text)
        return xy

    def _bad(self, number: int, point: str) -> DataError:
        return DataError(
            f"point {number + 1} of trace {len(self.traces) + 1} is not a pair of numbers",
            where=self.where,
            got=point.strip()[:60],
            remedy="write points as x y, with commas between them",
        )


class InkMl(Reader):
    """Columns: the strokes, the annotations by their types, and what names of files say."""

    name = "inkml"
    shape = Shape.DRAWINGS
    suffixes = (".inkml",)
    title = "InkML"
    typed = header = True

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        self.paths = path_columns(files) if len(files) > 1 else []
        first = [Parsed(file) for file in files[:SAMPLE]]
        self.types = list(dict.fromkeys(name for parsed in first for name in parsed.annotations))
        names = ["strokes", *map(called, self.types), *(name for name, _ in self.paths)]
        self.columns = sampled(names, map(self._values, first))

    def _values(self, parsed: Parsed) -> tuple[Any, ...]:
        number = self.files.index(parsed.file)
        annotations = (parsed.annotations.get(name) for name in self.types)
        return parsed.traces, *annotations, *(column[number] for _, column in self.paths)

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        yield 1, self._values(Parsed(file))


def called(kind: str) -> str:
    return "text" if kind in TRUTHS else kind
