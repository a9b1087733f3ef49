"""forecast: the past of series in, their next steps out, with intervals (many-to-many).

windows (B, L) -> encoder -> P numbers for each of H steps ahead, or step by step -> values with
intervals, which are made to hold on the validation part (`conformal.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from unspool.config import Config, declare
from unspool.data.corpus import Corpus, Fields
from unspool.data.fields.field import Field
from unspool.data.fields.history import HistoryField
from unspool.data.part import Part
from unspool.data.plan import Plan
from unspool.data.read.columns import listed_names
from unspool.data.read.recording import Recording, as_recording
from unspool.data.split import HoldOut
from unspool.data.store.columns import Progress, store_columns
from unspool.data.windows import OriginBatches, Stretches, WindowBatch
from unspool.errors import ConfigError, DataError, Option, Setting
from unspool.nn.distributions import StudentT
from unspool.nn.models.forecaster import Forecaster, Forecasts, RecursiveForecaster, Window
from unspool.tasks.examples import Example
from unspool.tasks.forecast.answer import (
    LEVEL,
    ForecastOptions,
    SeriesForecast,
    next_steps,
    spread_examples,
)
from unspool.tasks.forecast.conformal import Margins
from unspool.tasks.forecast.histories import HeldOut, future_part, load_histories, part_of
from unspool.tasks.forecast.intervals import (
    Intervals,
    calibrated_intervals,
    fit_margins,
    model_intervals,
)
from unspool.tasks.forecast.linear import fit_ridge
from unspool.tasks.forecast.models import (
    build_forecaster,
    check_forecasting,
    forecasting_models,
    linear_baselines,
)
from unspool.tasks.forecast.plan import plan_forecast
from unspool.tasks.forecast.reading import ForecastView, PastView
from unspool.tasks.forecast.report import ForecastReport, WindowScorer
from unspool.tasks.forecast.stream import HistoryStream
from unspool.tasks.linear import Fitting
from unspool.tasks.metrics import Metric
from unspool.tasks.reading import Reading
from unspool.tasks.roles import Roles
from unspool.tasks.task import RowInfo, Step, Task, as_array, chunks, walk
from unspool.text.tokenizers import Tokenizer

CHUNK = 1024  # series continued at once
APART = 40  # windows that do not overlap are enough to calibrate intervals
VALIDATED = 4000  # windows of a validation while training, at most
JUDGED = 50_000  # windows of a report, at most


class Forecast(Task):
    name = "forecast"
    roles = Roles(
        plan=plan_forecast,
        numeric=True,
        default_input="series",
        implied_by=("horizon", "known", "static"),
    )
    metric = Metric("mse", higher_is_better=False)
    settings = declare(
        data="target known static horizon season calendar valid_steps test_steps",
        model="pooling output strategy center patch skip",
        train="windows loss baseline",
    )
    unread: ClassVar = {
        "any": declare(
            data="channels max_length stride scaling missing split_seed fold fold_part",
            train="batch_tokens",
        )
    }
    default_model = "gru"
    rows = RowInfo("series")
    input_view = PastView
    answer_view = ForecastView
    answer = SeriesForecast
    items = (Recording, np.ndarray, list)
    options = ForecastOptions
    usage = "unspool predict {run} --file past.csv"
    defaults: ClassVar[Mapping[str, Any]] = {
        "model.hidden": 64,
        "model.embedding": 64,
        "model.pooling": "last",
        "model.dropout": 0.2,
        "train.batch": 128,
        "train.epochs": 30,
        "train.patience": 5,
    }

    def __init__(self, config: Config, fields: Fields) -> None:
        super().__init__(config, fields)
        squared = config.train.loss == "squared" and config.model.output in ("auto", "point")
        self.metric = Metric("mse" if squared else "mae", higher_is_better=False)
        self.margins = Margins()

    @property
    def history(self) -> HistoryField:
        field = self.fields["history"]
        assert isinstance(field, HistoryField)
        return field

    @property
    def tokenizer(self) -> Tokenizer:
        raise TypeError("series have no tokens")

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        data = config.data
        return {
            "history": HistoryField(
                "history",
                targets=listed_names(data.target),
                ahead=listed_names(data.known),
                length=data.window,
                horizon=data.horizon,
                season=data.season,
                calendar=data.calendar,
                static=listed_names(data.static),
                extra=config.model.strategy != "recursive",  # which goes on without their values
                resample=data.irregular == "resample",
            )
        }

    @classmethod
    def load_corpus(
        cls,
        config: Config,
        plans: Mapping[str, Plan],
        *,
        fitted: Tokenizer | None = None,
        progress: Progress | None = None,
    ) -> Corpus:
        data = config.data
        if data.folds or data.grouped:
            raise DataError(
                "the parts of a forecast follow each other in time",
                where=plans["train"].table.name,
                remedy=("leave out ", Option("folds", "group")),
            )
        field = cls.make_fields(config)["history"]
        assert isinstance(field, HistoryField)
        shares = HoldOut(
            valid=0.0 if "valid" in plans else data.valid_share,
            test=0.0 if "test" in plans else data.test_share,
        )
        held_out = HeldOut(shares, data.valid_steps, data.test_steps)
        return load_histories(plans, field, held_out, progress=progress)

    def encode(self, plan: Plan, progress: Progress | None = None) -> tuple[Part, list[str]]:
        stored = store_columns(plan, self.fields, progress)
        self.history.refuse_column(stored.columns["history"], plan.table.name)
        values = self.history.values(stored.columns["history"])
        return part_of(self.history, values, stored, plan), []

    def encode_future(self, plan: Plan, past: Plan) -> tuple[Part, list[str]]:
        part = future_part(self.history, plan, past)
        return part, [f"the past of each series is that of {past.table.name}"]

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return forecasting_models()

    @classmethod
    def check_config(cls, config: Config) -> None:
        check_forecasting(config)

    def build(self) -> Forecaster:
        return build_forecaster(self.config, self.history)

    @classmethod
    def baselines(cls, config: Config) -> list[Config]:
        return linear_baselines(config)

    @classmethod
    def candidates(cls) -> list[str]:
        return ["gru", "lstm", "cnn", "transformer"]

    @classmethod
    def quick_candidates(cls, config: Config) -> list[Config]:
        return linear_baselines(config)

    @property
    def at_once(self) -> bool:
        return self.config.model.network == "linear"

    def fit_model(self, parts: Mapping[str, Part]) -> Fitting:
        return fit_ridge(self, parts)

    def example_inputs(self) -> tuple[Any, ...]:
        field = self.history
        L, H = field.length, field.horizon
        extra, known = len(field.extra_channels), field.known_size
        y = torch.zeros(1, L)
        return (
            Window(
                y,
                torch.ones(1, L, dtype=torch.bool),
                torch.zeros(1, L, extra),
                torch.zeros(1, L + H, known),
                torch.tensor([L]),
            ),
        )

    def windows(
        self, part: Part, *, training: bool = False, most: int = 0, stride: int = 0
    ) -> OriginBatches:
        """The windows of a part; outside of training in order, and `stride` apart, or so far that
        there are at most `most`."""
        field, train = self.history, self.config.train
        stretches = part["history"]
        options: dict[str, Any] = {"length": field.length, "horizon": field.horizon}
        if training:
            return OriginBatches(
                stretches, **options, size=train.batch, seed=train.seed, most=train.windows
            )
        batches = OriginBatches(stretches, **options, size=512, shuffle=False, stride=stride or 1)
        if most and batches.total > most:
            stride = -(-batches.total // most)
            batches = OriginBatches(stretches, **options, size=512, shuffle=False, stride=stride)
        return batches

    def batches(self, part: Part, *, training: bool) -> OriginBatches:
        return self.windows(part, training=training, most=VALIDATED)

    def where(self, part: Part, batch: WindowBatch) -> str:
        pairs = zip(batch.rows.tolist(), batch.origins.tolist())
        named = [f"step {origin + 1} of {part.where(row)}" for row, origin in pairs]
        return "windows before " + ", ".join(named[:4])

    def loss(self, model: nn.Module, batch: WindowBatch, carry: Any) -> Step:
        assert isinstance(model, Forecaster)
        loss = model.loss(Window(*batch[:5]), batch.future, batch.seen)
        past, ahead = batch.sizes.sum(0).tolist()
        targets = past + ahead if isinstance(model, RecursiveForecaster) else ahead
        return Step(loss, targets=targets, tokens=int(batch.lengths.sum()), carry=None)

    def validate(self, model: Any, part: Part) -> dict[str, float]:
        batches, sums, losses = self.batches(part, training=False), np.zeros(3), []
        scale = part["history"].scale
        with torch.inference_mode():
            for batch in walk(batches, model):
                forecast, loss = self.forecast_and_loss(model, batch)
                center = model_intervals(model, batch, forecast, ForecastOptions()).center
                seen = as_array(batch.seen)
                y, sd = as_array(batch.future), scale[batch.rows][:, None]
                wrong = np.where(seen, (center - y) / sd, 0)
                sums += np.array([(wrong**2).sum(), np.abs(wrong).sum(), seen.sum()])
                losses.append(loss)
        return {
            "mse": float(sums[0] / max(1, sums[2])),
            "mae": float(sums[1] / max(1, sums[2])),
            "loss": float(np.mean(losses)) if losses else float("nan"),
        }

    def forecast_and_loss(self, model: Any, batch: WindowBatch) -> tuple[Forecasts, float]:
        window = Window(*batch[:5])
        forecast, loss = model.forecast_and_loss(window, batch.future, batch.seen)
        return forecast, float(as_array(loss))

    def intervals(
        self, model: Any, batch: WindowBatch, forecast: Forecasts, options: ForecastOptions
    ) -> Intervals:
        return calibrated_intervals(self.margins, model, batch, forecast, options)

    def calibrate(self, model: nn.Module, part: Part | None) -> list[str]:
        if part is None:
            return ["intervals: nothing was held out to make them hold"]
        batches = self.windows(part, stride=self.history.horizon)
        if batches.total < APART:
            batches = self.windows(part, most=VALIDATED)
        return fit_margins(self.margins, model, batches)

    def evaluate(
        self, model: Any, part: Part, options: ForecastOptions | None = None
    ) -> ForecastReport:
        options = options or ForecastOptions()
        batches = self.windows(part, most=JUDGED)
        if not batches.total:
            raise DataError(
                f"no series has more than {self.history.horizon} steps to be judged by",
                remedy=(
                    "give longer series; of a future without its past, name the file of the past"
                    " with ",
                    Option("history"),
                ),
            )
        stretches: Stretches = part["history"]
        judge = WindowScorer(
            stretches,
            horizon=self.history.horizon,
            season=self.history.season,
            level=options.coverage,
            total=batches.total,
            name=lambda row, step: self.called(part, row, step),
            dated=self.history.dated,
        )
        losses = []
        with torch.inference_mode():
            for batch in walk(batches, model):
                forecast, loss = self.forecast_and_loss(model, batch)
                judge.add(batch, self.intervals(model, batch, forecast, options))
                losses.append(loss)
        return judge.report(
            metric=self.metric.name, loss=float(np.mean(losses)), stride=batches.stride
        )

    def predict(
        self, model: nn.Module, items: Iterable[Any], options: ForecastOptions | None = None
    ) -> Iterator[SeriesForecast]:
        options = options or ForecastOptions()
        for some in chunks(items, CHUNK):
            recordings = [as_recording(item, f"item {i + 1}") for i, item in enumerate(some)]
            yield from self.continued(model, recordings, options)

    def continued(
        self, model: nn.Module, past: list[Recording], options: ForecastOptions, first: int = 0
    ) -> Iterator[SeriesForecast]:
        """The next steps of some series; `first`: steps that came before those of each."""
        field = self.history
        K = len(field.targets)
        stretches = Part.of(self.fields, history=past)["history"]
        batch = field.collate(stretches, np.arange(len(stretches)))
        with torch.inference_mode():
            forecast = model(Window(*batch[:5]))
            intervals = self.intervals(model, batch, forecast, options)
            sampled = self.sampled(model, batch, options) if options.samples else None
        for i, interval in enumerate(past):
            rows = slice(i * K, (i + 1) * K)
            yield SeriesForecast(
                interval.name,
                next_steps(interval, field, first),
                field.targets,
                center=intervals.center[rows].T,
                low=intervals.low[rows].T,
                high=intervals.high[rows].T,
                samples=None if sampled is None else sampled[rows].transpose(1, 2, 0),
                paths=isinstance(model, RecursiveForecaster),
            )

    def export_outputs(self, model: nn.Module, inputs: tuple[Any, ...]) -> dict[str, Any]:
        """The next steps (B, K, H) of all targets, and intervals where their margins are known."""
        assert isinstance(model, Forecaster)
        uncertain, window = model.uncertain, Window(*inputs)
        recursive = isinstance(model, RecursiveForecaster)
        if isinstance(uncertain, StudentT) or (recursive and uncertain.samples):
            raise ConfigError(
                "these intervals have no form in ONNX and cannot be exported",
                got=f"output={self.config.model.output}, strategy={self.config.model.strategy}",
                remedy=("train with ", Setting(output="quantiles"), ", or without it"),
            )
        forecast = model(window)
        tail, shape = (1 - LEVEL) / 2, (-1, len(self.history.targets), self.history.horizon)

        def in_units(z: Any) -> Any:
            return forecast.center + forecast.scale * z

        center = in_units(uncertain.center(forecast.outputs))
        outputs = {"values": center}
        margin = torch.from_numpy(self.margins.at(LEVEL, self.history.horizon)).float()
        if margin.isfinite().all():
            low, high = center, center
            if (
                not recursive
                and uncertain.quantile(torch.zeros(1, uncertain.size), tail) is not None
            ):
                low, high = (
                    in_units(uncertain.quantile(forecast.outputs, q)) for q in (tail, 1 - tail)
                )
            middle, wide = (low + high) / 2, forecast.scale * margin
            outputs["low"] = torch.minimum(low - wide, middle)
            outputs["high"] = torch.maximum(high + wide, middle)
        return {name: value.reshape(*shape) for name, value in outputs.items()}

    def export_answer(self) -> dict[str, Any]:
        return {"kind": "next steps", "targets": list(self.history.targets), "coverage": LEVEL}

    def sampled(self, model: Any, batch: WindowBatch, options: ForecastOptions) -> np.ndarray:
        """(B, N, H) futures of each window"""
        if not model.uncertain.samples:
            raise ConfigError(
                "there is no distribution to sample from",
                got=f"output={self.config.model.output}",
                remedy=(
                    "train with ",
                    Setting(output="gaussian"),
                    ", or leave out ",
                    Option("samples"),
                ),
            )
        return as_array(model.sample(Window(*batch[:5]), options.samples, options.seed).double())

    def stream(self, model: nn.Module, options: ForecastOptions | None = None) -> HistoryStream:
        def answer(past: Recording, first: int) -> SeriesForecast:
            return next(self.continued(model, [past], options or ForecastOptions(), first))

        return HistoryStream(self.history, answer)

    def example(self, words: list[str]) -> np.ndarray:
        """The lengths of the words, in every channel."""
        lengths = np.array([len(word) for word in words] or [1], dtype=np.float32)
        return np.repeat(lengths[:, None], len(self.history.channels), 1)

    def examples_of(self, part: Part, row: int, raw: Mapping[str, Any]) -> list[Example]:
        series, stretches = as_recording(raw["history"], "item"), part["history"]
        first, end = int(stretches.first[row]), int(stretches.end[row])
        return spread_examples(self.history, series, first, end)

    def reading(self, model: nn.Module, item: Any) -> Reading:
        if self.at_once:
            raise ConfigError(
                "a linear model has no steps to look at",
                remedy=("look at a network, such as ", Option(model="gru")),
            )
        return super().reading(model, item)

    def called(self, part: Part, row: int, step: int) -> str:
        """The caption of the window of a row that ends before a step."""
        stretches = part["history"]
        target = self.history.channels[int(stretches.channel[row])]
        several = len(np.unique(stretches.series)) > 1
        series = f"series {int(part.rows[row]) + 1}, " if several else ""
        return f"{series}{target}, from step {step + 1} on"

    def save(self, folder: Path) -> None:
        super().save(folder)
        self.margins.save(folder)

    @classmethod
    def load(cls, config: Config, folder: Path) -> Forecast:
        task = super().load(config, folder)
        assert isinstance(task, Forecast)
        task.margins.load(folder, task.history.horizon)
        return task
