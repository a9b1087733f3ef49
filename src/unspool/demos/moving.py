"""Moving shapes as video: which way each goes in every frame, and which way a clip went.

A square, ring, cross, plus or bar rests, then moves left, right, up or down over a noisy ground, in
six frames of 16 x 16. One model labels each frame, the other names the direction of the clip,
both of shapes that it has not seen to move that way.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unspool.api.run import Run
from unspool.api.train import train
from unspool.insight.plots import frames_figure
from unspool.insight.saliency import explain
from unspool.io.pictures import save_picture
from unspool.training.output_folder import free_folder
from unspool.training.progress import Printed

MOVES = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}
SHAPES = ("square", "ring", "cross", "plus", "bar")
# Together in no training clip.
UNSEEN = (("square", "left"), ("ring", "up"), ("cross", "right"), ("plus", "down"))
STILL = "still"
FRAMES, SIDE, SHAPE, COUNT = 6, 16, 5, 1000


class Moving(NamedTuple):
    pixels: np.ndarray  # (T, H, W) uint8
    labels: list[str]  # of each frame
    direction: str
    shape: str


def stencil(name: str) -> np.ndarray:
    """(5, 5) bool"""
    rows, columns = np.mgrid[-2:3, -2:3]
    return {
        "square": np.ones((SHAPE, SHAPE), dtype=bool),
        "ring": np.maximum(abs(rows), abs(columns)) == 2,
        "cross": abs(rows) == abs(columns),
        "plus": (rows == 0) | (columns == 0),
        "bar": rows == 0,
    }[name]


def moving(shape: str, direction: str, rng: np.random.Generator) -> Moving:
    down, right = MOVES[direction]
    rest, room = int(rng.integers(0, 3)), SIDE - SHAPE
    x = rng.integers(0, 30, (FRAMES, SIDE, SIDE)).astype(np.uint8)
    far = 2 * (FRAMES - 1 - rest)  # pixels, for which there is room
    row, column = (
        int(rng.integers(max(0, -step * far), room + min(0, -step * far) + 1))
        for step in (down, right)
    )
    bright = int(rng.integers(150, 250))
    for t in range(FRAMES):
        moved = 2 * max(0, t - rest)
        top, left = row + down * moved, column + right * moved
        x[t, top : top + SHAPE, left : left + SHAPE][stencil(shape)] = bright
    labels = [STILL if t <= rest else direction for t in range(FRAMES)]
    return Moving(x, labels, direction, shape)


def clips(count: int, *, seen: bool, seed: int) -> list[Moving]:
    rng = np.random.default_rng(seed)
    pairs = [(s, d) for s in SHAPES for d in MOVES if ((s, d) in UNSEEN) != seen]
    return [moving(*pairs[i % len(pairs)], rng) for i in range(count)]


def write_clips(home: Path, clips: list[Moving]) -> Path:
    """A file a clip, and a table of all that is known of them."""
    home.mkdir(parents=True)
    rows = []
    for i, clip in enumerate(clips):
        np.save(home / f"{i}.npy", clip.pixels)
        known = {"labels": clip.labels, "label": clip.direction}
        rows.append(json.dumps({"file": f"{i}.npy", **known}))
    table = home / "clips.jsonl"
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return table


def run(write: Callable[[str], None]) -> None:
    from rich.console import Console

    watcher = Printed(Console(stderr=True))
    shared: dict[str, Any] = {
        "input": "video", "embedding": 24, "hidden": 48, "dropout": 0.0, "batch": 8,
        "lr": 3e-3, "note": write, "watcher": watcher,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        known = write_clips(Path(scratch) / "train", clips(COUNT, seen=True, seed=1))
        new = clips(60, seen=False, seed=2)
        test = write_clips(Path(scratch) / "test", new)
        write("Which way does it go, in each frame? Tested on shapes never seen to move so:")
        write("")
        tagged = train(
            known, test=test, task="tag", model="bigru", label="labels", epochs=8,
            out=free_folder("demo", "moving-frames"), **shared,
        )  # fmt: skip
        for line in (tagged.report.lines() if tagged.report else [])[:4]:
            write(line)
        write("")
        write("Which way did the clip go?")
        write("")
        named = train(
            known, test=test, task="classify", model="gru", label="label", epochs=8,
            out=free_folder("demo", "moving"), baseline=False, **shared,
        )  # fmt: skip
        for line in (named.report.lines() if named.report else [])[:2]:
            write(line)
    write("")
    clip = new[1]
    write(f"a new clip, {clip.shape} {clip.direction}: {tagged.predict([clip.pixels])[0]}")
    draw(named, clip, named.path / "frames.png")
    write(f"picture: {named.path / 'frames.png'}")
    write("")
    write("Next:")
    write(f"  unspool look {named.path}    the page: frames, and what their pixels contribute")
    write(f"  unspool serve {named.path}   over HTTP, with a page at localhost:8000")
    write("  unspool train FOLDER --set input=video    your own clips: frames, GIF or mp4")


def draw(run: Run, clip: Moving, path: Path) -> None:
    """The frames, and what their pixels contribute to the direction."""
    field = run.task.input_field
    reading = run.task.reading(run.model, field.recording(clip.pixels, "clip"))
    why = explain(reading, deletions=False)
    values = field.source.pixel_values(why.parts)
    title = f"a {clip.shape} moves: {why.answer}, probability {why.answer_value:.3f}"
    figure = frames_figure(clip.pixels[..., None], values, reading.input.tokens, title=title)
    save_picture(figure, path)
