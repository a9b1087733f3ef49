"""Forecasts that nothing is learnt for: what every model has to beat.

Each takes values (M,) without gaps, one series after the other, and of B windows the `origins` (B,)
in it, and where the series of each `begin`s (B,), at least one value before. It continues what
stands between the two by `horizon` values, (B, H).

    naive            the last value
    seasonal_naive   the value of one season before, over and over
    drift            the line through the first and the last value
    naive2           the last value of the series without its season, times the season; the season
                     is taken out where its autocorrelation is significant at 90 % (M4's yardstick)
    theta            the Theta method on the series without its season: exponential smoothing, with
                     half of the slope of the linear trend
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

SIGNIFICANT = 1.645  # the 95th percentile of a normal distribution
MOST_PAST = 5000  # last values that the Theta method reads


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
    return adjusted(lambda past: np.repeat(past[-1], horizon), values, begin, origins, season)


def theta(
    values: np.ndarray, begin: np.ndarray, origins: np.ndarray, horizon: int, season: int = 1
) -> np.ndarray:
    begin = np.maximum(begin, origins - MOST_PAST)
    return adjusted(lambda past: smoothed(past, horizon), values, begin, origins, season)


def smoothed(past: np.ndarray, horizon: int) -> np.ndarray:
    """Return ℓ_T + ½ b (h - 1 + 1/α - (1 - α)^T / α) for h = 1 .. H, the Theta method as simple
    exponential smoothing with drift (Assimakopoulos & Nikolopoulos 2000; Hyndman & Billah 2003).

    ℓ_t = α y_t + (1 - α) ℓ_{t-1} with ℓ_1 = y_1; α minimises the squared errors of one step; b is
    the slope of a regression on time.
    """
    from scipy.optimize import minimize_scalar
    from scipy.signal import lfilter

    T, t = len(past), np.arange(len(past)) - (len(past) - 1) / 2
    if T < 3:
        return np.repeat(past[-1], horizon)

    def levels(alpha: float) -> np.ndarray:
        return lfilter([alpha], [1, alpha - 1], past, zi=[(1 - alpha) * past[0]])[0]

    def error(alpha: float) -> float:
        return float(np.square(past[1:] - levels(alpha)[:-1]).sum())

    alpha = minimize_scalar(error, bounds=(1e-3, 1 - 1e-4), method="bounded").x
    slope = (t @ past) / (t @ t)
    steps = np.arange(horizon) + (1 - (1 - alpha) ** T) / alpha
    return levels(alpha)[-1] + slope / 2 * steps


def adjusted(
    forecast: Callable[[np.ndarray], np.ndarray],
    values: np.ndarray,
    begin: np.ndarray,
    origins: np.ndarray,
    season: int,
) -> np.ndarray:
    """(B, H) forecasts of pasts without their season, times the season."""
    rows = []
    for first, end in zip(begin.tolist(), origins.tolist()):
        past = values[first:end]
        if not is_seasonal(past, season):
            rows.append(forecast(past))
            continue
        indices = seasonal_indices(past, season)  # of the phases, 0 is that of past[0]
        row = forecast(past / indices[np.arange(len(past)) % season])
        rows.append(row * indices[np.arange(len(past), len(past) + len(row)) % season])
    return np.stack(rows)


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
