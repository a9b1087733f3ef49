"""An alphabet of polylines, written by many hands: a network learns to write words with them.

Letters are drawn on a grid, then sheared, stretched, shaken and moved, as hands do it. One model
learns the movements of the pen together with the letters (Graves 2013), and writes words that it
has not seen.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from unspool.api.train import train
from unspool.insight.plots import drawing_figure, window_figure
from unspool.io.pictures import save_picture
from unspool.tasks.handwrite.answer import END, Writing
from unspool.training.output_folder import free_folder
from unspool.training.progress import Printed

# Points as x and y, one digit each; y points down, letters stand on 7. Strokes have spaces between.
LETTERS = {
    "a": "44332314162737464347",
    "b": "10173746443314",
    "c": "432314162747",
    "d": "44332314162737464047",
    "e": "154544332314162747",
    "f": "40302127 1343",
    "g": "4433231416274643483919",
    "h": "10171423334447",
    "i": "1317 1111",
    "j": "23281909 2121",
    "k": "1017 431547",
    "l": "101627",
    "m": "13171423343734435457",
    "n": "13171423334447",
    "o": "332314162737464433",
    "p": "191314233344463716",
    "q": "443323141627464349",
    "r": "1317142333",
    "s": "4323142535463717",
    "t": "21263747 1343",
    "u": "13162737454347",
    "v": "132743",
    "w": "1327344753",
    "x": "1347 4317",
    "y": "1327 4319",
    "z": "13431747",
}
KNOWN = "acdehilnorstu"
WIDTHS = {"i": 3, "j": 3, "l": 3, "m": 6, "w": 6}
WIDTH = 5
WORDS = 1200
ASKED = ("hello", "unroll", "train", "letters")


def letter(name: str) -> list[np.ndarray]:
    """Its strokes, (n, 2) each."""
    parts = LETTERS[name].split()
    return [np.array([[int(x), int(y)] for x, y in zip(p[::2], p[1::2])], float) for p in parts]


def written(word: str, rng: np.random.Generator) -> list[np.ndarray]:
    """A word by some hand: with a slant, a size, a line that rises or falls, and a shake."""
    strokes, x = [], 0.0
    slant, rise = rng.normal(0.1, 0.15), rng.normal(0, 0.03)
    size = math.exp(rng.normal(0, 0.1)) * np.array([math.exp(rng.normal(0, 0.1)), 1.0])
    for name in word:
        for stroke in letter(name):
            points = stroke + np.array([x, 0]) + rng.normal(0, 0.12, stroke.shape)
            points[:, 0] += slant * (7 - points[:, 1])
            points[:, 1] += rise * points[:, 0]
            strokes.append(points * size)
        x += WIDTHS.get(name, WIDTH) + rng.normal(0, 0.15)
    return strokes


def write_words(path: Path, count: int = WORDS, letters: str = KNOWN, seed: int = 1) -> None:
    """Words of two to five letters by chance, a drawing a line."""
    rng = np.random.default_rng(seed)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(count):
            word = "".join(rng.choice(list(letters), rng.integers(2, 6)))
            lines = [line.round(2).tolist() for line in written(word, rng)]
            file.write(json.dumps({"text": word, "strokes": lines}) + "\n")


def run(write: Callable[[str], None]) -> None:
    from rich.console import Console

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "words.jsonl"
        write_words(path)
        write(f"{WORDS:,} words of the letters {KNOWN}, each by a hand of its own:")
        write("")
        trained = train(
            path, task="handwrite", model="lstm", out=free_folder("demo", "handwriting"),
            note=write, watcher=Printed(Console(stderr=True)), hidden=100, epochs=16, batch=16,
            lr=5e-3, mixture=8, dropout=0.0,
        )  # fmt: skip
    for line in trained.report.lines() if trained.report else []:
        write(line)
    write("")
    answers = [trained.predict([[]], Writing(text=text, bias=1.0))[0] for text in ASKED]
    for answer in answers:
        write(f"written: {answer}")
    picture, window = trained.path / "words.png", trained.path / "window.png"
    drawings = [answer.strokes for answer in answers]
    save_picture(drawing_figure(drawings, titles=ASKED, columns=2), picture)
    last = answers[-1]
    if last.alignment is not None:
        save_picture(window_figure(last.alignment, [*last.text, END]), window)
    write(f"pictures: {picture}, {window}")
    write("")
    write("Next:")
    write(f"  unspool look {trained.path}   watch it write")
    write(f'  unspool generate {trained.path} --text "runs" --bias 1 --out runs.svg')
    write(f"  unspool serve {trained.path}   over HTTP, with a page at localhost:8000")
    write("  unspool train FILE --task handwrite   strokes of your own, with or without texts")
