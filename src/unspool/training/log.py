"""metrics.jsonl, the log of a training run: records in, a line of JSON each; and back."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unspool.errors import RunError
from unspool.io.files import AGAIN, check_hash, unlist_hash
from unspool.io.regular import open_regular, parse_json, read_regular

Note = Callable[[str], None]


class Log:
    """Appends records to a file; what the disk does not take is kept, and written later."""

    def __init__(self, path: Path, note: Note) -> None:
        self.file = open_regular(path, "a+b", buffering=0)
        self.note, self.waiting, self.noted = note, b"", False

    def write(self, record: dict[str, Any]) -> None:
        self.waiting += (json.dumps(record) + "\n").encode()
        try:
            self._flush()
        except OSError as error:
            if not self.noted:
                self.note(f"cannot write the log ({error.strerror}); will try again")
            self.noted = True

    def sync(self) -> int:
        """The length of the file once all of it is on the disk; an OSError where it is not."""
        self._flush()
        os.fsync(self.file.fileno())
        return os.fstat(self.file.fileno()).st_size

    def _flush(self) -> None:
        while self.waiting:
            self.waiting = self.waiting[self.file.write(self.waiting) :]
        self.noted = False

    def content(self) -> bytes:
        """All lines, also of a file that was removed; b"" where its disk is gone."""
        try:
            self.file.seek(0)
            return self.file.read() + self.waiting
        except OSError:
            return self.waiting

    def close(self) -> None:
        self.file.close()


def cut_log(path: Path, length: int, note: Note) -> None:
    """Cut a log to the length that it had at a checkpoint, from which the run goes on."""
    try:
        with open_regular(path, "r+b") as file:
            size = os.fstat(file.fileno()).st_size
            if size < length:
                file.truncate(file.read().rfind(b"\n") + 1)
            else:
                file.truncate(length)
    except FileNotFoundError:
        size = 0
    except OSError as error:
        raise RunError(
            f"cannot be written ({error.strerror})", where=path, remedy="remove it, then --resume"
        ) from None
    unlist_hash(path)
    if size < length:
        note(
            f"{path} has {size:,} of the {length:,} bytes that it had at the checkpoint: what is"
            " missing stays missing, and the log goes on behind it"
        )


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of a log; its last line may be half written, and the file not yet there."""
    try:
        content = read_regular(path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"cannot be read ({error.strerror})", where=path, remedy=AGAIN) from None
    check_hash(path, content, growing=True)
    records = []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            record = parse_json(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise RunError("damaged: not a record", where=f"{path}:{number}", remedy=AGAIN)
        records.append(record)
    return records
