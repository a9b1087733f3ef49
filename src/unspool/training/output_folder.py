"""Folder of a new run: a path in, a folder that only this process writes into out."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from unspool.errors import ConfigError, Option, RunError
from unspool.io.files import HASHES, list_hash, read_hashes, sync_folder
from unspool.io.lock import LOCK, OTHER, owned, refuse_held

CONFIG = "config.json"
RECORDS = {CONFIG: "a run", "topics.json": "topics"}  # the file that is written last, or first


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Make the folder and hold it for what is done inside; where that fails, and has left nothing
    in it, remove it again."""
    check_name(path)
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"cannot make the run folder ({error.strerror})", where=path, remedy=OTHER
            ) from None
        with owned(path):
            yield
    except BaseException:
        with suppress(OSError):
            for folder in new:
                folder.rmdir()
        raise


@contextmanager
def begun(path: Path) -> Iterator[None]:
    """`claimed`, for a run that begins: refuse a folder that holds a run or anything else."""
    check_free(path)
    with claimed(path):
        refuse_other_files(path)  # a moment ago it was not ours
        for name in read_hashes(path) or ():  # of a run that was killed before it began
            (path / name).unlink(missing_ok=True)
        (path / HASHES).unlink(missing_ok=True)
        yield


@contextmanager
def gathered(path: Path) -> Iterator[Path]:
    """`begun`, for files that are only of use together: a folder to write them in, from which they
    are moved, first their hashes and last the record; a killed process leaves nothing that counts.
    """
    with begun(path):
        aside = path / f".{os.getpid()}.part"
        aside.mkdir()
        try:
            yield aside
            for file in aside.iterdir():
                if file.name != HASHES:
                    list_hash(file)
            order = sorted(
                aside.iterdir(), key=lambda file: (file.name != HASHES, file.name in RECORDS)
            )
            for file in order:
                os.replace(file, path / file.name)
            sync_folder(path)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def check_free(path: Path) -> None:
    """Refuse a folder that a run could not begin in; nothing is written."""
    check_name(path)
    refuse_held(path)
    refuse_other_files(path)


def check_rescue(
    rescue: str | Path | None, out: Path | None = None, *, several: Option | None = None
) -> Path | None:
    """The folder of --rescue, if it could become the run folder instead of `out`."""
    if rescue is None:
        return None
    if several:
        raise ConfigError(
            (Option("rescue"), " is for one training"), got=several, remedy="leave it out"
        )
    path = Path(rescue)
    check_free(path)
    whole, inside = path.resolve(), None if out is None else out.resolve()
    if inside in (whole, *whole.parents):
        raise ConfigError(
            (Option("rescue"), " must lie outside of the run folder"),
            got=rescue,
            remedy="name another folder",
        )
    near = next(folder for folder in (whole, *whole.parents) if folder.exists())
    if not near.is_dir() or not os.access(near, os.W_OK | os.X_OK):
        raise RunError(
            "cannot be written into", where=near, remedy=("give another ", Option("rescue"))
        )
    return path


def check_name(path: Path) -> None:
    """Refuse a name that could not be written into the files of the run."""
    shown = str(path).encode("utf-8", "backslashreplace").decode()
    if "\0" in shown:
        raise RunError("a folder cannot have such a name", got=shown, remedy=OTHER)
    if shown != str(path):
        raise RunError("the name of a run folder must be UTF-8", got=shown, remedy=OTHER)
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise RunError(
            f"cannot make the run folder ({error.strerror})", where=path, remedy=OTHER
        ) from None


def refuse_run(path: Path) -> None:
    for name, what in RECORDS.items():
        if (path / name).exists():
            resume = (", add ", Option(resume=True)) if name == CONFIG else ()
            raise RunError(
                f"already holds {what}",
                where=path,
                remedy=("give another ", Option("out"), *resume, " or remove it"),
            )


def refuse_other_files(path: Path) -> None:
    """Only what a run leaves behind that was killed before it began may be there."""
    refuse_run(path)
    if not path.exists():
        return
    if not path.is_dir():
        raise RunError("cannot make the run folder (File exists)", where=path, remedy=OTHER)
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise RunError("no right to write into this folder", where=path, remedy=OTHER)
    known = {"checkpoints", HASHES, LOCK, *(read_hashes(path) or ())}
    names = sorted(os.listdir(path))
    foreign = [name for name in names if name not in known and not name.endswith(".part")]
    if foreign:  # a README.md, for instance, would be overwritten
        raise RunError(
            "holds other files, so it cannot become a run folder",
            where=path,
            got=foreign[0],
            remedy=("give the name of a new folder as ", Option("out")),
        )


class FolderHandle:
    """An open folder: another that has taken its name since then is not written into."""

    def __init__(self, path: Path) -> None:
        self.path, self.descriptor = path, -1
        with suppress(PermissionError):  # of Windows, where a folder in use cannot be removed
            self.descriptor = os.open(path, os.O_RDONLY)

    def check(self) -> None:
        """An OSError where the folder is gone."""
        status = os.stat(self.path)
        if self.descriptor >= 0 and not os.path.samestat(status, os.fstat(self.descriptor)):
            raise FileNotFoundError(errno.ENOENT, "the folder was removed", str(self.path))

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def free_folder(data: str, name: str) -> Path:
    """runs/DATA-NAME, or with a number behind it where that is taken."""
    stem = Path(data).name.split(".")[0] if data != "-" else "stdin"
    stem = stem.encode("utf-8", "replace").decode()  # a file may have a name that is not UTF-8
    base = Path("runs") / f"{stem}-{name}"
    path, number = base, 1
    while path.exists():
        number += 1
        path = base.with_name(f"{base.name}-{number}")
    return path
