"""Packs: the files of a run folder in one file, to send a model to somebody.

A pack is a zip archive whose members are stored as they are. Its first member, pack.json, lists the
size and the SHA-256 of all others. `unpacked` reads it into the cache, once for each content.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import struct
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from unspool import __version__
from unspool.data.store.cache import cached
from unspool.errors import ConfigError, Option, RunError
from unspool.io.files import hash_of, naming, open_regular, parse_json
from unspool.io.lock import LOCK
from unspool.training.output_folder import CONFIG

SUFFIX = ".unspool"
MANIFEST = "pack.json"
FORMAT = 1
MOST_FILES = 256
MOST_LISTED = 1 << 20  # bytes of the directory of a pack, and of its manifest
MOST_BYTES = (1 << 32) - (1 << 22)  # above which zip archives have another directory
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")
END = struct.Struct("<4s4H2LH")  # of a zip archive without a comment
LOCATOR = b"PK\x06\x07"  # 20 bytes before the end of an archive of more than 4 GB
BLOCK = 1 << 20
AGAIN = "ask for the file again"
UNREADABLE = (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError)


class Packed(NamedTuple):
    """One file with a whole run."""

    path: Path
    files: int
    size: int

    def lines(self) -> list[str]:
        return [f"{self.path}: {self.files} files, {self.size / 1e6:.1f} MB"]

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "path": str(self.path)}


def write_pack(folder: Path, out: Path) -> Packed:
    """Write the files of a finished run, without its checkpoints, into one file."""
    if out.suffix != SUFFIX:
        raise ConfigError(
            f"a pack has the ending {SUFFIX}", where=out, remedy=("change ", Option("out"))
        )
    if out.exists():
        raise ConfigError(
            "the file exists", where=out, remedy=("name another with ", Option("out"))
        )
    partial = out.with_name(f".{out.name}.part")
    try:
        with naming(out), open(partial, "wb") as file:
            files = write_archive(folder, file)
        os.replace(partial, out)
    except OSError as error:
        raise RunError(
            f"cannot be written ({error.strerror})",
            where=out,
            remedy=("give another ", Option("out")),
        ) from None
    finally:
        with suppress(OSError):
            partial.unlink()
    return Packed(out, files, out.stat().st_size)


def write_archive(folder: Path, file: BinaryIO) -> int:
    """Write a pack into an open file; return how many files of the run are in it."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and is_packed(path.name))
    size = sum(path.stat().st_size for path in paths)
    if size > MOST_BYTES:
        raise ConfigError(
            "the run is too large for a pack",
            where=folder,
            got=f"{size / 1e9:.1f} GB",
            remedy="copy the folder",
        )
    listed = {path.name: [path.stat().st_size, hash_of(path)] for path in paths}
    manifest = {"format": FORMAT, "unspool": __version__, "files": listed}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        # A member has the date 1980-01-01, so that a run always gives the same pack.
        archive.writestr(zipfile.ZipInfo(MANIFEST), json.dumps(manifest, indent=1))
        for path in paths:
            with (
                open_regular(path) as source,
                archive.open(zipfile.ZipInfo(path.name), "w") as target,
            ):
                while block := source.read(BLOCK):
                    target.write(block)
    return len(paths)


def is_packed(name: str) -> bool:
    """Return whether a file of a run belongs into its pack."""
    return name != LOCK and NAME.fullmatch(name) is not None


def is_pack(path: Path) -> bool:
    return path.suffix == SUFFIX and path.is_file()


def unpacked(path: Path) -> Path:
    """The folder in the cache with the files of a pack, each as the manifest lists it."""
    try:
        with open_regular(path) as file, naming(path):
            pack = OpenPack(file, path)
            key = {"pack": hashlib.sha256(pack.manifest).hexdigest()}
            return cached(key, pack.extract, lambda folder: folder)[0]
    except OSError as error:
        raise RunError(f"cannot be read ({error.strerror})", where=path) from None


