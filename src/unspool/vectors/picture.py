"""A map of words: vectors in, two numbers a word out, and a picture of them (PNG, SVG or PDF)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unspool.io.pictures import check_picture, new_figure, save_picture
from unspool.vectors.words import WordVectors

SIZE = (9.0, 7.0)  # inches
FRAME = 0.8  # of these for axes and their names
FONT, LINE = 9, 11.0  # points
HEIGHTS = [0, *(up for k in range(1, 16) for up in (k, -k))]  # half lines above or below a dot


def plane(vectors: WordVectors, words: Sequence[str]) -> np.ndarray:
    """(words, 2): the vectors at length 1, in the plane in which these words differ most."""
    return principal_plane(vectors.units[[vectors.id(word) for word in words]])


def principal_plane(x: np.ndarray) -> np.ndarray:
    """(N, E) -> (N, 2): two principal components by a singular value decomposition; each points
    where its largest element is positive, so that the same vectors give the same map."""
    x = x - x.mean(axis=0)
    _, _, axes = np.linalg.svd(x, full_matrices=False)
    axes = np.pad(axes, ((0, max(0, 2 - len(axes))), (0, 0)))[:2]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    return x @ (axes * np.where(largest < 0, -1, 1)).T


def draw_map(vectors: WordVectors, words: Sequence[str], path: Path) -> None:
    """Write a picture of some words, each where `plane` puts it."""
    check_picture(path)
    at = plane(vectors, words)
    figure = new_figure(*SIZE)
    axes = figure.subplots()
    axes.scatter(at[:, 0], at[:, 1], s=10, color="#0072B2")
    axes.margins(0.12)
    low, high = np.array([axes.get_xlim(), axes.get_ylim()]).T
    points = (at - low) / (high - low) * (np.array(SIZE) - FRAME) * 72
    for word, point, (x, y) in zip(words, at, label_offsets(points, words)):
        far = abs(y) > LINE
        axes.annotate(
            word,
            tuple(point),
            xytext=(x, y),
            textcoords="offset points",
            fontsize=FONT,
            ha="left" if x > 0 else "right",
            va="center",
            arrowprops={"arrowstyle": "-", "color": "0.7", "linewidth": 0.6} if far else None,
        )
    axes.set_xlabel("first principal component")
    axes.set_ylabel("second")
    axes.spines[["top", "right"]].set_visible(False)
    save_picture(figure, path)


def label_offsets(points: np.ndarray, words: Sequence[str]) -> list[tuple[float, float]]:
    """Label positions that do not overlap: how far right and up of its dot,
    in points as the dots are. Next to the dot where there is room, else some lines above or
    below."""
    taken: list[tuple[float, float, float, float]] = [(x, y, x, y) for x, y in points.tolist()]
    offsets = []
    for (x, y), word in zip(points.tolist(), words):
        wide = 0.62 * FONT * len(word)
        ways = ((side * 5.0, up * LINE / 2) for up in HEIGHTS for side in (1, -1))
        tries = (
            (dx, dy, (x + min(0, dx) - wide * (dx < 0), y + dy - LINE / 2,
                      x + max(0, dx) + wide * (dx > 0), y + dy + LINE / 2))
            for dx, dy in ways
        )  # fmt: skip
        free = (each for each in tries if not any(overlap(each[2], other) for other in taken))
        dx, dy, box = next(free, (5.0, 0.0, (x, y, x, y)))  # in a crowd, upon another
        taken.append(box)
        offsets.append((dx, dy))
    return offsets


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
