"""The linear baseline of forecasts: ridge regression from windows to what follows them.

For each step h ahead, over all training windows Z (n, L) and what is known of that step F_h (n, K),

    [W_h; V_h] = ([Z F_h]ᵀ[Z F_h] + λI)⁻¹ [Z F_h]ᵀ y_h

in units of each window, weighed by `window_weights`. The products are summed batch by batch, so
that any number of windows takes no memory; λ is chosen on the validation part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from unspool.data.part import Part
from unspool.data.windows import OriginBatches
from unspool.nn.models.forecaster import (
    LinearForecaster,
    Window,
    align_end,
    future_of,
    window_scale,
    window_weights,
)
from unspool.tasks.linear import Fitting
from unspool.tasks.task import as_array

if TYPE_CHECKING:
    from unspool.tasks.forecast.task import Forecast

STRENGTHS = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1)  # λ, in units of the mean of the diagonal of ZᵀZ
USUAL = 1e-3
WINDOWS = 200_000  # that are fitted to at most, a random choice


def fit_ridge(task: Forecast, parts: Mapping[str, Part]) -> Fitting:
    field = task.history
    batches = OriginBatches(
        parts["train"]["history"],
        length=field.length,
        horizon=field.horizon,
        size=1024,
        seed=task.config.train.seed,
        most=WINDOWS,
    )
    sums = Sums(field.length, field.horizon, field.known_size)
    for step in range(batches.steps(0)):
        batch = batches.batch(0, step)
        window = Window(*batch[:5])
        center, scale = window_scale(window, task.config.model.center)
        z = torch.where(window.observed, (window.y - center) / scale, 0.0)
        past = as_array(align_end(z, window.lengths)).astype(np.float64)
        y = (batch.future - center) / scale
        weight = as_array(window_weights(y, task.config.model.center)).astype(np.float64)
        whole = as_array(batch.seen.all(1))  # of others a sum would hold what was not there
        known = as_array(future_of(window, field.horizon))
        sums.add(past[whole], known[whole], as_array(y)[whole], weight[whole])
    model = task.build()
    assert isinstance(model, LinearForecaster)
    valid = parts.get("valid")
    log: list[dict[str, Any]] = []
    for strength in STRENGTHS if valid is not None else (USUAL,):
        weights = sums.solve(strength)
        set_weights(model, weights)
        metrics = {} if valid is None else task.validate(model, valid)
        log.append({"strength": strength, **metrics, "weights": weights})
    best = min(log, key=lambda trial: trial.get(task.metric.name, 0.0))
    set_weights(model, best["weights"])
    note = f"ridge regression, λ = {best['strength']:g} x mean square"
    note += "" if valid is None else ", chosen on the validation part"
    tried = [{key: trial[key] for key in trial if key != "weights"} for trial in log]
    return Fitting(model.eval(), tried, note)


class ForecastWeights(NamedTuple):
    """W (L + 1, H), the last row is the bias, and V (H, K)."""

    W: np.ndarray
    V: np.ndarray


class Sums:
    """ZᵀZ and Zᵀy, which all steps ahead share, with a column of ones in Z; and for each step those
    with what is known of it."""

    def __init__(self, length: int, horizon: int, known: int) -> None:
        L, H, K = length + 1, horizon, known
        self.zz, self.zy = np.zeros((L, L)), np.zeros((L, H))
        self.zf = np.zeros((L, H, K))
        self.ff, self.fy = np.zeros((H, K, K)), np.zeros((H, K))

    def add(self, past: np.ndarray, known: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        """(B, L), (B, H, K), (B, H), and (B, 1) of the windows"""
        root = np.sqrt(weights)
        z = root * np.concatenate([past, np.ones((len(past), 1))], 1)  # (B, L + 1)
        y = root * y
        self.zz += z.T @ z
        self.zy += z.T @ y
        if known.shape[2]:
            f = root[..., None] * known
            self.zf += (z.T @ f.reshape(len(f), -1)).reshape(self.zf.shape)
            by_step = f.transpose(1, 2, 0)  # (H, K, B)
            self.ff += by_step @ by_step.transpose(0, 2, 1)
            self.fy += (by_step @ y.T[..., None])[..., 0]

    def solve(self, strength: float) -> ForecastWeights:
        """λ is `strength` in units of the mean square of Z, and of F. Z is eliminated: with
        A = ZᵀZ + λI and B = ZᵀF_h, the Schur complement F_hᵀF_h + λI - BᵀA⁻¹B gives V_h."""
        L, H, K = self.zf.shape
        unit = float(np.trace(self.zz[:-1, :-1])) / (L - 1) or 1.0
        A = self.zz + np.diag(np.r_[np.full(L - 1, strength * unit), 1e-9 * unit])
        W = np.linalg.solve(A, self.zy)  # (L, H), were nothing known
        if not K:
            return ForecastWeights(W, np.zeros((H, 0)))
        G = np.linalg.solve(A, self.zf.reshape(L, -1)).reshape(L, H, K)  # A⁻¹B of each step
        B, G = self.zf.transpose(1, 2, 0), G.transpose(1, 0, 2)  # (H, K, L), (H, L, K)
        other = float(np.trace(self.ff.sum(0))) / (H * K) or 1.0
        S = self.ff + strength * other * np.eye(K) - B @ G
        V = np.linalg.solve(S, (self.fy - (B @ W.T[..., None])[..., 0])[..., None])  # (H, K, 1)
        return ForecastWeights(W - (G @ V)[..., 0].T, V[..., 0])


def set_weights(model: LinearForecaster, weights: ForecastWeights) -> None:
    with torch.no_grad():
        model.sum.linear.weight.copy_(torch.from_numpy(weights.W[:-1].T))
        model.sum.linear.bias.copy_(torch.from_numpy(weights.W[-1]))
        if model.ahead is not None:
            model.ahead.weight.copy_(torch.from_numpy(weights.V))
