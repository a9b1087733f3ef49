"""Cases in processes of their own: commands of unspool in, problems out.

A case is a function that is given a `Case`; it runs in a forked child, so that all is imported
once, and its folder is removed afterwards. Small cases share a child, one after the other.
`Case.run` runs a command as `unspool` would be run and
notes what no command may do: leave with an undocumented exit code, print a traceback, a warning or
more than one line of error. The parent watches time and memory, and sees a child that dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import json
import os
import pickle
import random
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

MOST_SECONDS = 10.0  # of computing, or of waiting for something that does not come
MOST_BYTES = 1_500_000_000
DOCUMENTED = {0, 1, 2, 129, 130, 143}
PARENT_DEATH_SIGNAL = 1  # of prctl(2)
BROKEN = 70  # the exit code that stands for an exception
LEAKS = re.compile(
    r"^(\S+: )?\S*(Traceback|\w*Warning: |Exception ignored|Fatal Python)", re.MULTILINE
)
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = resource.getpagesize()
IMPORTED = (
    "unspool", "typer", "click", "rich", "torch", "numpy", "scipy", "sklearn", "joblib", "pandas",
    "dateutil", "narwhals", "tokenizers", "openpyxl", "pyarrow", "encodings",
)  # fmt: skip


class Ended(NamedTuple):
    """One command: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The line of the error; empty where there is none."""
        lines = self.err.splitlines()
        return lines[-1] if self.code and lines else ""


class Case:
    """What a case works with: its number, its own random numbers, its folder."""

    def __init__(self, part: str, number: int, seed: int, folder: Path, pipe: int) -> None:
        self.number, self.folder, self._pipe = number, folder, pipe
        self.random = random.Random(f"{seed} {part} {number}")
        self.shown: Callable[[str], None] | None = None  # where one case is repeated
        self.jobs = 0  # processes that it has started

    def tell(self, kind: str, what: object) -> None:
        os.write(self._pipe, (json.dumps([kind, what]) + "\n").encode())

    def problem(self, what: str) -> None:
        self.tell("problem", what)

    def check(self, holds: bool, what: str) -> None:
        if not holds:
            self.problem(what)

    def run(self, *arguments: object, stdin: bytes | None = None) -> Ended:
        """The command, in this process; what it may not do is a problem."""
        words = [str(argument) for argument in arguments]
        self.tell("run", [shortened(word) for word in words])
        ended = in_this_process(words, self.folder, stdin)
        if self.shown:
            self.shown(f"$ unspool {' '.join(map(shortened, words))}\n{ended.err}[{ended.code}]")
        for problem in problems_of(ended):
            self.problem(problem)
        self.tell("ended", [ended.code, ended.error])
        return ended


def shortened(word: str, limit: int = 120) -> str:
    shown = word.encode("utf-8", "backslashreplace").decode()
    return shown if len(shown) <= limit else f"{shown[:limit]}… ({len(shown):,} characters)"


def in_this_process(words: list[str], folder: Path, stdin: bytes | None) -> Ended:
    """As `python -m unspool WORDS` in a fresh process: exit code, stdout and stderr."""
    from unspool.cli import main

    streams = [tempfile.TemporaryFile(dir=folder) for _ in range(3)]  # noqa: SIM115
    if stdin is not None:
        streams[0].write(stdin)
        streams[0].seek(0)
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in range(3)]
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
    sys.argv = ["unspool", *words]
    try:
        main()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
        code = BROKEN
    sys.stdout.flush()
    sys.stderr.flush()
    for number, own in enumerate(kept):
        os.dup2(own, number)
        os.close(own)
    texts = []
    for stream in streams[1:]:
        stream.seek(0)
        texts.append(stream.read().decode("utf-8", "replace"))
    for stream in streams:
        stream.close()
    return Ended(code, *texts)


def build_commands_once() -> None:
    """Typer reads the signatures of all commands again for each that is run in one process."""
    from typer import main

    main.get_command = functools.cache(main.get_command)


def problems_of(ended: Ended) -> list[str]:
    """What no command may do."""
    found = []
    lines = ended.err.splitlines()
    errors = [line for line in lines if line.startswith("unspool: ")]
    if ended.code == BROKEN:
        return [f"an exception: {lines[-1] if lines else '?'}{origin(ended.err)}"]
    if ended.code not in DOCUMENTED:
        found.append(f"exit code {ended.code}: {ended.error}")
    leak = LEAKS.search(ended.err)
    if leak:
        found.append(f"printed {ended.err[leak.start() :].splitlines()[0]}{origin(ended.err)}")
    if ended.code and errors != lines[-1:]:
        found.append(f"an error of {len(errors)} lines, not one at the end: {lines[-3:]}")
    if not ended.code and errors:
        found.append(f"exit code 0 with an error: {errors[0]}")
    return found


def origin(text: str) -> str:
    """The last line of unspool's own that a traceback names."""
    places = re.findall(r'File "[^"]*/(unspool/[^"]*)", line (\d+)', text)
    return f" ({places[-1][0]}:{places[-1][1]})" if places else ""


@dataclass
class Outcome:
    """What became of a case."""

    number: int
    problems: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    stops: int = 0
    seconds: float = 0.0
    peak: int = 0  # bytes


