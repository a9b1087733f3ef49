"""Vectors over time as features whose number is the same for any length: what a linear model reads.

raw: as of the wrapped field. values: `Features`. tensors: `FeatureBatch`. An `Extractor` computes
the features: statistics of channels, or those of `MiniRocket`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.examiner import Examiner
from unspool.data.fields.field import Where
from unspool.data.fields.series_values import Series
from unspool.data.fields.source import VectorSource
from unspool.data.fields.vectors import RecordingField, VectorField
from unspool.data.store.columns import Progress
from unspool.errors import Setting
from unspool.io.files import stored_state, write_json

FILE = "features.json"


class FeatureBatch(NamedTuple):
    """The features of B series."""

    features: Tensor  # (B, F) float64
    lengths: Tensor  # (B,) int64: F

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.features, self.lengths


class Features:
    """N series and their features `x` (N, F), standardised."""

    def __init__(self, series: Series, x: np.ndarray) -> None:
        self.series, self.x = series, x
        self.lengths = self.tokens = series.raw.lengths

    def __len__(self) -> int:
        return len(self.series)

    def digests(self) -> np.ndarray:
        return self.series.digests()

    def prints(self, common: dict[str, int]) -> np.ndarray:
        return self.series.prints(common)

    def select(self, rows: np.ndarray) -> Features:
        return Features(self.series.select(rows), self.x[rows])


class Extractor(Protocol):
    """Turns a series of any length into features.

    title   what they are, for a line about the model
    """

    title: str

    @property
    def names(self) -> list[str]: ...
    def fit(self, series: Series) -> None: ...
    def invent(self, channels: int) -> None: ...
    def transform(self, x: np.ndarray) -> np.ndarray:
        """Scaled values (T, C), NaN in gaps -> (F,)"""

    def to_json(self) -> dict[str, Any]: ...
    def load_json(self, stored: dict[str, Any], width: int) -> None: ...


class Statistics:
    """Statistics of channels, as the source of the vectors computes them."""

    title = "means, deviations, quantiles, slopes and changes of channels"

    def __init__(self, source: VectorSource) -> None:
        self.source = source

    @property
    def names(self) -> list[str]:
        return self.source.feature_names

    def fit(self, series: Series) -> None:
        return

    def invent(self, channels: int) -> None:
        return

    def transform(self, x: np.ndarray) -> np.ndarray:
        return self.source.features(x)

    def to_json(self) -> dict[str, Any]:
        return {}

    def load_json(self, stored: dict[str, Any], width: int) -> None:
        return


class FeatureField(RecordingField):
    """Features of a field of vectors; the mean and standard deviation of each are fitted.

    vectors     stores and scales values
    extractor   computes the features of one
    """

    def __init__(self, vectors: VectorField, extractor: Extractor | None = None) -> None:
        super().__init__(vectors.name, vectors.source)
        self.vectors = vectors
        self.extractor: Extractor = extractor or Statistics(vectors.source)
        self.missing, self.files = vectors.missing, (*vectors.files, FILE)
        vectors.window = 0  # features are those of whole recordings
        self.centre, self.spread_ = np.zeros(0), np.ones(0)  # (F,)

    def __len__(self) -> int:
        return len(self.centre)

    @property
    def names(self) -> list[str]:
        return self.extractor.names

    def names_of(self, inputs: tuple[Tensor, ...]) -> list[str]:
        """Name the features of a batch of one series."""
        return self.names

    def portable(self) -> dict[str, Any]:
        """A graph reads the features, which this package computes."""
        return {"kind": "features", "names": self.names}

    def portable_item(self, steps: int, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(size=len(self))

    def portable_batch(self, items: Sequence[Any]) -> FeatureBatch:
        x = torch.from_numpy(np.stack(items))
        return FeatureBatch(x, torch.full((len(x),), x.shape[1]))

    def as_read(self, recording: Any) -> Any:
        return self.vectors.as_read(recording)

    def refuse(self, recording: Any, where: str) -> None:
        self.vectors.refuse(recording, where)

    def fit(
        self, column: Any, rows: np.ndarray, *, where: str, progress: Progress = None
    ) -> list[str]:
        notes = self.vectors.fit(column, rows, where=where, progress=progress)
        times = None if column.times is None else column.times.select(rows)
        series = self.vectors.series_of(column.values.select(rows), times)
        self.extractor.fit(series)
        x = self._features(series)
        self.centre, std = x.mean(0), x.std(0)
        self.spread_ = np.where(std > 1e-9, std, 1.0)
        return notes

    def invent(self, *, vocab: int, classes: int) -> None:
        self.vectors.invent(vocab=vocab, classes=classes)
        self.extractor.invent(self.source.stored_width)
        self.centre, self.spread_ = np.zeros(len(self.names)), np.ones(len(self.names))

    def values(self, column: Any, progress: Progress = None) -> Features:
        return self._standardised(self.vectors.values(column, progress))

    def encode(self, raw: Any) -> Features:
        return self._standardised(self.vectors.encode(raw))

    def _standardised(self, series: Series) -> Features:
        return Features(series, (self._features(series) - self.centre) / self.spread_)

    def _features(self, series: Series) -> np.ndarray:
        size = len(self.names)
        rows = [
            self.extractor.transform(series.scaled(row)) if series.lengths[row] else np.zeros(size)
            for row in range(len(series))
        ]
        return np.array(rows).reshape(-1, size)

    def check(self, values: Features, where: Where) -> list[str]:
        return self.vectors.check(values.series, where)

    def unknown(self, values: Features, where: Where) -> list[str]:
        return self.vectors.unknown(values.series, where)

    def advise(self, values: Features, unknown: float) -> Iterator[tuple[Setting | None, str]]:
        return self.vectors.advise(values.series, unknown)

    def examiner(self, values: Features) -> Examiner | None:
        return self.vectors.examiner(values.series)

    def collate(self, values: Features, rows: np.ndarray) -> FeatureBatch:
        x = torch.from_numpy(values.x[rows])
        return FeatureBatch(x, torch.full((len(x),), x.shape[1]))

    def example(self, steps: int) -> tuple[Tensor, ...]:
        return torch.zeros(1, len(self), dtype=torch.float64), torch.tensor([steps])

    def save(self, folder: Path) -> None:
        self.vectors.save(folder)
        moments = {"mean": self.centre.tolist(), "std": self.spread_.tolist()}
        write_json(folder / FILE, {**moments, **self.extractor.to_json()})

    def load(self, folder: Path) -> None:
        self.vectors.load(folder)
        with stored_state(folder / FILE, "invalid means or deviations of features") as stored:
            mean, std = (np.array(stored[key], float) for key in ("mean", "std"))
            self.extractor.load_json(stored, self.source.stored_width)
            size = len(self.names)
            valid = all(x.shape == (size,) and np.isfinite(x).all() for x in (mean, std))
            if not valid:
                raise ValueError
        self.centre, self.spread_ = mean, std
