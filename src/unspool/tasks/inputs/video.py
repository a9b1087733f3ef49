"""Videos: a step is a frame, of which an image layer makes one vector."""

from __future__ import annotations

from typing import Any

from unspool.config import Config, declare
from unspool.data.fields.field import Field
from unspool.data.fields.image_shape import ImageShape
from unspool.data.fields.video import VideoSource
from unspool.data.plan import Plan
from unspool.data.read import media
from unspool.errors import ConfigError
from unspool.tasks.inputs.image import COLOURS
from unspool.tasks.inputs.kind import Settings
from unspool.tasks.inputs.series import SeriesKind, vector_field

READINGS = ("cnn", "patches")
# A frame is read by a network of its own, so that a batch has few of them.
VIDEO: dict[str, Any] = {
    "data.reading": "cnn",
    "train.batch": 16,
    "train.batch_tokens": 1024,
    "model.hidden": 128,
}


class VideoKind(SeriesKind):
    name = "video"
    medium = media.VIDEO
    rows = "clips"
    settings = declare(
        data="series pattern scaling reading height width resize patch_size colours window stride"
        " max_length missing",
        model="flip crop colour_jitter",
    )

    def field(self, config: Config) -> Field:
        data = config.data
        reading = "cnn" if data.reading == "auto" else data.reading
        colours = COLOURS[data.colours]
        shape = ImageShape(data.height, data.width, colours, reading, data.patch_size, data.resize)
        return vector_field(VideoSource(shape), config)

    def recommended_settings(self, settings: Settings, plan: Plan | None) -> dict[str, Any]:
        return {**super().recommended_settings(settings, plan), **VIDEO}

    def check(self, config: Config) -> None:
        super().check(config)
        data = config.data
        if data.reading not in ("auto", *READINGS):
            raise ConfigError(
                "a frame is read by a CNN or as patches, and becomes one vector",
                got=f"reading={data.reading}",
                remedy="set reading=cnn or reading=patches",
            )
