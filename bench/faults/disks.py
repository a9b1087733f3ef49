"""Disks that are full: a small file system (as root), or a limit on the size of files. Each command
ends in one line, and once there is room the run goes on to the same weights."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from pathlib import Path

from jobs import Job, differing, outcome_of
from kills import Family, families, go_on
from part import Part
from samples import train_run, write_sample
from supervise import Case, apart

NEW_NAMESPACE, PRIVATE, REMOUNT = 0x20000, (1 << 18) | (1 << 14), 32


class Disks(Part):
    """Full disks."""

    name = "disks"
    short = 1
    patience = 600.0

    def prepare(self) -> None:
        self.run = apart(lambda: train_run("bilstm", self.runs))
        self.families = families()

    def case(self, case: Case) -> None:
        kind = case.random.random()
        if kind < 0.7:
            self.train(case, self.families[case.number % len(self.families)])
        elif kind < 0.85:
            self.predict(case)
        else:
            self.embed(case)

    def train(self, case: Case, family: Family) -> None:
        rng = case.random
        words = family.words(case.folder)
        if Job(case, *words, "-o", case.folder / "whole").wait().code:
            return case.problem("a sound run failed")
        disk = Disk(case.folder / "disk", int(10 ** rng.uniform(2, 5.5)))
        if rng.random() < 0.3:
            os.environ["UNSPOOL_CACHE"] = str(disk.path / "cache")
        run = disk.path / "run"
        ended = Job(case, *words, "-o", run, before=disk.limit).wait()
        disk.enlarge()
        if ended.code:
            ended = Job(case, *go_on(words, run)).wait()
            case.check(ended.code == 0, f"cannot go on when there is room: {ended.error}")
        one, other = outcome_of(case.folder / "whole"), outcome_of(run)
        skipped = ("log",)  # whose lines could not be written
        case.check(
            all(one[name] == other[name] for name in one if name not in skipped),
            f"{family.task} {family.model}: other {differing(one, other)}",
        )
        return None

    def predict(self, case: Case) -> None:
        """A file of answers is whole, or not there."""
        data = write_sample("csv", case.folder)
        whole = case.folder / "whole.csv"
        case.run("predict", self.run, "--file", data, "--out", whole)
        disk = Disk(case.folder / "disk", int(10 ** case.random.uniform(0, 4)))
        out = disk.path / "answers.csv"
        words = ["predict", self.run, "--file", data, "--out", out]
        ended = Job(case, *words, before=disk.limit).wait()
        same = out.exists() and out.read_bytes() == whole.read_bytes()
        case.check(same if ended.code == 0 else not out.exists(), "half a file of answers is left")

    def embed(self, case: Case) -> None:
        data = write_sample("plain", case.folder)
        words = ["embed", data, "-s", "size=8", "-s", "epochs=1", "-s", "threads=1"]
        Job(case, *words, "-o", case.folder / "whole").wait()
        disk = Disk(case.folder / "disk", int(10 ** case.random.uniform(2, 4)))
        out = disk.path / "run"
        ended = Job(case, *words, "-o", out, before=disk.limit).wait()
        disk.enlarge()
        if ended.code:
            ended = Job(case, *words, "-o", out).wait()
            case.check(ended.code == 0, f"cannot begin again when there is room: {ended.error}")
        name = "vectors.safetensors"
        same = (out / name).read_bytes() == (case.folder / "whole" / name).read_bytes()
        case.check(same, "other vectors")


class Disk:
    """A folder with room for so many bytes; where it cannot be mounted, for files of that size."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        path.mkdir()
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.mounted = self._mount()

    def _mount(self) -> bool:
        """In a namespace of this process alone, so that it goes when the process ends."""
        if self.libc.unshare(NEW_NAMESPACE):
            return False
        options = f"size={max(4096, self.size)}".encode()
        if self.libc.mount(b"none", b"/", None, PRIVATE, None):
            return False
        return not self.libc.mount(b"tmpfs", os.fsencode(self.path), b"tmpfs", 0, options)

    def limit(self) -> None:
        """In the process that is to be short of room."""
        if not self.mounted:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, resource.RLIM_INFINITY))

    def enlarge(self) -> None:
        if self.mounted:
            self.libc.mount(b"tmpfs", os.fsencode(self.path), b"tmpfs", REMOUNT, b"size=1g")
