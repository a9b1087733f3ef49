"""From the `model` section of a config to the decoder that writes a text from what was read."""

from __future__ import annotations

from unspool.config import Config, ModelConfig
from unspool.errors import ConfigError
from unspool.nn.decoders import TransformerSeqDecoder
from unspool.nn.recurrent_decoder import RecurrentDecoder
from unspool.tasks.encoder import checked_options, transformer_options


def build_decoder(
    model: ModelConfig,
    tokens: int,
    *,
    memory: int,
    embedding: int,
    length: int = 0,
    copying: bool = False,
) -> RecurrentDecoder | TransformerSeqDecoder:
    """A Transformer's decoder for a Transformer, a recurrent one for any other network.

    memory      size of the vectors of the encoder
    embedding   size of the vectors of tokens, of a recurrent decoder
    length      of the longest text, for learned positions; 0 where it is not known
    copying     what is read are tokens, which may be copied
    """
    if model.network == "transformer":
        # One position more than the text has tokens, for its <s>.
        options = transformer_options(model, length=length + 1 if length else None)
        return TransformerSeqDecoder(tokens, options, tied=model.tied, copying=copying)
    return RecurrentDecoder(
        tokens,
        memory=memory,
        embedding=embedding,
        cell=model.cell,
        hidden=model.hidden,
        layers=model.layers,
        attention=model.attention,
        input_feeding=model.input_feeding,
        gated=model.context_gate,
        tied=model.tied,
        copying=copying,
        coverage=copying and model.coverage,
        dropout=model.dropout,
        options=checked_options(model),
    )


def check_decoder(config: Config) -> None:
    """Refuse, with a reason, settings of a decoder that do not go together."""
    model = config.model
    if model.network == "transformer":
        return
    if model.input_feeding and model.attention in ("none", "additive"):
        raise ConfigError(
            "model.input_feeding is for multiplicative attention",
            got=f"model.attention={model.attention}",
            remedy="set attention to dot, scaled, general or concat",
        )
    if model.context_gate and model.attention != "additive":
        raise ConfigError(
            "model.context_gate is for additive attention",
            got=f"model.attention={model.attention}",
            remedy="set attention=additive, or leave the gate out",
        )
    if model.attention not in ("dot", "scaled"):
        return
    what = f"model.attention={model.attention} compares vectors of one size, and"
    if model.network == "cnn":
        raise ConfigError(
            f"{what} the filters of a cnn make vectors of another size than the decoder's",
            remedy="set attention=general",
        )
    if model.bidirectional:
        raise ConfigError(
            f"{what} both directions of an encoder make vectors twice as large as the decoder's",
            remedy="set attention=general, or bidirectional=false",
        )


def check_copying(config: Config) -> None:
    """The same of a decoder that copies."""
    model = config.model
    transformer = model.network == "transformer"
    if model.copying and not transformer and model.attention == "none":
        raise ConfigError(
            "model.copy needs attention, which points at what is copied",
            got=f"model.attention={model.attention}",
            remedy="set attention=additive, or choose a model with attention",
        )
    if not model.coverage:
        return
    if transformer or model.attention != "additive":
        raise ConfigError(
            "model.coverage is for additive attention",
            got="transformer" if transformer else f"model.attention={model.attention}",
            remedy="set coverage=false, or attention=additive of a recurrent model",
        )
