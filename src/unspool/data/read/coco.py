"""COCO's captions: {"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}]}."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

from unspool.config import DataConfig
from unspool.data.read.columns import CAPTION_NAMES
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import SAMPLE, Column, FileHead, Match, Reader, Row, Shape
from unspool.errors import DataError

CAPTION = CAPTION_NAMES[0]
NAMES = ("file_name", CAPTION)
START = re.compile(r'"(images|annotations)"\s*:\s*\[\s*\{')
OWN = re.compile(r'"(image_id|file_name)"\s*:')


class Coco(Reader):
    """A row a caption: the name of its image, and the caption; the line of a row is its number."""

    name = "coco"
    shape = Shape.CORPUS
    suffixes = (".json",)
    title = "captions of COCO"
    typed = True
    noun = "field"
    header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        start = head.start[:100_000]
        found = start.lstrip().startswith("{") and START.search(start) and OWN.search(start)
        return Match.CERTAIN.when(found)

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        rows = list(islice(self.read(files[0], range(2), None), SAMPLE))
        if not rows:
            raise DataError("has no captions", where=files[0].name, remedy="name another file")
        self.columns = [
            Column(name, i, [row.values[i] for row in rows]) for i, name in enumerate(NAMES)
        ]

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        path = file.unpacked()
        for line, row in enumerate(captions(path, file.name, path.stat().st_mtime_ns), start=1):
            yield Row(tuple(row[i] for i in numbers), line)


@lru_cache(1)
def captions(path: Path, name: str, changed: int) -> list[tuple[str, str]]:
    """(name of the image, caption) of every annotation."""
    found = []
    try:
        stored = json.loads("".join(TextFile(path, name).blocks()))
        files = {own["id"]: own["file_name"] for own in stored["images"]}
        for number, own in enumerate(stored["annotations"], start=1):
            if CAPTION not in own:
                raise DataError(
                    "annotations have no captions, and boxes, outlines and key points are not read",
                    where=name,
                    got=f"the fields {', '.join(map(str, own))}",
                    remedy="name the file of captions, such as captions_train2017.json",
                )
            if own["image_id"] not in files:
                raise DataError(
                    f"annotation {number:,} is of an image that is not in the file",
                    where=name,
                    got=f"image_id {own['image_id']}",
                    remedy="leave it out, or list its image",
                )
            found.append((str(files[own["image_id"]]), str(own[CAPTION])))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(
            f"is no JSON as COCO has it ({type(error).__name__}: {error})",
            where=name,
            remedy="give {images: [{id, file_name}], annotations: [{image_id, caption}]}",
        ) from None
    return found