def supervise(
    case: Callable[[Case], None],
    part: str,
    numbers: Sequence[int],
    seed: int,
    folder: Path,
    *,
    patience: float = MOST_SECONDS,
    shown: Callable[[str], None] | None = None,
) -> Iterator[Outcome]:
    """Run cases in a child, one after the other, and watch it; after one that ended the child, or
    had to be ended, the rest run in another. `patience` is for all of a case that runs no command
    itself but starts processes."""
    left = list(numbers)
    while left:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            in_child(
                case, [Case(part, n, seed, folder / f"case-{n}", writing) for n in left], shown
            )
        os.close(writing)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        try:
            for outcome in watch(pid, reading, left[0], patience):
                left.remove(outcome.number)
                yield outcome
        finally:
            os.close(reading)
            for number in numbers:
                remove(folder / f"case-{number}")


def in_child(case: Callable[[Case], None], cases: list[Case], shown: Callable | None) -> None:
    try:
        os.setpgid(0, 0)  # so that what it starts ends with it
        end_with_parent()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as in a fresh process
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = virtual_bytes() + (12 << 30)  # so that nothing takes the machine with it
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        for given in cases:
            given.shown = shown
            given.tell("begin", given.number)
            in_own_folder(case, given)
            given.tell("done", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    finally:
        os._exit(0)


def in_own_folder(case: Callable[[Case], None], given: Case) -> None:
    folder = given.folder
    folder.mkdir(parents=True)
    try:
        os.chdir(folder)
        tempfile.tempdir = str(folder)
        os.environ["TMPDIR"] = str(folder)
        os.environ["UNSPOOL_CACHE"] = str(folder / "cache")
        case(given)
    except BaseException:
        given.tell("broken", traceback.format_exc())
    finally:
        os.chdir(folder.parent)
        remove(folder)


def watch(pid: int, pipe: int, number: int, patience: float) -> Iterator[Outcome]:
    """Read what the child tells until it ends, and end it where it takes too much."""
    buffer, excess = b"", None
    outcome: Outcome | None = Outcome(number)
    started = begun = time.monotonic()  # of the case, and of its command
    computed = 0.0  # seconds until then
    idle_since, last = begun, 0.0
    while excess is None:
        ready, _, _ = select.select([pipe], [], [], 0.05)
        data = os.read(pipe, 1 << 16) if ready else None
        if data == b"":
            break
        used, resident, state = usage_of(pid)
        now = time.monotonic()
        if used > last or state not in "SD":
            idle_since, last = now, used
        for line in (buffer + (data or b"")).split(b"\n")[:-1]:
            kind, what = json.loads(line)
            if kind == "begin":
                outcome, started = Outcome(what), now
            elif kind == "done" and outcome is not None:
                outcome.seconds, outcome.peak = now - started, what
                if what > MOST_BYTES:
                    outcome.problems.append(f"took {what / (1 << 30):.1f} GB of memory")
                yield outcome
                outcome = None
            elif outcome is not None:
                take(outcome, kind, what)
            if kind in ("begin", "run", "ended"):
                begun, computed = now, used
        if data:
            buffer = (buffer + data).rpartition(b"\n")[2]
            continue
        if used - computed > patience:
            excess = f"computed for more than {patience:.0f} s"
        elif now - begun > patience and now - idle_since > patience / 2:
            excess = f"waited for more than {patience:.0f} s"
        elif resident > MOST_BYTES:
            excess = f"took {resident / (1 << 30):.1f} GB of memory"
    if excess:
        os.killpg(pid, signal.SIGKILL)
    _, status, _ = os.wait4(pid, 0)
    end_group(pid)
    if outcome is not None:
        code = os.waitstatus_to_exitcode(status)
        outcome.problems.append(excess or f"the process died (status {code})")
        outcome.seconds = time.monotonic() - started
        yield outcome


def apart(work: Callable[[], Any]) -> Any:
    """What `work` returns, from a process of its own, with whose end its memory and its threads
    are gone. What it has imported is imported here, too."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            found = work()
            with os.fdopen(writing, "wb") as stream:
                pickle.dump((found, sorted(sys.modules)), stream)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        content = stream.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, "what the part needs could not be made"
    found, modules = pickle.loads(content)
    for name in modules:
        if name.split(".")[0] in IMPORTED and name not in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    return found


def take(outcome: Outcome, kind: str, what: object) -> None:
    if kind == "problem":
        outcome.problems.append(str(what))
    elif kind == "broken":
        outcome.problems.append(f"the case itself is broken: {what}")
    elif kind == "run" and isinstance(what, list):
        outcome.commands.append(" ".join(what))
    elif kind == "ended" and isinstance(what, list) and what[0] in (1, 2):
        outcome.errors.append(what[1])
    elif kind == "stop":
        outcome.stops += bool(what)


def end_with_parent() -> None:
    """Kill this process when its parent ends (Linux)."""
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)


def usage_of(pid: int) -> tuple[float, int, str]:
    """Seconds of computing, bytes in memory and the state of a process."""
    try:
        content = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0, 0, "Z"
    fields = content.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS, int(fields[21]) * PAGE, fields[0]


def virtual_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * PAGE


def end_group(pid: int) -> None:
    """End what a case has started and left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def remove(folder: Path) -> None:
    """Also where a case has taken away its rights."""
    for path, _, _ in os.walk(folder):
        os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
