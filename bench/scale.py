"""How fast, and in how much memory, does a large file become a corpus?

    python bench/scale.py               1 GB of text, a CSV of two million rows (10 GB of disk)
    python bench/scale.py series        1,000,000 x 16 values with labels; 20,000 series to forecast
    python bench/scale.py --size 0.2    a fifth of both
    python bench/scale.py tables        plan and check 100, 1,000, 10,000 columns and rows
    python bench/scale.py tables --largest 1000000 --plot docs/pictures/scale.png

Generates text with Zipf's law, or random walks, in a temporary folder, then loads it in a fresh
process: tokenising the first time, from the cache the second; then trains twenty steps on it.
Prints MB/s of the source, the times of loading, and the peak memory with training; where others
share the machine, CPU seconds are the fairer figure. Of tables: CPU seconds of `unspool.check`,
those of the plan among them, and how they grow: 1.0 is linear, 2.0 quadratic.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import log
from pathlib import Path

import numpy as np

GIGABYTE = 1_000_000_000
ROWS = 2_000_000
WORDS = 300_000
LABELS = ("business", "science", "sport", "world")
LETTERS = np.array(list("etaoinshrdlcumwfgypbvkjxqz"))
BLOCK = 2_000_000  # words made at once
STREAM, TABLE = "stream.txt", "rows.csv"
STEPS, CHANNELS, RECORDINGS = 1_000_000, 16, 1_000
SERIES, MANY = "recordings.csv", "many.csv"
FILES = {
    "text": ((STREAM, "char"), (STREAM, "word"), (TABLE, "word")),
    "series": ((SERIES, ""), (MANY, "")),
}
TABLES = "tables"
MOST_COLUMNS = 10_000
OPTIONS = {"classify": {}, "forecast": {"horizon": 7, "windows": 2560}}  # of tasks of series


def make_words(rng: np.random.Generator) -> np.ndarray:
    """Distinct words, the frequent ones short: (WORDS,) strings."""
    chances = 1 / np.arange(2, len(LETTERS) + 2)
    words: dict[str, None] = {}
    while len(words) < WORDS:
        longest = 3 + int(np.log2(len(words) + 1) / 2.5)
        letters = rng.choice(LETTERS, size=(1000, longest), p=chances / chances.sum())
        words.update(dict.fromkeys("".join(row) for row in letters))
    return np.array(list(words)[:WORDS], dtype=object)


def make_text(rng: np.random.Generator, words: np.ndarray, count: int) -> list[str]:
    """`count` words by Zipf's law: a logarithm of the rank that is uniform gives 1 / rank."""
    ranks = np.exp(rng.random(count) * np.log(len(words))).astype(np.int64) - 1
    ends = np.array([" ", ", ", ". "], dtype=object)
    return (words[ranks] + ends[rng.choice(3, size=count, p=[0.88, 0.06, 0.06])]).tolist()


def write_stream(path: Path, size: int, rng: np.random.Generator, words: np.ndarray) -> None:
    with open(path, "w", encoding="utf-8") as file:
        written = 0
        while written < size:
            made = make_text(rng, words, BLOCK)
            lines = ("".join(made[i : i + 12]).rstrip() for i in range(0, len(made), 12))
            written += file.write("\n".join(lines) + "\n")


def write_table(path: Path, rows: int, rng: np.random.Generator, words: np.ndarray) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write("label,text\n")
        while rows > 0:
            batch = min(rows, 50_000)
            lengths = rng.integers(10, 50, size=batch)
            made = iter(make_text(rng, words, int(lengths.sum())))
            file.writelines(_table_rows(made, lengths.tolist(), rng))
            rows -= batch


def _table_rows(made: Iterator[str], lengths: list[int], rng: np.random.Generator) -> Iterator[str]:
    labels = rng.integers(len(LABELS), size=len(lengths)).tolist()
    for label, length in zip(labels, lengths):
        yield f'{LABELS[label]},"{"".join(next(made) for _ in range(length)).rstrip()}"\n'


