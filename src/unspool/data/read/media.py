"""Files that are a value each, such as recordings of sound: a row a file, and what the names of
files and folders say are columns, too.

{label}_{speaker}_{n}.wav    a pattern of names: columns label, speaker and n
{speaker}/{text}             of folders too; the ending may be left out

Files beside recordings may list their transcripts and parts, as in published corpora:

84-121123.trans.txt                       LibriSpeech: `84-121123-0000 GO DO YOU HEAR`, a line each
validation_list.txt, testing_list.txt     Speech Commands: `yes/0a7c2a8d_nohash_0.wav`, a line each
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from unspool.config import DataConfig
from unspool.data.read.clip import FILMS, Clip
from unspool.data.read.columns import CAPTION_NAMES
from unspool.data.read.content import content_name
from unspool.data.read.files import (
    PARTS,
    Report,
    TextFile,
    path_columns,
    readable_name,
    visible_below,
)
from unspool.data.read.music import ENDINGS as MIDIS
from unspool.data.read.music import Midi
from unspool.data.read.picture import ENDINGS as PICTURES
from unspool.data.read.picture import Picture
from unspool.data.read.reader import SAMPLE, Column, Reader, Row, Shape
from unspool.data.read.sound import ENDINGS as SOUNDS
from unspool.data.read.sound import Sound
from unspool.errors import ConfigError, DataError
from unspool.io.files import open_regular

LIST_SUFFIXES = (".csv", ".tsv", ".jsonl", ".txt")  # of tables that may list files
NOISE = "_background_noise_"  # a folder of Speech Commands, whose recordings have no label
# What every folder may hold beside data.
USUAL = re.compile(
    r"(readme|license|licence|citation|changelog)(\..*)?|thumbs\.db|desktop\.ini", re.I
)
FEW = 3  # names of files that a line shows
OTHERS = (".txt", ".txt.gz", *LIST_SUFFIXES, ".npy", ".npz", ".ts", ".inkml", ".unp", ".unipen")


class Medium(NamedTuple):
    """A kind of files that are a value each.

    name      of the format, of the field and of its column
    noun      what files hold
    plural    what files are called
    endings   of their names
    make      a value of a path, and of what messages call it
    decode    the whole content of a value, in parts
    described names of columns of texts that describe them, rather than being what is said or
              written in them
    stepped   whether a label for each step makes sense, and whether a value may be a folder
    """

    name: str
    noun: str
    plural: str
    endings: tuple[str, ...]
    make: Callable[[Path, str], Any]
    decode: Callable[[Any], Iterable[Any]]
    described: tuple[str, ...] = ()
    stepped: bool = False

    def named(self, name: Any) -> bool:
        """Whether a file of this name is one."""
        if not isinstance(name, str | os.PathLike):
            return False
        return self.file_of(str(name).strip()).lower().endswith(self.endings)

    def file_of(self, name: str) -> str:
        """The name of the file that a table calls `photo.jpg#2`: the second of its captions."""
        return NUMBERED.sub(r"\1", name) if "#" in name else name


NUMBERED = re.compile(r"(\.\w+)#\d+$")
AUDIO = Medium("audio", "sound", "recordings", SOUNDS, Sound, Sound.blocks)
IMAGE = Medium("image", "images", "images", PICTURES, Picture, Picture.decode, CAPTION_NAMES)
# Only films are surely videos: a GIF, or a folder of images, is one where input=video says so.
VIDEO = Medium("video", "videos", "clips", FILMS, Clip, Clip.frames, CAPTION_NAMES, stepped=True)
MUSIC = Medium("music", "music", "pieces", MIDIS, Midi, Midi.score)
MEDIA = (AUDIO, IMAGE, VIDEO, MUSIC)


class MediaFiles(Reader):
    """Columns: the value of the file; those of the pattern; folder and parts of the name."""

    shape = Shape.FILES
    medium: ClassVar[Medium]
    typed = binary = one_row = header = True

    def __init__(self, files: Sequence[TextFile], data: DataConfig) -> None:
        super().__init__(files, data)
        self.pattern = data.pattern
        named = [] if data.pattern is None else matched(files, data.pattern)
        taken = {name for name, _ in named}
        named += [column for column in self.beside(files) if column[0] not in taken]
        taken = {name for name, _ in named}
        named += [column for column in path_columns(files) if column[0] not in taken]
        made: list[Any] = [self.medium.make(file.unpacked(), file.name) for file in files]
        self.values: list[list[Any]] = [made, *(column for _, column in named)]
        names = [self.medium.name, *(name for name, _ in named)]
        self.columns = [
            Column(name, i, column[:SAMPLE])
            for i, (name, column) in enumerate(zip(names, self.values))
        ]
        self.remark = "" if data.pattern is None else f"named {data.pattern}"
        if (split := dict(named).get("split")) and data.pattern is None:
            parts = ", ".join(sorted(set(split), key=lambda column: [*PARTS].index(column.lower())))
            by = "lists beside them" if "split" in taken else "folder"
            self.remark = f"in the parts {parts} by {by}"

    def beside(self, files: Sequence[TextFile]) -> list[tuple[str, list[str]]]:
        """Columns that files beside them make."""
        return []

    @classmethod
    def probe(cls, file: TextFile, data: DataConfig) -> tuple[str, ...]:
        for _ in cls.medium.decode(cls.medium.make(file.unpacked(), file.name)):
            pass
        return ()

    @property
    def options(self) -> dict[str, Any]:
        return {"pattern": self.pattern}

    def read(self, file: TextFile, numbers: Sequence[int], report: Report) -> Iterator[Row]:
        row = self.files.index(file)
        yield Row(tuple(self.values[i][row] for i in numbers), 1)
        if report is not None:
            report(1.0)

    def rows(self, numbers: Sequence[int], report: Report = None) -> Iterator[Row]:
        for row in range(len(self.files)):
            if report is not None:
                report(row / len(self.files))
            yield Row(tuple(self.values[i][row] for i in numbers), 1, row)


class Sounds(MediaFiles):
    name = "audio"
    title = "recordings of sound"
    medium = AUDIO

    def beside(self, files: Sequence[TextFile]) -> list[tuple[str, list[str]]]:
        return [*transcripts(files), *listed_parts(files)]


class Pictures(MediaFiles):
    name = "image"
    title = "images"
    medium = IMAGE


class MidiFiles(MediaFiles):
    name = "music"
    title = "pieces of music"
    medium = MUSIC


def medium_of(name: Any) -> Medium | None:
    return next((medium for medium in MEDIA if medium.named(name)), None)


def pattern_of(pattern: str) -> re.Pattern[str]:
    """A pattern of names as a regular expression; {name} is as few characters as can be."""
    ending = Path(pattern).suffix if medium_of(pattern) else ""
    parts = re.split(r"\{(\w+)\}", pattern.removesuffix(ending))
    names = parts[1::2]
    if not names or len(set(names)) < len(names) or not all(map(str.isidentifier, names)):
        raise ConfigError(
            "data.pattern needs names in braces, each once",
            got=pattern,
            remedy="write it like {label}_{speaker}_{n}.wav",
        )
    last = len(parts) - 2
    expressions = [
        re.escape(part) if i % 2 == 0 else f"(?P<{part}>[^/]+{'' if i == last else '?'})"
        for i, part in enumerate(parts)
    ]
    return re.compile("".join(expressions))


def matched(files: Sequence[TextFile], pattern: str) -> list[tuple[str, list[str]]]:
    """Values of the names in a pattern, for each file; a DataError for one that does not match."""
    expression, depth = pattern_of(pattern), pattern.count("/") + 1
    columns: dict[str, list[str]] = {name: [] for name in expression.groupindex}
    for file in files:
        path = file.path.with_suffix("") if medium_of(file.path) else file.path
        match = expression.fullmatch("/".join(path.parts[-depth:]))
        if match is None:
            raise DataError(
                f"its name does not fit the pattern {pattern}",
                where=file.name,
                remedy="set another pattern, or rename the file",
            )
        for name, value in match.groupdict().items():
            columns[name].append(value)
    return list(columns.items())


def stamp(path: Path) -> bytes:
    """Name, size and time of a file, of a folder those of all files in it: for keys of caches."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    known = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return repr(known).encode()


