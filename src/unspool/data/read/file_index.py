"""File names around a table. Each folder is listed once, however many files are looked up in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from unspool.data.read.media import Medium

SAMPLE_SIZE = 20  # file names that are looked up to find their folder
MAX_FOLDERS = 1000  # listed for one table
MAX_ENTRIES = 1_000_000  # kept for one table


class FileIndex:
    """Lazily listed folders: the table's, its subfolders and its siblings.

    root        folder of the table
    truncated   whether a folder was skipped because of MAX_FOLDERS or MAX_ENTRIES
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.truncated = False
        self._listings: dict[str, Mapping[str, os.DirEntry[str]]] = {}
        self._entries = 0

    def entries(self, folder: Path | str) -> Mapping[str, os.DirEntry[str]]:
        """Entries of a folder by name; none where it cannot be read."""
        path = os.fspath(folder)
        if path in self._listings:
            return self._listings[path]
        if len(self._listings) >= MAX_FOLDERS or self._entries >= MAX_ENTRIES:
            self.truncated = True
            return {}
        try:
            with os.scandir(path) as scan:
                listing = {os.path.normcase(entry.name): entry for entry in scan}
        except (OSError, ValueError):
            listing = {}
        self._entries += len(listing)
        self._listings[path] = listing
        return listing

    def contains(self, folder: Path, name: str, *, folders: bool = False) -> bool:
        """Whether a folder has a file of this name, which may be a path; or a subfolder, too."""
        parent, base = os.path.split(name)
        if os.path.isabs(name):
            folder = Path(parent)
        elif parent:
            for part in Path(parent).parts:
                if part != ".." and not self._is_dir(folder, part):
                    return False
                folder = folder / part
        entry = self.entries(folder).get(os.path.normcase(base))
        return entry is not None and (_is_file(entry) or (folders and _is_dir(entry)))

    def has_folder(self, name: str) -> bool:
        """Whether the root has a folder of this name, which may be a path."""
        exists = self.contains(self.root, name, folders=True)
        return exists and not self.contains(self.root, name)

    def _is_dir(self, folder: Path, name: str) -> bool:
        entry = self.entries(folder).get(os.path.normcase(name))
        return entry is not None and _is_dir(entry)

    def subfolders(self, folder: Path) -> list[Path]:
        """Visible subfolders, sorted by name."""
        entries = sorted(self.entries(folder).values(), key=lambda entry: entry.name)
        return [folder / e.name for e in entries if not e.name.startswith(".") and _is_dir(e)]

    @property
    def note(self) -> str:
        """A remark for messages where not every folder was searched."""
        return f" (only {len(self._listings):,} folders searched for files)" * self.truncated

    def parent(self) -> Path:
        return self.root / ".." if self.root.name in ("", "..") else self.root.parent

    def files_below(self, folder: Path) -> Iterator[Path]:
        """Every file and folder below a folder, hidden ones included."""
        for entry in self.entries(folder).values():
            path = folder / entry.name
            yield path
            if entry.is_dir(follow_symlinks=False):
                yield from self.files_below(path)


class MediaFolder(NamedTuple):
    """The folder of the files that a table names, and the suffix that their names lack."""

    folder: Path
    suffix: str = ""


def find_media_folder(names: Sequence[str], index: FileIndex, medium: Medium) -> Path | None:
    """Return the nearest folder that contains any of the sampled files, or None.

    Searches the table's folder, then its subfolders, then its siblings. A file that is missing in
    that folder is not taken from one farther away.
    """
    sample = [medium.file_of(name.strip()) for name in names[:SAMPLE_SIZE]]

    def matches(folder: Path) -> int:
        return sum(index.contains(folder, name, folders=medium.stepped) for name in sample)

    for folders in (
        lambda: [index.root],
        lambda: index.subfolders(index.root),
        lambda: index.subfolders(index.parent()),
    ):
        best = max(folders(), key=matches, default=None)
        if best is not None and matches(best):
            return best
    return None


def find_stems(names: Sequence[str], index: FileIndex, medium: Medium) -> MediaFolder | None:
    """Return the table's folder or a subfolder with all sampled files, and their suffix."""
    sample = [medium.file_of(name.strip()) for name in names[:SAMPLE_SIZE]]
    suffixes = ("", *(s for suffix in medium.endings for s in (suffix, suffix.upper())))
    for folder in (index.root, *index.subfolders(index.root)):
        for suffix in suffixes:
            if all(index.contains(folder, f"{n}{suffix}", folders=medium.stepped) for n in sample):
                return MediaFolder(folder, suffix)
    return None


def files_by_name(names: Sequence[str], index: FileIndex, medium: Medium) -> dict[str, Path]:
    """Map names to files in several folders; empty unless all are found and unambiguous."""
    sample = {medium.file_of(name.strip()) for name in names[:SAMPLE_SIZE]}
    for top in (index.root, index.parent()):
        folders = [f for f in index.subfolders(top) if top == index.root or f != index.root]
        files = [p for f in folders for p in index.files_below(f) if medium.named(p.name)]
        paths = {path.name: path for path in files}
        if len(paths) == len(files) and paths.keys() >= sample:
            return paths
    return {}


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that cannot be followed
        return False


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
