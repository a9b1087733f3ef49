"""How fast, and in how much memory, does a large file become a corpus?

    python bench/scale.py               1 GB of text and a CSV of two million rows (about 20 GB free)
    python bench/scale.py --size 0.2    a fifth of both

Generates text with Zipf's law in a temporary folder, then loads it in a fresh process: tokenising
the first time, from the cache the second. Prints MB/s of the source, peak memory and both times.
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
from collections.abc import Iterator
from pathlib import Path

import numpy as np

GIGABYTE = 1_000_000_000
ROWS = 2_000_000
WORDS = 300_000
LABELS = ("business", "science", "sport", "world")
LETTERS = np.array(list("etaoinshrdlcumwfgypbvkjxqz"))
BLOCK = 2_000_000  # words made at once


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


def _table_rows(
    made: Iterator[str], lengths: list[int], rng: np.random.Generator
) -> Iterator[str]:
    labels = rng.integers(len(LABELS), size=len(lengths)).tolist()
    for label, length in zip(labels, lengths):
        yield f'{LABELS[label]},"{"".join(next(made) for _ in range(length)).rstrip()}"\n'


def measure(path: str, kind: str) -> dict[str, float]:
    """Load one file in this process."""
    from unspool.config import DataConfig, TokenizerConfig
    from unspool.data.corpus import load_corpus
    from unspool.data.readers import open_source

    began = time.perf_counter()
    data = DataConfig()
    source = open_source(path, data, task=None)
    corpus = load_corpus(
        source, data=data, tokenizer=TokenizerConfig(kind=kind), seed=1, progress=None
    )
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {
        "seconds": seconds,
        "peak_gb": (peak + children) * 1024 / GIGABYTE,
        "parts": {name: len(part) for name, part in corpus.parts.items()},  # type: ignore[dict-item]
    }


def in_fresh_process(path: Path, kind: str, cache: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", str(path), kind]
    environment = {**os.environ, "UNSPOOL_CACHE": str(cache)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=float, default=1.0, help="1 = 1 GB and two million rows")
    parser.add_argument("--folder", help="where to put the temporary files")
    parser.add_argument("--measure", nargs=2, metavar=("FILE", "KIND"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*options.measure)))
        return
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        stream, table = Path(folder) / "stream.txt", Path(folder) / "rows.csv"
        began = time.perf_counter()
        words = make_words(rng)
        write_stream(stream, round(GIGABYTE * options.size), rng, words)
        write_table(table, round(ROWS * options.size), rng, words)
        print(f"data made in {time.perf_counter() - began:.0f} s")
        print(f"{'data':<11}{'tokens':<7}{'MB':>6}{'first s':>9}{'MB/s':>7}{'peak GB':>9}"
              f"{'second s':>10}{'peak GB':>9}")  # fmt: skip
        for path, kind in ((stream, "char"), (stream, "word"), (table, "word")):
            cache = Path(folder) / "cache"
            size = path.stat().st_size / 1e6
            first, second = (in_fresh_process(path, kind, cache) for _ in range(2))
            print(
                f"{path.name:<11}{kind:<7}{size:>6.0f}{first['seconds']:>9.1f}"
                f"{size / first['seconds']:>7.1f}{first['peak_gb']:>9.2f}"
                f"{second['seconds']:>10.1f}{second['peak_gb']:>9.2f}"
            )


if __name__ == "__main__":
    main()
