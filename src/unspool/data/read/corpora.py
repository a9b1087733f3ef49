"""Formats of single corpora: SQuAD, stories of bAbI, opinions in three lines, captions of COCO."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from unspool.config import DataConfig
from unspool.data.read.columns import CAPTION_NAMES
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import SAMPLE, FileHead, Match, Reader, Record, Shape, sampled
from unspool.errors import DataError
from unspool.io.files import parse_json

SQUAD_START = re.compile(r'"paragraphs"\s*:')
NOT_AS_EXPECTED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class CorpusReader(Reader):
    """A format whose columns always have the same names."""

    names: ClassVar[tuple[str, ...]]
    shape = Shape.CORPUS
    header = True

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        files[0].refuse_empty()
        self.columns = sampled(self.names, (values for _, values in self.records(files[0])))


class Squad(CorpusReader):
    """A row a question: question, context, answers ({text, answer_start} each) and id."""

    name = "squad"
    suffixes = (".json",)
    title = "questions of SQuAD"
    typed = True
    names = ("question", "context", "answers", "id")

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        is_object = head.start.lstrip().startswith("{")
        return Match.CERTAIN.when(is_object and SQUAD_START.search(head.start[:100_000]))

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        try:
            stored = parse_json(file.whole().encode())
            articles = stored["data"] if isinstance(stored, dict) else stored
            paragraphs = (part for article in articles for part in article["paragraphs"])
            questions = ((part, question) for part in paragraphs for question in part["qas"])
            for line, (part, question) in enumerate(questions, start=1):
                none = question.get("is_impossible", False)
                answers = [] if none else question.get("answers", [])
                number = str(question.get("id", ""))
                yield line, (question["question"], part["context"], answers, number)
        except NOT_AS_EXPECTED as error:
            raise DataError(
                f"is no JSON as SQuAD has it ({type(error).__name__}: {error})",
                where=file.name,
                remedy="give {data: [{paragraphs: [{context, qas: [{question, answers}]}]}]}",
            ) from None


LINE = re.compile(r"(\d{1,6}) (\S.*)")


class Stories(CorpusReader):
    """A row a question: the statements before it, question, answer, and support, from 1."""

    name = "stories"
    title = "stories with questions"
    typed = True
    names = ("story", "question", "answer", "supporting")

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """All lines are numbered, from 1, and some are questions."""
        lines = head.lines
        numbered = all(LINE.fullmatch(line.rstrip()) is not None for line in lines)
        asking = any("?" in line and "\t" in line for line in lines)
        return Match.CERTAIN.when(lines[0].startswith("1 ") and numbered and asking)

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
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
                file.allowance().fits(SAMPLE * 8 * len(story), "a story")  # of each question
                continue
            if not story:
                raise DataError(
                    "a question without a story before it",
                    where=f"{file.name}:{line}",
                    got=question,
                    remedy="give statements first",
                )
            support = [places[n] for n in " ".join(rest[1:]).split() if n in places]
            yield line, (list(story), question, rest[0], support)


TARGET = "$T$"
POLARITIES = ("-1", "0", "1")


class Seg(CorpusReader):
    """Columns text, target and polarity."""

    name = "seg"
    suffixes = (".seg",)
    title = "opinions, three lines each"
    names = ("text", "target", "polarity")

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        """Every third line is a polarity, and sentences have their targets."""
        lines = head.lines
        whole = len(lines) // 3 * 3
        polarities = all(line.strip() in POLARITIES for line in lines[2:whole:3])
        targets = all(TARGET in line for line in lines[0:whole:3])
        return Match.CERTAIN.when(whole > 0 and polarities and targets)

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        opinion: list[str] = []
        line = 0
        for line, content in enumerate(file.lines(report), start=1):
            if not opinion and not content.strip():
                continue
            opinion.append(content.strip())
            if len(opinion) == 3:
                if TARGET not in opinion[0] or opinion[2] not in POLARITIES:
                    raise DataError(
                        f"an opinion is a sentence with {TARGET}, a target, and -1, 0 or 1",
                        where=f"{file.name}:{line - 2}",
                        got=opinion[2] if TARGET in opinion[0] else opinion[0],
                        remedy="give three lines for each",
                    )
                yield line - 2, opinion
                opinion = []
        if opinion:
            raise DataError(
                f"the last opinion has {len(opinion)} of 3 lines",
                where=f"{file.name}:{line}",
                got=opinion[-1],
                remedy=f"give a sentence with {TARGET}, a target, and -1, 0 or 1",
            )


CAPTION = CAPTION_NAMES[0]
COCO_START = re.compile(r'"(images|annotations)"\s*:\s*\[\s*\{')
COCO_FIELDS = re.compile(r'"(image_id|file_name)"\s*:')


class Coco(CorpusReader):
    """A row a caption: the name of its image, and the caption; the line of a row is its number."""

    name = "coco"
    suffixes = (".json",)
    title = "captions of COCO"
    typed = True
    noun = "field"
    names = ("file_name", CAPTION)

    @classmethod
    def sniff(cls, head: FileHead) -> Match:
        start = head.start[:100_000]
        is_object = start.lstrip().startswith("{")
        return Match.CERTAIN.when(
            is_object and COCO_START.search(start) and COCO_FIELDS.search(start)
        )

    def records(self, file: TextFile, report: Report = None) -> Iterator[Record]:
        path = file.unpacked()
        return enumerate(captions(path, file.name, path.stat().st_mtime_ns), start=1)


@lru_cache(1)
def captions(path: Path, name: str, changed: int) -> list[tuple[str, str]]:
    """(name of the image, caption) of every annotation."""
    rows = []
    try:
        stored = parse_json(TextFile(path, name).whole().encode())
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
    except NOT_AS_EXPECTED as error:
        raise DataError(
            f"is no JSON as COCO has it ({type(error).__name__}: {error})",
            where=name,
            remedy="give {images: [{id, file_name}], annotations: [{image_id, caption}]}",
        ) from None
    if not rows:
        raise DataError("has no captions", where=name, remedy="name another file")
    return rows
