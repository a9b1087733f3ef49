"""Commands in processes of their own, to be killed, stopped or raced; and what a run came to."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from supervise import BROKEN, Case, Ended, problems_of, shortened, usage_of

MOST_SECONDS = 60.0  # of computing, of one command


class Job:
    """`unspool WORDS`, started in a forked process; `before` runs in it first."""

    def __init__(
        self, case: Case, *words: object, before: Callable[[], None] | None = None
    ) -> None:
        self.case, self.words = case, [str(word) for word in words]
        case.tell("run", [shortened(word) for word in self.words])
        case.jobs += 1
        self.begun = time.monotonic()
        self.streams = [case.folder / f".{case.jobs}.{name}" for name in ("out", "err")]
        for path in self.streams:
            path.touch()
        self.code: int | None = None
        self.sent = 0  # the last signal
        self.ended = 0.0  # the moment; 0 while it runs
        self.pid = os.fork()
        if self.pid == 0:
            self._be(before)

    def _be(self, before: Callable[[], None] | None) -> None:
        """The process itself."""
        code = BROKEN
        try:
            for number, path in zip((1, 2), self.streams):
                os.dup2(os.open(path, os.O_WRONLY), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            if before is not None:
                before()
            from unspool.cli import main

            sys.argv = ["unspool", *self.words]
            main()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except KeyboardInterrupt as error:
            if any(
                "/unspool/cli/" in own.filename for own in traceback.extract_tb(error.__traceback__)
            ):
                traceback.print_exc()
            else:  # it came before the command had begun
                code = 130
                print("unspool: stopped", file=sys.stderr)
        except BaseException:
            traceback.print_exc()
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)

    def signal(self, number: int) -> None:
        if self.running():
            self.sent = number
            os.kill(self.pid, number)

    def running(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code, self.ended = os.waitstatus_to_exitcode(status), time.monotonic()
        return self.code is None

    def wait(self, *, killed: bool = False) -> Ended:
        """How it ended. What no command may do is a problem; with `killed` SIGKILL is none, and a
        signal that was sent may end it as it ends other programs, while nothing is to be saved."""
        last, idle_since = -1.0, time.monotonic()
        while self.running():
            time.sleep(0.002)
            used, _, state = usage_of(self.pid)
            if used > last or state not in "SD":
                last, idle_since = used, time.monotonic()
            if used > MOST_SECONDS or time.monotonic() - idle_since > MOST_SECONDS / 4:
                self.case.problem(f"hangs: {' '.join(self.words)}")
                self.signal(signal.SIGKILL)
                killed = True
        assert self.code is not None
        out, err = (path.read_text(errors="replace") for path in self.streams)
        ended = Ended(self.code, out, err)
        if self.case.shown:
            self.case.shown(f"$ unspool {' '.join(self.words)}\n{ended.err}[{ended.code}]")
        by_signal = ended.code == -self.sent or (killed and ended.code == -signal.SIGKILL)
        for problem in [] if by_signal else problems_of(ended):
            self.case.problem(problem)
        self.case.tell("ended", [ended.code, ended.error])
        return ended

    @property
    def seconds(self) -> float:
        """Until now, or until it ended."""
        return (self.ended or time.monotonic()) - self.begun


def outcome_of(run: Path) -> dict[str, Any]:
    """What may not depend on how often a run was stopped: weights, log but for its clock, labels,
    what was fitted, the report. Missing files are None."""
    from unspool.training.trainer import CLOCK_FIELDS

    found: dict[str, Any] = {"weights": hashed(run / "model.safetensors")}
    log = run / "metrics.jsonl"
    records = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    found["log"] = [{k: v for k, v in r.items() if k not in CLOCK_FIELDS} for r in records]
    for name in ("labels.json", "tokenizer.json", "calibration.json"):
        found[name] = hashed(run / name)
    report = run / "evaluation.json"
    found["report"] = without_clock(json.loads(report.read_text())) if report.exists() else None
    return found


def without_clock(value: Any) -> Any:
    """The same without the seconds that folds took."""
    if isinstance(value, dict):
        return {key: without_clock(own) for key, own in value.items() if key != "seconds"}
    return [without_clock(own) for own in value] if isinstance(value, list) else value


def hashed(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def differing(one: dict[str, Any], other: dict[str, Any]) -> str:
    """The names of what differs."""
    return ", ".join(name for name in one if one[name] != other[name])
