"""Forecasts on public data: rows of docs/results.md, and DLinear in plain torch beside them.

    python bench/forecasts.py                     list the rows
    python bench/forecasts.py etth1-96            one row; its figures go to bench/results
    python bench/forecasts.py etth1-96 --seeds 5  mean and standard deviation
    python bench/forecasts.py --table             the table from the stored figures

ETTh1 is split as usual: 12, 4 and 4 months; figures are standardised MSE and MAE over all windows
of the test part, which is read once. M4's hourly series end with the 48 hours of the competition's
test. Settings were chosen on validation parts. Without ../shared/data (or $UNSPOOL_DATA) a row
says so and ends.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from rows import DATA, SEED, Row, main, size, train

MONTHS = 30 * 24
ETT_ROWS = 20 * MONTHS  # 12 + 4 + 4 months
HORIZONS = (96, 192, 336, 720)
LENGTH = 336
NETWORKS: dict[str, dict[str, Any]] = {
    "gru": {"patch": 12, "hidden": 64, "embedding": 64, "dropout": 0.3},
    "transformer": {"patch": 12, "hidden": 64, "dropout": 0.3},
    "linear": {},
}
ETT = {"window": LENGTH, "valid_share": 0.2, "test_share": 0.2, "epochs": 6, "patience": 0,
       "calendar": False, "windows": 0, "threads": 1}  # fmt: skip
M4 = {"horizon": 48, "season": 24, "window": 168, "valid_steps": 48, "test_steps": 48, "patch": 12,
      "loss": "absolute", "epochs": 10, "patience": 0, "threads": 1}  # fmt: skip


NEURAL = ("epochs", "patience", "patch", "loss", "windows")  # which a linear model does not read


def without_network(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in NEURAL}


def ett_file(folder: str) -> Path:
    """The first 20 months."""
    path = Path(folder) / "etth1.csv"
    lines = (DATA / "timeseries/ETT/ETTh1.csv").read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: 1 + ETT_ROWS]))
    return path


def etth1(horizon: int) -> dict[str, Any]:
    """All networks and DLinear on one horizon."""
    started, found = time.perf_counter(), {}
    with tempfile.TemporaryDirectory() as scratch:
        path = ett_file(scratch)
        for model, settings in NETWORKS.items():
            run = train(
                path, scratch, model, task="forecast", model=model, horizon=horizon,
                **(ETT if settings else without_network(ETT)), **settings,
            )  # fmt: skip
            found[model] = run.report.metrics
            parameters = size(run)
        found["DLinear"] = dlinear(path, horizon)
    values = {f"{model} {key}": found[model][key] for model in found for key in ("mse", "mae")}
    figures = "; ".join(f"{m} {own['mse']:.3f} / {own['mae']:.3f}" for m, own in found.items())
    return {
        "model": ", ".join(found),
        "figure": f"MSE / MAE: {figures}",
        "value": values,
        "coverage": {m: own["coverage"] for m, own in found.items() if "coverage" in own},
        "parameters": parameters,
        "seconds": time.perf_counter() - started,
    }


class DLinear(nn.Module):
    """Zeng et al. (2023): the moving average of a window and the rest, each by a linear layer."""

    def __init__(self, length: int, horizon: int, kernel: int = 25) -> None:
        super().__init__()
        self.average = nn.AvgPool1d(kernel, stride=1)
        self.pad = (kernel - 1) // 2
        self.trend, self.rest = nn.Linear(length, horizon), nn.Linear(length, horizon)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, L, C) -> (B, H, C)"""
        x = x.transpose(1, 2)
        padded = nn.functional.pad(x, (self.pad, self.pad), mode="replicate")
        trend = self.average(padded)
        return (self.trend(trend) + self.rest(x - trend)).transpose(1, 2)


