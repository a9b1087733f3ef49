"""Bytes of a file to text: plain or compressed, in a known encoding, every line end "\\n".

A path comes in; decoded blocks, lines or pieces come out, in constant memory. Whatever is wrong
with the bytes is a DataError that names the file and the line.
"""

from __future__ import annotations

import atexit
import codecs
import errno
import functools
import hashlib
import io
import os
import re
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from unspool.data.read.budget import MEGABYTE, Allowance, derived, json_size, size_of
from unspool.data.read.content import (
    COMPRESSED,
    DAMAGED,
    MAGIC,
    UNREAD,
    content_name,
    encoding_of,
    find_encoding,
    is_idx,
    open_content,
    refuse_binary,
    suggestion,
)
from unspool.errors import DataError, Option, Setting, nearest
from unspool.io.files import open_pipe, open_regular

STDIN = "-"
TEXTS = (".txt", ".txt.gz")  # endings of files that are a text each
BLOCK = 1 << 20  # bytes read at once
HEAD_BLOCKS = 4
LOOKED_AT = 10_000  # files of a folder in which nothing can be read
LINE_RATIO = 32  # bytes in memory for each character of a line or a text, which may be a token
SPOOLED = 16  # times the memory that a file may take, of what comes through a pipe
PIECE = 1 << 14  # characters of a stream handed on at once

Report = Callable[[float], None] | None  # called with the share of the file that was read


