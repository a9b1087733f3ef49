"""The linear baseline of forecasts: ridge regression from windows to what follows them.

W = (ZᵀZ + λI)⁻¹ ZᵀY over all training windows Z (n, L) and their futures Y (n, H), in units of each
window. ZᵀZ and ZᵀY are summed batch by batch, so that any number of windows takes no memory; λ is
chosen on the validation part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from unspool.data.part import Part
from unspool.data.windows import OriginBatches
from unspool.nn.models.forecaster import LinearForecaster, Window, align_end, window_scale
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
    L, H = field.length, field.horizon
    squares, products = np.zeros((L + 1, L + 1)), np.zeros((L + 1, H))
    for step in range(batches.steps(0)):
        batch = batches.batch(0, step)
        window = Window(*batch[:5])
        center, scale = window_scale(window, task.config.model.center)
        z = torch.where(window.observed, (window.y - center) / scale, 0.0)
        past = as_array(align_end(z, window.lengths)).astype(np.float64)
        past = np.concatenate([past, np.ones((len(past), 1))], 1)  # (B, L + 1)
        y = as_array(torch.where(batch.seen, (batch.future - center) / scale, 0.0))
        whole = as_array(batch.seen.all(1))  # of others a sum would hold what was not there
        squares += past[whole].T @ past[whole]
        products += past[whole].T @ y[whole].astype(np.float64)
    model = task.build()
    assert isinstance(model, LinearForecaster)
    valid = parts.get("valid")
    unit = float(np.trace(squares[:-1, :-1])) / L or 1.0
    log: list[dict[str, Any]] = []
    for strength in STRENGTHS if valid is not None else (USUAL,):
        penalty = np.diag(np.r_[np.full(L, strength * unit), 1e-9 * unit])
        W = np.linalg.solve(squares + penalty, products)  # (L + 1, H)
        place(model, W)
        found = {} if valid is None else task.validate(model, valid)
        log.append({"strength": strength, **found, "weights": W})
    best = min(log, key=lambda own: own.get(task.metric, 0.0))
    place(model, best["weights"])
    note = f"ridge regression, λ = {best['strength']:g} x mean square"
    note += "" if valid is None else ", chosen on the validation part"
    tried = [{key: own[key] for key in own if key != "weights"} for own in log]
    return Fitting(model.eval(), tried, note)


def place(model: LinearForecaster, W: np.ndarray) -> None:
    with torch.no_grad():
        model.sum.linear.weight.copy_(torch.from_numpy(W[:-1].T))
        model.sum.linear.bias.copy_(torch.from_numpy(W[-1]))
