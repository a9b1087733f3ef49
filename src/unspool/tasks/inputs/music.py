"""Music, as frames: which keys of a piano sound at each step."""

from __future__ import annotations

from unspool.config import Config, DataConfig, declare
from unspool.data.fields.field import Field
from unspool.data.fields.music import PianoRoll
from unspool.data.plan import Plan
from unspool.data.read import Table
from unspool.data.read.media import MUSIC
from unspool.tasks.inputs.kind import Asked
from unspool.tasks.inputs.media_plan import media_column, plan_media
from unspool.tasks.inputs.series import SeriesKind, vector_field


class MusicKind(SeriesKind):
    name = "music"
    rows = "pieces"
    settings = declare(
        data="series pattern grid window stride", model="time_masks time_mask band_masks band_mask"
    )

    def field(self, config: Config) -> Field:
        return vector_field(PianoRoll(config.data.grid), config)

    def holds(self, table: Table, data: DataConfig) -> bool:
        return media_column(table, data, MUSIC) is not None

    def plan(self, table: Table, data: DataConfig, asked: Asked) -> Plan | None:
        if asked.target == "text" and not asked.named:
            return None
        return plan_media(MUSIC, media_column(table, data, MUSIC), table, data, asked)
