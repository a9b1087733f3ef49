"""Checks of series that are to be forecast: those of recordings, and whole series to
compare with each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unspool.data.fields.examiner import SeriesTrack
from unspool.data.fields.series_examiner import SeriesExaminer
from unspool.data.windows import Stretches


class HistoryExaminer(SeriesExaminer):
    def __init__(
        self, channels: Sequence[str], mean: np.ndarray, std: np.ndarray, values: Stretches
    ) -> None:
        steps = np.concatenate([values.values[int(row)] for row in np.unique(values.series)])
        super().__init__(channels, mean, std, steps)

    def tracks(self, values: Stretches) -> list[SeriesTrack]:
        """Return all steps of each target, whatever part they are in."""
        times = values.known.times
        several = len(np.unique(values.channel)) > 1
        tracks = []
        for series, channel in zip(values.series.tolist(), values.channel.tolist()):
            x = np.asarray(values.values[series][:, channel])
            steps = np.arange(len(x)) if times is None else np.asarray(times[series])
            tracks.append(SeriesTrack(x, steps, self.channels[channel] if several else ""))
        return tracks
