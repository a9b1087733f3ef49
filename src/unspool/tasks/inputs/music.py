"""Music, as frames: which keys of a piano sound at each step."""

from __future__ import annotations

from unspool.config import Config, declare
from unspool.data.fields.field import Field
from unspool.data.fields.music import PianoRoll
from unspool.data.read import media
from unspool.tasks.inputs.series import SeriesKind, vector_field


class MusicKind(SeriesKind):
    name = "music"
    medium = media.MUSIC
    rows = "pieces"
    settings = declare(
        data="max_length series pattern grid window stride",
        model="rocket time_masks time_mask band_masks band_mask",
    )

    def field(self, config: Config) -> Field:
        return vector_field(PianoRoll(config.data.grid), config)
