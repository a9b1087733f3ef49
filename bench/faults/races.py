"""Two or three commands at once on one run folder, one cache or one name: a folder has one owner,
the others are refused in one line, and what is in it is the owner's alone."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

from jobs import Job, differing, hashed, outcome_of
from kills import Family, families
from part import Part
from samples import train_run, write_sample
from supervise import Case, Ended, apart


class Races(Part):
    """One folder, several processes."""

    name = "races"
    short = 1
    patience = 600.0

    def prepare(self) -> None:
        apart(lambda: train_run("bilstm", self.runs))
        self.families = families()

    def case(self, case: Case) -> None:
        races = [self.one_out, self.one_out, self.resumed, self.one_cache, self.embedded,
                 self.unnamed, self.removed, self.read_meanwhile]  # fmt: skip
        family = self.families[case.random.randrange(len(self.families))]
        races[case.number % len(races)](case, family)

    def one_out(self, case: Case, family: Family) -> None:
        """`train` of different data into one folder."""
        commands = [family.words(folder_of(case, i), seed=i) for i in range(number_of(case))]
        wholes = []
        for i, words in enumerate(commands):
            Job(case, *words, "-o", case.folder / f"whole-{i}").wait()
            wholes.append(outcome_of(case.folder / f"whole-{i}"))
        run = case.folder / "run"
        ends = together(case, [[*words, "-o", run] for words in commands])
        winners = [i for i, ended in enumerate(ends) if ended.code == 0]
        case.check(len(winners) == 1, f"{len(winners)} of {len(ends)} ended well")
        self.check_losers(case, ends)
        if len(winners) == 1:
            found, wanted = outcome_of(run), wholes[winners[0]]
            case.check(found == wanted, f"a mixed run: other {differing(found, wanted)}")

    def resumed(self, case: Case, family: Family) -> None:
        """--resume of one run, several times at once."""
        words = family.words(case.folder)
        whole, run = case.folder / "whole", case.folder / "run"
        reference = Job(case, *words, "-o", whole)
        reference.wait()
        job = Job(case, *words, "-o", run)
        while job.running() and job.seconds < case.random.uniform(0.3, 0.9) * reference.seconds:
            time.sleep(0.001)
        job.signal(signal.SIGKILL)
        job.wait(killed=True)
        if not (run / "config.json").exists():
            return
        ends = together(case, [["train", "--resume", "-o", run]] * number_of(case))
        case.check(any(ended.code == 0 for ended in ends), "none ended well")
        self.check_losers(case, ends)
        found, wanted = outcome_of(run), outcome_of(whole)
        case.check(found == wanted, f"a mixed run: other {differing(found, wanted)}")

    def one_cache(self, case: Case, family: Family) -> None:
        """The same data for the first time, in several runs."""
        words = family.words(case.folder)
        runs = [case.folder / f"run-{i}" for i in range(number_of(case))]
        ends = together(case, [[*words, "-o", run] for run in runs])
        case.check(all(ended.code == 0 for ended in ends), "not all ended well")
        outcomes = [outcome_of(run) for run in runs]
        case.check(all(each == outcomes[0] for each in outcomes), "different runs of the same data")

    def embedded(self, case: Case, family: Family) -> None:
        """`embed` into one folder."""
        more = ["-s", "size=8", "-s", "epochs=1", "-s", "threads=1", "-s", "min_count=1"]
        commands: list[list[Any]] = [
            ["embed", write_sample("plain", folder_of(case, i), seed=i), *more]
            for i in range(number_of(case))
        ]
        for i, words in enumerate(commands):
            Job(case, *words, "-o", case.folder / f"whole-{i}").wait()
        ends = together(case, [[*words, "-o", case.folder / "run"] for words in commands])
        winners = [i for i, ended in enumerate(ends) if ended.code == 0]
        case.check(len(winners) == 1, f"{len(winners)} of {len(ends)} ended well")
        for i in winners:
            for name in ("vectors.safetensors",):
                wanted = hashed(case.folder / f"whole-{i}" / name)
                case.check(hashed(case.folder / "run" / name) == wanted, f"other {name}")

    def unnamed(self, case: Case, family: Family) -> None:
        """Without --out each has a folder of its own."""
        words = family.words(case.folder)
        ends = together(case, [words] * number_of(case))
        case.check(all(ended.code == 0 for ended in ends), "not all ended well")
        runs = sorted((case.folder / "runs").iterdir())
        case.check(len(runs) == len(ends), f"{len(ends)} runs in {len(runs)} folders")
        outcomes = [outcome_of(run) for run in runs]
        case.check(all(each == outcomes[0] for each in outcomes), "different runs of the same data")

    def removed(self, case: Case, family: Family) -> None:
        """The folder goes away, or may no longer be written, in the middle of a run."""
        run = case.folder / "run"
        job = Job(case, *family.words(case.folder), "-o", run)
        while job.running() and not (run / "config.json").exists():
            time.sleep(0.001)
        time.sleep(case.random.uniform(0, 0.3))
        gone = time.monotonic()
        if case.random.random() < 0.7:
            shutil.rmtree(run, ignore_errors=True)
        elif run.exists():
            os.rename(run, case.folder / "elsewhere")
        ended = job.wait()
        case.check(ended.code in (0, 1, 2), f"exit code {ended.code}")
        late = job.ended > gone + 0.5  # otherwise it may have written all before
        case.check(ended.code != 0 or run.exists() or not late, "ended well, and there is no run")

    def read_meanwhile(self, case: Case, family: Family) -> None:
        """`predict` and `summary` of a run that is being trained: refused, or an answer."""
        run = case.folder / "run"
        job = Job(case, *family.words(case.folder), "-o", run)
        while job.running():
            words = case.random.choice([["summary", run], ["predict", run, "a good film"]])
            Job(case, *words).wait()
            time.sleep(case.random.uniform(0, 0.1))
        job.wait()

    def check_losers(self, case: Case, ends: list[Ended]) -> None:
        for ended in ends:
            case.check(ended.code in (0, 2), f"exit code {ended.code}: {ended.error}")


def number_of(case: Case) -> int:
    return case.random.choice([2, 2, 3])


def folder_of(case: Case, number: int) -> Path:
    return case.folder / f"data-{number}"


def together(case: Case, commands: list[list[Any]]) -> list[Ended]:
    """Start commands at nearly the same time."""
    jobs = []
    for words in commands:
        jobs.append(Job(case, *words))
        time.sleep(case.random.choice([0, 0, 0.01, 0.1, case.random.uniform(0, 0.5)]))
    return [job.wait() for job in jobs]
