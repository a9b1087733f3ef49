"""From the field that is read and the `model` section of a config to an encoder.

The name of such a model is its cell's, with `bi` before it for both directions: lstm, bilstm, ...
"""

from __future__ import annotations

import math
from typing import Any

from unspool.config import Config, ModelConfig
from unspool.config.numbers import refuse_too_large
from unspool.data.fields.field import Field
from unspool.data.fields.image_shape import ONE_SIZE
from unspool.errors import ConfigError, choose
from unspool.nn.cells import CELLS, cell_options
from unspool.nn.convolution import ConvolutionStack
from unspool.nn.encoder import Encoder
from unspool.nn.images import Augmentation
from unspool.nn.inputs import AddFeatures, ClassToken, ConcatFeatures, Masks
from unspool.nn.network import Network, PassThrough
from unspool.nn.pairs import Between, BidirectionalAttention, DecomposableAttention, SegmentVectors
from unspool.nn.recurrent import Recurrent
from unspool.nn.transformer import TransformerDecoder, TransformerEncoder
from unspool.nn.transformer_blocks import TransformerOptions
from unspool.tasks.input_layers import InputOptions, input_layer


def recurrent_models() -> dict[str, dict[str, Any]]:
    """The name of each recurrent model with the settings that it stands for."""
    one = {cell: {"model.cell": cell, "model.bidirectional": False} for cell in CELLS}
    both = {f"bi{cell}": {"model.cell": cell, "model.bidirectional": True} for cell in CELLS}
    return one | both


def build_encoder(
    model: ModelConfig,
    field: Field,
    *,
    length: int = 0,
    embedding_std: float = 0.1,
    cls: bool = False,
    causal: bool = False,
    extra: int = 0,
    reverse: bool = False,
    patch: int = 1,
    channels: int = 0,
    pair: bool = False,
) -> Encoder:
    """The encoder of a field that a config describes, whatever its network.

    length         of the longest text, for learned positions; 0 where it is not known
    embedding_std  where the config leaves it open: small vectors keep a classifier or a tied output
                   layer calm, but starve a language model's gates, which then learn slowly
    cls            a Transformer reads a learned vector before the text
    causal         each step of a Transformer sees those before it alone
    extra          size of extra features of the tokens
    patch          steps of vectors over time that are read as one
    channels       of vectors over time that a layer before the encoder makes of those of the field,
                   of which it hides parts itself; 0: it reads those of the field
    pair           two texts are read, as `model.pair` says
    """
    options = InputOptions(
        size=model.embedding,
        std=model.embedding_std or embedding_std,
        scale=1.0,
        dropout=model.dropout,
        word_dropout=model.word_dropout,
        patch=patch,
        channels=channels,
        masks=Masks() if channels else masks_of(model),
        augmentation=Augmentation(model.flip, model.crop, model.colour_jitter),
    )
    if model.network == "transformer":
        return transformer_encoder(
            model,
            field,
            options,
            length=field.form.most_steps or length,
            cls=cls,
            causal=causal,
            extra=extra,
            reverse=reverse,
            pair=pair,
        )
    inputs = input_layer(field, options)
    joined = ConcatFeatures(inputs, extra) if extra else None
    size = inputs.size if joined is None else joined.size
    network = build_network(model, size, steps=field.form.most_steps)
    between = build_between(model, network) if pair else None
    return Encoder(inputs, network, extra=joined, reverse=reverse, between=between)


def transformer_encoder(
    model: ModelConfig,
    field: Field,
    inputs: InputOptions,
    *,
    length: int,
    cls: bool,
    causal: bool,
    extra: int,
    reverse: bool,
    pair: bool,
) -> Encoder:
    """`build_encoder` of a Transformer."""
    # One position more than the text has tokens, for the cls vector or </s>.
    options = transformer_options(model, length=length + 1 if length else None)
    # Dropout of the vectors is the network's: it adds positions to them before.
    layer = input_layer(
        field,
        inputs._replace(size=options.width, std=options.std, scale=options.scale, dropout=0.0),
    )
    # Layers draw their weights from one generator: their order is part of a seed.
    added = AddFeatures(layer, extra) if extra else None
    token = ClassToken(options.width) if cls else None
    network: Network = (
        TransformerDecoder(options, cross=False) if causal else TransformerEncoder(options)
    )
    between = build_between(model, network, length=length) if pair else None
    one = pair and between is None
    return Encoder(
        layer,
        network,
        extra=added,
        cls=token,
        reverse=reverse,
        segments=SegmentVectors(options.width, std=options.std) if one else None,
        between=between,
    )


def pair_reading(model: ModelConfig) -> str:
    """The way two texts are read: `model.pair`, or what suits the network."""
    if model.pair != "auto":
        return model.pair
    return "sequence" if model.network == "transformer" else "bidaf"


def build_between(model: ModelConfig, network: Network, *, length: int = 0) -> Between | None:
    """The attention between two texts that a network reads one by one; None where it reads both as
    one sequence."""
    reading = pair_reading(model)
    if reading == "sequence":
        return None
    if reading == "decomposable":
        hidden = network.size
        return DecomposableAttention(network.inputs, network.size, hidden, dropout=model.dropout)
    above: Network
    if model.network == "transformer":
        most = length + 1 if length else None
        above = TransformerEncoder(transformer_options(model, length=most))
    else:
        above = build_network(model, model.hidden)
    return BidirectionalAttention(
        network.inputs, network.size, above, layers=model.layers, dropout=model.dropout
    )


def masks_of(model: ModelConfig) -> Masks:
    return Masks(
        model.time_masks, model.time_mask, model.band_masks, model.band_mask, model.band_warp
    )


def build_network(model: ModelConfig, inputs: int, *, steps: int = 0) -> Network:
    """The recurrent or convolutional network that a config describes, or none.

    steps   of every sequence, where all have as many
    """
    if model.encoder == "none":
        return PassThrough(inputs, steps=steps)
    if model.network == "cnn":
        return ConvolutionStack(
            inputs, model.filters, widths=model.widths, layers=model.layers, dropout=model.dropout
        )
    return Recurrent(
        model.cell,
        inputs,
        model.hidden,
        layers=model.layers,
        bidirectional=model.bidirectional,
        dropout=model.dropout,
        options=checked_options(model),
    )


def transformer_options(model: ModelConfig, *, length: int | None = None) -> TransformerOptions:
    """Options of a Transformer; `length` is the longest text, for learned positions."""
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
        window=model.attention_window if model.self_attention == "window" else None,
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
    if model.network != "transformer":
        return
    if model.self_attention == "window":
        refuse_too_large(
            f"the keys and values of {2 * model.attention_window + 1:,} tokens in a window",
            8 * model.hidden * (2 * model.attention_window + 1),
            where=f"model.attention_window={model.attention_window}",
            remedy="set a smaller attention_window, or self_attention=full to see all tokens",
        )
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
    if config.data.input == "image" and config.data.reading in ONE_SIZE:
        return  # of one size, from which the number of steps follows
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
        raise ConfigError(error.message, where="model.options") from None


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
