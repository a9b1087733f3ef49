"""Windows of series: stretches in, batches of pasts and futures out.

A `Stretches` has the steps of each series whose values are to be forecast; what lies before them
may be read. A window is given by an origin t: its past are the up to L steps before t, its future
the H steps from t on. All of the future lies within the stretch, so a model never learns from, and
is never judged by, steps that belong to another part. As with rows, a batch depends on (seed,
epoch, step) and nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor

from unspool.data.batching import WHOLE, Share
from unspool.data.calendar import TimeStep, calendar
from unspool.data.store.ragged import Ragged

ONE = TimeStep(1.0)


class WindowBatch(NamedTuple):
    """B windows; y to lengths are what a model reads, future and seen what it is to give.

    y         (B, L) past values, 0 where there are none
    observed  (B, L) bool: where there are
    extra     (B, L, K') other values of the past
    known     (B, L + H, K) what is known ahead, of past and future
    lengths   (B,) steps of each past
    future    (B, H) values after the past, 0 where there are none
    seen      (B, H) bool: where there are
    sizes     (B, 2) values that there are: after the first of the past, and of the future
    rows      (B,) of the stretches
    origins   (B,) first step of each future
    """

    y: Tensor
    observed: Tensor
    extra: Tensor
    known: Tensor
    lengths: Tensor
    future: Tensor
    seen: Tensor
    sizes: Tensor
    rows: np.ndarray
    origins: np.ndarray


class Known:
    """Values that are known of every step of some series, also of those ahead: (steps, K).

    First the calendar, whose times go on beyond the end of a series; then channels, scaled, which
    are 0 where there is no value; then what is the same at every step.

    times     of the steps of each series; None where they have none
    cycles    of the calendar
    step      from one time to the next
    values    series of all channels, and which of them are
    channels  known ahead, with their
    mean, std
    static    (N, S) what each series has as a whole, at all its steps
    """

    def __init__(
        self,
        values: Ragged,
        *,
        times: Ragged | None = None,
        cycles: Sequence[str] = (),
        step: TimeStep = ONE,
        channels: Sequence[int] = (),
        mean: np.ndarray | None = None,
        std: np.ndarray | None = None,
        static: np.ndarray | None = None,
    ) -> None:
        self.values, self.times, self.cycles, self.step = values, times, tuple(cycles), step
        self.static = np.zeros((len(values), 0), np.float32) if static is None else static
        self.channels = np.asarray(channels, dtype=np.int64)
        self.mean = np.zeros(len(self.channels)) if mean is None else mean
        self.std = np.ones(len(self.channels)) if std is None else std
        self.size = 2 * len(self.cycles) + len(self.channels) + self.static.shape[1]

    def at(self, series: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """(B,) and (B, W) steps of them -> (B, W, K) float32"""
        parts = []
        last = self.values.lengths[series][:, None] - 1
        index = self.values.starts[series][:, None] + np.minimum(steps, last)  # (B, W)
        if self.times is not None and self.cycles:
            beyond = np.maximum(steps - last, 0)
            times = self.step.after(np.asarray(self.times.values[index]), beyond)
            parts.append(calendar(times.ravel(), self.cycles).reshape(*steps.shape, -1))
        if len(self.channels):
            x = np.asarray(self.values.values[index[..., None], self.channels])
            x = np.where((steps <= last)[..., None], (x - self.mean) / self.std, 0)
            parts.append(np.nan_to_num(x).astype(np.float32))
        if self.static.shape[1]:
            shape = (*steps.shape, self.static.shape[1])
            parts.append(np.broadcast_to(self.static[series][:, None], shape))
        return np.concatenate(parts, -1) if parts else np.zeros((*steps.shape, 0), np.float32)


class Stretches:
    """N targets, each one channel of a series with the stretch of its steps to be forecast.

    values    series of all channels, (T, C) each; NaN where nothing was observed
    known     of the same series
    series    (N,) of each target, and its
    channel   (N,)
    first     (N,) first step to be forecast
    end       (N,) the step after the last one
    scale     (N,) by which errors are divided to compare targets: the standard deviation of what
              was there to learn from
    extra     channels that are read as well, with their
    mean, std
    """

    def __init__(
        self,
        values: Ragged,
        known: Known,
        *,
        series: np.ndarray,
        channel: np.ndarray,
        first: np.ndarray,
        end: np.ndarray,
        scale: np.ndarray,
        extra: Sequence[int] | np.ndarray = (),
        mean: np.ndarray | None = None,
        std: np.ndarray | None = None,
    ) -> None:
        self.values, self.known = values, known
        self.series, self.channel = series, channel
        self.first, self.end, self.scale = first, end, scale
        self.extra = np.asarray(extra, dtype=np.int64)
        self.mean = np.zeros(len(self.extra)) if mean is None else mean
        self.std = np.ones(len(self.extra)) if std is None else std

    def __len__(self) -> int:
        return len(self.series)

    @property
    def lengths(self) -> np.ndarray:
        return self.end - self.first

    @property
    def tokens(self) -> np.ndarray:
        """(N,) steps that are learnt from, as texts have tokens."""
        return self.lengths

    def select(self, rows: np.ndarray) -> Stretches:
        return Stretches(
            self.values,
            self.known,
            series=self.series[rows],
            channel=self.channel[rows],
            first=self.first[rows],
            end=self.end[rows],
            scale=self.scale[rows],
            extra=self.extra,
            mean=self.mean,
            std=self.std,
        )

    def digests(self) -> np.ndarray:
        """(N,) uint64 of the values of each stretch"""
        digests = np.zeros(len(self), np.uint64)
        for row in range(len(self)):
            past = self.past(row, int(self.end[row]))[int(self.first[row]) :]
            digest = hashlib.blake2b(past.tobytes(), digest_size=8).digest()
            digests[row] = int.from_bytes(digest, "little")
        return digests

    def past(self, row: int, origin: int) -> np.ndarray:
        """(origin,) all values of a target before a step"""
        return self.values[int(self.series[row])][:origin, int(self.channel[row])]

    def windows(
        self, rows: np.ndarray, origins: np.ndarray, *, length: int, horizon: int
    ) -> WindowBatch:
        L, H = length, horizon
        series = self.series[rows]
        lengths = np.minimum(origins, L)
        starts = origins - lengths  # within its series
        steps = np.arange(L + H)
        inside = starts[:, None] + steps  # (B, L + H) within the series
        if (
            len(rows)
            and (lengths == L).all()
            and (origins + H <= self.values.lengths[series]).all()
        ):
            real = exists = np.ones((len(rows), L + H), dtype=bool)
            views = sliding_window_view(self.values.values, L + H, axis=0)
            x = views[self.values.starts[series] + starts, self.channel[rows]]
        else:
            real = steps < (lengths + H)[:, None]  # (B, L + H)
            exists = real & (inside < self.values.lengths[series][:, None])
            index = np.where(exists, self.values.starts[series][:, None] + inside, 0)
            x = np.asarray(self.values.values[index, self.channel[rows][:, None]])
        has_value = exists & ~np.isnan(x)
        x = np.where(has_value, x, np.float32(0))
        past = real[:, :L] if (lengths == L).all() else steps[:L] < lengths[:, None]
        future = lengths[:, None] + np.arange(H)
        seen = np.take_along_axis(has_value, future, 1)
        observed = past & has_value[:, :L]
        return WindowBatch(
            torch.from_numpy(np.where(past, x[:, :L], np.float32(0))),
            torch.from_numpy(observed),
            torch.from_numpy(self._extra(series, inside[:, :L], past & exists[:, :L])),
            torch.from_numpy(self._known(series, inside, real)),
            torch.from_numpy(lengths.astype(np.int64)),
            torch.from_numpy(np.take_along_axis(x, future, 1)),
            torch.from_numpy(seen),
            torch.from_numpy(np.stack([observed[:, 1:].sum(1), seen.sum(1)], 1)),
            rows,
            origins,
        )

    def _extra(self, series: np.ndarray, steps: np.ndarray, exists: np.ndarray) -> np.ndarray:
        """(B, L, K') other channels at steps (B, L) of the series, 0 where there are none"""
        if not len(self.extra):
            return np.zeros((*steps.shape, 0), np.float32)
        index = np.where(exists, self.values.starts[series][:, None] + steps, 0)
        x = np.asarray(self.values.values[index[..., None], self.extra])
        x = np.nan_to_num((x - self.mean) / self.std)
        return np.where(exists[..., None], x, 0).astype(np.float32)

    def _known(self, series: np.ndarray, steps: np.ndarray, real: np.ndarray) -> np.ndarray:
        """(B, L + H, K) what is known of steps (B, L + H), 0 where a window has none"""
        if not self.known.size:
            return np.zeros((*steps.shape, 0), np.float32)
        return np.where(real[..., None], self.known.at(series, steps), np.float32(0))


class OriginBatches:
    """Windows at the origins of all stretches, `stride` steps from one to the next.

    least     steps of the past at least
    most      windows of an epoch at most, a random choice that differs from epoch to epoch
              (0: all of them)
    shuffle   in a random order, that of (seed, epoch); otherwise in the order of rows and steps
    """

    def __init__(
        self,
        stretches: Stretches,
        *,
        length: int,
        horizon: int,
        size: int,
        seed: int = 0,
        stride: int = 1,
        least: int = 1,
        most: int = 0,
        shuffle: bool = True,
    ) -> None:
        self.stretches, self.length, self.horizon = stretches, length, horizon
        self.size, self.seed, self.stride = size, seed, stride
        self.most, self.shuffle = most, shuffle
        self.starts = np.maximum(stretches.first, least)
        room = stretches.end - horizon - self.starts  # (N,) from the first to the last origin
        self.counts = np.where(room >= 0, room // stride + 1, 0)
        self.ends = np.cumsum(self.counts)
        self.total = int(self.ends[-1]) if len(self.ends) else 0
        self._order: tuple[int, np.ndarray] | None = None

    @property
    def windows(self) -> int:
        return min(self.total, self.most) if self.most and self.shuffle else self.total

    def steps(self, epoch: int) -> int:
        return -(-self.windows // self.size)

    def rows(self, epoch: int, step: int) -> int:
        return min(self.size, self.windows - step * self.size)

    def batch(self, epoch: int, step: int, share: Share = WHOLE) -> WindowBatch:
        windows = self._chosen(epoch)[step * self.size :][: self.size]
        rows, origins = self.origins(share.take(windows))
        return self.stretches.windows(rows, origins, length=self.length, horizon=self.horizon)

    def origins(self, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The row and the origin of each window."""
        rows = np.searchsorted(self.ends, windows, side="right")
        within = windows - (self.ends[rows] - self.counts[rows])
        return rows, self.starts[rows] + within * self.stride

    def _chosen(self, epoch: int) -> np.ndarray:
        if not self.shuffle:
            return np.arange(self.total)
        if self._order is None or self._order[0] != epoch:
            rng = np.random.default_rng([self.seed, epoch])
            if self.windows < self.total // 2:
                order = rng.choice(self.total, self.windows, replace=False, shuffle=True)
            else:
                order = rng.permutation(self.total)[: self.windows]
            self._order = (epoch, order)
        return self._order[1]
