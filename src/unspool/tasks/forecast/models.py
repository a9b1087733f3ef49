"""The networks that forecast: their settings in, a `Forecaster` out."""

from __future__ import annotations

from typing import Any

from unspool.config import Config
from unspool.data.fields.history import HistoryField
from unspool.errors import ConfigError
from unspool.nn.distributions import UNCERTAIN, Point, Uncertain
from unspool.nn.models.forecaster import (
    DirectForecaster,
    Forecaster,
    LinearForecaster,
    RecursiveForecaster,
)
from unspool.tasks.encoder import build_encoder, check_model, recurrent_models

CNN: dict[str, Any] = {"model.network": "cnn", "model.pooling": "max"}
TRANSFORMER: dict[str, Any] = {
    "model.network": "transformer",
    "model.layers": 2,
    "model.hidden": 64,
    "model.pooling": "mean",
    "train.lr": 5e-4,
    "train.warmup": 0.1,
}
LINEAR: dict[str, Any] = {"model.network": "linear"}


def forecasting_models() -> dict[str, dict[str, Any]]:
    """Settings by the name of a model."""
    return {**recurrent_models(), "cnn": CNN, "transformer": TRANSFORMER, "linear": LINEAR}


def check_forecasting(config: Config) -> None:
    """Refuse settings that no forecast has."""
    model, data = config.model, config.data
    check_model(model)
    if data.irregular == "channel":
        raise ConfigError(
            "data.irregular is not for forecasts as channel: windows are steps of equal length",
            got=data.irregular,
            remedy="leave it out, or use irregular=resample, which leaves gaps",
        )
    if model.strategy == "recursive" and (
        model.network != "recurrent" or model.bidirectional or model.patch > 1
    ):
        raise ConfigError(
            "strategy=recursive reads its own values step by step, which needs a recurrent model"
            " that reads forwards, without patches",
            got=config.model_name,
            remedy="use a model such as gru with patch=1, or strategy=direct",
        )


def build_forecaster(config: Config, field: HistoryField) -> Forecaster:
    model = config.model
    if model.network == "linear":
        return LinearForecaster(
            field.length, field.horizon, Point(), model.center, field.known_size
        )
    if model.strategy == "recursive":
        return RecursiveForecaster(
            build_encoder(model, field),
            horizon=field.horizon,
            uncertain=output_of(config),
            normalize=model.center,
            dropout=model.dropout,
        )
    return DirectForecaster(
        build_encoder(model, field, patch=model.patch, length=-(-field.length // model.patch)),
        length=field.length,
        horizon=field.horizon,
        uncertain=output_of(config),
        normalize=model.center,
        known=field.known_size,
        patch=model.patch,
        pooling=model.pooling,
        skip=model.skip,
        dropout=model.dropout,
    )


def output_of(config: Config) -> Uncertain:
    """A value, quantiles or a distribution for each step ahead."""
    if config.model.output in ("auto", "point"):
        return Point(config.train.loss)
    return UNCERTAIN[config.model.output]()


def linear_baselines(config: Config) -> list[Config]:
    """Ridge regression, and the same with windows that are not normalised, or are where the
    model's are not: what that alone does."""
    other = "mean" if config.model.center == "none" else "none"
    names = {"linear": config.model.center, f"linear, center={other}": other}
    return [
        config.model_copy(
            update={
                "model_name": name,
                "model": config.model.model_copy(update={"network": "linear", "center": center}),
            }
        )
        for name, center in names.items()
    ]