def dlinear(path: Path, horizon: int) -> dict[str, float]:
    """In plain torch as its authors train it: Adam, batches of 32, early stopping on validation."""
    torch.manual_seed(int(os.environ.get(SEED, "1")))
    with open(path) as file:
        rows = list(csv.reader(file))[1:]
    x = np.array([row[1:] for row in rows], dtype=np.float32)
    first = 12 * MONTHS
    x = (x - x[:first].mean(0)) / x[:first].std(0)
    borders = {
        "train": (LENGTH, first),
        "valid": (first, 16 * MONTHS),
        "test": (16 * MONTHS, len(x)),
    }
    series = torch.from_numpy(x)

    def windows(part: str) -> torch.Tensor:
        low, high = borders[part]
        return series[low - LENGTH : high].unfold(0, LENGTH + horizon, 1).transpose(1, 2)

    def judged(part: str) -> tuple[float, float]:
        with torch.inference_mode():
            some = windows(part).split(256)
            errors = [model(w[:, :LENGTH]) - w[:, LENGTH:] for w in some]
        both = [(float(e.square().sum()), float(e.abs().sum()), e.numel()) for e in errors]
        squares, sizes, count = map(sum, zip(*both))
        return squares / count, sizes / count

    model = DLinear(LENGTH, horizon)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    own, best, waited, kept = windows("train"), float("inf"), 0, {}
    for epoch in range(10):
        for group in optimizer.param_groups:
            group["lr"] = 5e-3 * 0.5**epoch
        for rows_of in torch.randperm(len(own)).split(32):
            w = own[rows_of]
            optimizer.zero_grad()
            nn.functional.mse_loss(model(w[:, :LENGTH]), w[:, LENGTH:]).backward()
            optimizer.step()
        loss, _ = judged("valid")
        waited = 0 if loss < best else waited + 1
        if loss < best:
            best, kept = loss, {k: v.clone() for k, v in model.state_dict().items()}
        if waited == 3:
            break
    model.load_state_dict(kept)
    mse, mae = judged("test")
    return {"mse": mse, "mae": mae}


def m4_file(folder: str) -> Path:
    """A series a row: the past, then the 48 hours of the competition's test."""
    path = Path(folder) / "hourly.csv"

    def rows(part: str) -> dict[str, list[str]]:
        with gzip.open(DATA / f"timeseries/m4/Hourly-{part}.csv.gz", "rt") as file:
            return {row[0]: [x for x in row[1:] if x] for row in list(csv.reader(file))[1:]}

    past, future = rows("train"), rows("test")
    series = {name: own + future[name] for name, own in past.items()}
    width = max(map(len, series.values()))
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", *(f"v{i}" for i in range(1, width + 1))])
        table.writerows([name, *own, *[""] * (width - len(own))] for name, own in series.items())
    return path


def m4(model: str) -> dict[str, Any]:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        settings = without_network(M4) if model == "linear" else M4
        run = train(m4_file(scratch), scratch, model, task="forecast", model=model, **settings)
        own, naive = run.report.metrics, run.report.naive["naive2"]
        keys = ("smape", "mase", "owa", "coverage")
        return {
            "model": model,
            "figure": f"sMAPE {own['smape']:.2f}, MASE {own['mase']:.3f}, OWA {own['owa']:.3f},"
            f" {100 * own['coverage']:.1f} % within 95 % intervals (Naive2: sMAPE"
            f" {naive['smape']:.2f}, MASE {naive['mase']:.3f})",
            "value": {key: own[key] for key in keys},
            "parameters": size(run),
            "seconds": time.perf_counter() - started,
        }


def methods(file: Callable[[str], Path], settings: dict[str, Any]) -> dict[str, Any]:
    """The linear model, and the methods without training that each report has."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        own = without_network(settings)
        run = train(file(scratch), scratch, "run", task="forecast", model="linear", **own)
        shown = {"linear": run.report.metrics, **run.report.naive}
        keys = ("mse", "mae", "smape", "mase")
        return {
            "model": "linear",
            "figure": "; ".join(
                f"{name}: " + ", ".join(f"{key} {own[key]:.3f}" for key in keys)
                for name, own in shown.items()
            ),
            "value": {f"{name} {key}": own[key] for name, own in shown.items() for key in keys},
            "parameters": size(run),
            "seconds": time.perf_counter() - started,
        }


ROWS = {
    "methods-m4": Row("M4 hourly, 48 ahead, without a network", partial(methods, m4_file, M4)),
    "methods-etth1": Row(
        "ETTh1, 96 hours ahead, without a network",
        partial(methods, ett_file, {**ETT, "horizon": 96}),
    ),
    **{
        f"etth1-{h}": Row(f"ETTh1, {h} hours ahead from {LENGTH}; standardised", partial(etth1, h))
        for h in HORIZONS
    },
    **{
        f"m4-{model}": Row(f"M4 hourly, 48 ahead, {model}", partial(m4, model))
        for model in ("gru", "transformer", "linear")
    },
}

if __name__ == "__main__":
    sys.exit(main(ROWS, "forecasts.py", __doc__, prefix="forecasts-"))
