"""SQuAD's JSON: articles of paragraphs, each a context with questions and their answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from unspool.config import DataConfig
from unspool.data.read.files import Report, TextFile
from unspool.data.read.reader import SAMPLE, Column, FileHead, Match, Reader, Row, Shape
from unspool.errors import DataError

NAMES = ("question", "context", "answers", "id")
START = re.compile(r'"paragraphs"\s*:')


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
        found = head.start.lstrip().startswith("{") and START.search(head.start[:100_000])
        return Match.CERTAIN.when(found)

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        sample = [row for _, row in zip(range(SAMPLE), self._rows(files[0]))]
        self.columns = [Column(name, i, [row[i] for row in sample]) for i, name in enumerate(NAMES)]

    def _rows(self, file: TextFile) -> Iterator[tuple[Any, ...]]:
        try:
            stored = json.loads("".join(file.blocks()))
            articles = stored["data"] if isinstance(stored, dict) else stored
            for article in articles:
                for paragraph in article["paragraphs"]:
                    for own in paragraph["qas"]:
                        none = own.get("is_impossible", False)
                        answers = [] if none else own.get("answers", [])
                        yield own["question"], paragraph["context"], answers, str(own.get("id", ""))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(
                f"is no JSON as SQuAD has it ({type(error).__name__}: {error})",
                where=file.name,
                remedy="give {data: [{paragraphs: [{context, qas: [{question, answers}]}]}]}",
            ) from None

    def read(self, file: TextFile, numbers: Sequence[int], report: Report | None) -> Iterator[Row]:
        for line, row in enumerate(self._rows(file), start=1):
            yield Row(tuple(row[i] for i in numbers), line)
