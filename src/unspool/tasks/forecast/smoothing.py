"""Exponential smoothing of one series: values in, the next ones out (Hyndman et al. 2008).

    ŷ_t = ℓ_{t-1} + φ b_{t-1}    e_t = y_t - ŷ_t    ℓ_t = ŷ_t + α e_t    b_t = φ b_{t-1} + β e_t

Without a trend (b = 0), with one (φ = 1), or with a damped one: the least AICc chooses. α, β, φ and
the first states minimise Σ e². The errors are those of an ARMA filter,

    (1 - φL)(1 - L) y_t = (1 + (α - 1 - φ + φβ) L + (1 - α) φ L²) e_t,

and linear in the first states, which least squares gives.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

ALPHA, PHI = (1e-4, 0.9999), (0.8, 0.98)
FEWEST = 10  # values, of which a trend may be fitted


class Smoothing(NamedTuple):
    """Parameters of exponential smoothing.

    trend   whether there is one; φ is 1 where it is not damped
    """

    alpha: float
    beta: float = 0.0
    phi: float = 1.0
    trend: bool = False

    @property
    def parameters(self) -> int:
        """α and ℓ_0; β and b_0; φ; and the variance of the errors."""
        return 3 + 2 * self.trend + (self.phi < 1)

    def fit(self, y: np.ndarray) -> Fit:
        """Return the errors (T,), and the first states that make them smallest."""
        t = np.arange(1, len(y) + 1)
        damped = t if self.phi == 1 else self.phi * (1 - self.phi**t) / (1 - self.phi)
        columns = np.stack([y, np.ones(len(y)), damped][: 3 if self.trend else 2])
        filtered = self.filter(columns)
        start, *_ = np.linalg.lstsq(filtered[1:].T, filtered[0], rcond=None)
        return Fit(self, filtered[0] - start @ filtered[1:], start)

    def filter(self, y: np.ndarray) -> np.ndarray:
        """(K, T) -> errors of first states 0"""
        from scipy.signal import lfilter

        if not self.trend:
            return lfilter([1, -1], [1, self.alpha - 1], y)
        moving = [1, self.alpha - 1 - self.phi + self.phi * self.beta, (1 - self.alpha) * self.phi]
        return lfilter([1, -1 - self.phi, self.phi], moving, y)


class Fit(NamedTuple):
    """Smoothing of a series: its errors (T,), and the first states ℓ_0 and b_0."""

    model: Smoothing
    errors: np.ndarray
    start: np.ndarray

    @property
    def loss(self) -> float:
        return float(self.errors @ self.errors)

    @property
    def aicc(self) -> float:
        n, k = len(self.errors), self.model.parameters
        if n - k < 2:
            return math.inf
        return n * math.log(max(self.loss, 1e-300) / n) + 2 * k * n / (n - k - 1)

    def continued(self, y: np.ndarray, horizon: int) -> np.ndarray:
        """ℓ_T + (φ + ... + φ^h) b_T for h = 1 .. H"""
        from scipy.signal import lfilter

        alpha, beta, phi, trend = self.model
        level = y[-1] - (1 - alpha) * self.errors[-1]
        if not trend:
            return np.full(horizon, level)
        slope = lfilter([beta], [1, -phi], self.errors)[-1] + phi ** len(y) * self.start[1]
        return level + np.cumsum(phi ** np.arange(1, horizon + 1)) * slope


def fit_smoothing(y: np.ndarray) -> Smoothing:
    """Choose a model and its parameters by the errors of one step."""
    from scipy.optimize import minimize, minimize_scalar

    def level(alpha: float) -> Smoothing:
        return Smoothing(float(alpha))

    def trend(x: np.ndarray) -> Smoothing:
        alpha, share, *phi = x.tolist()
        return Smoothing(alpha, alpha * share, phi[0] if phi else 1.0, trend=True)

    bounded = minimize_scalar(
        lambda alpha: level(alpha).fit(y).loss, bounds=ALPHA, method="bounded"
    )
    models = [level(bounded.x)]
    if len(y) >= FEWEST:
        unit = models[0].fit(y).loss or 1.0
        for phi in ([], [0.95]):
            found = minimize(
                lambda x: trend(x).fit(y).loss / unit,
                [float(np.clip(bounded.x, 0.1, 0.9)), 0.1, *phi],
                method="Nelder-Mead",
                bounds=[ALPHA, ALPHA, PHI][: 2 + len(phi)],
                options={"xatol": 1e-3, "fatol": 1e-6, "maxfev": 150},
            )
            models.append(trend(found.x))
    return min(models, key=lambda model: model.fit(y).aicc)