class MediaListing(NamedTuple):
    """Files of a kind, or the table that lists them; `remark`: what else is in their folder."""

    files: list[TextFile]
    medium: Medium
    listed: bool = False
    remark: str = ""


def find_media(path: str, data: DataConfig) -> MediaListing | None:
    """The files at a path that are a value each: itself, or those of a folder and of the folders in
    it; the table in that folder, if one has their names and no pattern is set. None where there are
    none, or fewer than files of texts and series."""
    place = Path(path)
    candidates = [medium for medium in MEDIA if data.input in ("auto", medium.name)]
    if not candidates or "\0" in path:
        return None
    alone = medium_of(content_name(place))  # compressed or not
    if alone in candidates and place.is_file():
        return MediaListing([TextFile(place, path, data.encoding)], alone)
    if not place.is_dir():
        return None
    visible = visible_below(place)
    by_medium = {
        medium: [path for path in visible if medium.named(path.name)] for medium in candidates
    }
    medium = max(candidates, key=lambda item: len(by_medium[item]))  # the first of equally many
    media = by_medium[medium]
    stems = {item.stem for item in media}
    tables = [
        path for path in visible if path.parent == place and path.suffix.lower() in LIST_SUFFIXES
    ]
    listing = [table for table in tables if media and names_files(table, medium, stems)]
    others = [path for path in visible if path.name.endswith(OTHERS) and path not in listing]
    if not media or (len(others) > len(media) and data.input == "auto"):
        return None
    if listing and data.pattern is None:
        return listed_tables(path, medium, listing, data)
    noise = {item for item in media if NOISE in item.relative_to(place).parts[:-1]}
    media = [item for item in media if item not in noise] or media
    files = [TextFile(item, readable_name(item), data.encoding) for item in media]
    return MediaListing(files, medium, remark=left_out(visible, media))


