"""What a task reads: the field of texts or of series that the settings describe, the defaults that
suit it, and recordings in windows, whose answers are merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from unspool.config import Config, DataConfig
from unspool.data.fields.bags import NgramField
from unspool.data.fields.field import Field
from unspool.data.fields.joined import JoinedField
from unspool.data.fields.series import SeriesField
from unspool.data.fields.series_features import FeatureField
from unspool.data.fields.text import TextField
from unspool.data.fields.vocabulary import made_of_words
from unspool.data.part import Part
from unspool.data.plan import Plan
from unspool.data.store.ragged import Windows, cut_windows
from unspool.errors import ConfigError
from unspool.nn.models.ensemble import Kind, average
from unspool.tasks.size import longest_document

AT_ONCE = ("linear", "constant")  # networks that are not trained by steps

# Of series there are often few, and an epoch is short.
SERIES: dict[str, Any] = {
    "train.epochs": 60,
    "train.patience": 15,
    "train.lr": 2e-3,
    "model.embedding": 64,
    "model.dropout": 0.2,
    "model.word_dropout": 0.0,
}
SERIES_NETWORKS: dict[str, dict[str, Any]] = {
    "recurrent": {},
    "cnn": {
        "model.layers": 3,
        "model.filters": 64,
        "model.widths": (3, 5, 7),
        "train.weight_decay": 0.01,
    },
    "transformer": {
        "model.layers": 2,
        "model.hidden": 128,
        "train.lr": 1e-3,
        "train.warmup": 0.1,
    },
}
# Of texts that are not made of words, chosen on folds of the splice data and of names: characters
# are few and frequent, so their vectors start large and all learns faster.
CHARACTERS: dict[str, Any] = {
    "model.embedding": 32,
    "model.embedding_std": 1.0,
    "model.dropout": 0.3,
    "model.word_dropout": 0.1,
    "train.lr": 3e-3,
    "train.schedule": "linear",
    "train.least_steps": 3000,
}
TEXT_ONLY = ("max_length",)


def reads_series(config: Config) -> bool:
    return config.data.input == "series"


def read_field(config: Config) -> Field:
    """The field of what is read, not fitted; of an ensemble, those of its models."""
    if config.members:
        members = [read_field(own) for own in config.members]
        return JoinedField(members[0].name, members)
    if reads_series(config):
        return series_field(config)
    if config.model.network in AT_ONCE:
        return NgramField(
            "text",
            config.tokenizer,
            longest=None if config.model.network == "linear" else 0,
            max_length=longest_document(config),
        )
    return TextField(
        "text",
        config.tokenizer,
        max_length=longest_document(config),
        spelled=config.embedding.contextual is not None,
    )


def series_field(config: Config) -> SeriesField:
    kind = FeatureField if config.model.network in AT_ONCE else SeriesField
    data = config.data
    return kind(
        "series",
        scaling=data.scaling,
        irregular=data.irregular,
        max_length=data.max_length,
        window=data.window,
        missing=data.missing,
    )


def suited_to_series(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults where series are read; `settings` may leave out sections."""
    if settings.get("data.input", settings.get("input")) != "series":
        return {}
    network = settings.get("model.network", settings.get("network", "recurrent"))
    return {**SERIES, **SERIES_NETWORKS.get(network, {})}


def suited_to_characters(settings: Mapping[str, Any], plan: Plan | None) -> dict[str, Any]:
    """Defaults where texts are not made of words."""
    kind = settings.get("tokenizer.kind", settings.get("kind", "auto"))
    if kind == "auto" and plan is not None and "text" in plan.columns:
        texts = [value for value in plan.columns["text"].sample if isinstance(value, str)]
        kind = "word" if made_of_words(texts) else "char"
    network = settings.get("model.network", settings.get("network", "recurrent"))
    return CHARACTERS if kind == "char" and network in ("recurrent", "cnn") else {}


def check_series(config: Config) -> None:
    """Refuse settings of series where texts are read, and the other way round."""
    data = config.data
    if not reads_series(config):
        named = [name for name in ("window", "stride", "channels") if getattr(data, name)]
        if named:
            other = "; a Transformer's is model.attention_window" if named == ["window"] else ""
            raise ConfigError(
                f"data.{named[0]} is for series, and texts are read{other}",
                got=getattr(data, named[0]),
                remedy="leave it out, or name the columns of series with --series",
            )
        return
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
    if config.embedding.file is not None or config.embedding.contextual is not None:
        raise ConfigError(
            "word vectors are for texts, and series are read", remedy="leave them out"
        )


def windows_of(part: Part, field: str, data: DataConfig) -> Windows | None:
    """The windows that the rows of a part are read in; None: each as a whole."""
    if not data.window:
        return None
    stride = data.stride or max(1, data.window // 2)
    return cut_windows(part[field].lengths, data.window, stride)


def merged(scores: np.ndarray, windows: Windows, kind: Kind) -> np.ndarray:
    """Scores (W, C) of windows to those of their recordings (N, C): of the mean of their
    probabilities, or the mean of their numbers."""
    cuts = np.flatnonzero(np.diff(windows.origin)) + 1
    parts = np.split(scores, cuts)
    means = [average(torch.from_numpy(own[:, None]), kind) for own in parts]  # (1, C) each
    return torch.cat(means).numpy()
