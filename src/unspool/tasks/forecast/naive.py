"""Forecasts that nothing is learnt for: what every model has to beat.

Each takes values (M,) without gaps, one series after the other, and of B windows the `origins` (B,)
in it, and where the series of each `begin`s (B,), at least one value before. It continues what
stands between the two by `horizon` values, (B, H).

    naive            the last value
    seasonal_naive   the value of one season before, over and over
    drift            the line through the first and the last value
    naive2           the last value of the series without its season, times the season; the season
                     is taken out where its autocorrelation is significant at 90 % (M4's yardstick)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

SIGNIFICANT = 1.645  # the 95th percentile of a normal distribution


def naive(
    values: np.ndarray, begin: np.ndarray, origins: np.ndarray, horizon: int, season: int = 1
) -> np.ndarray:
    return np.repeat(values[origins - 1][:, None], horizon, 1)


def seasonal_naive(
    values: np.ndarray, begin: np.ndarray, origins: np.ndarray, horizon: int, season: int = 1
) -> np.ndarray:
    m = np.where(origins - begin >= season, season, 1)[:, None]
    return values[origins[:, None] - m + np.arange(horizon) % m]


def drift(
    values: np.ndarray, begin: np.ndarray, origins: np.ndarray, horizon: int, season: int = 1
) -> np.ndarray:
    last = values[origins - 1]
    slope = (last - values[begin]) / np.maximum(origins - begin - 1, 1)
    return last[:, None] + slope[:, None] * np.arange(1, horizon + 1)


def naive2(
    values: np.ndarray, begin: np.ndarray, origins: np.ndarray, horizon: int, season: int = 1
) -> np.ndarray:
    forecast = naive(values, begin, origins, horizon)
    for row, (first, end) in enumerate(zip(begin.tolist(), origins.tolist())):
        past, T = values[first:end], end - first
        if is_seasonal(past, season):
            indices = seasonal_indices(past, season)  # of the phases, 0 is that of past[0]
            phases = np.arange(T, T + horizon) % season
            forecast[row] = past[-1] / indices[(T - 1) % season] * indices[phases]
    return forecast


NaiveForecast = Callable[[np.ndarray, np.ndarray, np.ndarray, int, int], np.ndarray]

NAIVE: dict[str, NaiveForecast] = {"naive": naive, "seasonal naive": seasonal_naive, "drift": drift}


def is_seasonal(past: np.ndarray, season: int) -> bool:
    """Whether the autocorrelation r_m at one season is beyond 1.645 √((1 + 2 Σ_{k<m} r_k²) / T),
    Bartlett's limit; never of a past of fewer than three seasons or one that is not positive."""
    if season < 2 or len(past) < 3 * season or not (past > 0).all() or not past.std():
        return False
    r = autocorrelation(past, season)
    limit = SIGNIFICANT * np.sqrt((1 + 2 * np.sum(r[1:season] ** 2)) / len(past))
    return bool(abs(r[season]) > limit)


def autocorrelation(past: np.ndarray, lags: int) -> np.ndarray:
    """r_k = Σ_t (y_t - ȳ)(y_{t+k} - ȳ) / Σ_t (y_t - ȳ)², k = 0 .. lags"""
    y = past - past.mean()
    sums = np.correlate(np.concatenate([y, np.zeros(lags)]), y, mode="valid")
    return sums / sums[0]


def seasonal_indices(past: np.ndarray, season: int) -> np.ndarray:
    """(m,) the classical multiplicative decomposition: means of y over its centred moving average,
    by phase, scaled to a mean of one."""
    weights = centred_weights(season)
    trend = np.convolve(past, weights, mode="valid")
    half = len(weights) // 2
    ratios = past[half : half + len(trend)] / trend
    phases = np.arange(half, half + len(trend)) % season
    means = np.bincount(phases, ratios) / np.bincount(phases)
    return means / means.mean()


@cache
def centred_weights(season: int) -> np.ndarray:
    """Weights of a moving average over one season; the two ends of an even one count half."""
    whole = np.ones(season) if season % 2 else np.r_[0.5, np.ones(season - 1), 0.5]
    return whole / season
