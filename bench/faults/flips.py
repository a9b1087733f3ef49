"""Single bits flipped in the files of runs, of vectors, of checkpoints and of the cache: each is
refused, or changes nothing."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from pathlib import Path
from typing import Any

from folders import difference, same_or_refused
from mutate import flip_at
from part import Part
from samples import RUNS, question, train_run, train_vectors, write_sample
from supervise import Case, Ended, apart, in_this_process

HALVES = ["bilstm", "forecaster", "transcriber", "pen"]  # runs with a checkpoint
CACHED = ["csv", "conll", "plain", "steps", "sounds", "strokes"]
LONGER = ["-s", "threads=1", "-s", "hidden=8", "-s", "max_steps=3"]


class Flips(Part):
    """Single bits."""

    name = "flips"
    short = 20
    batch = 10

    def prepare(self) -> None:
        self.whole = apart(self.answers)

    def answers(self) -> dict[str, Ended]:
        for name in RUNS:
            train_run(name, self.runs)
        train_vectors(self.runs)
        for name in HALVES:
            train_half(name, self.folder)
        return {name: self.answer(self.runs / name) for name in [*RUNS, "vectors"]}

    def case(self, case: Case) -> None:
        kind = case.random.random()
        if kind < 0.75:
            self.run(case)
        elif kind < 0.88:
            self.checkpoint(case)
        else:
            self.cache(case)

    def answer(self, run: Path) -> Ended:
        return in_this_process(question(run.name, run, self.runs / "data"), self.runs, None)

    def run(self, case: Case) -> None:
        name = case.random.choice(list(self.whole))
        run = copied(self.runs / name, case)
        what = flip_one(run, case)
        after = case.run(*question(name, run, self.runs / "data"))
        before = self.whole[name]
        case.check(same_or_refused(before, after), f"{what}: {difference(before, after)}")

    def checkpoint(self, case: Case) -> None:
        """A run that goes on from damaged files ends with the same weights."""
        half = self.folder / case.random.choice(HALVES)
        whole, run = copied(half, case, "whole"), copied(half, case)
        what = flip_one(run, case)
        case.run("train", "--resume", "-o", whole)
        ended = case.run("train", "--resume", "-o", run)
        if ended.code == 0:
            case.check(weights(run) == weights(whole), f"{what}: other weights after --resume")

    def cache(self, case: Case) -> None:
        """Tokens that were kept are checked before they are used again."""
        data = write_sample(case.random.choice(CACHED), case.folder)
        case.run("train", data, "-o", "first", *LONGER)
        what = flip_one(case.folder / "cache", case)
        ended = case.run("train", data, "-o", "second", *LONGER)
        same = weights(case.folder / "first") == weights(case.folder / "second")
        case.check(ended.code == 2 or same, f"{what}: other weights from the cache")


class Stopped(Exception):
    """In the middle of a run."""


def train_half(name: str, folder: Path) -> None:
    """A run that ends after five steps, with its checkpoints."""
    from unspool.training.trainer import Trainer

    real: Any = Trainer._step
    steps = 0

    def step(trainer: Trainer) -> Any:
        nonlocal steps
        steps += 1
        if steps > 5:
            raise Stopped
        return real(trainer)

    Trainer._step = step  # type: ignore[method-assign]
    try:
        with contextlib.suppress(Stopped):
            train_run(name, folder, checkpoint_seconds=0, log_steps=1)
    finally:
        Trainer._step = real  # type: ignore[method-assign]


def copied(whole: Path, case: Case, name: str = "run") -> Path:
    return Path(shutil.copytree(whole, case.folder / name))


def flip_one(folder: Path, case: Case) -> str:
    """Flip a bit of a file that is read; what was done."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    files = [path for path in files if path.name != "README.md"]
    path = case.random.choice(files)
    content = path.read_bytes()
    bit = case.random.randrange(8 * len(content))
    path.write_bytes(flip_at(content, bit))
    return f"bit {bit} of {path.relative_to(folder)}"


def weights(run: Path) -> str:
    path = run / "model.safetensors"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "none"
