"""Transcripts and parts that files beside recordings list, as in published corpora: (name of the
column, a value for each recording).

84-121123.trans.txt                       LibriSpeech: `84-121123-0000 GO DO YOU HEAR`, a line each
validation_list.txt, testing_list.txt     Speech Commands: `yes/0a7c2a8d_nohash_0.wav`, a line each
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from unspool.data.read.files import TextFile

TRANSCRIPTS = "*.trans.txt"
LISTS = {"validation_list.txt": "valid", "testing_list.txt": "test"}


def transcripts(files: Sequence[TextFile]) -> list[tuple[str, list[str]]]:
    """A column `text`, where every file has its line."""
    found: dict[str, str] = {}
    for folder in {file.path.parent for file in files}:
        for path in folder.glob(TRANSCRIPTS):
            for line in TextFile(path, str(path)).lines():
                name, _, text = line.strip().partition(" ")
                found[name] = text.strip()
    texts = [found.get(file.path.stem, "") for file in files]
    return [("text", texts)] if texts and all(texts) else []


def listed_parts(files: Sequence[TextFile]) -> list[tuple[str, list[str]]]:
    """A column `split`, where lists in the folder of all files name those of a part."""
    folders = [str(file.path.parent) for file in files]
    root = Path(os.path.commonpath(folders)) if folders else Path()
    parts: dict[str, str] = {}
    for name, part in LISTS.items():
        path = root / name
        if path.is_file():
            parts |= dict.fromkeys(map(str.strip, TextFile(path, str(path)).lines()), part)
    names = [file.path.relative_to(root).as_posix() for file in files]
    if parts.keys().isdisjoint(names):
        return []
    return [("split", [parts.get(name, "train") for name in names])]


def is_beside(path: Path) -> bool:
    """Whether it is such a file."""
    return path.match(TRANSCRIPTS) or path.name in LISTS
