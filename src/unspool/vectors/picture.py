"""A map of words: vectors in, two numbers a word out, and a picture of them (PNG, SVG or PDF)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unspool.pictures import check_picture, new_figure, save_picture
from unspool.vectors.words import WordVectors


def plane(vectors: WordVectors, words: Sequence[str]) -> np.ndarray:
    """(words, 2): the vectors at length 1, in the plane in which these words differ most.

    Principal components by a singular value decomposition; each points where its largest element
    is positive, so that the same words give the same map.
    """
    x = vectors.units[[vectors.id(word) for word in words]]
    x = x - x.mean(axis=0)
    _, _, axes = np.linalg.svd(x, full_matrices=False)
    axes = np.pad(axes, ((0, max(0, 2 - len(axes))), (0, 0)))[:2]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    return x @ (axes * np.where(largest < 0, -1, 1)).T


def draw_map(vectors: WordVectors, words: Sequence[str], path: Path) -> None:
    """Write a picture of some words, each where `plane` puts it."""
    check_picture(path)
    places = plane(vectors, words)
    figure = new_figure(9, 7)
    axes = figure.subplots()
    axes.scatter(places[:, 0], places[:, 1], s=8)
    for word, place in zip(words, places):
        axes.annotate(word, tuple(place), xytext=(3, 2), textcoords="offset points", fontsize=9)
    axes.set_xlabel("first principal component")
    axes.set_ylabel("second")
    save_picture(figure, path)
