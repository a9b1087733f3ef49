"""Exponential smoothing of one series: values in, the next ones out (Hyndman et al. 2008).

    ŷ_t = ℓ_{t-1} + φ b_{t-1} + s_{t-m}    e_t = y_t - ŷ_t
    ℓ_t = ℓ_{t-1} + φ b_{t-1} + α e_t      b_t = φ b_{t-1} + β e_t      s_t = s_{t-m} + γ e_t

Without a trend (b = 0), with one (φ = 1) or with a damped one; of y or, where it has a season and
is positive, of ln y. The least AICc of the errors of one step in units of y chooses. α, β, γ, φ and
the first ℓ and b minimise Σ e²; the first s are those of the classical decomposition.

The errors are those of a filter of y less its first season, D = (1 - L)(1 - φL):

    D (1 - L^m) y_t = ((D + (α + φβ) L - αφ L²)(1 - L^m) + γ L^m D) e_t

and linear in the first ℓ and b, which least squares gives.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from unspool.tasks.forecast.season import seasonal_indices

LIMITS = {"alpha": (1e-4, 0.9999), "beta": (1e-4, 1.0), "phi": (0.8, 0.98), "gamma": (0.0, 1.0)}
STARTS = {"alpha": 0.3, "beta": 0.1, "phi": 0.95, "gamma": 0.1}
FEWEST = 10  # values, of which a trend may be fitted
TRIALS = 300  # of parameters


class Smoothing(NamedTuple):
    """Parameters of exponential smoothing.

    trend   whether there is one; φ is 1 where it is not damped
    season  m; 1: there is none
    log     whether ln y is smoothed
    """

    alpha: float
    beta: float = 0.0
    phi: float = 1.0
    gamma: float = 0.0
    trend: bool = False
    season: int = 1
    log: bool = False

    @property
    def parameters(self) -> int:
        """α and ℓ_0; β and b_0; φ; γ and m - 1 of s; and the variance of the errors."""
        return 3 + 2 * self.trend + (self.phi < 1) + self.season * (self.season > 1)

    def fit(self, y: np.ndarray, *, whole: bool = True) -> Fit:
        """Return the errors (T,), and the first states; `whole`: those of the season too."""
        y = np.log(y) if self.log else y
        m, t = self.season, np.arange(1, len(y) + 1)
        season = seasonal_indices(y, m, additive=True) if m > 1 else np.zeros(1)
        damped = t if self.phi == 1 else self.phi * (1 - self.phi**t) / (1 - self.phi)
        phases = (t - 1) % m == np.arange(1, m if whole else 1)[:, None]  # (m - 1, T)
        columns = [y - season[(t - 1) % m], np.ones(len(y)), *([damped] if self.trend else [])]
        filtered = self.filter(np.stack([*columns, *phases]))
        start, *_ = np.linalg.lstsq(filtered[1:].T, filtered[0], rcond=None)
        states = len(columns) - 1
        season = season + np.append(np.zeros(1), start[states:]) if whole else season
        return Fit(self, y, filtered[0] - start @ filtered[1:], start[:states], season)

    def filter(self, y: np.ndarray) -> np.ndarray:
        """(K, T) -> errors of first states 0"""
        from scipy.signal import lfilter

        alpha, beta, phi, gamma, *_ = self
        level = np.array([1, -1 - phi, phi]) if self.trend else np.array([1.0, -1])
        moved = np.array([0, alpha + phi * beta, -alpha * phi] if self.trend else [0, alpha])
        if self.season == 1:
            return lfilter(level, level + moved, y)
        cycle = np.r_[1, np.zeros(self.season - 1), -1]
        ahead = np.r_[np.zeros(self.season), gamma * level]
        return lfilter(np.convolve(level, cycle), np.convolve(level + moved, cycle) + ahead, y)


class Fit(NamedTuple):
    """Smoothing of a series y (T,), or ln y: its errors, and the first ℓ, b, and s (m,)."""

    model: Smoothing
    y: np.ndarray
    errors: np.ndarray
    start: np.ndarray
    season: np.ndarray

    @property
    def loss(self) -> float:
        return float(self.errors @ self.errors)

    @property
    def aicc(self) -> float:
        """In units of y."""
        n, k, errors = len(self.y), self.model.parameters, self.errors
        if n - k < 2:
            return math.inf
        if self.model.log:
            errors = np.exp(self.y) - np.exp(self.y - errors)
        return n * math.log(max(float(errors @ errors), 1e-300) / n) + 2 * k * n / (n - k - 1)

    def continued(self, horizon: int) -> np.ndarray:
        """ℓ_T + (φ + ... + φ^h) b_T + s of its phase, for h = 1 .. H"""
        from scipy.signal import lfilter

        model, T, m = self.model, len(self.y), len(self.season)
        phases = np.arange(T + horizon) % m
        season = self.season + model.gamma * np.bincount(phases[:T], self.errors, m)
        before = season[phases[T - 1]] - model.gamma * self.errors[-1]  # s_{T-m}
        level = self.y[-1] - before - (1 - model.alpha) * self.errors[-1]
        forecast = level + season[phases[T:]]
        if model.trend:
            slope = lfilter([model.beta], [1, -model.phi], self.errors)[-1]
            slope += model.phi**T * self.start[1]
            forecast += np.cumsum(model.phi ** np.arange(1, horizon + 1)) * slope
        return np.exp(forecast) if model.log else forecast


def fit_smoothing(y: np.ndarray, season: int = 1) -> Smoothing:
    """Choose a model and its parameters by the errors of one step."""
    fits = []
    for log in (False, True) if season > 1 and (y > 0).all() else (False,):
        for trend in ([], ["beta"], ["beta", "phi"]) if len(y) >= FEWEST else ([],):
            names = ["alpha", *trend, *(["gamma"] if season > 1 else [])]
            fits.append(best_parameters(y, names, season, log))
    return min(fits, key=lambda fit: fit.aicc).model


def best_parameters(y: np.ndarray, names: list[str], season: int, log: bool) -> Fit:
    """The fit with the least squared errors; β is searched as a share of α, γ of 1 - α."""
    from scipy.optimize import minimize

    def fit(x: np.ndarray, *, whole: bool = True) -> Fit:
        values = dict(zip(names, x.tolist()))
        alpha = values["alpha"]
        beta, gamma = alpha * values.get("beta", 0), (1 - alpha) * values.get("gamma", 0)
        phi = values.get("phi", 1.0)
        return Smoothing(alpha, beta, phi, gamma, "beta" in values, season, log).fit(y, whole=whole)

    start = [STARTS[name] for name in names]
    unit = fit(np.array(start), whole=False).loss or 1.0
    found = minimize(
        lambda x: fit(x, whole=False).loss / unit,
        start,
        method="Nelder-Mead",
        bounds=[LIMITS[name] for name in names],
        options={"xatol": 1e-4, "fatol": 1e-8, "maxfev": TRIALS},
    )
    return fit(found.x)
