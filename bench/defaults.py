"""What `unspool train FILE` gives on seven small sets without any settings, and `--model auto`.

    python bench/defaults.py                       list the rows
    python bench/defaults.py mr-after --seeds 5    measure one; figures go to bench/results
    python bench/defaults.py --table               print the table from the stored figures

before   the BiLSTM with the defaults of old, `OLD`
after    the BiLSTM with the defaults
linear   the baseline of n-grams
nb       the same, weighed by naive Bayes' log-count ratios
auto     --model auto --budget $BUDGET, or 5m; on a machine that has other work to do, more

A test part is not read before the settings are settled: defaults were compared on folds of the
training parts.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from rows import Row, main, size, stored, train
from small_data import SETS, write

PREFIX = "defaults-"
OLD: dict[str, Any] = {  # defaults
    "epochs": 10, "embedding": 128, "embedding_std": 0.1, "dropout": 0.3, "word_dropout": 0.0,
    "lr": 1e-3, "schedule": "cosine",
}  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "linear": {"model": "linear"},
    "nb": {"model": "nb_linear"},
    "before": {"model": "bilstm", **OLD},
    "after": {"model": "bilstm"},
    "auto": {"model": "auto", "budget": os.environ.get("BUDGET", "5m")},
}
SHOWN = {
    "linear": "--model linear",
    "nb": "--model nb_linear",
    "before": " ".join(f"--set {name}={value}" for name, value in OLD.items()),
    "after": "",
    "auto": "--model auto",
}


def measure(name: str, kind: str) -> dict[str, Any]:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        files = write(name, Path(scratch))
        run = train(
            files.train, scratch, "run", task="classify", text="text", label="label",
            test=files.test, precision="auto", threads=1, **KINDS[kind],
        )  # fmt: skip
        return {
            "model": run.config.model_name,
            "value": {"accuracy": run.report.metrics["accuracy"]},
            "figure": f"accuracy {run.report.metrics['accuracy']:.4f}",
            "parameters": size(run),
            "seconds": time.perf_counter() - started,
            "kept": [own.model_name for own in run.config.members],
        }


def about(name: str, kind: str) -> str:
    return f"{(SETS[name].__doc__ or '').strip()} {kind}: unspool train TRAIN {SHOWN[kind]}"


def cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return "not measured"
    values = found.get("seeds", {}).get("accuracy", [found["value"]["accuracy"]])
    spread = f" ± {100 * stdev(values):.1f} ({len(values)})" if len(values) > 1 else ""
    return f"{100 * mean(values):.1f}{spread}"


def table() -> list[str]:
    found = stored(ROWS, PREFIX)
    lines = ["| set | " + " | ".join(KINDS) + " |", "|---|" + "---|" * len(KINDS)]
    for name in SETS:
        cells = [cell(found.get(f"{name}-{kind}")) for kind in KINDS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


JOBS: dict[str, Callable[[], dict[str, Any]]] = {
    f"{name}-{kind}": partial(measure, name, kind) for name in SETS for kind in KINDS
}
ROWS = {job: Row(about(*job.split("-")), own) for job, own in JOBS.items()}

if __name__ == "__main__":
    if "--table" in sys.argv:
        print("\n".join(table()))
    else:
        sys.exit(main(ROWS, "defaults.py", __doc__, prefix=PREFIX))
