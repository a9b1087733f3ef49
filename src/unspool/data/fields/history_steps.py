"""Steps of series that are forecast: their season, their spread, and values put at equal steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unspool.data.calendar import DAY, TimeStep
from unspool.data.store.ragged import Ragged
from unspool.data.store.vectors import VectorColumn
from unspool.errors import DataError

# Steps of a season, by how many days a step takes
SEASONS = ((0.9, 1.1, 7), (6.5, 7.5, 52), (28, 31, 12), (89, 93, 4))
MOST_GAPS = 100  # equal steps for each value


def season_of(step: TimeStep) -> int:
    """Steps of the season that such steps usually have; 1: none."""
    if step.months or step.weekdays:
        return 5 if step.weekdays else max(1, 12 // step.months)
    days = step.seconds / DAY
    if days <= 0.5:
        return round(1 / days)
    return next((steps for low, high, steps in SEASONS if low <= days <= high), 1)


def at_equal_steps(column: VectorColumn, step: TimeStep) -> VectorColumn:
    """A column with all of its series at equal steps; as it is where there are no times."""
    if column.times is None:
        return column
    pairs = [
        on_equal_steps(np.asarray(column.values[row]), np.asarray(column.times[row]), step)
        for row in range(len(column))
    ]
    values, times = (Ragged.of([pair[i] for pair in pairs]) for i in (0, 1))
    return replace(column, values=values, times=times)


def on_equal_steps(
    values: np.ndarray, times: np.ndarray, step: TimeStep
) -> tuple[np.ndarray, np.ndarray]:
    """(T, C), (T,) -> the mean of the values nearest to each of equal steps; NaN without one"""
    if not len(times):
        return values, times
    numbers = step.since(float(times[0]), times)
    size = int(numbers[-1]) + 1
    if size > MOST_GAPS * len(times):
        raise DataError(
            f"{len(times):,} values would be {size:,} equal steps of {step}",
            remedy="leave out irregular=resample",
        )
    seen = ~np.isnan(values)
    sums, counts = np.zeros((size, values.shape[1])), np.zeros((size, values.shape[1]))
    np.add.at(sums, numbers, np.where(seen, values, 0))
    np.add.at(counts, numbers, seen)
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return means.astype(np.float32), step.after(times[0], np.arange(size))


def spread(past: np.ndarray) -> np.ndarray:
    """(T, K) -> (K,) standard deviations; 1 where nothing moves"""
    if not len(past):
        return np.ones(past.shape[1])
    seen = ~np.isnan(past)
    size = np.maximum(seen.sum(0), 1)
    x = np.where(seen, past, 0).astype(np.float64)
    mean = x.sum(0) / size
    std = np.sqrt((np.where(seen, x - mean, 0) ** 2).sum(0) / size)
    return np.where(std > 1e-6 * np.abs(mean), std, 1.0)
