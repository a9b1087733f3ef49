"""Recordings of sound, as frames of their spectrum."""

from __future__ import annotations

from typing import Any

from unspool.config import Config, declare
from unspool.data.fields.audio import AudioSource
from unspool.data.fields.audio_frames import Framing
from unspool.data.fields.field import Field
from unspool.data.plan import Plan
from unspool.data.read import media
from unspool.errors import ConfigError
from unspool.tasks.inputs.kind import Settings
from unspool.tasks.inputs.series import SeriesKind, vector_field

MASKS: dict[str, Any] = {"model.time_masks": 2, "model.band_masks": 2}


class AudioKind(SeriesKind):
    name = "audio"
    medium = media.AUDIO
    rows = "recordings"
    settings = declare(
        data="series pattern rate frame hop bands features coefficients scaling window stride"
        " max_length missing",
        model="rocket time_masks time_mask band_masks band_mask band_warp",
    )

    def field(self, config: Config) -> Field:
        data = config.data
        framing = Framing(
            data.rate, data.frame, data.hop, data.bands, data.features, data.coefficients
        )
        return vector_field(AudioSource(framing), config)

    def recommended_settings(self, settings: Settings, plan: Plan | None) -> dict[str, Any]:
        return {**super().recommended_settings(settings, plan), **MASKS}

    def check(self, config: Config) -> None:
        super().check(config)
        data = config.data
        if data.features == "mfcc" and config.model.band_warp:
            raise ConfigError(
                "model.band_warp moves bands of a spectrum, and features=mfcc has none",
                got=config.model.band_warp,
                remedy="leave it out, or use features=logmel",
            )
        if data.features == "mfcc" and data.coefficients > data.bands:
            raise ConfigError(
                f"data.coefficients must be at most data.bands={data.bands}",
                got=data.coefficients,
                remedy=f"set coefficients={data.bands} or fewer",
            )
