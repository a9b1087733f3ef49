"""max_seconds: a run that the time ends has brought its learning rate down by then."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

import unspool
from unspool.tasks.classify import Classify
from unspool.training import trainer
from unspool.training.checkpoint import Counters
from unspool.training.progress import Printed


class Clock:
    """A clock that goes on by 10 ms whenever it is looked at."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 0.01
        return self.now


def test_the_time_includes_the_last_validation(tmp_path, monkeypatch) -> None:
    clock, validate = Clock(), Classify.validate

    def slow(*arguments):
        clock.now += 2.0
        return validate(*arguments)

    monkeypatch.setattr(trainer, "time", clock)
    monkeypatch.setattr(Classify, "validate", slow)
    run = unspool.train(
        ["a good film", "a bad film"] * 40, ["yes", "no"] * 40, model="gru", out=tmp_path / "run",
        max_seconds=11, epochs=100_000, patience=0, hidden=4, embedding=4, threads=1, eval_steps=30,
        baseline=False, quiet=True,
    )  # fmt: skip
    assert run.counters is not None
    assert run.counters.finished == "11 s are over"
    log = [json.loads(line) for line in run.folder.metrics.read_text().splitlines()]
    assert sum("best" in record for record in log) > 2  # validations, of 2 s each
    assert run.counters.seconds < 11.5  # 13, if the last validation did not count


def test_the_first_validation_comes_early_enough_to_fit(tmp_path, monkeypatch) -> None:
    clock, validate, begun = Clock(), Classify.validate, []

    def slow(*arguments):
        begun.append(clock.now)
        clock.now += 80.0
        return validate(*arguments)

    monkeypatch.setattr(trainer, "time", clock)
    monkeypatch.setattr(Classify, "validate", slow)
    run = unspool.train(
        ["a good film", "a bad film"] * 1000, ["yes", "no"] * 1000, model="gru", batch=1,
        out=tmp_path / "run", max_seconds=100, epochs=9, hidden=4, embedding=4, threads=1,
        baseline=False, quiet=True,
    )  # fmt: skip
    assert run.counters is not None
    assert run.counters.finished == "100 s are over"
    assert len(begun) == 1
    assert run.counters.seconds < 100


@pytest.mark.parametrize(("limit", "left"), [(0.0, "15:00"), (100.0, "1:30")])
def test_the_time_left_ends_at_the_limit(limit, left, monkeypatch) -> None:
    lines: list[str] = []
    shown = Printed(type("Console", (), {"is_terminal": False})())
    monkeypatch.setattr(shown, "_print", lines.append)
    monkeypatch.setattr(shown, "SECONDS", -1.0)
    counters = Counters(step=10, seconds=10.0)
    shown.start(910, counters, limit)
    shown.step(counters, 0.5, 1.0, 100.0)
    assert lines[0].endswith(f"{left} left")


def test_the_rate_comes_down_in_the_time_there_is(tmp_path) -> None:
    texts = ["a good film", "a bad film"] * 40
    run = unspool.train(
        texts, ["yes", "no"] * 40, model="gru", out=tmp_path / "run", max_seconds=1.5,
        epochs=100_000, patience=0, schedule="linear", lr=1e-3, hidden=4, embedding=4, log_steps=1,
        threads=1, baseline=False, quiet=True,
    )  # fmt: skip
    assert run.counters is not None
    assert run.counters.finished == "1.5 s are over"
    log = [json.loads(line) for line in run.folder.metrics.read_text().splitlines()]
    rates = [own["lr"] for own in log if "lr" in own]
    assert max(rates) > 0.9e-3
    assert rates[-1] < 0.2e-3
    down = rates[rates.index(max(rates)) :]  # after the warm-up
    assert all(after <= before + 1e-9 for before, after in pairwise(down))
