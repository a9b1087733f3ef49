"""Vectors over time, as a whole or in windows."""

from __future__ import annotations

from typing import Any

from unspool.config import Config, DataConfig, declare
from unspool.data.fields.features import FeatureField
from unspool.data.fields.field import Field
from unspool.data.fields.rocket import MiniRocket
from unspool.data.fields.source import SeriesSource, VectorSource
from unspool.data.fields.vectors import VectorField
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.errors import ConfigError
from unspool.tasks.inputs.kind import InputKind, PlanRequest, Settings
from unspool.tasks.inputs.series_plan import holds_series, plan_series
from unspool.tasks.inputs.text import DIRECT_FIT
from unspool.tasks.reading_inputs import SeriesView

# Of series there are often few, and an epoch is short.
SERIES: dict[str, Any] = {
    "train.epochs": 60,
    "train.patience": 15,
    "train.lr": 2e-3,
    "model.embedding": 64,
    "model.dropout": 0.2,
    "model.word_dropout": 0.0,
}
NETWORKS: dict[str, dict[str, Any]] = {
    "recurrent": {},
    "cnn": {
        "model.layers": 3,
        "model.filters": 64,
        "model.widths": (3, 5, 7),
        "train.weight_decay": 0.01,
    },
    "transformer": {"model.layers": 2, "model.hidden": 128, "train.lr": 1e-3, "train.warmup": 0.1},
}


def vector_field(source: VectorSource, config: Config) -> Field:
    """Return the field of a source; for a linear model, of its features."""
    data = config.data
    vectors = VectorField(
        source.kind,
        source,
        scaling=data.scaling,
        irregular=data.irregular,
        max_length=data.max_length,
        window=data.window,
        missing=data.missing,
    )
    if config.model.network not in DIRECT_FIT:
        return vectors
    return FeatureField(vectors, MiniRocket() if config.model.rocket else None)


class SeriesKind(InputKind):
    name = "series"
    input_view = SeriesView
    numeric = True
    rows = "recordings"
    settings = declare(
        data="series time date_format sort id channels scaling irregular window stride max_length"
        " missing",
        model="rocket time_masks time_mask band_masks band_mask",
    )

    def field(self, config: Config) -> Field:
        return vector_field(SeriesSource(), config)

    def holds(self, table: Table, data: DataConfig) -> bool:
        return holds_series(table, data)

    def plan(self, table: Table, data: DataConfig, request: PlanRequest) -> Plan | None:
        if request.target == "caption":
            return None
        if (
            request.target == "text" and not request.named
        ):  # columns of numbers next to a text are no recording
            return None
        return plan_series(table, data, request)

    def recommended_settings(self, settings: Settings, plan: Plan | None) -> dict[str, Any]:
        network = settings.get("model.network", settings.get("network", "recurrent"))
        return {**SERIES, **NETWORKS.get(network, {})}

    def check(self, config: Config) -> None:
        data = config.data
        if data.stride and not data.window:
            raise ConfigError(
                "data.stride is from one window to the next, and there are no windows",
                got=data.stride,
                remedy="set window too",
            )
        if data.stride > data.window:
            raise ConfigError(
                f"data.stride leaves steps out: it must be at most data.window={data.window}",
                got=data.stride,
                remedy=f"set stride={data.window} or less",
            )
