"""Does `unspool check` find near-duplicates, and how fast?

    python bench/duplicates.py                  recall against brute force, on MR
    python bench/duplicates.py --rows 1000000   time and memory on so many generated rows
    python bench/duplicates.py --rows 1000000 --crowd   the same of near copies of 50 texts

Recall: MR's 10,662 sentences, and as many again that were made of them by replacing, leaving out or
adding one to three words. Brute force compares all pairs, as sets of strings, in a matrix product;
it shares no code with the check. Without ../shared/data (or $UNSPOOL_DATA) it says so and ends.

Time: rows with Zipf's law, 22 words on average, a tenth of them edited copies of others, in a CSV
file: the search for near-duplicates alone, and the whole `unspool check`, in a fresh process.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rows import DATA

MR = DATA / "sentiment/sent-conv/rt-polarity.all"


def sentences() -> list[list[str]]:
    lines = MR.read_text(encoding="latin-1").split("\n")
    return [line.split(" ", 1)[1].split() for line in lines if line]


def edited(words: list[str], others: list[str], rng: np.random.Generator) -> list[str]:
    words = list(words)
    for _ in range(rng.integers(1, 4)):
        place, how = int(rng.integers(len(words))), rng.integers(3)
        if how == 0:
            words[place] = others[rng.integers(len(others))]
        elif how == 1 and len(words) > 1:
            del words[place]
        else:
            words.insert(place, others[rng.integers(len(others))])
    return words


def brute_force(texts: list[list[str]], least: float) -> dict[tuple[int, int], float]:
    """All pairs of different texts whose sets of pairs of words are so similar."""
    from scipy.sparse import csr_matrix

    index: dict[tuple[str, ...], int] = {}
    sets = []
    for words in texts:
        pairs = itertools.pairwise(words) if len(words) > 1 else [tuple(words)]
        sets.append({index.setdefault(tuple(pair), len(index)) for pair in pairs})
    columns = [column for own in sets for column in own]
    sizes = np.array([len(own) for own in sets])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    ones = np.ones(len(columns), dtype=np.int32)
    table = csr_matrix((ones, columns, starts), shape=(len(sets), len(index)))
    found = {}
    for first in range(0, len(sets), 1000):
        common = (table[first : first + 1000] @ table.T).tocoo()
        rows, others = common.row + first, common.col
        similarity = common.data / (sizes[rows] + sizes[others] - common.data)
        near = (similarity >= least) & (rows < others)
        pairs = zip(rows[near].tolist(), others[near].tolist())
        found |= dict(zip(pairs, similarity[near].tolist()))
    return {pair: s for pair, s in found.items() if texts[pair[0]] != texts[pair[1]]}


def recall() -> None:
    from unspool.data.check.duplicates import LEAST, near_duplicates
    from unspool.data.fields.ngrams import Alphabet, ngrams
    from unspool.data.store.ragged import Ragged

    rng = np.random.default_rng(1)
    plain = sentences()
    words = sorted({word for text in plain for word in text})
    both = plain + [edited(text, words, rng) for text in plain]
    for name, texts in (("MR", plain), ("MR and edited copies", both)):
        index: dict[str, int] = {}
        ids = [np.array([index.setdefault(w, len(index)) for w in text]) for text in texts]
        alphabet, values = Alphabet(list(index), spelled=False), Ragged.of(ids)
        first = np.sort(
            list({tuple(text): i for i, text in reversed(list(enumerate(texts)))}.values())
        )

        def sets(rows: np.ndarray, values: Ragged = values, own: Alphabet = alphabet) -> Ragged:
            return ngrams(own.sequences(values.select(rows)), 2)

        began = time.perf_counter()
        near = near_duplicates(sets, first)
        seconds = time.perf_counter() - began
        found = dict(zip(map(tuple, near.pairs.tolist()), near.similarity.tolist()))
        kept = set(first.tolist())
        truth = {p: s for p, s in brute_force(texts, LEAST).items() if kept.issuperset(p)}
        right = {pair for pair in found if pair in truth and abs(found[pair] - truth[pair]) < 1e-9}
        print(
            f"{name}: {len(texts):,} rows, {len(truth):,} pairs with J >= {LEAST} by brute force,"
            f" {len(found):,} found in {seconds:.2f} s: recall {len(right) / len(truth):.4f},"
            f" precision {len(right) / max(1, len(found)):.4f}"
        )


def generate_crowd(path: Path, rows: int) -> None:
    """Near copies of 50 texts of 60 words: one to three words of each are others."""
    rng = np.random.default_rng(2)
    words = np.array([f"word{i}" for i in range(50_000)])
    originals = words[rng.integers(0, len(words), (50, 60))]
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "label"])
        for i in range(rows):
            text = originals[i % 50].copy()
            text[rng.integers(0, 60, rng.integers(1, 4))] = words[rng.integers(0, len(words))]
            table.writerow([" ".join(text), "ab"[i % 2]])


def generate(path: Path, rows: int) -> None:
    rng = np.random.default_rng(2)
    words = np.array([f"word{i}" for i in range(50_000)])
    shares = 1 / np.arange(1, len(words) + 1)
    shares /= shares.sum()
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["text", "label"])
        done = 0
        while done < rows:
            count = min(50_000, rows - done)
            lengths = rng.integers(5, 40, count)
            drawn = words[rng.choice(len(words), int(lengths.sum()), p=shares)]
            ends = np.cumsum(lengths)
            texts = [drawn[b - n : b].tolist() for n, b in zip(lengths, ends)]
            for i in range(count):
                if i >= 10 and i % 10 == 0:
                    texts[i] = edited(texts[i - 5], words, rng)
                table.writerow([" ".join(texts[i]), "ab"[i % 2]])
            done += count


CODE = """
import json, resource, sys, time
import unspool, unspool.api.check
from unspool.data.check import near
inner = near.near_duplicates
spent = {}
def timed(*given, **named):
    began = time.perf_counter()
    found = inner(*given, **named)
    spent["near"], spent["pairs"] = time.perf_counter() - began, len(found.pairs)
    return found
near.near_duplicates = timed
began = time.perf_counter()
report = unspool.check(sys.argv[1])
spent["check"] = time.perf_counter() - began
spent["gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps(spent))
"""


def speed(rows: int, make: Callable[[Path, int], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        make(path, rows)
        environment = {"UNSPOOL_CACHE": folder, "PATH": "/usr/bin:/bin"}
        command = [sys.executable, "-c", CODE, str(path)]
        spent = json.loads(subprocess.check_output(command, env=environment))
    print(
        f"{rows:,} rows: near-duplicates {spent['near']:.1f} s ({spent['pairs']:,} pairs), the"
        f" whole check {spent['check']:.1f} s, {spent['gigabytes']:.2f} GB at most"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--crowd", action="store_true", help="near copies of 50 texts")
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, python {platform.python_version()}")
    if options.rows:
        speed(options.rows, generate_crowd if options.crowd else generate)
    elif not MR.exists():
        print(f"skipped: no development data at {DATA}", file=sys.stderr)
    else:
        recall()
    return 0


if __name__ == "__main__":
    sys.exit(main())
