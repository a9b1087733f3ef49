"""Seven small sets of labelled texts, each as a file to learn from and one to be tested on.

In: the development data beside the project, a folder. Out: `NAME.train.csv`, `NAME.test.csv`.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rows import DATA

Labelled = list[tuple[str, str]]  # (text, label)
SENTENCES = DATA / "sentiment/sent-conv"


class Files(NamedTuple):
    train: Path
    test: Path


def mr() -> tuple[Labelled, Labelled]:
    """MR, 10,662 sentences of film reviews, two classes; every tenth of a class for testing."""
    rows = labelled(SENTENCES / "rt-polarity.all", "latin-1")
    return held_out(rows, np.random.default_rng(0), len(rows) // 10)


def sst2() -> tuple[Labelled, Labelled]:
    """SST-2, sentences only, two classes; train and dev to learn from."""
    return sst("binary")


def sst5() -> tuple[Labelled, Labelled]:
    """SST-5, sentences only, five classes; train and dev to learn from."""
    return sst("fine")


def names() -> tuple[Labelled, Labelled]:
    """Surnames of 18 languages, by characters; a tenth for testing."""
    rows = []
    for path in sorted((DATA / "names").glob("*.txt")):
        lines = path.read_text(encoding="utf-8").splitlines()
        rows += [(line.strip(), path.stem) for line in lines if line.strip()]
    return held_out(rows, np.random.default_rng(0), len(rows) // 10)


def splice() -> tuple[Labelled, Labelled]:
    """Splice junctions, 60 bases, three classes; test as given."""
    folder = DATA / "dna/splice_statlog"
    parts = []
    for name in ("train", "test"):
        lines = (folder / f"{name}.tsv").read_text().splitlines()
        parts.append([(text, label) for label, text in (line.split("\t") for line in lines)])
    return parts[0], parts[1]


def restaurants() -> tuple[Labelled, Labelled]:
    """SemEval-2014 restaurants, the polarity of a sentence towards one of its terms."""
    parts = []
    for name in ("Train", "Test_Gold"):
        path = DATA / f"opinion/semeval14_absa/Restaurants_{name}.xml.seg"
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        triples = zip(lines[::3], lines[1::3], lines[2::3])
        polarity = {"-1": "negative", "0": "neutral", "1": "positive"}
        parts.append([(s.replace("$T$", f"[ {t} ]"), polarity[p]) for s, t, p in triples])
    return parts[0], parts[1]


def imdb() -> tuple[Labelled, Labelled]:
    """IMDB, 2,000 whole reviews to learn from and 2,000 others for testing, two classes."""
    with gzip.open(DATA / "sentiment/imdb/train.tsv.gz", "rt", encoding="utf-8") as lines:
        table = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        rows = [(row[3], row[0]) for row in table]
    order = np.random.default_rng(0).permutation(len(rows))
    return [rows[i] for i in order[:2000]], [rows[i] for i in order[2000:4000]]


SETS: dict[str, Callable[[], tuple[Labelled, Labelled]]] = {
    own.__name__: own for own in (mr, sst2, sst5, names, splice, restaurants, imdb)
}


def sst(kind: str) -> tuple[Labelled, Labelled]:
    train, dev, test = (
        labelled(SENTENCES / f"stsa.{kind}.{part}", "utf-8") for part in ("train", "dev", "test")
    )
    return train + dev, test


def labelled(path: Path, encoding: str) -> Labelled:
    """Lines of `label text`."""
    lines = path.read_text(encoding=encoding).split("\n")
    pairs = (line.split(" ", 1) for line in lines if line.strip())
    return [(text, label) for label, text in pairs]


def held_out(rows: Labelled, rng: np.random.Generator, tests: int) -> tuple[Labelled, Labelled]:
    """The others, and a random part for testing in which each class has its share."""
    labels = np.unique([label for _, label in rows], return_inverse=True)[1].reshape(-1)
    order = rng.permutation(len(rows))
    order = order[np.argsort(labels[order], kind="stable")]
    test = set(order[:: len(rows) // tests].tolist())
    return (
        [row for i, row in enumerate(rows) if i not in test],
        [row for i, row in enumerate(rows) if i in test],
    )


def write(name: str, folder: Path) -> Files:
    files = Files(folder / f"{name}.train.csv", folder / f"{name}.test.csv")
    for path, rows in zip(files, SETS[name]()):
        with open(path, "w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([("text", "label"), *rows])
    return files
