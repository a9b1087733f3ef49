"""Recordings in windows, whose answers are merged."""

from __future__ import annotations

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
