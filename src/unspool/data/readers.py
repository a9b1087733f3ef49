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
from unspool.data.infer import infer
from unspool.data.pairs import infer_pairs
from unspool.data.read.files import STDIN, Report, TextFile, find_files, sides, stem
from unspool.data.rows import READERS, Example, Layout
from unspool.data.sentences import SENTENCE_READERS
from unspool.data.tagging import infer_tagged
from unspool.errors import DataError

__all__ = ["Example", "Source", "open_source"]


@dataclass
class Source:
    """Where examples come from. Iterate over it as often as needed.

    Pairs are two sources, row by row: this one is read, `target` is what is to be written. So are
    sentences with a tag for each of their words.
    """

    path: str
    task: str
    says: str
    layout: Layout
    files: Sequence[TextFile]
    target: Source | None = None

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

    @property
    def sides(self) -> tuple[Source, ...]:
        """This source, and of pairs the other one."""
        return (self,) if self.target is None else (self, self.target)

    @property
    def content(self) -> str:
        """The hash of all that is read, both sides of pairs."""
        hashes = dict.fromkeys(side.sha256 for side in self.sides)
        if len(hashes) == 1:
            return self.sha256
        return hashlib.sha256(" ".join(hashes).encode()).hexdigest()

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
            read = {**READERS, **SENTENCE_READERS}[self.format]
            yield from read(file, self.layout, part)

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
    """Look at a file, two files `a,b` of pairs, a folder of NAME.txt files, or stdin (`-`).

    Format, header, columns and, where `task` is None, the task are inferred; `data` overrides.
    With `labelled=False`, as for prediction, no label is looked for, and plain text is one document
    a line.
    """
    both = sides(path)
    if len(both) > 1:
        return _parallel(path, both, data, task)
    files = find_files(path, encoding=data.encoding)
    tagged = infer_tagged(files, path, data, task, labelled=labelled)
    if tagged is not None:
        source = Source(path, "tag", tagged.says, tagged.words, files)
        if tagged.tags is not None:
            source.target = Source(path, "tag", tagged.says, tagged.tags, files)
        return source
    pairs = infer_pairs(files, path, data, task) if labelled else None
    if pairs is not None:
        target = Source(path, "translate", pairs.says, pairs.target, files)
        return Source(path, "translate", pairs.says, pairs.source, files, target)
    guess = infer(files, path, data, task, labelled=labelled)
    return Source(path, guess.task, guess.says, guess.layout, files)


def _parallel(path: str, paths: Sequence[str], data: DataConfig, task: str | None) -> Source:
    """Two files of plain lines: line n of one belongs to line n of the other."""
    if task not in (None, "translate") or data.format not in ("auto", "lines"):
        raise DataError(
            f"two files are pairs for translate, not data for {task}"
            if task not in (None, "translate")
            else f"two files of pairs are read as lines, not as {data.format}",
            where=path,
            remedy="name one file, or use --task translate and leave out --format",
        )
    read, written = (find_files(name, encoding=data.encoding) for name in paths)
    for name, files in zip(paths, (read, written)):
        if len(files) > 1 or name == STDIN:
            raise DataError(
                "a side of pairs must be a file", where=name, remedy="name two files: a.en,a.de"
            )
    says = f"{paths[0]}, {paths[1]}: pairs of lines -> translate"
    target = Source(paths[1], "translate", says, Layout("lines"), written)
    return Source(path, "translate", says, Layout("lines"), read, target)
