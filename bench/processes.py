"""What several processes gain: tokens a second of a training, in three ways on the same cores.

    python bench/processes.py [--rounds 3] [--seconds 20]

For a BiLSTM, a Transformer and a CNN on generated texts: one process with two threads, two
processes with one thread each that share every batch (--processes 2), and two separate trainings
with one thread each. The three take turns; figures are medians over rounds, of the tokens/s that
the runs log (of separate trainings, their sum).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

MODELS = {
    "bilstm": ["hidden=128", "embedding=128"],
    "transformer": ["hidden=128", "heads=4", "layers=2"],
    "cnn": ["embedding=128"],
}


def write_texts(path: Path) -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("bcdfgklmnprstaeiou", k=6)) for _ in range(5000)]
    rows = [f"{' '.join(rng.choices(words, k=rng.randint(50, 300)))},{'ab'[i % 2]}"
            for i in range(4000)]  # fmt: skip
    path.write_text("text,label\n" + "\n".join(rows) + "\n")


def start(data: Path, out: Path, model: str, *more: str, seconds: float) -> subprocess.Popen[bytes]:
    settings = [*MODELS[model], f"max_seconds={seconds:g}", "baseline=false", "batch=64",
                "log_steps=5", "valid_share=0.01", "calibrate=false"]  # fmt: skip
    command = [sys.executable, "-m", "unspool", "train", str(data), "--model", model]
    command += ["--out", str(out), *more]
    return subprocess.Popen(
        [*command, *(part for setting in settings for part in ("--set", setting))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def speed(out: Path) -> float:
    """Median tokens a second of a run, without its first steps."""
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    values = [r["tokens_per_second"] for r in records if "tokens_per_second" in r]
    return statistics.median(values[1:] or values)


def measure(data: Path, folder: Path, model: str, seconds: float) -> dict[str, float]:
    ways = {"one": [["--set", "threads=2"]], "shared": [["--set", "threads=1", "--processes", "2"]],
            "separate": [["--set", "threads=1"], ["--set", "threads=1"]]}  # fmt: skip
    figures = {}
    for way, runs in ways.items():
        outs = [folder / f"{model}-{way}-{number}" for number in range(len(runs))]
        running = [start(data, o, model, *r, seconds=seconds) for o, r in zip(outs, runs)]
        if any([process.wait() for process in running]):  # noqa: C419  # wait for all of them
            sys.exit(f"{model}, {way}: training failed")
        figures[way] = sum(map(speed, outs))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    print("| model | one process, two threads | --processes 2 | two separate trainings |")
    print("|---|---|---|---|")
    for model in MODELS:
        rounds = []
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as place:
                data = Path(place) / "texts.csv"
                write_texts(data)
                rounds.append(measure(data, Path(place), model, options.seconds))
        one, shared, separate = (
            statistics.median(r[way] for r in rounds) for way in ("one", "shared", "separate")
        )
        print(f"| {model} | {one:,.0f} tokens/s | {shared:,.0f} ({shared / one:.2f} x) |"
              f" {separate:,.0f} ({separate / one:.2f} x) |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