def unpack(content: bytes, folder: Path, where: str) -> None:
    """Write the files of a pack in memory into an empty folder."""
    OpenPack(io.BytesIO(content), where).extract(folder)


class OpenPack:
    """A pack whose manifest lists exactly the members that it has.

    manifest   the bytes of pack.json
    files      members with their SHA-256
    """

    def __init__(self, file: BinaryIO, where: Any) -> None:
        self.where = where
        size = file.seek(0, os.SEEK_END)
        self.archive = self._open(file, size)
        self.manifest, listed = self._read_manifest()
        self.files = self._check(listed, size)

    def _damaged(self, problem: str, got: Any = None) -> RunError:
        return RunError(f"damaged or no pack: {problem}", where=self.where, got=got, remedy=AGAIN)

    def _open(self, file: BinaryIO, size: int) -> zipfile.ZipFile:
        """The archive. The size of its directory is checked before that is read."""
        file.seek(max(0, size - END.size - 20))
        tail = file.read()
        if len(tail) < END.size:
            raise self._damaged("too short", f"{size} bytes")
        mark, _, _, _, count, listed, _, comment = END.unpack(tail[-END.size :])
        if mark != b"PK\x05\x06" or comment or tail.startswith(LOCATOR):
            raise self._damaged("it does not end like one")
        if count > MOST_FILES or listed > MOST_LISTED:
            raise self._damaged("too many files", count)
        try:
            return zipfile.ZipFile(file)
        except UNREADABLE as error:
            raise self._damaged(str(error)) from None

    def _read_manifest(self) -> tuple[bytes, Any]:
        try:
            first = self.archive.getinfo(MANIFEST)
            if first.compress_type != zipfile.ZIP_STORED or first.file_size > MOST_LISTED:
                raise self._damaged(f"{MANIFEST} is not stored as it is")
            content = self.archive.read(first)
            manifest = parse_json(content)
        except KeyError:
            raise self._damaged(f"no {MANIFEST}") from None
        except UNREADABLE as error:
            raise self._damaged(str(error)) from None
        format = manifest.get("format") if isinstance(manifest, dict) else None
        if format != FORMAT:
            newer = isinstance(format, int) and format > FORMAT
            raise RunError(
                f"pack of another format; this version reads {FORMAT}",
                where=self.where,
                got=format,
                remedy="install a newer unspool" if newer else AGAIN,
            )
        return content, manifest.get("files")

    def _check(self, listed: Any, size: int) -> dict[zipfile.ZipInfo, str]:
        members = [member for member in self.archive.infolist() if member.filename != MANIFEST]
        names = [member.filename for member in members]
        valid = isinstance(listed, dict) and sorted(names) == sorted(listed)
        if not valid or not all(isinstance(x, list) and len(x) == 2 for x in listed.values()):
            raise self._damaged(f"{MANIFEST} does not list its files")
        for member in members:
            if not is_packed(member.filename):
                raise self._damaged("not the name of a file of a run", member.filename)
            if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
                raise self._damaged("a file is not stored as it is", member.filename)
            if listed[member.filename][0] != member.file_size:
                raise self._damaged("a file has another size than listed", member.filename)
        if sum(member.file_size for member in members) > size:
            raise self._damaged("its files overlap")
        if CONFIG not in names:
            raise self._damaged(f"no {CONFIG}")
        return {member: listed[member.filename][1] for member in members}

    def extract(self, folder: Path) -> None:
        """Write all files; an error where one is not what is listed."""
        for member, digest in self.files.items():
            hasher = hashlib.sha256()
            try:
                with (
                    self.archive.open(member) as source,
                    open(folder / member.filename, "xb") as file,
                ):
                    while block := source.read(BLOCK):
                        hasher.update(block)
                        file.write(block)
            except UNREADABLE as error:
                raise self._damaged(str(error), member.filename) from None
            if hasher.hexdigest() != digest:
                raise self._damaged("a file has another SHA-256 than listed", member.filename)
