"""Metrics of forecasts from plain arrays: errors, scaled errors, intervals.

Every function takes the truth y and a forecast of it, (N, H) for N windows and H steps ahead, and
gives one figure a window, (N,), so that a report can average them and tell how sure it is. Steps
whose truth is NaN have no part in it; a window without any gives NaN.

    mse, mae    mean of (y - ŷ)², of |y - ŷ|
    smape       200 · mean of |y - ŷ| / (|y| + |ŷ|), in per cent; a term of 0 / 0 is 0
    mase        mae over that of the seasonal naive forecast within the past of the series
    owa         (smape / smape of Naive2 + mase / mase of Naive2) / 2, each a mean over all series
    pinball     mean of max(q (y - ŷ), (q - 1) (y - ŷ)) for the quantile ŷ of level q

The definitions are those of the M4 competition (Makridakis, Spiliotis and Assimakopoulos, 2020).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def mean_seen(errors: np.ndarray) -> np.ndarray:
    """(N, H) -> (N,) the mean of what is not NaN"""
    total = errors.sum(1)
    if not np.isnan(total).any():
        return total / errors.shape[1]
    seen = ~np.isnan(errors)
    total = np.where(seen, errors, 0).sum(1)
    return np.divide(total, seen.sum(1), out=np.full(len(errors), np.nan), where=seen.any(1))


def mse(y: np.ndarray, forecast: np.ndarray) -> np.ndarray:
    return mean_seen((y - forecast) ** 2)


def mae(y: np.ndarray, forecast: np.ndarray) -> np.ndarray:
    return mean_seen(np.abs(y - forecast))


def smape(y: np.ndarray, forecast: np.ndarray) -> np.ndarray:
    size = np.abs(y) + np.abs(forecast)
    wrong = np.abs(y - forecast)
    size[size == 0] = 1  # where both are 0, so is what is wrong
    return 200 * mean_seen(wrong / size)


def seasonal_error(past: np.ndarray, season: int) -> float:
    """The mean of |y_t - y_{t-m}| within one past (T,), by which `mase` divides. A past that is no
    longer than a season is measured by its steps, m = 1; NaN where it never moves."""
    past = past[~np.isnan(past)]
    m = season if len(past) > season else 1
    if len(past) <= m:
        return float("nan")
    error = float(np.mean(np.abs(past[m:] - past[:-m])))
    return error if error > 0 else float("nan")


def mase(y: np.ndarray, forecast: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """`scales` (N,): the `seasonal_error` of each past."""
    return mae(y, forecast) / scales


def owa(ours: Mapping[str, float], naive2: Mapping[str, float]) -> float:
    """OWA, from the means over all series of "smape" and "mase"."""
    return (ours["smape"] / naive2["smape"] + ours["mase"] / naive2["mase"]) / 2


def pinball(y: np.ndarray, quantile: np.ndarray, level: float) -> np.ndarray:
    wrong = y - quantile
    return mean_seen(np.maximum(level * wrong, (level - 1) * wrong))


def covered(y: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The share of the steps whose truth lies within the interval."""
    return mean_seen(np.where(np.isnan(y), np.nan, (low <= y) & (y <= high)))
