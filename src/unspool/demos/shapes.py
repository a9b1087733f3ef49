"""Pictures of two coloured shapes, and what they show in words.

A scene is two things, each a shape in a colour, one left of the other or above it. Of each of ten
colours one of six shapes is held out: no picture in training shows it, and the test part shows
nothing else. What is learnt of colours and of shapes has to be put together anew.

The attention is multiplicative ("general", Luong et al. 2015): what it reads goes to the word that
is written, and not through the LSTM, which might learn which shapes a colour was seen with.
Smoothed labels and jittered colours are meant to keep the rest from learning the same.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unspool.api.train import train
from unspool.insight.plots import attention_maps, caption_figure
from unspool.io.pictures import save_picture
from unspool.training.output_folder import free_folder
from unspool.training.progress import Printed

SIDE = 32
PICTURES = 5000  # to learn from, each of another scene
EPOCHS = 14
COLOURS = {
    "red": (214, 40, 40), "orange": (245, 140, 30), "yellow": (240, 215, 50),
    "green": (40, 150, 60), "turquoise": (50, 200, 190), "blue": (40, 80, 210),
    "purple": (130, 50, 170), "pink": (245, 140, 190), "brown": (120, 75, 35),
    "black": (25, 25, 25),
}  # fmt: skip
SHAPES = ("circle", "square", "triangle", "cross", "diamond", "ring")


class Thing(NamedTuple):
    colour: str
    shape: str

    def __str__(self) -> str:
        return f"{'an' if self.colour[0] in 'aeiou' else 'a'} {self.colour} {self.shape}"


class Scene(NamedTuple):
    """Two things, one left of the other or above it."""

    first: Thing
    relation: str
    second: Thing

    @property
    def caption(self) -> str:
        return f"{self.first} {self.relation} {self.second}"


def split_things(fold: int = 0) -> tuple[list[Thing], list[Thing]]:
    """Those of training, and those that are held out: a shape of each colour, another one in each
    fold. Settings were chosen on folds 1 and 2, the last of them after fold 0 had been seen."""
    held = [Thing(thing, SHAPES[(i + fold) % len(SHAPES)]) for i, thing in enumerate(COLOURS)]
    every = [Thing(colour, shape) for colour in COLOURS for shape in SHAPES]
    return [thing for thing in every if thing not in held], held


def scenes_of(things: Sequence[Thing]) -> list[Scene]:
    return [Scene(a, how, b) for a in things for how in ("left of", "above") for b in things]


def training_scenes(things: Sequence[Thing], seed: int = 1) -> list[Scene]:
    """Scenes of the training pictures, all different."""
    every = scenes_of(things)
    order = np.random.default_rng(seed).permutation(len(every))
    return [every[i] for i in order[:PICTURES]]


def picture_of(scene: Scene, rng: np.random.Generator) -> np.ndarray:
    """(32, 32, 3) uint8: shapes of different sizes on a light ground with a little noise."""
    x = 235 + rng.normal(0, 6, (SIDE, SIDE, 3))
    down, across = np.mgrid[:SIDE, :SIDE]
    for number, (colour, shape) in enumerate((scene.first, scene.second)):
        along = 8 + 16 * number + int(rng.integers(-1, 2))
        other = int(rng.integers(9, SIDE - 9))
        row, column = (other, along) if scene.relation == "left of" else (along, other)
        size = int(rng.integers(6, 8))
        inside = covers(shape, down - row, across - column, size)
        x[inside] = np.array(COLOURS[colour]) + rng.normal(0, 8, 3)
    return np.clip(x, 0, 255).astype(np.uint8)


def covers(shape: str, y: np.ndarray, x: np.ndarray, size: int) -> np.ndarray:
    """Pixels that a shape covers, relative to its centre."""
    if shape == "circle":
        return y**2 + x**2 <= size**2
    if shape == "square":
        return np.maximum(abs(y), abs(x)) <= size - 1
    if shape == "triangle":
        return (abs(y) <= size - 1) & (2 * abs(x) <= y + size)
    if shape == "diamond":
        return abs(y) + abs(x) <= size
    if shape == "ring":
        return (y**2 + x**2 <= size**2) & (y**2 + x**2 >= (size - 2.5) ** 2)
    return (np.maximum(abs(y), abs(x)) <= size) & (np.minimum(abs(y), abs(x)) <= size // 3)


def write_pictures(folder: Path, chosen: Sequence[Scene], *, seed: int) -> None:
    """A picture of each scene, and captions.csv that describes them."""
    from PIL import Image

    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    with (folder / "captions.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["file", "caption"])
        for i, scene in enumerate(chosen):
            Image.fromarray(picture_of(scene, rng)).save(folder / f"{i:04}.png")
            table.writerow([f"{i:04}.png", scene.caption])


def settings() -> dict[str, Any]:
    """Settings of a small model that learns this in less than two minutes of one core."""
    return {
        "attention": "general", "hidden": 96, "embedding": 48, "dropout": 0.3,
        "colour_jitter": 0.2, "label_smoothing": 0.1, "lr": 4e-3, "batch": 32, "epochs": EPOCHS,
    }  # fmt: skip


def run(write: Callable[[str], None]) -> None:
    from rich.console import Console

    with tempfile.TemporaryDirectory() as scratch:
        seen, unseen = Path(scratch) / "pictures", Path(scratch) / "unseen"
        known, held = split_things()
        new = scenes_of(held)
        write_pictures(seen, training_scenes(known), seed=1)
        write_pictures(unseen, new, seed=2)
        write(
            "Two coloured shapes and where they are, in words. Each of the colours is in training"
        )
        write("with all shapes but one, which is held out:")
        write(f"{', '.join(f'{thing.colour} {thing.shape}' for thing in held)}.")
        write(f"The {len(new)} pictures of the test part show nothing but these:")
        write("")
        trained = train(
            seen, task="caption", model="xu", test=unseen, note=write,
            watcher=Printed(Console(stderr=True)), out=free_folder("demo", "shapes"), **settings(),
        )  # fmt: skip
        assert trained.report is not None
        for line in trained.report.lines():
            write(line)
        exact = trained.report.metrics["exact"]
        write("")
        write(f"{100 * exact:.1f} % of the sentences about coloured shapes never seen are right")
        item = unseen / "0001.png"
        answer = trained.predict([item])[0]
        write(f"a picture of {new[1].caption}; the model writes: {answer.caption}")
        field = trained.task.input_field
        reading: Any = trained.task.reading(trained.model, item)
        pixels = field.source.image(item)
        maps = attention_maps(field, reading.answer.alignment(), pixels.shape[1])
    picture = trained.path / "attention.png"
    save_picture(caption_figure(pixels, maps, reading.answer.tokens, title=answer.caption), picture)
    write(f"picture, where each word looked: {picture}")
    write("")
    write("Next:")
    write(f"  unspool look {trained.path}   other pictures, and what changes without a part of one")
    write(f"  unspool serve {trained.path}   over HTTP, with a page at localhost:8000")
    write(f"  unspool summary {trained.path}")
    write("  unspool train FOLDER   your own images, with a table file,caption")
