"""Small images for tests: shapes to be told apart, and lines of text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

CLASSES = ("bar", "line", "dot")


def shape(i: int, size: int = 8) -> np.ndarray:
    """(size, size) uint8: a vertical bar, a horizontal line or a dot, somewhere, in noise."""
    rng = np.random.default_rng(i)
    x = rng.integers(0, 60, (size, size))
    at, other = rng.integers(1, size - 1, 2)
    if i % 3 == 0:
        x[:, at] = 230
    elif i % 3 == 1:
        x[at] = 230
    else:
        x[at : at + 2, other : other + 2] = 230
    return x.astype(np.uint8)


def write_folders(home: Path, count: int, size: int = 8) -> Path:
    """CLASS/NAME.png"""
    for i in range(count):
        path = home / CLASSES[i % 3] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(shape(i, size)).save(path)
    return home


def write_table(home: Path, count: int, target: str = "label") -> Path:
    """Images, and labels.csv with their names and what belongs to them."""
    home.mkdir(parents=True, exist_ok=True)
    rows = [f"file,{target}"]
    for i in range(count):
        Image.fromarray(shape(i)).save(home / f"{i}.png")
        answer = {"label": CLASSES[i % 3], "number": round(float(shape(i).mean()), 3)}[target]
        rows.append(f"{i}.png,{answer}")
    (home / "labels.csv").write_text("\n".join(rows) + "\n")
    return home


def write_captions(home: Path, count: int, size: int = 8) -> Path:
    """Images, and captions.csv with their names and what they show."""
    home.mkdir(parents=True, exist_ok=True)
    rows = ["file,caption"]
    for i in range(count):
        Image.fromarray(shape(i, size)).save(home / f"{i}.png")
        rows.append(f"{i}.png,it shows a {CLASSES[i % 3]}")
    (home / "captions.csv").write_text("\n".join(rows) + "\n")
    return home


def line(text: str, seed: int = 0) -> np.ndarray:
    """(13, W) uint8: a text in Pillow's bitmap font, dark on light, with some noise."""
    rng = np.random.default_rng(seed)
    font = ImageFont.load_default_imagefont()
    width = int(font.getlength(text)) if text else 1
    image = Image.new("L", (width + 4 + int(rng.integers(0, 4)), 13), 255)
    ImageDraw.Draw(image).text((2, 1), text, fill=0, font=font)
    noisy = np.asarray(image).astype(int) - rng.integers(0, 30, (13, image.width))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def write_lines(home: Path, texts: list[str]) -> Path:
    """Images of lines, and texts.csv with their names and texts."""
    home.mkdir(parents=True, exist_ok=True)
    rows = ["file,text"]
    for i, text in enumerate(texts):
        Image.fromarray(line(text, i)).save(home / f"{i}.png")
        rows.append(f"{i}.png,{text}")
    (home / "texts.csv").write_text("\n".join(rows) + "\n")
    return home
