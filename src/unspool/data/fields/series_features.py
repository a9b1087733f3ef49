"""series as numbers that are the same for any length: what a linear model reads.

raw: as of `series`. values: `Features`. tensors: `FeatureBatch`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.series import SeriesField
from unspool.data.fields.series_values import Series
from unspool.data.store.columns import Progress
from unspool.data.store.ragged import Ragged
from unspool.data.store.vectors import VectorColumn
from unspool.errors import RunError
from unspool.io.files import AGAIN, read_json, write_json

FILE = "features.json"
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
NAMES = (
    "mean", "sd", "min", "max", *(f"{100 * q:g} %" for q in QUANTILES), "slope", "first", "last",
    "mean change", "lag 1",
)  # fmt: skip


class FeatureBatch(NamedTuple):
    """The features of B series."""

    features: Tensor  # (B, F) float64
    lengths: Tensor  # (B,) int64: F

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.features, self.lengths


class Features(Series):
    """N series and their features `x` (N, F), standardised."""

    def __init__(self, series: Series, x: np.ndarray) -> None:
        super().__init__(series.raw, series.times, series.moments)
        self.x = x

    def select(self, rows: np.ndarray) -> Features:
        return Features(super().select(rows), self.x[rows])


def features_of(x: np.ndarray) -> np.ndarray:
    """(T, C), NaN in gaps -> (C K + 1,): of each channel `NAMES`, and the logarithm of the length;
    0 where a channel has no value."""
    steps = np.arange(len(x)) - (len(x) - 1) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a channel without a value
        mean, std = np.nanmean(x, 0), np.nanstd(x, 0)
        rest = np.nan_to_num(x - mean)
        change = np.diff(x, axis=0) if len(x) > 1 else np.zeros_like(x)
        square = np.maximum((rest**2).sum(0), 1e-12)
        rows = [
            mean,
            std,
            np.nanmin(x, 0),
            np.nanmax(x, 0),
            *np.nanquantile(x, QUANTILES, axis=0),
            steps @ rest / max(1e-12, float(steps @ steps)) * len(x),
            x[0],
            x[-1],
            np.nanmean(np.abs(change), 0),
            (rest[1:] * rest[:-1]).sum(0) / square,
        ]
    return np.append(np.nan_to_num(np.stack(rows, 1)).reshape(-1), math.log(len(x)))


class FeatureField(SeriesField):
    """Mean and standard deviation of each feature are fitted, too."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **{**options, "window": 0})
        self.centre, self.spread_ = np.zeros(0), np.ones(0)  # (F,)

    def __len__(self) -> int:
        return len(self.centre)

    @property
    def names(self) -> list[str]:
        """What the features are called."""
        return [f"{channel} {name}" for channel in self.channels for name in NAMES] + ["ln length"]

    def fit(
        self,
        column: VectorColumn,
        rows: np.ndarray,
        *,
        where: str,
        progress: Progress | None = None,
    ) -> list[str]:
        notes = super().fit(column, rows, where=where, progress=progress)
        times = None if column.times is None else column.times.select(rows)
        x = self._features(super()._series(column.values.select(rows), times))
        self.centre, std = x.mean(0), x.std(0)
        self.spread_ = np.where(std > 1e-9, std, 1.0)
        return notes

    def invent(self, *, vocab: int, classes: int) -> None:
        super().invent(vocab=vocab, classes=classes)
        self.centre, self.spread_ = np.zeros(len(self.names)), np.ones(len(self.names))

    def _series(self, raw: Ragged, times: Ragged | None) -> Features:
        found = super()._series(raw, times)
        return Features(found, (self._features(found) - self.centre) / self.spread_)

    def features_of(self, x: np.ndarray) -> np.ndarray:
        """Scaled values (T, C) -> (F,)"""
        return features_of(x)

    def _features(self, series: Series) -> np.ndarray:
        """(N, F)"""
        size = len(self.names)
        rows = [
            self.features_of(series.scaled(row)) if series.lengths[row] else np.zeros(size)
            for row in range(len(series))
        ]
        return np.array(rows).reshape(-1, size)

    def collate(self, values: Any, rows: np.ndarray) -> Any:
        x = torch.from_numpy(values.x[rows])
        return FeatureBatch(x, torch.full((len(x),), x.shape[1]))

    def example(self, steps: int) -> tuple[Tensor, ...]:
        return torch.zeros(1, len(self), dtype=torch.float64), torch.tensor([steps])

    @property
    def files(self) -> tuple[str, ...]:
        return (*super().files, FILE)

    def save(self, folder: Path) -> None:
        super().save(folder)
        write_json(folder / FILE, {"mean": self.centre.tolist(), "std": self.spread_.tolist()})

    def load(self, folder: Path) -> None:
        super().load(folder)
        stored = read_json(folder / FILE)
        try:
            found: Sequence[np.ndarray] = [np.array(stored[k], float) for k in ("mean", "std")]
            size = len(self.names)
            fine = all(own.shape == (size,) and np.isfinite(own).all() for own in found)
        except (KeyError, TypeError, ValueError, OverflowError):
            fine = False
        if not fine:
            raise RunError(
                "not the means and deviations of features", where=folder / FILE, remedy=AGAIN
            )
        self.centre, self.spread_ = found
