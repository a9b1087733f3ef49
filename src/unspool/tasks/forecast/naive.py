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
    ets              exponential smoothing, with the trend and season that AICc chooses
                     (`smoothing.py`)

A season is taken out of positive values by division. Of others Theta subtracts it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unspool.tasks.forecast.season import find_season, is_seasonal
from unspool.tasks.forecast.smoothing import Smoothing, fit_smoothing

MOST_PAST = 5000  # last values that Theta and ETS read


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
    return adjusted(
        lambda past: smoothed(past, horizon), values, begin, origins, season, additive=True
    )


def ets(
    values: np.ndarray, begin: np.ndarray, origins: np.ndarray, horizon: int, season: int = 1
) -> np.ndarray:
    """Models and parameters are those of the first window of a series, states those of each."""
    models: dict[tuple[int, bool], Smoothing] = {}
    rows = []
    for first, end in zip(begin.tolist(), origins.tolist()):
        past = values[max(first, end - MOST_PAST) : end]
        steps = season if is_seasonal(past, season) else 1
        key = first, steps > 1
        if key not in models:
            models[key] = fit_smoothing(past, steps)
        rows.append(models[key].fit(past).continued(horizon))
    return np.stack(rows)


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
    *,
    additive: bool = False,
) -> np.ndarray:
    """(B, H) forecasts of pasts without their season, with it again."""
    rows = []
    for first, end in zip(begin.tolist(), origins.tolist()):
        past = values[first:end]
        cycle = find_season(past, season, additive=additive)
        if cycle is None:
            rows.append(forecast(past))
        else:
            rows.append(cycle.restored(forecast(cycle.removed(past)), len(past)))
    return np.stack(rows)


NaiveForecast = Callable[[np.ndarray, np.ndarray, np.ndarray, int, int], np.ndarray]

NAIVE: dict[str, NaiveForecast] = {"naive": naive, "seasonal naive": seasonal_naive, "drift": drift}
