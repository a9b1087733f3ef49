"""Seasons of series: the past of one in, whether it has a season and its indices out."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

SIGNIFICANT = 1.645  # the 95th percentile of a normal distribution


class Season(NamedTuple):
    """(m,) indices of the phases of a season, of which 0 is that of the first value; values are
    divided by them, or they are subtracted."""

    indices: np.ndarray
    additive: bool

    def at(self, steps: np.ndarray) -> np.ndarray:
        return self.indices[steps % len(self.indices)]

    def removed(self, past: np.ndarray) -> np.ndarray:
        indices = self.at(np.arange(len(past)))
        return past - indices if self.additive else past / indices

    def restored(self, forecast: np.ndarray, steps: int) -> np.ndarray:
        """Return a forecast that begins after so many steps, with the season."""
        indices = self.at(np.arange(steps, steps + len(forecast)))
        return forecast + indices if self.additive else forecast * indices


def find_season(past: np.ndarray, season: int, *, additive: bool) -> Season | None:
    """The season of a past, if it has one; of values that are not positive only an additive one."""
    positive = bool((past > 0).all())
    if not (positive or additive) or not is_seasonal(past, season):
        return None
    return Season(seasonal_indices(past, season, additive=not positive), not positive)


def is_seasonal(past: np.ndarray, season: int) -> bool:
    """Whether the autocorrelation r_m at one season is beyond 1.645 √((1 + 2 Σ_{k<m} r_k²) / T),
    Bartlett's limit; never of a past of fewer than three seasons."""
    if season < 2 or len(past) < 3 * season or not past.std():
        return False
    r = autocorrelation(past, season)
    limit = SIGNIFICANT * np.sqrt((1 + 2 * np.sum(r[1:season] ** 2)) / len(past))
    return bool(abs(r[season]) > limit)


def autocorrelation(past: np.ndarray, lags: int) -> np.ndarray:
    """r_k = Σ_t (y_t - ȳ)(y_{t+k} - ȳ) / Σ_t (y_t - ȳ)², k = 0 .. lags"""
    y = past - past.mean()
    sums = np.correlate(np.concatenate([y, np.zeros(lags)]), y, mode="valid")
    return sums / sums[0]


def seasonal_indices(past: np.ndarray, season: int, *, additive: bool = False) -> np.ndarray:
    """(m,) the classical decomposition: means by phase of y over its centred moving average, scaled
    to a mean of one; or of y less that average, with a mean of zero."""
    weights = centred_weights(season)
    trend = np.convolve(past, weights, mode="valid")
    half = len(weights) // 2
    middle = past[half : half + len(trend)]
    phases = np.arange(half, half + len(trend)) % season
    rest = middle - trend if additive else middle / trend
    means = np.bincount(phases, rest) / np.bincount(phases)
    return means - means.mean() if additive else means / means.mean()


@cache
def centred_weights(season: int) -> np.ndarray:
    """Weights of a moving average over one season; the two ends of an even one count half."""
    whole = np.ones(season) if season % 2 else np.r_[0.5, np.ones(season - 1), 0.5]
    return whole / season
