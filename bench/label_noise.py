"""Does `unspool check` find wrong labels? Labels are flipped at random, and it is counted how many
of the most doubtful rows are among them.

    python bench/label_noise.py                 5 % of MR's labels, five draws
    python bench/label_noise.py --imdb          5 % of those of 25,000 IMDB reviews, one draw
    python bench/label_noise.py --share 0.1

What any model could reach: if its probabilities were right, a row whose label it gives 1 - p would
be wrong with the odds e p : (1 - e)(1 - p), e the share that was flipped. So half of the rows are
wrong only where p is 1 - e; a model that is right in 77 % of the rows is seldom as sure as that.
`clean` is the same list by a model that has learnt from the labels before they were flipped.
Without ../shared/data (or $UNSPOOL_DATA) it says so and ends.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rows import DATA

MR = DATA / "sentiment/sent-conv/rt-polarity.all"
IMDB = DATA / "sentiment/imdb/train.tsv.gz"


def read_mr() -> tuple[list[str], np.ndarray]:
    lines = [line for line in MR.read_text(encoding="latin-1").split("\n") if line]
    return [line[2:] for line in lines], np.array([int(line[0]) for line in lines])


def read_imdb() -> tuple[list[str], np.ndarray]:
    with gzip.open(IMDB, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [row[3] for row in rows], np.unique([row[0] for row in rows], return_inverse=True)[1]


class Ranked(NamedTuple):
    """Rows of a file, the most doubtful first.

    suspects   those that `check` lists
    rows       all rows, by the probability of their label
    clean      the same by a model that has learnt the labels before they were flipped
    """

    suspects: np.ndarray
    rows: np.ndarray
    clean: np.ndarray
    accuracy: float


def ranked(path: Path, labels: np.ndarray, true: np.ndarray) -> Ranked:
    from unspool.api.settings import make_config, open_data
    from unspool.data.check import noise
    from unspool.data.check.rows import Rows
    from unspool.tasks import TASKS

    plan = open_data(path, task="classify", settings={})
    config = make_config("classify", None, settings={"valid_share": 0.1})
    rows = Rows(TASKS["classify"].load_corpus(config, {"train": plan}))
    table = np.concatenate([part.rows for part in rows.parts])  # a row of the file for each number
    found = noise.find_suspects(rows.features, labels[table])
    counts = noise.count_features(rows.features, np.arange(len(rows)))
    features = noise.weigh(counts, 2)

    def by_probability(learnt: np.ndarray) -> np.ndarray:
        p = noise.held_out_probabilities(features, learnt[table])
        return table[np.argsort(p[np.arange(len(table)), labels[table]], kind="stable")]

    order, clean = by_probability(labels), by_probability(true)
    return Ranked(table[found.rows], order, clean, found.accuracy)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--imdb", action="store_true")
    parser.add_argument("--draws", type=int, default=0)
    options = parser.parse_args()
    if not (IMDB if options.imdb else MR).exists():
        print(f"skipped: no development data at {DATA}", file=sys.stderr)
        return 0
    print(f"{platform.processor() or platform.machine()}, python {platform.python_version()}")
    texts, labels = read_imdb() if options.imdb else read_mr()
    count = round(options.share * len(labels))
    with tempfile.TemporaryDirectory() as folder:
        for draw in range(options.draws or (1 if options.imdb else 5)):
            rng = np.random.default_rng(draw)
            flipped = np.zeros(len(labels), dtype=bool)
            flipped[rng.choice(len(labels), count, replace=False)] = True
            given = np.where(flipped, 1 - labels, labels)
            path = Path(folder) / f"{draw}.csv"
            with open(path, "w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([("text", "label"), *zip(texts, given)])
            began = time.perf_counter()
            found = ranked(path, given, labels)
            first = found.suspects[: round(0.05 * len(found.suspects))]
            print(
                f"draw {draw}: {count:,} of {len(labels):,} flipped, model's accuracy"
                f" {found.accuracy:.3f}; flipped among the first {len(first):,} of"
                f" {len(found.suspects):,} suspects {flipped[first].mean():.3f}, among the first"
                f" {count // 5:,} rows {flipped[found.rows[: count // 5]].mean():.3f}, among the"
                f" first {count:,} {flipped[found.rows[:count]].mean():.3f} (clean"
                f" {flipped[found.clean[:count]].mean():.3f}); {time.perf_counter() - began:.1f} s",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
