"""Stopping on request: Ctrl-C, SIGTERM and SIGHUP, the closing of a terminal, become a flag that
the loop looks at between steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from unspool.errors import Command, UserError

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class StopRequest:
    """The signal that asked to stop, or 0."""

    signal: int = 0


class Interrupted(UserError):
    """Training was stopped by a signal, after its state was saved."""

    def __init__(self, number: int, folder: Path, step: int) -> None:
        self.number, self.step = number, step
        self.exit_code = 128 + number
        command = Command("train", resume=True, out=folder)
        super().__init__((f"stopped at step {step}, saved; continue with: ", command))


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Within the block the first signal asks to stop; a second one acts as it always did."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    previous: dict[int, Any] = {}

    def ask(number: int, frame: FrameType | None) -> None:
        request.signal = number
        signal.signal(number, previous[number])

    for name in SIGNALS:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        # One that is ignored, as by `nohup`, stays so; of SIGINT this is how a shell starts jobs.
        ignored = name != "SIGINT" and number and signal.getsignal(number) == signal.SIG_IGN
        if number is not None and not ignored:
            previous[number] = signal.signal(number, ask)
    try:
        yield request
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