def write_recordings(path: Path, steps: int, rng: np.random.Generator) -> None:
    """A row a step: the recording, its label and 16 channels that walk at random."""
    length = STEPS // RECORDINGS
    with open(path, "w") as file:
        file.write("id,label," + ",".join(f"x{i}" for i in range(CHANNELS)) + "\n")
        for number in range(steps // length):
            walk = rng.normal(size=(length, CHANNELS)).cumsum(0)
            start = f"{number},{LABELS[number % len(LABELS)]},"
            file.writelines(start + ",".join(f"{x:.4f}" for x in row) + "\n" for row in walk)


def write_many(path: Path, series: int, rng: np.random.Generator) -> None:
    """20,000 series of 50 days."""
    days = np.arange(50) + np.datetime64("2024-01-01")
    with open(path, "w") as file:
        file.write("id,date,sales\n")
        for number in range(series):
            walk = 100 + rng.normal(size=len(days)).cumsum()
            file.writelines(f"shop{number},{day},{x:.3f}\n" for day, x in zip(days, walk))


Cells = Iterator[list[str]]


def table_of_rows(rows: int, rng: np.random.Generator) -> Cells:
    """Texts and labels."""
    words = np.array(["".join(rng.choice(LETTERS, size=5)) for _ in range(5000)])
    yield ["label", "text"]
    for row in words[(len(words) ** rng.random((rows, 22))).astype(int)]:
        yield [LABELS[len(row[0] + row[1][0]) % 2 + 2 * ("a" in row[2])], " ".join(row)]


def table_of_days(rows: int, rng: np.random.Generator) -> Cells:
    """A series of two channels, a row an hour."""
    yield ["time", "load", "price"]
    hours = np.datetime64("1900-01-01T00") + np.arange(rows)
    for hour, values in zip(hours, rng.normal(size=(rows, 2)).cumsum(0)):
        yield [str(hour) + ":00", *(f"{value:.3f}" for value in values)]


def columns_of_words(columns: int, rng: np.random.Generator) -> Cells:
    """30 texts with labels, and columns of words beside them."""
    texts = table_of_rows(30, rng)
    yield [*next(texts), *(f"c{i}" for i in range(columns - 2))]
    for cells in texts:
        yield [*cells, *rng.choice(LABELS, size=columns - 2)]


def columns_of_steps(columns: int, rng: np.random.Generator) -> Cells:
    """30 series, a row each, with labels."""
    yield ["label", *(f"V{i}" for i in range(1, columns))]
    for row in range(30):
        yield [LABELS[row % 4], *(f"{x:.3f}" for x in rng.normal(size=columns - 1).cumsum())]


def columns_of_channels(columns: int, rng: np.random.Generator) -> Cells:
    """Days of a shop a column."""
    yield ["date", *(f"shop {i}" for i in range(1, columns))]
    days = np.datetime64("2024-01-01") + np.arange(100)
    for day, values in zip(days, rng.normal(size=(len(days), columns - 1)).cumsum(0)):
        yield [str(day), *(f"{value:.3f}" for value in values)]


TABLE_KINDS: dict[str, tuple[str, Callable[[int, np.random.Generator], Cells]]] = {
    "texts": ("rows", table_of_rows),
    "hours": ("rows", table_of_days),
    "words": ("columns", columns_of_words),
    "steps": ("columns", columns_of_steps),
    "channels": ("columns", columns_of_channels),
}


def check_table(path: str) -> dict[str, float]:
    """CPU seconds of planning a table, and of all of its check, without the imports."""
    import sklearn.linear_model  # noqa: F401

    import unspool
    import unspool.api.check
    from unspool.config import DataConfig
    from unspool.tasks.planner import open_plan

    began = time.process_time()
    open_plan(path, DataConfig())
    planned = time.process_time() - began
    unspool.check(path)
    return {"plan": planned, "check": time.process_time() - began - planned}


def compare_tables(folder: Path, largest: int, plot: str | None) -> None:
    curves: dict[str, list[tuple[int, float]]] = {}
    titles = ("plan s", "check s", "grows by")
    print(f"{'table':<10}{'of':<8}{'':>10}" + "".join(f"{title:>10}" for title in titles))
    for name, (side, make) in TABLE_KINDS.items():
        most = largest if side == "rows" else min(largest, MOST_COLUMNS)
        for size in (10**power for power in range(2, len(str(most)))):
            path = folder / f"{name}{size}.csv"
            with open(path, "w") as file:
                file.writelines(
                    ",".join(row) + "\n" for row in make(size, np.random.default_rng(1))
                )
            result = json.loads(in_fresh_process("--check", str(path)))
            curve = curves.setdefault(f"{name}, by {side}", [])
            curve.append((size, result["check"]))
            grows = [log(b / a) / log(m / n) for (n, a), (m, b) in pairwise(curve)][-1:]
            print(
                f"{name:<10}{side:<8}{size:>10,}{result['plan']:>10.2f}{result['check']:>10.2f}"
                f"{grows[0] if grows else float('nan'):>10.2f}",
                flush=True,
            )
    if plot is not None:
        draw(curves, plot)


def draw(curves: dict[str, list[tuple[int, float]]], path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, curve in curves.items():
        axes.loglog(*zip(*curve), marker="o", label=name)
    sizes = sorted({size for curve in curves.values() for size, _ in curve})
    axes.loglog(sizes, [size / 1e3 for size in sizes], "k:", label="linear")
    axes.set(xlabel="rows or columns", ylabel="CPU seconds of unspool.check")
    axes.legend()
    figure.savefig(path, dpi=100)


def measure(path: str, kind: str) -> dict[str, float]:
    """Load one file in this process, then train twenty steps on it, which adds to the peak."""
    import unspool
    from unspool.api.settings import make_config
    from unspool.config import DataConfig
    from unspool.tasks import TASKS
    from unspool.tasks.planner import open_plan

    began = time.perf_counter()
    source = open_plan(path, DataConfig(), task=None)
    quick = {"baseline": False} if source.task in OPTIONS else {}
    options = dict(OPTIONS[source.task] if not kind else {"valid_share": 0.002, "kind": kind})
    planned = {name.split(".")[-1]: value for name, value in source.settings.items()}
    config = make_config(source.task, "lstm", settings={**planned, **options})
    corpus = TASKS[source.task].load_corpus(config, {"train": source})
    seconds, cpu = time.perf_counter() - began, time.process_time()
    with tempfile.TemporaryDirectory() as scratch:
        unspool.train(
            path, task=source.task, model="lstm", out=Path(scratch) / "run", max_steps=20,
            hidden=32, embedding=32, **quick, **options,
        )  # fmt: skip
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIGABYTE
    steps = int(corpus.parts["train"].lengths.sum())
    return {"seconds": seconds, "cpu": cpu, "peak_gb": peak, "train": steps}


def in_fresh_process(*arguments: str) -> str:
    """Run this script again; a new process also has a peak of memory of its own."""
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def generate(folder: str, data: str, size: float) -> None:
    rng = np.random.default_rng(1)
    if data == "series":
        write_recordings(Path(folder) / SERIES, round(STEPS * size), rng)
        write_many(Path(folder) / MANY, round(20_000 * size), rng)
        return
    words = make_words(rng)
    write_stream(Path(folder) / STREAM, round(GIGABYTE * size), rng, words)
    write_table(Path(folder) / TABLE, round(ROWS * size), rng, words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", choices=[*FILES, TABLES], default="text")
    parser.add_argument("--size", type=float, default=1.0, help="1 = 1 GB and two million rows")
    parser.add_argument("--folder", help="where to put the temporary files")
    parser.add_argument("--largest", type=int, default=10_000, help="rows of the largest table")
    parser.add_argument("--plot", help="the picture to write")
    parser.add_argument("--check", help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--generate", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*options.measure)))
    elif options.check:
        print(json.dumps(check_table(options.check)))
    elif options.generate:
        generate(options.generate, options.data, options.size)
    else:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            os.environ["UNSPOOL_CACHE"] = str(Path(folder) / "cache")
            if options.data == TABLES:
                compare_tables(Path(folder), options.largest, options.plot)
            else:
                compare(Path(folder), options.data, options.size)


def compare(folder: Path, data: str, size: float) -> None:
    began = time.perf_counter()
    in_fresh_process(data, "--generate", str(folder), "--size", str(size))
    print(f"data made in {time.perf_counter() - began:.0f} s")
    titles = ("first s", "MB/s", "CPU s", "peak GB", "second s", "CPU s", "peak GB")
    print(f"{'data':<12}{'tokens':<7}{'MB':>6}" + "".join(f"{title:>10}" for title in titles))
    for name, kind in FILES[data]:
        path = folder / name
        megabytes = path.stat().st_size / 1e6
        first, second = (
            json.loads(in_fresh_process("--measure", str(path), kind)) for _ in range(2)
        )
        print(
            f"{name:<12}{kind:<7}{megabytes:>6.0f}{first['seconds']:>10.1f}"
            f"{megabytes / first['seconds']:>10.1f}{first['cpu']:>10.1f}{first['peak_gb']:>10.2f}"
            f"{second['seconds']:>10.1f}{second['cpu']:>10.1f}{second['peak_gb']:>10.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
