"""Handwriting on public data and in Hershey's hand: prediction, classification, synthesis, reading.

    python bench/handwriting.py kanji         next points of kanji, beside a bigram and a Gaussian
    python bench/handwriting.py pendigits     which digit 8 points of a pen are, 7,494 / 3,498
    python bench/handwriting.py order         whether a kanji was drawn from first to last
    python bench/handwriting.py read          words in Hershey's hand, read by `transcribe`
    python bench/handwriting.py write         words written by `handwrite`, read by that transcriber
    python bench/handwriting.py write --pictures DIR

Hershey's letters (the PyPI package Hershey-Fonts, for this script alone) are slanted, stretched,
shaken and moved, a hand for each word, and in half of the words joined by ligatures. Test words are
in no other part. Kanji have no labels, so that `order` makes some: strokes and their points as they
were drawn, or turned round. Without ../shared/data (or $UNSPOOL_DATA) kanji and pen digits say so
and end. What is printed is kept in bench/results/handwriting-NAME.json.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import unspool
from rows import DATA, STORE, size
from unspool.data.fields.strokes import simplified
from unspool.data.read.pickled import object_arrays
from unspool.data.read.strokes import Strokes, as_strokes, from_lines
from unspool.insight.plots import drawing_figure
from unspool.io.pictures import save_picture

KANJI = DATA / "handwriting/sketch_rnn/kanji_short_kanji.npz"
DIGITS = DATA / "handwriting/pendigits"
HAND = "futural"  # single lines, as a pen draws them
LETTERS = "abcdefghijklmnopqrstuvwxyz"
COMMON = "etaoinshrdlu"  # letters of the words that are written
READ, TESTED, LONGEST = 4000, 400, 7
WRITTEN = 2500
ASKED = 60  # words that are written, and read, to choose a bias; twice as many test it
BIASES = (0.0, 0.5, 1.0, 2.0)


def fonts() -> Any:
    try:
        from HersheyFonts import HersheyFonts
    except ImportError:
        sys.exit("the letters come from the package Hershey-Fonts: pip install Hershey-Fonts")
    found = HersheyFonts()
    found.load_default_font(HAND)
    return found


class Hand:
    """Writes words with Hershey's letters."""

    def __init__(self) -> None:
        self.font = fonts()
        self.letters = {name: self._letter(name) for name in LETTERS}

    def _letter(self, name: str) -> tuple[list[np.ndarray], float]:
        """Its strokes with the fewest points that show them, and its width."""
        lines = [np.array(list(own), float) for own in self.font.strokes_for_text(name)]
        low = min(line[:, 0].min() for line in lines)
        lines = [simplified(line - [low, 0], 0.6) for line in lines]
        return lines, max(line[:, 0].max() for line in lines)

    def word(self, text: str, rng: np.random.Generator, *, joined: float = 0.5) -> Strokes:
        """With a slant, a size, a rise and a shake; `joined`: how often letters are."""
        slant, rise = rng.normal(0.1, 0.2), rng.normal(0, 0.03)
        size = math.exp(rng.normal(0, 0.2)) * np.array([math.exp(rng.normal(0, 0.1)), 1])
        ligatures, x = rng.random() < joined, 0.0
        found: list[np.ndarray] = []
        for name in text:
            lines, width = self.letters[name]
            for i, line in enumerate(lines):
                points = line + np.array([x, 0]) + rng.normal(0, 0.35, line.shape)
                points[:, 0] -= slant * points[:, 1]
                points[:, 1] += rise * points[:, 0]
                if ligatures and found and i == 0 and rng.random() < 0.7:
                    found[-1] = np.concatenate([found[-1], points * size])
                else:
                    found.append(points * size)
            x += width + rng.normal(5, 0.7)
        return from_lines(found)


def words(rng: np.random.Generator, letters: str, count: int, longest: int) -> list[str]:
    """Different ones, of two letters or more."""
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choice(list(letters), rng.integers(2, longest + 1)))] = None
    return list(found)


def write_file(path: Path, texts: list[str], rng: np.random.Generator, **options: Any) -> Path:
    hand = Hand()
    with path.open("w", encoding="utf-8") as file:
        for text in texts:
            lines = [own.round(2).tolist() for own in hand.word(text, rng, **options).lines()]
            file.write(json.dumps({"text": text, "strokes": lines}) + "\n")
    return path


def train(data: Path, folder: str, name: str, **settings: Any) -> tuple[Any, float]:
    from rich.console import Console

    from unspool.training.progress import Printed

    start = time.monotonic()
    run = unspool.train(
        data, out=Path(folder) / name, watcher=Printed(Console(stderr=True)), **settings
    )
    return run, time.monotonic() - start


def reported(run: Any, seconds: float) -> Iterator[str]:
    yield f"{size(run):,} parameters, {seconds:.0f} s"
    yield from run.report.lines()
    if run.comparison is not None:
        yield from run.comparison.lines()


def kanji(folder: str, pictures: Path | None) -> Iterator[str]:
    run, seconds = train(
        KANJI, folder, "kanji", task="handwrite", hidden=128, layers=2, batch=64, lr=4e-3, epochs=6
    )
    yield from reported(run, seconds)
    drawings = [run.write(seed=seed, bias=bias).strokes for bias in (0, 0.5) for seed in range(12)]
    yield from drawn(drawings, pictures, "kanji", columns=12)


