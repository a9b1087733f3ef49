"""Music, as frames: which keys of a piano sound at each step."""

from __future__ import annotations

from unspool.config import Config, DataConfig
from unspool.data.fields.field import Field
from unspool.data.fields.music import MusicFrames
from unspool.data.plan import Plan
from unspool.data.read import Column, Table
from unspool.data.read.media import MUSIC
from unspool.tasks.inputs.kind import Asked
from unspool.tasks.inputs.media_plan import ROLLS, media_column, plan_media
from unspool.tasks.inputs.series import SeriesKind, network_input


def music_column(table: Table, data: DataConfig) -> Column | None:
    """The column of the music, or of the names of its files."""
    if table.format in ROLLS and data.input in ("auto", MUSIC.name):
        return table.columns[0]
    return media_column(table, data, MUSIC)


class MusicKind(SeriesKind):
    name = "music"
    rows = "pieces"

    def field(self, config: Config) -> Field:
        data = config.data
        field = MusicFrames(self.name, data.grid, max_length=data.max_length, window=data.window)
        return network_input(field, config)

    def holds(self, table: Table, data: DataConfig) -> bool:
        return music_column(table, data) is not None

    def plan(self, table: Table, data: DataConfig, asked: Asked) -> Plan | None:
        if asked.target == "text" and not asked.named:
            return None
        return plan_media(MUSIC, music_column(table, data), table, data, asked)
