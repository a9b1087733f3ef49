"""The content of a file on disk: a path in, its bytes out, decompressed if need be; and their
encoding.

gzip, bzip2, xz and zip archives of one file are opened by their first bytes, whatever they are
called. What is no text is refused by its name, never decoded.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from unspool.data.read.budget import Allowance, Counted
from unspool.errors import DataError, Message, Option, nearest

COMPRESSED = (".gz", ".bz2", ".xz", ".zip")  # endings that say nothing about the content
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile)
ZIP = b"PK\x03\x04"
PICKLES = (".pkl", ".pickle")


class Signature(NamedTuple):
    """A kind of file that begins with some bytes, and the remedy where it is not read."""

    at: int
    magic: bytes
    name: str
    remedy: Message


EXPORT = "save it as CSV or as .xlsx first"
UNPACK = "unpack it, and name a file in it"
NO_TEXT = "name a file of text"
PICKLE = "a pickle, which could run any code"
UNPICKLE = "load it where you trust it, and save tables as CSV, lists as JSON, arrays as .npz"
KINDS = (
    Signature(
        0,
        b"PAR1",
        "a Parquet file",
        ("leave out ", Option("format"), ", or use ", Option(format="parquet")),
    ),
    Signature(
        0,
        b"ARROW1",
        "an Arrow file",
        ("leave out ", Option("format"), ", or use ", Option(format="arrow")),
    ),
    Signature(0, b"\x28\xb5\x2f\xfd", "a Zstandard file", "unpack it with zstd -d"),
    Signature(0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
    Signature(0, b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    Signature(257, b"ustar", "a tar archive", UNPACK),
    Signature(0, b"PK\x05\x06", "an empty zip archive", "name another file"),
    Signature(0, b"\xd0\xcf\x11\xe0", "an old Office file (.xls, .doc)", EXPORT),
    Signature(0, b"%PDF", "a PDF", "extract its text first, for example with pdftotext"),
    Signature(0, b"{\\rtf", "an RTF document", "save it as plain text"),
    Signature(0, b"SQLite format 3\0", "an SQLite database", "export a table of it as CSV"),
    Signature(0, b"\x89HDF", "an HDF5 file", "export it as CSV or Parquet"),
    Signature(0, b"\x93NUMPY", "a NumPy array", "export it as CSV"),
    *(Signature(0, bytes((0x80, version)), PICKLE, UNPICKLE) for version in (2, 3, 4, 5)),
    *(
        Signature(0, magic, "an R data file (.rds, .RData)", "write it with write.csv() in R")
        for magic in (b"RDX2\n", b"RDX3\n", b"X\n\0\0\0", b"A\n2\n", b"A\n3\n")
    ),
    *(
        Signature(4, magic, "an HEIC or AVIF image", "save it as PNG or JPEG")
        for magic in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftypavif")
    ),
    *(
        Signature(0, magic, "a TIFF image", "save it as PNG or JPEG")
        for magic in (b"II*\0", b"MM\0*")
    ),
    Signature(0, b"<stata_dta>", "a Stata file", "write it with `export delimited` in Stata"),
    Signature(0, b"$FL2", "an SPSS file", "save it as CSV in SPSS"),
    Signature(0, b"\x89PNG", "a PNG image", "give its name the ending .png"),
    Signature(0, b"\xff\xd8\xff", "a JPEG image", "give its name the ending .jpg"),
    Signature(0, b"GIF8", "a GIF image", "give its name the ending .gif"),
    Signature(0, b"RIFF", "a RIFF file (wav, avi, webp)", "give its name the ending of its kind"),
    Signature(0, b"fLaC", "FLAC audio", "give its name the ending .flac"),
    Signature(0, b"OggS", "Ogg audio", "give its name the ending .ogg"),
    Signature(0, b"ID3", "MP3 audio", "give its name the ending .mp3"),
    Signature(0, b"MThd", "a MIDI file", "give its name the ending .mid"),
    Signature(0, b"\x7fELF", "a program", NO_TEXT),
)
SCORE = "MusicXML, a score"
TO_MIDI = "save it as MIDI, for example with MuseScore: mscore -o a.mid a.musicxml"
UNREAD_IMAGES = (
    ".heic", ".heif", ".avif", ".tif", ".tiff", ".svg", ".psd", ".raw", ".cr2", ".nef", ".ppm"
)  # fmt: skip
# Files that are not read, by their endings, and what to do about them.
UNREAD = {
    **dict.fromkeys(
        (".musicxml", ".mxl", ".mscz", ".krn"), "save them as MIDI, for example with MuseScore"
    ),
    ".abc": "make MIDI of them with abc2midi, or put all into one file to learn them as text",
    **dict.fromkeys(PICKLES, UNPICKLE.replace(" it ", " them ")),
    **dict.fromkeys(UNREAD_IMAGES, "save them as PNG or JPEG"),
    ".pdf": "extract their texts, or save their pages as PNG",
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar"), "unpack them"),
}
IDX = re.compile(r".*[-.]idx[1-4](-ubyte)?", re.IGNORECASE)  # as of MNIST
MAGIC = 262  # bytes that are looked at
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like that of UTF-16, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
COMMON = ["utf-8", "utf-16", "latin-1", "cp1252", "shift_jis", "gb18030", "koi8-r"]
RUSSIAN = "оеаинтсрвлкмдпуяыь"
JAPANESE = "のにはをたがでてとしれさいかなこもらすきまるっあうく。、ーん"
# Characters that come often in what is written in each encoding; of equals the first one wins.
COMMON_LETTERS = {
    "cp1252": "äöüßÄÖÜÉÀéèàçñóíáêôœúâîïëãõåæø’‘“”–—…€£°«»",
    "cp1251": RUSSIAN,
    "koi8-r": RUSSIAN,
    "cp1250": "ąćęłńóśźżčěřšťďňůýžáéíúőű",
    "cp1253": "αειοντσκηρςάέήίόύώλμπυ",
    "cp1254": "ığşçöüİĞŞÇÖÜâî",
    "cp1255": "אבגדהוזחטיכלמנסעפצקרשתםןךףץ",
    "cp1256": "ايلمنتوربةدعفهسحكقأ",
    "gb18030": "的一是不了在人有我他这个们中来上大为和国地到说要就会可你对生能而子那得于看很好，。",
    "big5": "的一是不了在人有我他這個們中來上大為和國地到說要就會可你對生能而子那得於看很好，。",
    "shift_jis": JAPANESE,
    "euc_jp": JAPANESE,
    "euc_kr": "이다는을를에의고가한지도로기하사은나어자리라인아시정대습니있었그것들해수서보면만게",
}
LATIN = ("cp1252", "cp1250", "cp1254")
FEWEST_BYTES = 5  # beyond ASCII, to tell Latin encodings apart
TRIED = 1 << 16  # bytes looked at for a suggestion


@contextmanager
def open_content(
    raw: BinaryIO, path: Path, name: str
) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
    """The decompressed content of an open file, and the position in the file on disk."""
    head = raw.read(MAGIC)
    raw.seek(0)
    content: Any
    with ExitStack() as opened:
        if head.startswith(b"\x1f\x8b"):
            content = opened.enter_context(gzip.GzipFile(fileobj=raw))
        elif head.startswith(b"BZh"):
            content = opened.enter_context(bz2.BZ2File(raw))
        elif head.startswith(b"\xfd7zXZ\0"):
            content = opened.enter_context(lzma.LZMAFile(raw))
        elif head.startswith(ZIP):
            archive = opened.enter_context(zipfile.ZipFile(raw))
            content = opened.enter_context(open_member(archive, name))
        else:
            content = None
        if content is not None:
            counted = Counted(content, Allowance(name, os.fstat(raw.fileno()).st_size))
            yield counted, raw.tell  # type: ignore[misc]
            return
    refuse_binary(head, name)
    if path.suffix in COMPRESSED and head:
        raise DataError(
            f"is called {path.suffix} but is not such a file",
            where=name,
            remedy="rename it, or compress it again",
        )
    if path.suffix.lower() in PICKLES:
        raise DataError(f"is {PICKLE}", where=name, remedy=UNPICKLE)
    yield raw, raw.tell


def refuse_binary(head: bytes, name: str) -> None:
    for kind in KINDS:
        if head[kind.at :].startswith(kind.magic):
            raise DataError(f"is {kind.name}", where=name, remedy=kind.remedy)


def members(archive: zipfile.ZipFile) -> list[str]:
    """The files of a zip archive, without what file managers add."""
    return [
        name
        for name in archive.namelist()
        if not name.endswith("/")
        and not name.startswith("__MACOSX/")
        and not Path(name).name.startswith(".")
    ]


def open_member(archive: zipfile.ZipFile, name: str) -> BinaryIO:
    """The only file of a zip archive."""
    files = members(archive)
    inside = {file.split("/")[0] for file in files}
    if "[Content_Types].xml" in files:
        what = "an Excel file" if "xl" in inside else "an Office document"
        remedy = (
            ("leave out ", Option("format"), ", or use ", Option(format="excel"))
            if "xl" in inside
            else NO_TEXT
        )
        raise DataError(f"is {what}", where=name, remedy=remedy)
    if "mimetype" in files and "content.xml" in files:
        raise DataError("is an OpenDocument file", where=name, remedy=EXPORT)
    if name.lower().endswith(".mxl"):
        raise DataError(f"is {SCORE}, compressed", where=name, remedy=TO_MIDI)
    if len(files) != 1:
        some = ", ".join(files[:5]) + (", ..." if len(files) > 5 else "")
        raise DataError(
            f"is a zip archive of {len(files):,} files" + (f" ({some})" if some else ""),
            where=name,
            remedy="unpack it, and name a file or the folder",
        )
    try:
        return archive.open(files[0])  # type: ignore[return-value]
    except (RuntimeError, NotImplementedError):
        raise DataError(
            "is a zip archive with a password or an unusual compression",
            where=name,
            remedy="unpack it, and name the file in it",
        ) from None


def content_name(path: Path) -> str:
    """The name of what is inside: `a.csv` of `a.csv.gz`, and of a zip archive that holds it."""
    if path.suffix.lower() == ".zip":
        try:
            with zipfile.ZipFile(path) as archive:
                files = members(archive)
        except (OSError, zipfile.BadZipFile):
            return path.stem
        return Path(files[0]).name if len(files) == 1 else path.stem
    return path.stem if path.suffix.lower() in COMPRESSED else path.name


def is_idx(name: str) -> bool:
    """Whether a file is called like those of MNIST."""
    return IDX.fullmatch(name) is not None


def find_encoding(name: str) -> str:
    """The codec's own name, or a DataError."""
    try:
        info = codecs.lookup(name)
        # Codecs such as "hex" turn bytes into bytes.
        if info._is_text_encoding:
            return info.name
    except (LookupError, ValueError):
        pass
    near = nearest(name, COMMON)
    raise DataError(
        "unknown encoding",
        where=Option("encoding"),
        got=name,
        remedy=(f"did you mean {near!r}? " if near else "")
        + "common ones are "
        + ", ".join(COMMON),
    )