def pendigits(folder: str, pictures: Path | None) -> Iterator[str]:
    parts = {}
    for name, part in (("tra", "train"), ("tes", "test")):
        rows = [line.split(",") for line in (DIGITS / f"pendigits.{name}").read_text().split()]
        parts[part] = Path(folder) / f"{part}.jsonl"
        with parts[part].open("w") as file:
            for row in rows:
                points = np.array(row[:16], float).reshape(8, 2) * [1, -1]
                label = str(row[16].index("1"))
                file.write(json.dumps({"strokes": [points.tolist()], "label": label}) + "\n")
    run, seconds = train(
        parts["train"], folder, "digits", test=parts["test"], model="bigru", epochs=15, batch=64
    )
    yield from reported(run, seconds)


def order(folder: str, pictures: Path | None) -> Iterator[str]:
    path = Path(folder) / "order.jsonl"
    with path.open("w") as file:
        for part, drawings in object_arrays(KANJI, str(KANJI)).items():
            for i, own in enumerate(drawings[:3000]):
                lines = as_strokes(own, part, "offsets").lines()
                if i % 2:
                    lines = [line[::-1] for line in lines[::-1]]
                row = {"strokes": [line.tolist() for line in lines], "split": part}
                file.write(json.dumps({**row, "label": ["forwards", "backwards"][i % 2]}) + "\n")
    run, seconds = train(path, folder, "order", model="bigru", epochs=4, batch=64)
    yield from reported(run, seconds)


def reader(folder: str) -> tuple[Any, float]:
    """A transcriber of Hershey's hand."""
    rng = np.random.default_rng(1)
    texts = words(rng, LETTERS, READ + 2 * TESTED, LONGEST)
    parts = {
        "train": texts[2 * TESTED :],
        "valid": texts[:TESTED],
        "test": texts[TESTED : 2 * TESTED],
    }
    paths = {n: write_file(Path(folder) / f"{n}.jsonl", own, rng) for n, own in parts.items()}
    return train(
        paths["train"], folder, "reader", task="transcribe", valid=paths["valid"],
        test=paths["test"], model="bilstm", hidden=96, layers=2, epochs=4, batch=32, lr=4e-3,
        dropout=0.1, stroke_size="height",
    )  # fmt: skip


def read(folder: str, pictures: Path | None) -> Iterator[str]:
    run, seconds = reader(folder)
    yield from reported(run, seconds)
    hand, rng = Hand(), np.random.default_rng(7)
    texts = ["unspool", "hershey", "letters", "ligature"]
    yield from drawn([hand.word(text, rng) for text in texts], pictures, "hershey", columns=2)


def write(folder: str, pictures: Path | None) -> Iterator[str]:
    transcriber, seconds = reader(folder)
    yield from reported(transcriber, seconds)
    rng = np.random.default_rng(2)
    texts = words(rng, COMMON, WRITTEN, 5)
    path = write_file(Path(folder) / "written.jsonl", texts, rng, joined=0.0)
    run, seconds = train(
        path, folder, "writer", task="handwrite", hidden=128, layers=2, mixture=10, epochs=10,
        batch=16, lr=4e-3, dropout=0.0, baseline=False,
    )  # fmt: skip
    yield from reported(run, seconds)
    new = [text for text in words(rng, COMMON, 8 * ASKED, 6) if text not in set(texts)]
    shares = {bias: misread(run, transcriber, new[:ASKED], bias)[0] for bias in BIASES}
    for bias, share in shares.items():
        yield f"bias {bias:g}: CER {100 * share:.2f} % of {ASKED} words to choose a bias by"
    best, asked = min(shares, key=shares.__getitem__), new[ASKED : 3 * ASKED]
    share, answers = misread(run, transcriber, asked, best)
    yield f"bias {best:g}: CER {100 * share:.2f} % of {len(asked)} other unseen words"
    for bias in {0.0, best}:
        written = answers if bias == best else misread(run, transcriber, asked[:12], bias)[1]
        yield from drawn(written[:12], pictures, f"written-{bias:g}", columns=3, titles=asked[:12])


def misread(writer: Any, reader: Any, texts: list[str], bias: float) -> tuple[float, list[Strokes]]:
    """Texts as they are written with a bias, and the CER of what is read of them."""
    written = [writer.write(text, bias=bias, seed=i).strokes for i, text in enumerate(texts)]
    found = reader.predict(written)
    edits = sum(distance(text, own.text) for text, own in zip(texts, found))
    return edits / sum(map(len, texts)), written


def distance(one: str, other: str) -> int:
    """Levenshtein's."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


def drawn(drawings: list[Strokes], folder: Path | None, name: str, **options: Any) -> Iterator[str]:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        save_picture(drawing_figure(drawings, **options), folder / f"{name}.png")
        yield f"picture: {folder / f'{name}.png'}"


ROWS: dict[str, Callable[[str, Path | None], Iterator[str]]] = {
    "kanji": kanji, "pendigits": pendigits, "order": order, "read": read, "write": write,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("row", choices=ROWS)
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args()
    if given.row in ("kanji", "pendigits", "order") and not DATA.is_dir():
        sys.exit(f"the data are not at {DATA}; name their folder with UNSPOOL_DATA")
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for line in ROWS[given.row](folder, given.pictures):
            print(line, flush=True)
            lines.append(line)
    STORE.mkdir(exist_ok=True)
    kept = [line for line in lines if not line.startswith("picture: ")]
    (STORE / f"handwriting-{given.row}.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
