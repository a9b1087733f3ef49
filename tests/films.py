"""Small clips for tests: a square that moves in one of four directions, then rests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

MOVES = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}
NAMES = tuple(MOVES)


def clip(i: int, frames: int = 5, size: int = 9) -> np.ndarray:
    """(frames, size, size) uint8 of direction i % 4"""
    rng = np.random.default_rng(i)
    x = rng.integers(0, 40, (frames, size, size)).astype(np.uint8)
    at, step = rng.integers(3, size - 3, 2), np.array(MOVES[NAMES[i % 4]])
    for t in range(frames):
        row, column = np.clip(at + min(t, frames - 2) * step, 0, size - 2)
        x[t, row : row + 2, column : column + 2] = 240
    return x


def write_frames(folder: Path, x: np.ndarray) -> Path:
    """FOLDER/1.png, ..."""
    folder.mkdir(parents=True, exist_ok=True)
    for t, frame in enumerate(x, 1):
        Image.fromarray(frame).save(folder / f"{t}.png")
    return folder


def write_gif(path: Path, x: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    first, *rest = (Image.fromarray(frame) for frame in x)
    first.save(path, save_all=True, append_images=rest, duration=80, loop=0)
    return path


def write_folders(home: Path, count: int) -> Path:
    """DIRECTION/N/1.png, and every third clip as DIRECTION/N.gif"""
    for i in range(count):
        place = home / NAMES[i % 4] / str(i)
        if i % 3:
            write_frames(place, clip(i))
        else:
            write_gif(place.with_suffix(".gif"), clip(i))
    return home
