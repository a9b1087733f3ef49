"""Forecasts that nothing is learnt for: what every model has to beat.

Each takes the past of one series (T,) and gives its next `horizon` values, (H,).

    naive            the last value
    seasonal_naive   the value of one season before, over and over
    drift            the line through the first and the last value
    naive2           the last value of the series without its season, times the season; the season
                     is taken out where its autocorrelation is significant at 90 % (M4's yardstick)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

SIGNIFICANT = 1.645  # the 95th percentile of a normal distribution


def naive(past: np.ndarray, horizon: int, season: int = 1) -> np.ndarray:
    return np.full(horizon, past[-1])


def seasonal_naive(past: np.ndarray, horizon: int, season: int = 1) -> np.ndarray:
    season = season if len(past) >= season else 1
    return np.resize(past[-season:], horizon)


def drift(past: np.ndarray, horizon: int, season: int = 1) -> np.ndarray:
    slope = (past[-1] - past[0]) / (len(past) - 1) if len(past) > 1 else 0.0
    return past[-1] + slope * np.arange(1, horizon + 1)


def naive2(past: np.ndarray, horizon: int, season: int = 1) -> np.ndarray:
    if not is_seasonal(past, season):
        return naive(past, horizon)
    indices = seasonal_indices(past, season)  # of the phases of the season, 0 is that of past[0]
    phases = np.arange(len(past), len(past) + horizon) % season
    return past[-1] / indices[(len(past) - 1) % season] * indices[phases]


NAIVE: dict[str, Callable[[np.ndarray, int, int], np.ndarray]] = {
    "naive": naive,
    "seasonal naive": seasonal_naive,
    "drift": drift,
}


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
    return np.array([y[: len(y) - k] @ y[k:] for k in range(lags + 1)]) / (y @ y)


def seasonal_indices(past: np.ndarray, season: int) -> np.ndarray:
    """(m,) the classical multiplicative decomposition: means of y over its centred moving average,
    by phase, scaled to a mean of one."""
    weights = np.ones(season) if season % 2 else np.r_[0.5, np.ones(season - 1), 0.5]
    trend = np.convolve(past, weights / season, mode="valid")
    half = len(weights) // 2
    ratios = past[half : half + len(trend)] / trend
    phases = np.arange(half, half + len(trend)) % season
    means = np.array([ratios[phases == phase].mean() for phase in range(season)])
    return means / means.mean()
