"""Images, as patches, rows or columns of pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unspool.config import Config, declare
from unspool.data.fields.encoded_image import EncodedImageSource
from unspool.data.fields.field import Field
from unspool.data.fields.image import ImageSource
from unspool.data.fields.image_shape import CNN, ENCODED, ONE_SIZE, ImageShape
from unspool.data.fields.vectors import VectorField
from unspool.data.plan import Plan
from unspool.data.read import media
from unspool.errors import ConfigError, Setting
from unspool.tasks.inputs.kind import Settings
from unspool.tasks.inputs.series import SeriesKind, vector_field

COLOURS = {"auto": 0, "grey": 1, "rgb": 3}
# What a network reads where nothing else is set.
READINGS = {"transformer": "patches", "cnn": "cnn"}


def encoded_field(name: str, config: Config) -> Field:
    """Images as a trained encoder reads them: frozen, or as the first layers of the network."""
    from unspool.nn.efficientnet import FEATURES, EfficientNetLite0

    data = config.data
    shape = ImageShape(
        data.height or ENCODED, data.width or ENCODED, 3, "encoder", resize=data.resize
    )
    path = Path(data.image_encoder or "")
    if config.model.tuned_encoder:
        return VectorField(name, ImageSource(shape, encoder=path), scaling="none")
    source = EncodedImageSource(shape, read=EfficientNetLite0.read, path=path, features=FEATURES)
    return VectorField(name, source, scaling=data.scaling)


class ImageKind(SeriesKind):
    name = "image"
    medium = media.IMAGE
    rows = "images"
    settings = declare(
        data="series pattern scaling reading height width resize image_encoder patch_size colours"
        " missing",
        model="tuned_encoder flip crop colour_jitter",
    )

    def field(self, config: Config) -> Field:
        data = config.data
        if data.image_encoder is not None:
            return encoded_field(self.name, config)
        reading = READINGS.get(config.model.network, "rows")
        shape = ImageShape(
            data.height,
            data.width,
            COLOURS[data.colours],
            reading if data.reading == "auto" else data.reading,
            data.patch_size,
            data.resize,
        )
        return vector_field(ImageSource(shape), config)

    def recommended_settings(self, settings: Settings, plan: Plan | None) -> dict[str, Any]:
        network = settings.get("model.network", settings.get("network", "recurrent"))
        reading = settings.get("data.reading", settings.get("reading", "auto"))
        defaults = super().recommended_settings(settings, plan)
        if settings.get("data.image_encoder", settings.get("image_encoder")) is not None:
            reading = defaults["data.reading"] = "encoder"
        elif reading == "auto":
            reading = defaults["data.reading"] = READINGS.get(network, "rows")
        if network == "transformer" and reading in ONE_SIZE:
            defaults["model.positions"] = "learned"
        return defaults

    def described(self, settings: Settings, plan: Plan | None) -> dict[str, Any]:
        """A recurrent decoder attends to the grid of a CNN as it is."""
        defaults = self.recommended_settings(settings, plan)
        defaults.pop("model.positions", None)  # those of the text that is written
        if settings.get("model.network", settings.get("network", "recurrent")) == "recurrent":
            defaults["model.encoder"] = "none"
            if defaults.get("data.reading") == "rows":
                defaults["data.reading"] = "cnn"
        return defaults

    def check(self, config: Config) -> None:
        super().check(config)
        data = config.data
        if data.scaling == "window":
            raise ConfigError(
                "data.scaling=window is for series",
                remedy="leave it out, or set scaling=series: each image by itself",
            )
        if (data.reading == "encoder") != (data.image_encoder is not None):
            raise ConfigError(
                "data.reading=encoder and data.image_encoder go together",
                got=f"reading={data.reading}, image_encoder={data.image_encoder}",
                remedy=("name the file of a trained encoder with ", Setting(image_encoder="FILE")),
            )
        changes = config.model.flip or config.model.crop or config.model.colour_jitter
        if data.image_encoder is not None and not config.model.tuned_encoder and changes:
            raise ConfigError(
                "the features of a frozen encoder are computed once, so images cannot be changed in"
                " training",
                got="flip, crop or colour_jitter",
                remedy="leave it out, or set tuned_encoder=true",
            )
        if data.reading in CNN and config.model.patch > 1:
            raise ConfigError(
                f"model.patch joins steps before a convolution reads them: data.reading="
                f"{data.reading}",
                got=config.model.patch,
                remedy="leave it out, or set reading=columns",
            )
        if data.width and data.reading in ("columns", "cnn_columns"):
            raise ConfigError(
                f"images keep their proportions where data.reading={data.reading}",
                got=f"width={data.width}",
                remedy="set height alone",
            )
