"""Movements of a pen: letters, digits, drawings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unspool.config import Config, DataConfig
from unspool.data.fields.field import Field
from unspool.data.fields.strokes import Preparation, StrokeFeatures, StrokesField
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.tasks.inputs.kind import InputKind, Target
from unspool.tasks.inputs.series import NETWORKS, SERIES, SeriesKind
from unspool.tasks.inputs.text import AT_ONCE
from unspool.tasks.strokes_plan import find_strokes, plan_strokes


class StrokesKind(InputKind):
    name = "strokes"
    rows = "drawings"

    def field(self, config: Config) -> Field:
        kind = StrokeFeatures if config.model.network in AT_ONCE else StrokesField
        return kind(self.name, preparation(config.data), max_length=config.data.max_length)

    def holds(self, table: Table, data: DataConfig) -> bool:
        return find_strokes(table, data) is not None

    def plan(
        self,
        task: str,
        table: Table,
        data: DataConfig,
        *,
        target: Target,
        named: bool,
        outputs: bool,
    ) -> Plan | None:
        return plan_strokes(task, table, data, target=target, named=named, outputs=outputs)

    def suited(self, settings: Mapping[str, Any], plan: Plan | None) -> dict[str, Any]:
        network = settings.get("model.network", settings.get("network", "recurrent"))
        return {**SERIES, **NETWORKS.get(network, {})}

    def check(self, config: Config) -> None:
        SeriesKind().check(config)

    def reading(self, target: str) -> Any:
        return SeriesKind().reading(target)


def preparation(data: DataConfig) -> Preparation:
    return Preparation(
        smoothing=data.stroke_smoothing,
        tolerance=data.stroke_tolerance,
        slant=data.stroke_slant,
        size=data.stroke_size,
        layout=data.stroke_layout,
    )