def listed_tables(
    path: str, medium: Medium, tables: Sequence[Path], data: DataConfig
) -> MediaListing:
    """The table that lists files of a folder, or those of its parts, "train" first; a DataError
    where several do not declare a part each."""
    by_part = {PARTS.get(table.stem.lower(), ""): table for table in tables}
    if len(tables) > 1:
        if "train" not in by_part or "" in by_part or len(by_part) < len(tables):
            names = ", ".join(table.name for table in tables)
            raise DataError(
                f"holds several tables of {medium.plural} ({names})",
                where=path,
                remedy=f"name the one to read, such as {by_part.get('train', tables[0])}",
            )
        order = dict.fromkeys(PARTS.values())
        tables = [by_part[part] for part in order if part in by_part]
    files = [TextFile(table, str(table), data.encoding) for table in tables]
    return MediaListing(files, medium, listed=True)


def left_out(visible: Sequence[Path], read: Sequence[Path]) -> str:
    """`3 other files not read (a.svg, b.pdf, c.tif)`, but for what every folder may hold."""
    known = set(read)
    others = [path for path in visible if path not in known and path.is_file()]
    others = [
        path
        for path in others
        if not USUAL.fullmatch(path.name) and not path.match(TRANSCRIPTS) and path.name not in LISTS
    ]
    if not others:
        return ""
    names = [column.name for column in others]
    if len(others) > FEW:
        names = sorted({column.suffix.lower() or column.name for column in others})
    shown = ", ".join(names[:FEW]) + ", ..." * (len(names) > FEW)
    return f"{len(others):,} other file{'s' * (len(others) > 1)} not read ({shown})"


def names_files(table: Path, medium: Medium, stems: Set[str] = frozenset()) -> bool:
    """Whether the first lines of a table name files of a kind, by suffixes or as `stems`."""
    try:
        with open_regular(table) as file:
            start = file.read(1 << 16).decode("utf-8", "replace")
    except (OSError, ValueError):
        return False
    ending = re.compile(rf"({'|'.join(map(re.escape, medium.endings))})\b", re.IGNORECASE)
    if table.suffix.lower() == ".json":
        known = '"annotations"' in start or '"sentences"' in start
        return known and bool(ending.search(start))
    lines = start.splitlines()[1:10]
    cells = [[cell.strip(' "') for cell in re.split(r"[,;|\t:{}]", line)] for line in lines]
    named = [
        len(row) > 1 and bool(ending.search(line) or not stems.isdisjoint(row))
        for line, row in zip(lines, cells)
    ]
    return bool(lines) and sum(named) > 0.5 * len(lines)


TRANSCRIPTS = "*.trans.txt"
LISTS = {"validation_list.txt": "valid", "testing_list.txt": "test"}


def transcripts(files: Sequence[TextFile]) -> list[tuple[str, list[str]]]:
    """A column `text`, where every file has its line."""
    texts_by_name: dict[str, str] = {}
    for folder in {file.path.parent for file in files}:
        for path in folder.glob(TRANSCRIPTS):
            for line in TextFile(path, str(path)).lines():
                name, _, text = line.strip().partition(" ")
                texts_by_name[name] = text.strip()
    texts = [texts_by_name.get(file.path.stem, "") for file in files]
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
