"""From the `model` section of a config to an encoder; the names of the models.

A model name is a cell's, with `bi` before it for both directions: lstm, bilstm, gru, bigru, ...
"""

from __future__ import annotations

import math
from typing import Any

from unspool.config import ModelConfig
from unspool.errors import ConfigError, choose
from unspool.nn.cells import CELLS, cell_options
from unspool.nn.encoders import TextEncoder


def models() -> dict[str, dict[str, Any]]:
    """Every model name with the settings that it stands for."""
    one = {cell: {"model.cell": cell, "model.bidirectional": False} for cell in CELLS}
    both = {f"bi{cell}": {"model.cell": cell, "model.bidirectional": True} for cell in CELLS}
    return one | both


def model_settings(name: str, *, where: object = None) -> dict[str, Any]:
    """The settings behind a model name; a ConfigError with the nearest name for an unknown one."""
    return models()[choose("model", name, models(), where=where)]


def build_encoder(model: ModelConfig, vocab: int, *, embedding_std: float = 0.1) -> TextEncoder:
    """The encoder that a config describes, for a vocabulary of `vocab` tokens.

    `embedding_std` is used where the config leaves it open: small vectors keep a classifier or a
    tied output layer calm, but starve a language model's gates, which then learn slowly.
    """
    return TextEncoder(
        vocab,
        embedding=model.embedding,
        embedding_std=model.embedding_std or embedding_std,
        cell=model.cell,
        hidden=model.hidden,
        layers=model.layers,
        bidirectional=model.bidirectional,
        dropout=model.dropout,
        word_dropout=model.word_dropout,
        options=checked_options(model),
    )


def checked_options(model: ModelConfig) -> dict[str, Any]:
    """The cell's options with the types of their defaults; unknown ones are refused."""
    choose("cell", model.cell, CELLS)
    known = cell_options(CELLS[model.cell])
    checked = {}
    for name, value in model.options.items():
        choose(f"option of the cell {model.cell}", name, known, where="model.options")
        checked[name] = _as(type(known[name]), value, f"model.options.{name}")
    return checked


def try_cell(model: ModelConfig) -> None:
    """Refuse options of the cell, by making a small one: it alone knows which values it takes."""
    options = checked_options(model)
    try:
        CELLS[model.cell](1, 1, **options)
    except ConfigError as error:
        raise ConfigError(str(error), where="model.options") from None


def _as(kind: type, value: Any, where: str) -> Any:
    if kind is bool and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    names = {int: "a whole number", float: "a finite number", str: "a word", bool: "true or false"}
    try:
        converted = kind(value) if kind in (int, float, str) else value
        if kind is bool and not isinstance(value, bool):
            raise ValueError
        if kind is float and not math.isfinite(float(converted)):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        what = names.get(kind, kind.__name__)
        raise ConfigError(
            f"must be {what}", where=where, got=value, remedy="`unspool settings` shows an example"
        ) from None
    return converted