def encoding_of(head: bytes, requested: str) -> str:
    """The encoding to read with, by the first bytes of the content.

    UTF-8, which is the default, gives way to a byte order mark, and to UTF-16 without one: text in
    UTF-8 holds no zero bytes, and of UTF-16 in most scripts every other byte of a line end is one.
    """
    encoding = find_encoding(requested)
    if encoding != "utf-8":
        return encoding
    for mark, name in MARKS:
        if head.startswith(mark):
            return name
    start = head[:4096]
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = start[first::2].count(0), start[1 - first :: 2].count(0)
        if zeros > 0.3 * len(start) / 2 and others < zeros / 20:  # some characters have one, too
            return name
    return encoding


def suggestion(data: bytes) -> str | None:
    """The encoding in which most of the characters of bytes beyond ASCII are common ones.

    (charset-normalizer takes Russian for Japanese where a text is short, so it is not asked.)
    """
    lines = data[:TRIED].split(b"\n")[:-1] or [data[:TRIED]]  # the last one may be cut
    telling = b"\n".join(line for line in lines if not line.isascii())
    letters = sum(byte >= 0x80 or chr(byte).isalpha() for byte in telling)
    few = sum(byte >= 0x80 for byte in telling) < 0.5 * letters  # so the letters are Latin ones
    candidates = [name for name in COMMON_LETTERS if (name in LATIN) == few]
    if few and sum(byte >= 0x80 for byte in telling) < FEWEST_BYTES:
        candidates = [LATIN[0]]  # one odd byte does not show a language
    scores = {name: share_of_common(telling, name) for name in candidates}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] > 0.2 else None


def share_of_common(data: bytes, encoding: str) -> float:
    """Share of common characters beyond ASCII, above that of random bytes; 0 if invalid."""
    try:
        characters = [char for char in data.decode(encoding) if not char.isascii()]
    except UnicodeDecodeError:
        return 0.0
    share = sum(char in COMMON_LETTERS[encoding] for char in characters) / max(1, len(characters))
    chance = len(COMMON_LETTERS[encoding]) / 128 if encoding[:2] in ("cp", "ko") else 0.0
    return (share - chance) / (1 - chance)
