"""Small files of a run: written whole or not at all, read with a clear error."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from unspool.errors import RunError

AGAIN = "copy the run folder again, or train anew"


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write another file, flush to the disk, rename: readers see the old file or the new one."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(partial, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        sync_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    write_atomic(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def read_json(path: Path) -> Any:
    """The value of a JSON file of a run folder; a RunError where it is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError("missing from the run folder", where=path, remedy=AGAIN) from None
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"cannot be read ({error})", where=path, remedy=AGAIN) from None
    except json.JSONDecodeError as error:
        raise RunError(
            f"damaged: not JSON at line {error.lineno}", where=path, remedy=AGAIN
        ) from None
