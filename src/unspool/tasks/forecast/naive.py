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
    ets              exponential smoothing of the series without its season, with the trend that
                     AICc chooses (`smoothing.py`)

A season is taken out of positive values by division. Of others Theta and ETS subtract it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from unspool.tasks.forecast.smoothing import Smoothing, fit_smoothing

SIGNIFICANT = 1.645  # the 95th percentile of a normal distribution
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
        cycle = find_season(past, season, additive=True)
        y = past if cycle is None else cycle.removed(past)
        key = first, cycle is None
        if key not in models:
            models[key] = fit_smoothing(y)
        row = models[key].fit(y).continued(y, horizon)
        rows.append(row if cycle is None else cycle.restored(row, len(past)))
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
