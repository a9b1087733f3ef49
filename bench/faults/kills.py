"""Runs of every task and model that are killed or stopped again and again at random moments, and
resumed: each ends as the run that nobody stopped, to the bit."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from jobs import Job, differing, outcome_of
from part import Part
from samples import HORIZON, SETTINGS, read_by, train_run, write_sample
from supervise import Case, apart

STOPS = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGHUP: 129}
LONGER = {
    **SETTINGS, "epochs": 3, "patience": 0, "log_steps": 1, "checkpoint_seconds": 0, "dropout": 0.3,
    "eval_steps": 3, "baseline": False, "valid_share": 0.2,
}  # fmt: skip
DATA = {
    "classify": "csv", "regress": "ratings", "tag": "conll", "generate": "plain",
    "translate": "pairs", "pretrain": "plain", "elmo": "plain", "forecast": "loads",
    "transcribe": "sounds", "handwrite": "strokes", "compose": "chorales",
    "caption": "captions", "summarize": "summaries", "answer": "questions",
}  # fmt: skip
NEEDED: dict[str, dict[str, Any]] = {"regress": {"label": "rating"}, "forecast": HORIZON}
VARIANTS: list[tuple[str, str, dict[str, Any]]] = [
    ("classify", "gru", {"folds": 2}),
    ("classify", "lstm", {"kind": "bpe", "oversample": True}),
    ("classify", "transformer", {"pooling": "cls", "self_attention": "linear"}),
    ("tag", "bigru", {"characters": "lstm"}),
    ("tag", "cnn", {"characters": "cnn", "output": "softmax"}),
    ("generate", "transformer", {"positions": "rotary", "tied": True}),
    ("translate", "bahdanau", {"kind": "word", "joint": False}),
    ("forecast", "gru", {"strategy": "recursive", "output": "student"}),
    ("forecast", "transformer", {"output": "gaussian", "center": "last", "patch": 2}),
]


class Family(NamedTuple):
    task: str
    model: str
    settings: dict[str, Any]
    data: str

    def words(self, folder: Path, seed: int = 1) -> list[object]:
        """`train` without --out."""
        settings = LONGER | NEEDED.get(self.task, {}) | self.settings
        settings = read_by(self.data, self.task, self.model, settings)
        own = [word for key, value in settings.items() for word in ("-s", f"{key}={value}")]
        data = write_sample(self.data, folder, seed)
        return ["train", data, "-t", self.task, "-m", self.model, *own]


OF_SERIES = [
    Family("classify", "bigru", {}, "steps"),
    Family("classify", "cnn", {"window": 4}, "steps"),
    Family("classify", "linear", {}, "steps"),
    Family("classify", "transformer", {"scaling": "series"}, "wide"),
    Family("regress", "gru", {"label": "speed", "window": 4}, "speeds"),
    Family("regress", "transformer", {"label": "speed", "irregular": "channel"}, "speeds"),
    Family("tag", "lstm", {}, "steps"),
    Family("tag", "transformer", {"window": 4}, "steps"),
    Family("forecast", "lstm", {"output": "quantiles", "known": "holiday"}, "dated"),
    Family("classify", "bigru", {"bands": 8}, "spoken"),
    Family("classify", "lstm", {}, "unipen"),
    Family("transcribe", "bilstm", {}, "strokes"),
    Family("transcribe", "gru", {}, "inks"),
    Family("classify", "gru", {}, "pictures"),
    Family("classify", "transformer", {}, "pixels"),
    Family("handwrite", "gru", {"mixture": 2}, "sketches"),
    Family("handwrite", "lstm", {"conditional": False}, "strokes"),
    Family("compose", "gru", {"transpose": 2}, "songs"),
    Family("classify", "lstm", {}, "entailment"),
    Family("classify", "bigru", {"pair": "bidaf"}, "entailment"),
]


def families() -> list[Family]:
    """Every model of every task for which there are data."""
    from unspool.api.settings import make_config
    from unspool.errors import ConfigError
    from unspool.tasks import TASKS

    found = []
    for task, kind in TASKS.items():
        if task not in DATA:
            print(f"no data to train {task} on: it is not killed", file=sys.stderr)
            continue
        for model in kind.models():
            try:
                make_config(task, model, settings=SETTINGS | NEEDED.get(task, {}))
            except ConfigError:  # a language model does not read in both directions
                continue
            found.append(Family(task, model, {}, DATA[task]))
    found += [Family(task, model, own, DATA[task]) for task, model, own in VARIANTS]
    return found + OF_SERIES


class Kills(Part):
    """kill -9, SIGTERM, Ctrl-C and a closed terminal."""

    name = "kills"
    short = 2
    patience = 600.0

    def prepare(self) -> None:
        apart(lambda: train_run("bilstm", self.runs))  # so that all is imported
        self.families = families()

    def case(self, case: Case) -> None:
        """One family, stopped one to four times."""
        rng = case.random
        family = self.families[case.number % len(self.families)]
        words = family.words(case.folder)
        whole, run = case.folder / "whole", case.folder / "run"
        reference = Job(case, *words, "-o", whole)
        ended = reference.wait()
        if ended.code:
            return case.problem(f"a sound run failed: {ended.error}")
        for _ in range(rng.randint(1, 4)):
            if not stopped(case, go_on(words, run), rng.uniform(0, reference.seconds)):
                break
        else:
            ended = Job(case, *go_on(words, run)).wait()
            case.check(ended.code == 0, f"cannot go on: {ended.error}")
        one, other = outcome_of(whole), outcome_of(run)
        case.check(one == other, f"{family.task} {family.model}: other {differing(one, other)}")
        return None


def go_on(words: list[object], run: Path) -> list[object]:
    """Resume the run where there is one; what was killed before it had begun is begun anew."""
    resumed = (run / "config.json").exists()
    return ["train", "--resume", "-o", run] if resumed else [*words, "-o", run]


def stopped(case: Case, words: list[object], moment: float) -> bool:
    """Start a command and stop it; False where it was quicker. Half of the kills come inside the
    writing of a file."""
    rng = case.random
    if rng.random() < 0.3:
        call = rng.randint(1, 40)
        ended = Job(case, *words, before=lambda: die_at(call)).wait(killed=True)
        case.tell("stop", ended.code != 0)
        return ended.code != 0
    number = rng.choice([signal.SIGKILL, signal.SIGKILL, *STOPS])
    job = Job(case, *words)
    while job.running() and job.seconds < moment:
        time.sleep(0.001)
    job.signal(number)
    ended = job.wait(killed=number == signal.SIGKILL)
    case.tell("stop", ended.code != 0)
    if number != signal.SIGKILL and ended.code:
        expected = (STOPS[number], -number)
        case.check(ended.code in expected, f"{number.name}: exit code {ended.code}")
    return ended.code != 0


def die_at(call: int) -> None:
    """Make this process kill itself just before its n-th fsync or rename."""
    calls = 0

    def deadly(real: Any) -> Any:
        def wrapper(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)

        return wrapper

    os.fsync, os.replace = deadly(os.fsync), deadly(os.replace)
