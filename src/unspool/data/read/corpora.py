"""Formats of single corpora: SQuAD, stories of bAbI, opinions in three lines, captions of COCO."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from unspool.config import DataConfig
from unspool.data.read.columns import CAPTION_NAMES
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import (
    SAMPLE,
    Column,
    FileHead,
    Match,
    Reader,
    Row,
    Shape,
    refuse_empty,
)
from unspool.errors import DataError

SQUAD_NAMES = ("question", "context", "answers", "id")
SQUAD_START = re.compile(r'"paragraphs"\s*:')


class Squad(Reader):
    """A row a question: question, context, answers ({text, answer_start} each), id; the line of a
    row is its number."""

    name = "squad"
    shape = Shape.CORPUS
    suffixes = (".json",)
    title = "questions of SQuAD"
    typed = True
    header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        found = head.start.lstrip().startswith("{") and SQUAD_START.search(head.start[:100_000])
        return Match.CERTAIN.when(found)

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        sample = [row for _, row in zip(range(SAMPLE), self._rows(files[0]))]
        self.columns = [
            Column(name, i, [row[i] for row in sample]) for i, name in enumerate(SQUAD_NAMES)
        ]

    def _rows(self, file: TextFile) -> Iterator[tuple[Any, ...]]:
        try:
            stored = json.loads("".join(file.blocks()))
            articles = stored["data"] if isinstance(stored, dict) else stored
            for article in articles:
                for paragraph in article["paragraphs"]:
                    for question in paragraph["qas"]:
                        none = question.get("is_impossible", False)
                        answers = [] if none else question.get("answers", [])
                        yield (
                            question["question"],
                            paragraph["context"],
                            answers,
                            str(question.get("id", "")),
                        )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(
                f"is no JSON as SQuAD has it ({type(error).__name__}: {error})",
                where=file.name,
                remedy="give {data: [{paragraphs: [{context, qas: [{question, answers}]}]}]}",
            ) from None

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        for line, row in enumerate(self._rows(file), start=1):
            yield Row(tuple(row[i] for i in numbers), line)


STORIES_NAMES = ("story", "question", "answer", "supporting")
LINE = re.compile(r"(\d{1,6}) (\S.*)")


class Stories(Reader):
    """A row a question: story (a list, the statements before it), question, answer, and which
    statements support it, from 1."""

    name = "stories"
    shape = Shape.CORPUS
    title = "stories with questions"
    typed = True
    header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """All lines are numbered, from 1, and some are questions."""
        lines = head.lines
        numbered = all(LINE.fullmatch(line.rstrip()) is not None for line in lines)
        asking = any("?" in line and "\t" in line for line in lines)
        return Match.CERTAIN.when(lines[0].startswith("1 ") and numbered and asking)

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        refuse_empty(files[0])
        sample = [row for _, row in zip(range(SAMPLE), self.read(files[0], range(4), None))]
        self.columns = [
            Column(name, i, [row.values[i] for row in sample])
            for i, name in enumerate(STORIES_NAMES)
        ]

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        story: list[str] = []
        places: dict[str, int] = {}  # the number of a line -> that of its statement, from 1
        for line, content in enumerate(file.lines(report), start=1):
            if not content.strip():
                continue
            match = LINE.fullmatch(content.rstrip("\r\n"))
            if match is None:
                raise DataError(
                    "a line of a story is its number, a space and a sentence",
                    where=f"{file.name}:{line}",
                    got=content.strip(),
                    remedy="number the lines of a story from 1",
                )
            number, text = match[1], match[2]
            if number == "1":
                story, places = [], {}
            question, *rest = (cell.strip() for cell in text.split("\t"))
            if not rest:
                story.append(question)
                places[number] = len(story)
                continue
            if not story:
                raise DataError(
                    "a question without a story before it",
                    where=f"{file.name}:{line}",
                    got=question,
                    remedy="give statements first",
                )
            support = [places[n] for n in " ".join(rest[1:]).split() if n in places]
            row = (list(story), question, rest[0], support)
            yield Row(tuple(row[i] for i in numbers), line)


TARGET = "$T$"
SEG_NAMES = ("text", "target", "polarity")
POLARITIES = ("-1", "0", "1")


class Seg(Reader):
    """Columns text, target and polarity."""

    name = "seg"
    shape = Shape.CORPUS
    suffixes = (".seg",)
    title = "opinions, three lines each"
    header = True

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """Every third line is a polarity, and sentences have their targets."""
        lines = head.lines
        whole = len(lines) // 3 * 3
        polarities = all(line.strip() in POLARITIES for line in lines[2:whole:3])
        targets = all(TARGET in line for line in lines[0:whole:3])
        return Match.CERTAIN.when(whole > 0 and polarities and targets)

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        refuse_empty(files[0])
        lines = files[0].head(3 * SAMPLE)
        whole = len(lines) // len(SEG_NAMES) * len(SEG_NAMES)
        self.columns = [
            Column(name, i, [line.strip() for line in lines[i:whole:3]])
            for i, name in enumerate(SEG_NAMES)
        ]

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        opinion: list[str] = []
        line = 0
        for line, content in enumerate(file.lines(report), start=1):
            if not opinion and not content.strip():
                continue
            opinion.append(content.strip())
            if len(opinion) == len(SEG_NAMES):
                if TARGET not in opinion[0] or opinion[2] not in POLARITIES:
                    raise DataError(
                        f"an opinion is a sentence with {TARGET}, a target, and -1, 0 or 1",
                        where=f"{file.name}:{line - 2}",
                        got=opinion[2] if TARGET in opinion[0] else opinion[0],
                        remedy="give three lines for each",
                    )
                yield Row(tuple(opinion[i] for i in numbers), line - 2)
                opinion = []
        if opinion:
            raise DataError(
                f"the last opinion has {len(opinion)} of 3 lines",
                where=f"{file.name}:{line}",
                got=opinion[-1],
                remedy=f"give a sentence with {TARGET}, a target, and -1, 0 or 1",
            )


CAPTION = CAPTION_NAMES[0]
COCO_NAMES = ("file_name", CAPTION)
COCO_START = re.compile(r'"(images|annotations)"\s*:\s*\[\s*\{')
COCO_FIELDS = re.compile(r'"(image_id|file_name)"\s*:')


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
        found = (
            start.lstrip().startswith("{")
            and COCO_START.search(start)
            and COCO_FIELDS.search(start)
        )
        return Match.CERTAIN.when(found)

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        rows = list(islice(self.read(files[0], range(2), None), SAMPLE))
        if not rows:
            raise DataError("has no captions", where=files[0].name, remedy="name another file")
        self.columns = [
            Column(name, i, [row.values[i] for row in rows]) for i, name in enumerate(COCO_NAMES)
        ]

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        path = file.unpacked()
        for line, row in enumerate(captions(path, file.name, path.stat().st_mtime_ns), start=1):
            yield Row(tuple(row[i] for i in numbers), line)


@lru_cache(1)
def captions(path: Path, name: str, changed: int) -> list[tuple[str, str]]:
    """(name of the image, caption) of every annotation."""
    rows = []
    try:
        stored = json.loads("".join(TextFile(path, name).blocks()))
        files = {entry["id"]: entry["file_name"] for entry in stored["images"]}
        for number, entry in enumerate(stored["annotations"], start=1):
            if CAPTION not in entry:
                raise DataError(
                    "annotations have no captions, and boxes, outlines and key points are not read",
                    where=name,
                    got=f"the fields {', '.join(map(str, entry))}",
                    remedy="name the file of captions, such as captions_train2017.json",
                )
            if entry["image_id"] not in files:
                raise DataError(
                    f"annotation {number:,} is of an image that is not in the file",
                    where=name,
                    got=f"image_id {entry['image_id']}",
                    remedy="leave it out, or list its image",
                )
            rows.append((str(files[entry["image_id"]]), str(entry[CAPTION])))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(
            f"is no JSON as COCO has it ({type(error).__name__}: {error})",
            where=name,
            remedy="give {images: [{id, file_name}], annotations: [{image_id, caption}]}",
        ) from None
    return rows
