"""One data file (or folder, or standard input) as a `Source` of examples.

source = open_source("reviews.csv", data, task=None)
print(source.says)      # reviews.csv: CSV, text in column 'review', label in ... -> classify
for example in source:  # as often as needed, in constant memory
    ...
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from unspool.config import DataConfig
from unspool.data.files import Report, TextFile, find_files, stem
from unspool.data.infer import infer
from unspool.data.rows import READERS, Example, Layout

__all__ = ["Example", "Source", "open_source"]


@dataclass
class Source:
    """Where examples come from. Iterate over it as often as needed."""

    path: str
    task: str
    says: str
    layout: Layout
    files: Sequence[TextFile]

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.files[0].name if len(self.files) == 1 else self.path

    @property
    def format(self) -> str:
        return self.layout.format

    @property
    def labelled(self) -> bool:
        """Whether rows carry labels."""
        return self.layout.label is not None or self.format in ("labelled", "folder")

    @cached_property
    def sha256(self) -> str:
        """The hash of the content, as it is on disk; a folder's names count as well."""
        digest = hashlib.sha256()
        for file in self.files:
            if len(self.files) > 1:
                digest.update(f"\0{stem(file.path)}\0".encode())
            file.add_to(digest)
        return digest.hexdigest()

    def __iter__(self) -> Iterator[Example]:
        return self.read()

    def read(self, report: Report | None = None) -> Iterator[Example]:
        """The examples; `report` gets the share of the source's bytes that has been read."""
        sizes = [max(1, file.size()) for file in self.files]
        for i, file in enumerate(self.files):
            before, own, total = sum(sizes[:i]), sizes[i], sum(sizes)
            part: Report | None = None
            if report is not None:
                part = _rescaled(report, before / total, own / total)
            yield from READERS[self.format](file, self.layout, part)

    def where(self, line: int, label: str | None = None) -> str:
        """`file:line` for a message; in a folder the label says which file."""
        if self.format == "folder" and label is not None:
            for file in self.files:
                if stem(file.path) == label:
                    return f"{file.name}:{line}"
        return f"{self.name}:{line}"


def _rescaled(report: Report, start: float, share: float) -> Report:
    return lambda fraction: report(start + share * fraction)


def open_source(
    path: str, data: DataConfig, *, task: str | None = None, labelled: bool = True
) -> Source:
    """Look at a file, a folder of NAME.txt files, or standard input (`-`).

    Format, header, columns and, where `task` is None, the task are inferred; `data` overrides.
    With `labelled=False`, as for prediction, no label is looked for, and plain text is one document
    a line.
    """
    files = find_files(path, encoding=data.encoding)
    guess = infer(files, path, data, task, labelled=labelled)
    return Source(path, guess.task, guess.says, guess.layout, files)