@dataclass(frozen=True)
class TextFile:
    """One file of text. `name` is what messages call it."""

    path: Path
    name: str
    encoding: str = "utf-8"

    def blocks(self, report: Report = None) -> Iterator[str]:
        """Decoded text, about a megabyte at a time, cut anywhere; `report` gets the share read."""
        decoder, line = None, 1
        with self._open() as (content, position):
            size = max(1, self.size())
            while True:
                data = self._read(content)
                first = decoder is None
                if decoder is None:
                    refuse_binary(data[:MAGIC], self.name)
                    codec = encoding_of(data, self.encoding)
                    inner = codecs.getincrementaldecoder(codec)()
                    decoder = io.IncrementalNewlineDecoder(inner, translate=True)
                try:
                    text = decoder.decode(data, final=not data)
                except UnicodeDecodeError as error:
                    raise self._bad_bytes(error, line) from None
                except ValueError as error:  # of codecs that are not made for files
                    raise DataError(
                        f"cannot be read as {self.encoding} ({error})",
                        where=self.name,
                        remedy=("name the encoding of the file with ", Option("encoding")),
                    ) from None
                if first:
                    text = text.removeprefix("\ufeff")
                if codec != "utf-8":
                    self._refuse_surrogates(text)
                if "\0" in text:
                    raise DataError(
                        "holds a NUL character",
                        where=f"{self.name}:{line + text[: text.index(chr(0))].count(chr(10))}",
                        remedy=("is it binary? For UTF-16 text add ", Option(encoding="utf-16")),
                    )
                if text:
                    yield text
                if not data:
                    return
                line += text.count("\n")
                if report is not None:
                    report(min(1.0, position() / size))

    def lines(self, report: Report = None) -> Iterator[str]:
        """Lines with their "\\n". Only line ends separate them: not U+0085 and its like."""
        rest, allowed = "", self.allowance()
        for block in self.blocks(report):
            whole, newline, tail = block.rpartition("\n")
            if newline:
                yield from io.StringIO(rest + whole + newline)
                rest = tail
            else:
                rest += tail
                allowed.fits(LINE_RATIO * len(rest), "a single line")
        if rest:
            yield rest

    def whole(self) -> str:
        """The whole text, for formats whose values must be parsed at once."""
        return "".join(self._held(self.blocks(), json_size, "as JSON"))

    def document(self, report: Report = None) -> str:
        """The whole text as one value, without white space around it."""
        blocks = self._held(self.blocks(report), lambda block: LINE_RATIO * len(block), "one text")
        return "".join(blocks).strip()

    def _held(self, blocks: Iterator[str], size: Callable[[str], int], what: str) -> Iterator[str]:
        allowed = self.allowance()
        for block in blocks:
            allowed.hold(size(block), what)
            yield block

    def head(self, count: int) -> list[str]:
        """The first lines that are not blank, without their "\\n", from the first megabytes."""
        blocks = list(islice(self.blocks(), HEAD_BLOCKS))
        text = "".join(blocks)
        if len(blocks) == HEAD_BLOCKS and "\n" in text:
            text = text[: text.rindex("\n")]  # the last line may go on
        lines = (line.rstrip("\n") for line in io.StringIO(text))
        return list(islice((line for line in lines if line.strip()), count))

    def pieces(self, report: Report = None) -> Iterator[str]:
        """The whole text in pieces of whole lines; a longer line is cut at a space if it can be."""
        rest = ""
        for block in self.blocks(report):
            rest += block
            start = 0
            while len(rest) - start > PIECE:
                stop = start + PIECE
                cut = rest.rfind("\n", start, stop) + 1 or rest.rfind(" ", start, stop) + 1 or stop
                yield rest[start:cut]
                start = cut
            rest = rest[start:]
        if rest:
            yield rest

    def refuse_empty(self) -> None:
        if not any(block.strip() for block in self.blocks()):
            raise DataError(
                "the file is empty", where=self.name, remedy="name a file that holds text"
            )

    def allowance(self) -> Allowance:
        """Memory and time to read the file once."""
        return Allowance(self.name, size_of(self.path))

    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError as error:
            raise unreadable(self.path, self.name, error) from None

    def add_to(self, digest: hashlib._Hash) -> None:
        """Feed the bytes of the file, as they are on disk, to a hash."""
        with self._raw() as raw:
            while data := raw.read(BLOCK):
                digest.update(data)

    def first_bytes(self) -> bytes:
        """The first bytes, as they are on disk."""
        with self._raw() as raw:
            return raw.read(MAGIC)

    @contextmanager
    def _raw(self) -> Iterator[BinaryIO]:
        try:
            raw = open_regular(self.path, buffering=0)
        except OSError as error:
            raise unreadable(self.path, self.name, error) from None
        with raw:
            yield raw

    @contextmanager
    def _open(self) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
        """The decompressed content, and the position in the file on disk."""
        with self._raw() as raw:
            try:
                with open_content(raw, self.path, self.name) as opened:
                    yield opened
            except DAMAGED as error:
                raise self._damaged(error) from None

    def _read(self, content: BinaryIO) -> bytes:
        try:
            return content.read(BLOCK)
        except DAMAGED as error:
            raise self._damaged(error) from None
        except OSError as error:
            raise unreadable(self.path, self.name, error) from None

    def _damaged(self, error: Exception) -> DataError:
        return DataError(
            f"the compressed file is damaged or ends too early ({str(error).lower()})",
            where=self.name,
            remedy="copy or download it again",
        )

    def _refuse_surrogates(self, text: str) -> None:
        """Some codecs make characters that are none."""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"cannot be read as {self.encoding} (it gives {text[error.start]!r}, which is no"
                " character)",
                where=self.name,
                remedy=("name the encoding of the file with ", Option("encoding")),
            ) from None

    def _bad_bytes(self, error: UnicodeDecodeError, line: int) -> DataError:
        good = error.object[: error.start].decode(error.encoding, "ignore")
        better = suggestion(error.object) if find_encoding(self.encoding) == "utf-8" else None
        return DataError(
            f"not valid {self.encoding} (byte 0x{error.object[error.start]:02x})",
            where=f"{self.name}:{line + good.count(chr(10))}",
            remedy=(f"it reads well as {better}: add ", Option(encoding=better))
            if better
            else ("name its encoding with ", Option("encoding"), ", or save it as UTF-8"),
        )

    def unpacked(self) -> Path:
        """Path of the decompressed bytes, for libraries that open files themselves."""
        if self.path.suffix.lower() not in COMPRESSED:
            return self.path
        return _unpacked(self, *self.version())

    def version(self) -> tuple[int, int]:
        """Its size and the time of its last change, for what is derived from its content."""
        return self.size(), self.path.stat().st_mtime_ns

    @property
    def codec(self) -> str:
        with self._open() as (content, _):
            return encoding_of(content.read(4096), self.encoding)

    @property
    def content_name(self) -> str:
        """Its name without the ending of a compression."""
        return content_name(self.path)


def sides(path: str) -> list[str]:
    """`train.en,train.de` as two paths, or as many as there are; a file with a comma in its name is
    one."""
    left, comma, right = path.partition(",")
    if not comma or "\0" in path or Path(path).exists():
        return [path]
    places = [i for i, char in enumerate(path) if char == ","]
    for i in places:  # a comma may also belong to the name of one of the two
        if Path(path[:i]).exists() and Path(path[i + 1 :]).exists():
            return [path[:i], path[i + 1 :]]
    if all(map(os.path.exists, path.split(","))):
        return path.split(",")
    return [left, right] if left and right else [path]


