"""max_seconds: a run that the time ends has brought its learning rate down by then."""

from __future__ import annotations

import json
from itertools import pairwise

import unspool


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
