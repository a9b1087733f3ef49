"""Values that stand for gaps are reported when a model is fitted."""

from __future__ import annotations

import numpy as np
import pytest

from small_tasks import load_data
from unspool.data.fields import series_values
from unspool.data.fields.sentinels import sentinel_notes
from unspool.data.store.ragged import Ragged

RNG = np.random.default_rng(5)


def series(*marks: float, length: int = 60) -> np.ndarray:
    """(T, 1) values around 20, with marks among them."""
    x = 20 + RNG.normal(size=(length, 1)).astype(np.float32)
    x[5 : 5 + len(marks), 0] = marks
    return x


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ((-999,), "t: -999 stands 1 time in train, and all other values lie between 1"),
        ((-999.9, -999.9), "t: -999.9 stands 2 times"),
        ((99, 99, 99), "t: 99 stands 3 times"),
        ((-200, -200, -200), "t: -200 stands 3 times"),
        ((-200, -200), ""),  # two spikes alike
        ((0, 0, 0), ""),  # nothing sold, nothing measured
        ((-999, -500, 400), ""),
        ((np.nan, np.nan), ""),
    ],
)
@pytest.mark.parametrize("block", [7, 1 << 20])
def test_values_far_from_all_others(marks, message, block, monkeypatch) -> None:
    monkeypatch.setattr(series_values, "BLOCK", block)
    notes = sentinel_notes(Ragged.of([series(length=9), series(*marks), series()]), ["t"])
    assert len(notes) == bool(message)
    assert all(note.startswith(message) for note in notes)


def test_flags_constants_and_empty_channels_are_no_gaps() -> None:
    x = np.stack([np.arange(9) % 2, np.full(9, 3), np.full(9, np.nan)], 1).astype(np.float32)
    assert sentinel_notes(Ragged.of([x]), ["flag", "constant", "empty"]) == []


@pytest.mark.parametrize("task", ["forecast", "classify"])
def test_training_reports_them(task, tmp_path) -> None:
    rows = [f"r{i // 30},{i % 30},{series(length=6)[0, 0] if i % 9 else -999},{i // 30 % 2}\n"
            for i in range(600)]  # fmt: skip
    (tmp_path / "a.csv").write_text("id,time,temperature,label\n" + "".join(rows))
    data = {"horizon": 2} if task == "forecast" else {"input": "series"}
    notes = load_data(tmp_path / "a.csv", task=task, data=data).notes
    assert any("temperature: -999 stands" in note for note in notes)
