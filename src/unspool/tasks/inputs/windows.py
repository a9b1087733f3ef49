"""Recordings some at a time, and in windows whose answers are merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch

from unspool.config import DataConfig
from unspool.data.part import Part
from unspool.data.store.ragged import Windows, cut_windows
from unspool.nn.models.ensemble import Kind, average


def windows_of(part: Part, field: str, data: DataConfig) -> Windows | None:
    """The windows that the rows of a part are read in; None: each as a whole."""
    if not data.window:
        return None
    return cut_windows(part[field].lengths, data.window, data.window_stride)


def merged(scores: np.ndarray, windows: Windows, kind: Kind) -> np.ndarray:
    """Scores (W, C) of windows to those of their recordings (N, C): of the mean of their
    probabilities, or the mean of their numbers."""
    cuts = np.flatnonzero(np.diff(windows.origin)) + 1
    parts = np.split(scores, cuts)
    means = [average(torch.from_numpy(part[:, None]), kind) for part in parts]  # (1, C) each
    return torch.cat(means).numpy()


def named_recordings(
    field: Any, items: Iterable[Any], *, most: int
) -> Iterator[tuple[list[str], list[Any]]]:
    """The names and the recordings of items as they come, as many as have `most` steps together."""
    names, recordings, size = list[str](), list[Any](), 0
    for number, item in enumerate(items, 1):
        names.append(field.shown(item))
        recordings.append(field.recording(item, f"item {number}"))
        size += len(recordings[-1])
        if size >= most:
            yield names, recordings
            names, recordings, size = [], [], 0
    if recordings:
        yield names, recordings
