"""Movements of a pen: letters, digits, drawings."""

from __future__ import annotations

from unspool.config import Config, DataConfig, declare
from unspool.data.fields.field import Field
from unspool.data.fields.strokes import Preparation, StrokesSource
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.tasks.inputs.kind import PlanRequest
from unspool.tasks.inputs.series import SeriesKind, vector_field
from unspool.tasks.inputs.strokes_plan import find_strokes, plan_strokes


class StrokesKind(SeriesKind):
    name = "strokes"
    typed = True
    numeric = False
    rows = "drawings"
    settings = declare(
        data="series stroke_layout stroke_smoothing stroke_tolerance stroke_slant stroke_size"
        " max_length missing",
        model="rocket time_masks time_mask band_masks band_mask",
    )

    def field(self, config: Config) -> Field:
        return vector_field(StrokesSource(preparation(config.data)), config)

    def holds(self, table: Table, data: DataConfig) -> bool:
        return find_strokes(table, data) is not None

    def plan(self, table: Table, data: DataConfig, request: PlanRequest) -> Plan | None:
        return None if request.target == "caption" else plan_strokes(table, data, request)


def preparation(data: DataConfig) -> Preparation:
    return Preparation(
        smoothing=data.stroke_smoothing,
        tolerance=data.stroke_tolerance,
        slant=data.stroke_slant,
        size=data.stroke_size,
        layout=data.stroke_layout,
    )
