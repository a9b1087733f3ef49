"""Many cases of some parts, by several workers: failures as they come, a table at the end."""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import math
import os
import selectors
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

from part import Part
from supervise import Outcome, build_commands_once, shortened, supervise

SAYING_SECONDS = 60.0


@dataclass
class Tally:
    """The sum of the outcomes of a part."""

    cases: int = 0
    commands: int = 0
    refused: int = 0
    stops: int = 0
    failed: list[int] = field(default_factory=list)
    longest: float = 0.0
    slowest: int = 0  # the case that took longest
    peak: int = 0
    said: float = field(default_factory=time.monotonic)  # when its progress was last printed

    def add(self, outcome: Outcome) -> None:
        self.cases += 1
        self.commands += len(outcome.commands)
        self.refused += len(outcome.errors)
        self.stops += outcome.stops
        if outcome.seconds > self.longest:
            self.longest, self.slowest = outcome.seconds, outcome.number
        self.peak = max(self.peak, outcome.peak)
        if outcome.problems:
            self.failed.append(outcome.number)


class Attack:
    """Parts, one after the other."""

    def __init__(self, parts: Sequence[Part], options: argparse.Namespace) -> None:
        self.parts, self.options = parts, options

    def run(self) -> int:
        """The exit code: 1 where a case failed. Ctrl-C or SIGTERM ends it with the table so far."""
        tallies = {part.name: Tally() for part in self.parts}
        shares = sum(part.share for part in self.parts)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            for part in self.parts:
                minutes = self.options.minutes
                seconds = 60 * minutes * part.share / shares if minutes is not None else math.inf
                self.run_part(part, tallies[part.name], time.monotonic() + seconds)
        self.show_table(tallies)
        return int(any(tally.failed for tally in tallies.values()))

    def run_part(self, part: Part, tally: Tally, deadline: float) -> None:
        build_commands_once()
        with silent():
            part.prepare()
        gc.collect()
        gc.freeze()  # so that a fork need not copy what is collected
        try:
            if self.options.case is not None:
                for outcome in self.supervised(part, self.options.case, shown=True):
                    self.take(part, tally, outcome)
            else:
                for outcome in self.outcomes(part, deadline):
                    self.take(part, tally, outcome)
        finally:
            part.close()

    def supervised(self, part: Part, *numbers: int, shown: bool = False) -> Iterator[Outcome]:
        return supervise(
            part.case,
            part.name,
            numbers,
            self.options.seed,
            part.folder,
            patience=part.patience,
            shown=(lambda text: print(text, flush=True)) if shown else None,
        )

    def confirmed(self, part: Part, numbers: Sequence[int]) -> Iterator[Outcome]:
        """What fails among others is tried alone, as its command repeats it."""
        for outcome in self.supervised(part, *numbers):
            if outcome.problems and len(numbers) > 1:
                (alone,) = self.supervised(part, outcome.number)
                if not alone.problems:
                    first = f"--first {numbers[0]} --cases {outcome.number + 1 - numbers[0]}"
                    outcome.problems.append(f"but not alone: see {first} --workers 1")
            yield outcome

    def outcomes(self, part: Part, deadline: float) -> Iterator[Outcome]:
        """Of all numbers, in the order in which the workers end them."""
        workers = min(self.options.workers, part.workers)
        streams = selectors.DefaultSelector()
        pids = []
        for worker in range(workers):
            reading, writing = os.pipe()
            pids.append(os.fork())
            if pids[-1] == 0:
                os.close(reading)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                with os.fdopen(writing, "w") as stream:
                    self.work(part, worker, workers, deadline, stream)
                os._exit(0)
            os.close(writing)
            streams.register(os.fdopen(reading), selectors.EVENT_READ)
        try:
            while streams.get_map():
                for key, _ in streams.select():
                    line = key.fileobj.readline()  # type: ignore[union-attr]
                    if line:
                        yield Outcome(**json.loads(line))
                    else:
                        streams.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr]
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)  # which has ended, unless this one is to end early
                os.waitpid(pid, 0)

    def work(
        self, part: Part, worker: int, workers: int, deadline: float, stream: io.TextIOBase
    ) -> None:
        """Every `workers`-th batch of cases."""
        first = self.options.first
        cases = part.short if self.options.short else self.options.cases
        start = first + worker * part.batch
        while (cases is None or start < first + cases) and time.monotonic() < deadline:
            end = start + part.batch if cases is None else min(start + part.batch, first + cases)
            for outcome in self.confirmed(part, range(start, end)):
                stream.write(json.dumps(asdict(outcome)) + "\n")
                stream.flush()
            start += workers * part.batch

    def take(self, part: Part, tally: Tally, outcome: Outcome) -> None:
        tally.add(outcome)
        if self.options.errors:
            print(*outcome.errors, sep="\n", end="\n" * bool(outcome.errors))
        if outcome.problems:
            for problem in outcome.problems:
                print(f"FAILED {part.name} {outcome.number}: {problem}")
            for command in outcome.commands[-3:]:
                print(f"    unspool {shortened(command, 160)}")
            print(
                f"    again: python bench/faults --only {part.name} --case {outcome.number}"
                f" --seed {self.options.seed}",
                flush=True,
            )
        elif time.monotonic() - tally.said > SAYING_SECONDS:
            tally.said = time.monotonic()
            print(f"{part.name}: {tally.cases:,} cases, {len(tally.failed)} failed", flush=True)

    def show_table(self, tallies: dict[str, Tally]) -> None:
        print(f"{'part':<10} {'cases':>7} {'commands':>9} {'refused':>8} {'failed':>7}", end="")
        print(f" {'stops':>6} {'longest':>9} {'(case)':>8} {'memory':>8}")
        for name, tally in tallies.items():
            print(
                f"{name:<10} {tally.cases:>7,} {tally.commands:>9,} {tally.refused:>8,}"
                f" {len(tally.failed):>7,} {tally.stops:>6,} {tally.longest:>7.1f} s"
                f" {tally.slowest:>8} {tally.peak / 1e9:>5.2f} GB"
            )


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Nothing is printed inside."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in (1, 2)]
    with open(os.devnull, "w") as nowhere:
        for number in (1, 2):
            os.dup2(nowhere.fileno(), number)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, own in zip((1, 2), kept):
            os.dup2(own, number)
            os.close(own)
