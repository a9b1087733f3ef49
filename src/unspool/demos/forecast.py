"""Days of a small power grid, hour by hour, and the next day as a model sees it coming.

Load has a shape of the day that differs at weekends, a slow rise, and noise that hangs together. A
GRU learns from half a year; the last weeks are forecast day by day, beside what a linear model and
the day before would say.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from unspool.api.train import train
from unspool.training.output_folder import free_folder
from unspool.training.progress import Printed

DAYS = 200
FIRST = datetime(2024, 1, 1)
SETTINGS: dict[str, Any] = {
    "task": "forecast", "model": "gru", "horizon": 24, "window": 168, "patch": 6, "hidden": 32,
    "embedding": 32, "patience": 0, "lr": 3e-3, "test_share": 0.15,
    "output": "quantiles",
}  # fmt: skip


def make_load(days: int = DAYS, seed: int = 0) -> np.ndarray:
    """(24 · days,) megawatts"""
    rng = np.random.default_rng(seed)
    t = np.arange(24 * days)
    hour, weekend = t % 24, (t // 24) % 7 >= 5
    morning = np.exp(-(((hour - 8) / 2.5) ** 2)) * np.where(weekend, 0.3, 1.0)
    evening = np.exp(-(((hour - 19) / 3.0) ** 2))
    noise, hanging = rng.normal(0, 0.05, len(t)), np.zeros(len(t))
    for i in range(1, len(t)):
        hanging[i] = 0.9 * hanging[i - 1] + noise[i]
    return 20 + 6 * morning + 8 * evening + 0.01 * t / 24 * 2 + 2 * hanging


def write_load(path: Path) -> None:
    rows = (
        f"{FIRST + timedelta(hours=hour)},{load:.3f}\n" for hour, load in enumerate(make_load())
    )
    path.write_text("time,load\n" + "".join(rows), encoding="utf-8")


def run(note: Callable[[str], None], *, epochs: int = 40) -> None:
    from rich.console import Console

    out = free_folder("demo", "forecast")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "load.csv"
        write_load(path)
        trained = train(
            path,
            out=out,
            note=note,
            watcher=Printed(Console(stderr=True)),
            epochs=epochs,
            **SETTINGS,
        )
    assert trained.report is not None
    assert trained.comparison is not None
    for line in [*trained.report.lines(), "", *trained.comparison.lines()]:
        note(line)
    note(f"some days, with their intervals: {out / 'forecasts.png'}")
    note("")
    note("Next:")
    note(f"  unspool look {out}    the page: what each past hour contributed to one ahead")
    note(f"  unspool serve {out}   over HTTP, with a page at localhost:8000")
