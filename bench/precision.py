"""Does a model learn as well with products of bfloat16 as in float32?

    python bench/precision.py [--json FILE]

MR sentences (one fold, bilstm) and tiny Shakespeare (characters, lstm of 256 units, 800 steps),
with three seeds in both precisions. Printed: the mean over the seeds, their standard deviation and
the difference. Without ../shared/data (or $UNSPOOL_DATA) it says so and ends.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from results import MR_CELLS, mr_files, pool
from rows import train
from timing import DATA

SEEDS = (1, 2, 3)
SHAKESPEARE = {
    "task": "generate", "model": "lstm", "hidden": 256, "batch": 32, "max_steps": 800,
    "eval_steps": 400, "threads": 1,
}  # fmt: skip


def one(job: tuple[str, dict[str, Any], str]) -> float:
    data, settings, metric = job
    with tempfile.TemporaryDirectory() as scratch:
        return train(data, scratch, "run", **settings).report.metrics[metric]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"skipped: no data at {DATA}")
    with tempfile.TemporaryDirectory() as scratch:
        rest, test = mr_files(0, scratch)
        mr = {"task": "classify", "model": "bilstm", "test": str(test), "valid_share": 0}
        plans: dict[str, tuple[Path, dict[str, Any], str]] = {
            "MR": (rest, mr | MR_CELLS, "accuracy"),
            "tiny Shakespeare": (DATA / "lm/tinyshakespeare/input.txt", SHAKESPEARE, "loss"),
        }
        jobs = {
            (name, precision, seed): (
                str(data), {**settings, "precision": precision, "seed": seed}, metric,
            )
            for name, (data, settings, metric) in plans.items()
            for precision in ("fp32", "bf16")
            for seed in SEEDS
        }  # fmt: skip
        with pool() as workers:
            found = dict(zip(jobs, workers.map(one, jobs.values())))
    for name, (_, _, metric) in plans.items():
        figures = {
            precision: [found[name, precision, seed] for seed in SEEDS]
            for precision in ("fp32", "bf16")
        }
        means = {precision: float(np.mean(values)) for precision, values in figures.items()}
        for precision, values in figures.items():
            spread = np.std(values, ddof=1)
            print(f"{name:18} {precision}  {metric} {means[precision]:.4f}, sd {spread:.4f}")
        print(f"{name:18} bf16 - fp32: {means['bf16'] - means['fp32']:+.4f}")
    if options.json is not None:
        rows = [[*key, value] for key, value in found.items()]
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