def find_files(path: str, *, encoding: str) -> list[TextFile]:
    """The file, what comes through a pipe (`-`), or the NAME.txt files of a folder, in order."""
    find_encoding(encoding)
    if not path:
        raise DataError("no data given", remedy="name a file, or - for standard input")
    if path == STDIN:
        return [TextFile(_spool(sys.stdin.buffer), "standard input", encoding)]
    place = Path(path)
    try:
        if not place.is_dir():
            if not stat.S_ISREG(place.stat().st_mode):  # a pipe can be read only once
                with open_pipe(place) as pipe:
                    return [TextFile(_spool(pipe), path, encoding)]
            return [TextFile(place, path, encoding)]
    except (OSError, ValueError) as error:
        raise unreadable(place, path, error) from None
    return texts_in(place, names_in(place), encoding)


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; a DataError where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise unreadable(folder, str(folder), error) from None


def visible_below(place: Path) -> list[Path]:
    """Files and folders below a folder, sorted, without hidden ones; a DataError where one of the
    folders cannot be read, which would be left out without a word."""

    def refuse(error: OSError) -> None:
        raise unreadable(Path(error.filename), str(error.filename), error) from None

    paths = []
    for parent, folders, names in os.walk(place, onerror=refuse):
        folders[:] = [name for name in folders if name[0] != "."]
        paths += [Path(parent, name) for name in (*folders, *names) if name[0] != "."]
    return sorted(paths)


def texts_in(place: Path, names: Sequence[str], encoding: str) -> list[TextFile]:
    """The NAME.txt files of a folder, or those of the folders in it."""

    def texts(folder: Path, names: Sequence[str]) -> list[TextFile]:
        return [
            TextFile(folder / name, readable_name(folder / name), encoding)
            for name in names
            if name.endswith(TEXTS) and not name.startswith(".")
        ]

    folders = [place / name for name in names if (place / name).is_dir() and name[0] != "."]
    inside = [file for folder in folders for file in texts(folder, names_in(folder))]
    files = texts(place, names)
    if len({file.path.parent for file in inside}) > 1:
        return inside  # beside them there may be a README.txt
    if files:
        return files
    parts = [f for f in folders if any((f / name).is_dir() for name in names_in(f))]
    if len(parts) > 1:
        raise DataError(
            f"holds folders of folders ({', '.join(part.name for part in parts)})",
            where=place,
            remedy=(f"name one, such as {parts[-1]}, and others with ", Option("valid", "test")),
        )
    if recorded := recordings_in(place, encoding):
        return recorded
    raise no_texts(place)


def no_texts(place: Path) -> DataError:
    """The error of a folder in which nothing can be read: what is there, and what to do."""
    paths = (path for path in visible_below(place) if path.is_file())
    files = list(islice(paths, LOOKED_AT))
    common = Counter(own.suffix.lower() for own in files).most_common(1)
    ending, count = common[0] if common else ("", 0)
    what = "the folder holds no file that can be read"
    what += f", but {count:,} {ending} file{'s' * (count > 1)}" if ending else ""
    images = next(
        (own for own in files if is_idx(content_name(own)) and "images" in own.name), None
    )
    if images is not None:
        return DataError(what, where=place, remedy=f"name the file of images, such as {images}")
    if ending in UNREAD:
        return DataError(what, where=place, remedy=UNREAD[ending])
    try:
        for own in files[:1]:
            with own.open("rb") as file:
                refuse_binary(file.read(MAGIC), str(own))
    except DataError as error:
        return error
    except OSError:
        pass
    return DataError(
        what,
        where=place,
        remedy="name a file in it, or put one NAME.txt for each label there, or recordings as .csv,"
        " .tsv, .npy or .parquet",
    )


RECORDED = (
    ".csv.gz", ".tsv.gz", ".csv", ".tsv", ".parquet", ".npy", ".npz", ".inkml", ".unp", ".unipen",
)  # fmt: skip


def recordings_in(place: Path, encoding: str) -> list[TextFile]:
    """The tables or arrays below a folder, all with one ending: the most frequent."""
    by_suffix: dict[str, list[Path]] = {}
    for path in visible_below(place):
        ending = next((suffix for suffix in RECORDED if path.name.endswith(suffix)), None)
        if ending is not None and not path.is_dir():  # a pipe is refused when it is read
            by_suffix.setdefault(ending, []).append(path)
    most = max(by_suffix.values(), key=len, default=[])
    return [TextFile(path, readable_name(path), encoding) for path in most]


