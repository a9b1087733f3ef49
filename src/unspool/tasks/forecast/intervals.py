"""Forecasts of windows as values with intervals, in the units of the file.

The interval of the model itself comes from its quantiles, or from paths that it samples; where it
has none it is the value alone. Margins from the validation part (`conformal.py`) widen it, or
narrow it, until it covers what it promises.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.windows import OriginBatches, WindowBatch
from unspool.nn.models.forecaster import Forecasts, RecursiveForecaster, Window
from unspool.tasks.forecast import conformal
from unspool.tasks.forecast.answer import LEVEL, ForecastOptions
from unspool.tasks.task import as_array, walk


class Intervals(NamedTuple):
    """Forecasts of some windows, (B, H) each."""

    center: np.ndarray
    low: np.ndarray
    high: np.ndarray


def model_intervals(
    model: Any, batch: WindowBatch, forecast: Forecasts, options: ForecastOptions
) -> Intervals:
    """Intervals of the model itself, without margins."""
    tail = (1 - options.coverage) / 2
    center = in_units(model.uncertain.center(forecast.outputs), forecast)
    if isinstance(model, RecursiveForecaster):  # the quantiles of a step are not those of a path
        if not model.uncertain.samples:
            return Intervals(center, center, center)
        paths = model.sample(Window(*batch[:5]), options.paths, options.seed)
        low, middle, high = np.quantile(as_array(paths), (tail, 0.5, 1 - tail), axis=1)
        return Intervals(middle, low, high)
    low, high = (model.uncertain.quantile(forecast.outputs, q) for q in (tail, 1 - tail))
    if low is None or high is None:
        return Intervals(center, center, center)
    return Intervals(center, in_units(low, forecast), in_units(high, forecast))


def calibrated_intervals(
    margins: conformal.Margins,
    model: Any,
    batch: WindowBatch,
    forecast: Forecasts,
    options: ForecastOptions,
) -> Intervals:
    center, low, high = model_intervals(model, batch, forecast, options)
    margin = margins.at(options.coverage, center.shape[1])
    return Intervals(center, *conformal.widened(low, high, margin, scale_of(forecast)))


def fit_margins(margins: conformal.Margins, model: Any, batches: OriginBatches) -> list[str]:
    """Fit the margins of every coverage to windows that nothing was learnt from; returns notes."""
    by_level: dict[float, list[np.ndarray]] = {level: [] for level in conformal.COVERAGES}
    with torch.inference_mode():
        for batch in walk(batches, model):
            seen = as_array(batch.seen)
            y = np.where(seen, as_array(batch.future), np.nan).astype(np.float64)
            forecast = model(Window(*batch[:5]))
            for level, values in by_level.items():
                _, low, high = model_intervals(model, batch, forecast, ForecastOptions(level))
                values.append(conformal.scores(y, low, high, scale_of(forecast)))
    scores = {level: np.concatenate(values) for level, values in by_level.items()}
    margins.by_coverage = {
        level: conformal.margins(values, level) for level, values in scores.items()
    }
    count = int((~np.isnan(scores[LEVEL])).sum(0).min())
    notes = [f"intervals: made to hold on {count:,} windows of the validation part"]
    if count < conformal.needed(LEVEL):
        notes.append(
            f"so few cannot promise {100 * LEVEL:g} %: intervals reach as far as the largest"
            f" error among them, which promises {100 * count / (count + 1):.0f} %; hold more"
            " out for more"
        )
    return notes


def in_units(z: Tensor, forecast: Forecasts) -> np.ndarray:
    """From units of the window to those of the series, in float64."""
    return as_array(forecast.center.double() + forecast.scale.double() * z.double())


def scale_of(forecast: Forecasts) -> np.ndarray:
    """(B, 1)"""
    return as_array(forecast.scale).astype(np.float64)
