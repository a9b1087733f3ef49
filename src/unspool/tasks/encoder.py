"""From the `model` section of a config to an encoder; the names of the recurrent models.

The name of such a model is its cell's, with `bi` before it for both directions: lstm, bilstm, ...
"""

from __future__ import annotations

import math
from typing import Any

from unspool.config import Config, ModelConfig
from unspool.errors import ConfigError, choose
from unspool.nn.cells import CELLS, cell_options
from unspool.nn.encoders import ConvolutionTextEncoder, TextEncoder, TransformerTextEncoder
from unspool.nn.transformer_blocks import TransformerOptions

AnyTextEncoder = TextEncoder | ConvolutionTextEncoder | TransformerTextEncoder


def recurrent_models() -> dict[str, dict[str, Any]]:
    """The name of each recurrent model with the settings that it stands for."""
    one = {cell: {"model.cell": cell, "model.bidirectional": False} for cell in CELLS}
    both = {f"bi{cell}": {"model.cell": cell, "model.bidirectional": True} for cell in CELLS}
    return one | both


def build_text_encoder(
    model: ModelConfig, vocab: int, *, length: int = 0, cls: bool = False, beside: int = 0
) -> AnyTextEncoder:
    """The encoder that a config describes, whatever its network; it may read in both directions.

    `length` is that of the longest text, 0 where it is not known; `cls` asks a Transformer for a
    place before the text; `beside` is the size of further vectors of the tokens.
    """
    if model.network == "recurrent":
        return build_encoder(model, vocab, beside=beside)
    if model.network == "cnn":
        return ConvolutionTextEncoder(
            vocab,
            embedding=model.embedding,
            embedding_std=model.embedding_std or 0.1,
            filters=model.filters,
            widths=model.widths,
            layers=model.layers,
            dropout=model.dropout,
            word_dropout=model.word_dropout,
            beside=beside,
        )
    # One place more than the text has tokens, for the cls vector.
    options = transformer_options(model, length=length + 1 if length else None)
    return TransformerTextEncoder(
        vocab, options, cls=cls, word_dropout=model.word_dropout, beside=beside
    )


def build_encoder(
    model: ModelConfig, vocab: int, *, embedding_std: float = 0.1, beside: int = 0
) -> TextEncoder:
    """The recurrent encoder that a config describes, for a vocabulary of `vocab` tokens.

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
        beside=beside,
        options=checked_options(model),
    )


def transformer_options(model: ModelConfig, *, length: int | None = None) -> TransformerOptions:
    """What a Transformer is built from; `length` is the longest text, for learned positions."""
    return TransformerOptions(
        model.hidden,
        model.heads,
        layers=model.layers,
        hidden=model.feed_forward or None,
        dropout=model.dropout,
        attention_dropout=model.attention_dropout,
        activation=model.activation,
        norm=model.norm,
        epsilon=model.epsilon,
        embedding_norm=model.embedding_norm,
        positions=model.positions,
        length=model.context or length,
        kind=model.self_attention,
        window=model.window if model.self_attention == "window" else None,
        embedding_std=model.embedding_std or None,
    )


def check_model(model: ModelConfig) -> None:
    """Refuse, with a reason, a network that cannot be built."""
    if model.network == "recurrent":
        try_cell(model)
        return
    if model.options:
        raise ConfigError(
            f"a {model.network} has no cell, so it takes no options of one",
            where="model.options",
            got=next(iter(model.options)),
            remedy="leave it out",
        )
    if model.network == "cnn":
        return
    if model.hidden % model.heads:
        raise ConfigError(
            f"model.hidden must be a multiple of model.heads={model.heads}",
            got=model.hidden,
            remedy=f"set hidden={-(-model.hidden // model.heads) * model.heads}",
        )
    if model.positions == "rotary" and model.hidden // model.heads % 2:
        raise ConfigError(
            "rotary positions turn pairs of elements, so hidden / heads must be even",
            got=f"{model.hidden} / {model.heads}",
            remedy="choose another hidden or heads, or other positions",
        )


def check_learned_positions(config: Config) -> None:
    """Learned positions need to know how long a text can be."""
    if config.model.network != "transformer" or config.model.positions != "learned":
        return
    if not config.data.max_length:
        raise ConfigError(
            "model.positions=learned needs a longest text",
            got="data.max_length=0",
            remedy="set max_length=512 or so, or other positions",
        )
    check_context(config, "data.max_length", config.data.max_length)


def check_context(config: Config, name: str, length: int) -> None:
    """A text may not be longer than there are learned positions."""
    context = config.model.context
    if config.model.positions == "learned" and 0 < context < length:
        raise ConfigError(
            f"{name} must be at most model.context={context}: there are no more positions",
            got=length,
            remedy=f"set {name.split('.')[1]}={context}",
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