def readable_name(path: Path) -> str:
    """The path of a file whose name, or that of its folder, becomes a label."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = str(path).encode("utf-8", "replace").decode()
        raise DataError(
            "its name is not valid text, so it cannot be a label", where=shown, remedy="rename it"
        ) from None
    return str(path)


def stem(path: Path) -> str:
    """`names/Czech.txt.gz` -> `Czech`."""
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]


# Parts of data, by the names that columns, folders and arrays have for them.
PARTS = {
    "train": "train",
    "training": "train",
    "restval": "train",  # of the splits of COCO by Karpathy: validation images to train on
    "valid": "valid",
    "validation": "valid",
    "val": "valid",
    "dev": "valid",
    "development": "valid",
    "trial": "valid",
    "test": "test",
    "testing": "test",
    "holdout": "test",
    "heldout": "test",
    "publictest": "valid",  # of competitions, as in FER2013
    "privatetest": "test",
}
OF_PATHS = re.compile(r"(folder|name)(_\d+)?|split")  # names of the columns that paths make


def path_columns(files: Sequence[TextFile]) -> list[tuple[str, list[str]]]:
    """Columns of folders, names and their parts, and `split`: (name, a value for each file)."""
    root = Path(files[0].path).parents
    shared = next((p for p in root if all(p in file.path.parents for file in files)), None)
    folders = [list(f.path.parent.relative_to(shared).parts) if shared else [] for f in files]
    names = [stem(file.path) for file in files]
    parts = [re.split(r"[_\- ]+", name) for name in names]
    split = split_folders(folders) or split_folders([list(part) for part in parts])
    columns: list[tuple[str, list[str]]] = []
    if split and any(folders):
        columns.append(("folder", [folder[-1] if folder else "" for folder in folders]))
    elif all(folders):
        columns.append(("folder", [folder[-1] for folder in folders]))
    depth = {len(folder) for folder in folders}
    if len(depth) == 1 and max(depth) > 1:
        columns += [
            (f"folder_{i + 1}", [folder[i] for folder in folders]) for i in range(max(depth))
        ]
    columns.append(("name", names))
    depth = {len(part) for part in parts}
    if len(depth) == 1 and max(depth) > 1:
        columns += [(f"name_{i + 1}", [part[i] for part in parts]) for i in range(max(depth))]
    return [*columns, ("split", split)] if split else columns


def split_folders(folders: list[list[str]]) -> list[str]:
    """Take the first level of folders called train, test and so on out of `folders`."""
    for level in range(min(map(len, folders), default=0)):
        names = [folder[level] for folder in folders]
        parts = {PARTS.get(name.lower()) for name in names}
        if len(parts) > 1 and "train" in parts and None not in parts:
            for parents in folders:
                del parents[level]
            return names
    return []


def unreadable(path: Path, name: str, error: OSError | ValueError) -> DataError:
    """The message for a file that cannot be opened or read; a ValueError is about its name."""
    if not isinstance(error, OSError):
        return DataError(f"is not a path ({error})", where=repr(name), remedy="check the path")
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        return DataError(
            "is a link to a file that is not there", where=name, remedy="correct or remove the link"
        )
    if isinstance(error, FileNotFoundError):
        near = nearest(path.name, _siblings(path))
        return DataError(
            "no such file",
            where=name,
            remedy=f"did you mean {path.with_name(near)}?" if near else "check the path",
        )
    if error.errno == errno.EINVAL:  # of `open_regular`
        remedy = "remove it, or write what it gives to a file"
        return DataError(f"is {error.strerror}", where=name, remedy=remedy)
    reason = (error.strerror or str(error)).lower()
    return DataError(f"cannot be read: {reason}", where=name, remedy="check its access rights")


def _siblings(path: Path) -> list[str]:
    try:
        return os.listdir(path.parent)
    except OSError:
        return []


@functools.cache
def _unpacked(file: TextFile, size: int, changed: int) -> Path:
    """The content of a compressed file, as it is at the moment, in a temporary one."""
    path, spool = temporary("unspool-unpacked-", Path(file.content_name).suffix)
    with spool, file._open() as (content, _):
        while data := file._read(content):
            spool.write(data)
    derived(path, size)
    return path


def temporary(prefix: str, suffix: str = "") -> tuple[Path, BinaryIO]:
    """A new file that is removed when the process ends, and its content to be written."""
    handle, name = tempfile.mkstemp(prefix=prefix, suffix=suffix)
    atexit.register(Path(name).unlink, missing_ok=True)
    return Path(name), os.fdopen(handle, "wb")


@functools.cache
def _spool(stream: BinaryIO) -> Path:
    """Copy a pipe to a temporary file that can be read more than once."""
    path, spool = temporary("unspool-pipe-")
    most = SPOOLED * Allowance(str(path)).memory
    with spool:
        while data := stream.read(BLOCK):
            spool.write(data)
            if spool.tell() > most:
                raise DataError(
                    f"gives more than {most // MEGABYTE:,} MB",
                    where="a pipe",
                    remedy=(
                        "write it to a file, or, if it ends: ",
                        Setting(read_memory=2 * most // SPOOLED // MEGABYTE),
                    ),
                )
    return path
