"""What a person sees of a training run: a live line on a terminal, plain lines without one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from unspool.training.checkpoint import Counters


class Watcher(Protocol):
    """What a trainer calls as a run goes on."""

    def start(self, total: int, counters: Counters) -> None: ...
    def step(self, counters: Counters, loss: float, norm: float, speed: float) -> None: ...
    def validated(self, counters: Counters, metrics: dict[str, float], best: bool) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


class Silent:
    """Keeps the notes and shows nothing."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def start(self, total: int, counters: Counters) -> None: ...
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

    def start(self, total: int, counters: Counters) -> None:
        self.total = total
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
                completed=counters.step,
                epoch=epoch,
                loss=self.smooth_loss,
                speed=self.smooth_speed,
            )
        elif time.monotonic() - self.line_at >= self.SECONDS:
            self.line_at = time.monotonic()
            left = (self.total - counters.step) * counters.seconds / max(counters.step, 1)
            self._print(
                f"epoch {epoch}  step {counters.step}/{self.total}  loss {self.smooth_loss:.4f}  "
                f"{self.smooth_speed:,.0f} tokens/s  {_minutes(left)} left"
            )

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
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)


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
