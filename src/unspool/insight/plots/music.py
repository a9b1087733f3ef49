"""Music as a piano roll: time to the right, high notes above."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unspool.data.read.music import Piece, pitch_name
from unspool.io.pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GIVEN, WRITTEN = "0.6", "#1f5fa8"
STEPS = 16  # of an inch


def roll_figure(piece: Piece, given: int = 0, *, title: str = "") -> Figure:
    """A bar a note, grey where it was given, blue where it was written; the louder, the darker."""
    width = float(np.clip(len(piece) / STEPS, 5, 24))
    pitches = piece.notes[:, 2] if len(piece.notes) else np.array([60])
    low, high = int(pitches.min()) - 2, int(pitches.max()) + 2
    figure = new_figure(width, float(np.clip((high - low) / 10, 2.5, 6)))
    axes = figure.subplots()
    for first, last, pitch, velocity in piece.notes.tolist():
        axes.broken_barh(
            [(first / piece.grid, (last - first) / piece.grid)],
            (pitch - 0.42, 0.84),
            color=GIVEN if first < given else WRITTEN,
            alpha=0.4 + 0.6 * velocity / 127 if velocity != 64 else 1.0,
            linewidth=0,
        )
    if 0 < given < len(piece):
        axes.axvline(given / piece.grid, color="black", linewidth=1, linestyle=":")
    ticks = [pitch for pitch in range(low, high + 1) if pitch % 12 == 0]
    axes.set_yticks(ticks, [pitch_name(pitch) for pitch in ticks])
    axes.set_ylim(low, high)
    axes.set_xlim(0, max(1, len(piece)) / piece.grid)
    axes.grid(color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel("beats")
    axes.set_title(title or str(piece), fontsize=9)
    return figure
