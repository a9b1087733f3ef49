"""Progress of a training run: metrics.jsonl, a live line on a terminal, plain lines without one."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from unspool.data.store.columns import Progress
from unspool.errors import Option, RunError, visible
from unspool.io.files import AGAIN, check_hash, open_regular, parse_json, read_regular, unlist_hash
from unspool.training.checkpoint import Counters

if TYPE_CHECKING:
    from rich.console import Console

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
            f"cannot be written ({error.strerror})",
            where=path,
            remedy=("remove it, then ", Option(resume=True)),
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


class Watcher(Protocol):
    """Callbacks of a trainer; `start` gets the steps of a run and its limit in seconds, or 0."""

    def start(self, total: int, counters: Counters, limit: float = 0.0) -> None: ...
    def step(self, counters: Counters, loss: float, norm: float, speed: float) -> None: ...
    def validated(self, counters: Counters, metrics: dict[str, float], best: bool) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


class Silent:
    """Keeps the notes and shows nothing."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def start(self, total: int, counters: Counters, limit: float = 0.0) -> None: ...
    def step(self, counters: Counters, loss: float, norm: float, speed: float) -> None: ...
    def validated(self, counters: Counters, metrics: dict[str, float], best: bool) -> None: ...
    def close(self) -> None: ...

    def note(self, text: str) -> None:
        self.notes.append(text)


class Printed:
    """Progress on a console: rich's live bar where it is a terminal, a line now and then if not."""

    SECONDS = 30.0  # between plain lines

    def __init__(self, console: Any) -> None:
        self.console = console
        self.bar: Any = None
        self.line_at = 0.0
        self.smooth_loss = self.smooth_speed = 0.0

    def start(self, total: int, counters: Counters, limit: float = 0.0) -> None:
        self.total, self.limit = total, limit
        self.line_at = time.monotonic()
        if not self.console.is_terminal:
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self.bar = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.4f} {task.fields[valid]}"),
            TextColumn("{task.fields[speed]:,.0f} tokens/s"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
        )
        self.bar.start()
        self.task = self.bar.add_task(
            "",
            total=total,
            completed=counters.step,
            epoch=counters.epoch + 1,
            loss=0,
            speed=0,
            valid="",
        )

    def step(self, counters: Counters, loss: float, norm: float, speed: float) -> None:
        keep = 0.95 if self.smooth_speed else 0.0
        self.smooth_loss = keep * self.smooth_loss + (1 - keep) * loss
        self.smooth_speed = keep * self.smooth_speed + (1 - keep) * speed
        epoch = counters.epoch + 1
        if self.bar is not None:
            self.bar.update(
                self.task,
                total=self._steps(counters),
                completed=counters.step,
                epoch=epoch,
                loss=self.smooth_loss,
                speed=self.smooth_speed,
            )
        elif time.monotonic() - self.line_at >= self.SECONDS:
            self.line_at = time.monotonic()
            total = self._steps(counters)
            left = (total - counters.step) * counters.seconds / max(counters.step, 1)
            self._print(
                f"epoch {epoch}  step {counters.step}/{total}  loss {self.smooth_loss:.4f}  "
                f"{self.smooth_speed:,.0f} tokens/s  {_minutes(left)} left"
            )

    def _steps(self, counters: Counters) -> int:
        """Steps of the run, or as many as its limit of time lets through at the present speed."""
        if not self.limit or not counters.seconds:
            return self.total
        reached = round(counters.step * self.limit / counters.seconds)
        return min(self.total, max(counters.step, reached))

    def validated(self, counters: Counters, metrics: dict[str, float], best: bool) -> None:
        figures = "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        if self.bar is not None and metrics:
            name, value = next(iter(metrics.items()))
            self.bar.update(self.task, valid=f"{name} {value:.4f} ")
        self._print(
            f"epoch {counters.epoch}  step {counters.step}  train loss {self.smooth_loss:.4f}"
            + (f"  valid {figures}" if figures else "")
            + ("  best" if best and figures else "")
        )

    def note(self, text: str) -> None:
        self._print(text)

    def close(self) -> None:
        if self.bar is not None:
            with suppress(OSError):
                self.bar.stop()
            self.bar = None

    def _print(self, text: str) -> None:
        with suppress(OSError):  # a run goes on, and is saved, when its terminal is closed
            self.console.print(visible(text), highlight=False, markup=False, soft_wrap=True)


@contextmanager
def reading(console: Any) -> Iterator[Callable[[str, float], None]]:
    """A progress callback (stage, share done) for the reading of data; silent off a terminal."""
    if not console.is_terminal:
        yield lambda stage, share: None
        return
    from rich.progress import Progress

    bars: dict[str, Any] = {}
    progress = Progress(console=console, transient=True)

    def show(stage: str, share: float) -> None:
        if stage not in bars:
            progress.start()
            bars[stage] = progress.add_task(stage, total=1.0)
        progress.update(bars[stage], completed=share)
        if share >= 1:
            progress.remove_task(bars.pop(stage))
            if not bars:
                progress.stop()

    try:
        yield show
    finally:
        progress.stop()  # an error in the middle must not leave the cursor hidden


def _minutes(seconds: float) -> str:
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}"


class Shown(NamedTuple):
    """Sinks of messages, of the progress of training and of that of reading."""

    note: Note
    watcher: Watcher
    progress: Progress


@contextmanager
def watching(
    quiet: bool,
    *,
    note: Note | None = None,
    watcher: Watcher | None = None,
    progress: Progress = None,
) -> Iterator[Shown]:
    """The sinks that the caller passed; the rest on the screen, unless `quiet`.

    A terminal and a notebook show the same as the command; elsewhere nothing is shown.
    """
    console = None if quiet else screen()
    default: Watcher = Silent() if console is None else Printed(console)
    bar_context = nullcontext(progress) if progress or console is None else reading(console)
    with bar_context as bar:
        yield Shown(note or default.note, watcher or default, bar)


def default_note(quiet: bool = False) -> Note:
    """Default sink of messages."""
    console = None if quiet else screen()
    return (Silent() if console is None else Printed(console)).note


def screen() -> Console | None:
    """A terminal, or a notebook, which gets plain lines: its bars would need a further package."""
    from rich.console import Console

    if in_notebook():
        return Console(file=sys.stdout, highlight=False, force_jupyter=False, force_terminal=False)
    return Console(stderr=True, highlight=False) if sys.stderr.isatty() else None


def in_notebook() -> bool:
    """Return whether IPython runs here as the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
