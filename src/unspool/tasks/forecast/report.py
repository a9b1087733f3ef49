"""Report on forecasts, next to naive ones that learn nothing.

Windows are judged one by one as they come, at every origin of the part: errors in the units of the
file and in standard deviations of what each series was trained on, sMAPE, MASE, and how often the
interval holds the truth. Windows that overlap are not independent, so that the interval of a mean
is a bootstrap over blocks of windows that follow each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from unspool.data.read.recording import time_name
from unspool.data.windows import Stretches, WindowBatch
from unspool.tasks.forecast import metrics
from unspool.tasks.forecast.intervals import Intervals
from unspool.tasks.forecast.naive import NAIVE, NaiveForecast, ets, naive2, theta
from unspool.tasks.task import Report, as_array

SHOWN = ("mse", "mae", "smape", "mase")
COMPARED = 1000  # windows at most for which methods that look at the whole past are made
EXAMPLES = 6  # of a report that are kept for a picture


class Pasts(NamedTuple):
    """Values before some windows, gaps filled with the value before them.

    values   (M,) of their series, one after the other, each from its first value on
    begin    (B,) where the series of each window begins in it, and where the window
    origins  (B,) has its origin; no value came before where the two are equal
    """

    values: np.ndarray
    begin: np.ndarray
    origins: np.ndarray

    def select(self, some: np.ndarray) -> Pasts:
        return Pasts(self.values, self.begin[some], self.origins[some])


class WindowScorer:
    """Collects figures of windows, batch by batch.

    season    of the series, for MASE and the seasonal naive forecast
    level     that the intervals promise
    total     windows that will come
    name      of the window of a row that ends before a step, for a picture
    dated     whether times are dates, which a picture shows
    """

    def __init__(
        self,
        stretches: Stretches,
        *,
        horizon: int,
        season: int,
        level: float,
        total: int,
        name: Callable[[int, int], str],
        dated: bool = False,
    ) -> None:
        self.stretches, self.horizon, self.season = stretches, horizon, season
        self.dated = dated
        self.level, self.total, self.name = level, total, name
        self.figures: dict[str, dict[str, list[np.ndarray]]] = {}
        self.rows: list[np.ndarray] = []
        self.origins: list[np.ndarray] = []
        self.by_step = np.zeros((2, horizon))  # sums of squared errors, and how many
        self.examples: list[dict[str, Any]] = []
        self.seen = 0
        self._scales: dict[int, float] = {}

    def add(self, batch: WindowBatch, forecast: Intervals) -> None:
        y = np.where(as_array(batch.seen), as_array(batch.future), np.nan).astype(np.float64)
        sd = self.stretches.scale[batch.rows]
        pasts = self._pasts(batch.rows, batch.origins)
        scales = np.array([self._scales[row] for row in batch.rows.tolist()])
        figures = self._figures(y, forecast.center, sd, scales)
        inside = metrics.covered(y, forecast.low, forecast.high)
        width = metrics.mean_seen(forecast.high - forecast.low) / sd
        tail = (1 - self.level) / 2
        lost = metrics.pinball(y, forecast.low, tail) + metrics.pinball(y, forecast.high, 1 - tail)
        self._keep("", {**figures, "coverage": inside, "width": width, "pinball": lost / 2 / sd})
        for name, method in NAIVE.items():
            self._keep(name, self._figures(y, self._continued(method, pasts), sd, scales))
        every = max(1, -(-self.total // COMPARED))
        chosen = np.flatnonzero((self.seen + np.arange(len(y))) % every == 0)
        if len(chosen):
            for name, method in {"naive2": naive2, "theta": theta, "ets": ets}.items():
                continued = self._continued(method, pasts.select(chosen))
                few = self._figures(y[chosen], continued, sd[chosen], scales[chosen])
                self._keep(name, few)
            self._keep("with naive2", {key: figures[key][chosen] for key in ("smape", "mase")})
        errors = ((y - forecast.center) / sd[:, None]) ** 2
        self.by_step += np.stack([np.nansum(errors, 0), (~np.isnan(errors)).sum(0)])
        self._keep_examples(batch, y, forecast)
        self.rows.append(batch.rows)
        self.origins.append(batch.origins)
        self.seen += len(y)

    def _figures(
        self, y: np.ndarray, forecast: np.ndarray, sd: np.ndarray, scales: np.ndarray
    ) -> dict[str, np.ndarray]:
        mse, mae = metrics.mse(y, forecast), metrics.mae(y, forecast)
        return {
            "mse": mse / sd**2,
            "mae": mae / sd,
            "smape": metrics.smape(y, forecast),
            "mase": mae / scales,
            "mse_raw": mse,
            "mae_raw": mae,
        }

    def _keep(self, name: str, figures: dict[str, np.ndarray]) -> None:
        kept = self.figures.setdefault(name, {})
        for key, values in figures.items():
            kept.setdefault(key, []).append(values)

    def _continued(self, forecast: NaiveForecast, pasts: Pasts) -> np.ndarray:
        """(B, H) naive forecasts of windows; NaN where no value came before."""
        known = pasts.origins > pasts.begin
        if known.all():
            return forecast(*pasts, self.horizon, self.season)
        values = np.full((len(known), self.horizon), np.nan)
        values[known] = forecast(*pasts.select(known), self.horizon, self.season)
        return values

    def _pasts(self, rows: np.ndarray, origins: np.ndarray) -> Pasts:
        """The pasts of windows that are sorted by row; keeps the scale of each row."""
        starts = np.flatnonzero(np.r_[True, np.diff(rows) != 0])
        counts = np.diff(np.r_[starts, len(rows)])
        series, firsts = [], []
        for row in rows[starts].tolist():
            values, first = self._series(row)
            if row not in self._scales:
                self._scales[row] = self._scale(row, values, first)
            series.append(values)
            firsts.append(first)
        ends = np.cumsum([len(row) for row in series])
        begin = np.repeat(ends - [len(row) for row in series], counts)
        within = np.maximum(origins - np.repeat(firsts, counts), 0)
        return Pasts(np.concatenate(series), begin, begin + within)

    def _series(self, row: int) -> tuple[np.ndarray, int]:
        """A series from its first value on, which stands at a step, gaps with the value before
        them."""
        whole = self.stretches.past(row, int(self.stretches.end[row])).astype(np.float64)
        gaps = np.isnan(whole)
        if not gaps.any():
            return whole, 0
        first = int(gaps.argmin())
        return filled(whole[first:]), first

    def _scale(self, row: int, series: np.ndarray, first: int) -> float:
        """The scale of MASE, by the past before the first forecast of the series."""
        past = series[: max(0, int(self.stretches.first[row]) - first)]
        return metrics.seasonal_error(past, self.season)

    def _keep_examples(self, batch: WindowBatch, y: np.ndarray, forecast: Intervals) -> None:
        every = max(1, self.total // EXAMPLES)
        for i in np.flatnonzero((self.seen + np.arange(len(y))) % every == 0):
            if len(self.examples) == EXAMPLES:
                return
            length = int(batch.lengths[i])
            past = np.where(
                as_array(batch.observed[i, :length]), as_array(batch.y[i, :length]), np.nan
            )
            self.examples.append(
                {
                    "dates": self._dates(batch, int(i)),
                    "name": self.name(int(batch.rows[i]), int(batch.origins[i])),
                    "past": rounded(past),
                    "true": rounded(y[i]),
                    "predicted": rounded(forecast.center[i]),
                    "low": rounded(forecast.low[i]),
                    "high": rounded(forecast.high[i]),
                }
            )

    def _dates(self, batch: WindowBatch, i: int) -> list[str]:
        """Dates of the steps of a window, past and ahead; none where there are no dates."""
        times = self.stretches.known.times
        if times is None or not self.dated:
            return []
        origin = int(batch.origins[i])
        first, end = origin - int(batch.lengths[i]), origin + self.horizon
        steps = np.asarray(times[int(self.stretches.series[batch.rows[i]])])[first:end]
        names = [time_name(time, dated=True) for time in steps.tolist()]
        midnight = all(name.endswith(" 00:00:00") for name in names)
        return [name.removesuffix(" 00:00:00" if midnight else ":00") for name in names]

    def report(self, *, metric: str, loss: float, stride: int) -> ForecastReport:
        figures = {
            name: {key: np.concatenate(values) for key, values in series.items()}
            for name, series in self.figures.items()
        }
        return ForecastReport(
            figures,
            np.concatenate(self.rows),
            np.concatenate(self.origins),
            metric=metric,
            loss=loss,
            horizon=self.horizon,
            stride=stride,
            season=self.season,
            level=self.level,
            by_step=self.by_step[0] / np.maximum(self.by_step[1], 1),
            examples=self.examples,
        )


def filled(series: np.ndarray) -> np.ndarray:
    """Each gap with the value before it."""
    latest = np.maximum.accumulate(np.where(np.isnan(series), 0, np.arange(len(series))))
    return series[latest]


def rounded(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(x) else float(f"{x:.6g}") for x in values.tolist()]


def mean(values: np.ndarray) -> float:
    seen = values[~np.isnan(values)]
    return float(seen.mean()) if len(seen) else float("nan")


class ForecastReport(Report):
    """figures   by forecaster, "" is the model itself: each a dict of (W,), one a window"""

    def __init__(
        self,
        figures: dict[str, dict[str, np.ndarray]],
        rows: np.ndarray,
        origins: np.ndarray,
        *,
        metric: str,
        loss: float,
        horizon: int,
        stride: int,
        season: int,
        level: float,
        by_step: np.ndarray,
        examples: list[dict[str, Any]],
    ) -> None:
        self.metric, self.horizon, self.season, self.level = metric, horizon, season, level
        self.windows, self.series = len(rows), len(np.unique(rows))
        self.by_step, self.examples = by_step, examples
        means = {
            name: {key: mean(values) for key, values in figure.items()}
            for name, figure in figures.items()
        }
        self.naive = {
            name: value for name, value in means.items() if name not in ("", "with naive2")
        }
        self.compared = len(figures["naive2"]["smape"])
        self.untrained = {
            name: value[metric]
            for name, value in self.naive.items()
            if len(figures[name][metric]) == self.windows
        }
        self.metrics = {
            **means[""],
            "owa": metrics.owa(means["with naive2"], means["naive2"]),
            "loss": loss,
        }
        # One score a block of windows that follow each other within a horizon
        per_block = max(1, horizon // stride)
        order = np.lexsort((origins, rows))
        starts = np.flatnonzero(np.r_[True, np.diff(rows[order]) != 0])
        number = np.arange(len(rows)) - np.repeat(starts, np.diff(np.r_[starts, len(rows)]))
        block = np.cumsum(number % per_block == 0) - 1
        scores = figures[""][metric][order]
        seen = ~np.isnan(scores)
        self.weights = np.bincount(block[seen], minlength=block[-1] + 1)
        sums = np.bincount(block[seen], scores[seen], minlength=block[-1] + 1)
        self.scores = np.divide(sums, self.weights, out=np.zeros_like(sums), where=self.weights > 0)
        self.interval = self.interval_over([self])

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "forecast",
            "windows": self.windows,
            "series": self.series,
            "horizon": self.horizon,
            "season": self.season,
            "level": self.level,
            **self.metrics,
            f"{self.metric}_interval": list(self.interval),
            "naive": self.naive,
            "owa_windows": self.compared,
            "mse_by_step": [float(f"{x:.6g}") for x in self.by_step],
            "forecasts": self.examples,
        }

    def lines(self) -> list[str]:
        m = self.metrics
        rows = [["", *(key.upper() if key != "smape" else "sMAPE %" for key in SHOWN)]]
        shown = {"this model": m, **self.naive}
        for name, figure in sorted(shown.items(), key=lambda item: item[1][self.metric]):
            rows.append([name, *(f"{figure[key]:.4f}" for key in SHOWN)])
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        table = [
            "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths)))
            for row in rows
        ]
        low, high = self.interval
        few = "" if self.compared == self.windows else f" (of {self.compared:,} windows)"
        return [
            f"{self.windows:,} forecasts of {self.horizon} steps, in {self.series:,} series;"
            " MSE and MAE in standard deviations of what was trained on",
            "",
            *table,
            "",
            f"95 % interval of {self.metric.upper()}: {low:.4f} to {high:.4f};"
            f" OWA {m['owa']:.3f}{few}",
            f"intervals of {100 * self.level:g} % hold {100 * m['coverage']:.1f} % of the truth;"
            f" mean width {m['width']:.3f}, pinball loss of their bounds {m['pinball']:.4f}",
        ]
