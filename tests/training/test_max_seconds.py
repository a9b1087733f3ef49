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


@pytest.mark.parametrize(("a_row", "rows"), [(0.001, 400), (0.2, 200), (1.0, 64)])
def test_validation_takes_as_many_rows_as_there_is_time_for(
    a_row, rows, tmp_path, monkeypatch
) -> None:
    """Ten seconds are over, ninety are left: at most half of those for all rows."""
    clock, validate, sizes = Clock(), Classify.validate, []

    def slow(task, model, part):
        sizes.append(len(part))
        clock.now += a_row * len(part)
        return validate(task, model, part)

    monkeypatch.setattr(trainer, "time", clock)
    monkeypatch.setattr(Classify, "validate", slow)
    run = unspool.train(
        ["a good film", "a bad film"] * 2000, ["yes", "no"] * 2000, model="gru", batch=1,
        out=tmp_path / "run", max_seconds=100, epochs=9, hidden=4, embedding=4, threads=1,
        baseline=False, quiet=True,
    )  # fmt: skip
    assert sizes[0] == 64
    assert sizes[-1] == pytest.approx(rows, rel=0.1)
    assert run.counters.seconds < 105
    noted = [note for note in run.report.notes if note.startswith("validation takes")]
    assert len(noted) == (rows < 400)
    assert all(f" {sizes[-1]} of 400 rows" in note for note in noted)


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
