"""Layers for sequence models, usable in any PyTorch program.

Shapes, the same letters everywhere:

    B  sequences in a batch     T  time steps, padding included     I  inputs of a layer
    H  hidden units             D  directions, 1 or 2               E  size of an embedding
    S  steps of a memory        A  attention heads                  d  elements of a head

Reading order: `cells/base.py`, `cells/lstm.py` and its neighbours, `network.py`, `recurrent.py`,
`recurrent_paths.py`, then `taps.py`, `masks.py`, `fused.py`, `scan.py`; `inputs.py`,
`convolution.py`, `encoder.py`, `pooling.py`, `heads.py`; `characters.py`, `tags.py`, `crf.py`;
`highway.py`, `elmo.py`. Then `attention.py`, `dot_product.py`, `linear_attention.py`, `cache.py`,
`positions.py`, `multihead.py`, `transformer_blocks.py`, `transformer.py`; `decoders.py` and
`recurrent_decoder.py`, which make sequences out of sequences. Last `models/`, the networks that
tasks train, and `pretrained/`, models that others trained.

Names are imported on first use: a program waits only for the layers that it has.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from unspool.nn.taps import Tap, TapTrace, record, taps  # a module and a function of one name

if TYPE_CHECKING:
    from unspool.nn.activations import ACTIVATIONS
    from unspool.nn.attention import Additive, Attention, AttentionOutput, Memory, Multiplicative
    from unspool.nn.cells import (
        CELLS,
        GRU,
        IRNN,
        LSTM,
        Cell,
        Coupled,
        Elman,
        MinGRU,
        MinLSTM,
        Peephole,
        cell_options,
    )
    from unspool.nn.characters import CHARACTER_ENCODERS, CharacterCNN, CharacterLSTM
    from unspool.nn.convolution import Convolution, ConvolutionStack
    from unspool.nn.crf import CRF, SeparateTags
    from unspool.nn.decoders import Decoder, TransformerSeqDecoder
    from unspool.nn.dot_product import HeadAttention, ScaledDotProduct, SlidingWindow
    from unspool.nn.elmo import Contextual, Elmo, ElmoOptions, Mix
    from unspool.nn.encoder import Encoded, Encoder
    from unspool.nn.heads import TokenOutput
    from unspool.nn.images import Augmentation, ConvolutionalInput, ImageAugment, Patches
    from unspool.nn.inputs import (
        AddFeatures,
        ClassToken,
        ConcatFeatures,
        InputLayer,
        OneHot,
        TokenEmbedding,
        TokenInput,
        VectorInput,
        WordDropout,
    )
    from unspool.nn.linear_attention import LinearAttention
    from unspool.nn.masks import keep_mask, masked_softmax
    from unspool.nn.models.seq2seq import Seq2Seq
    from unspool.nn.multihead import MultiHeadAttention
    from unspool.nn.network import Network, NetworkOutput, RecurrentState, State, map_state
    from unspool.nn.pooling import POOLINGS, Pooling
    from unspool.nn.positions import Learned, Rotary, Sinusoidal
    from unspool.nn.pretrained import Pretrained, read_pretrained
    from unspool.nn.recurrent import Recurrent
    from unspool.nn.recurrent_decoder import (
        DECODER_ATTENTIONS,
        RecurrentDecoder,
        RecurrentDecoderState,
    )
    from unspool.nn.scan import linear_scan
    from unspool.nn.transformer import DecoderState, TransformerDecoder, TransformerEncoder
    from unspool.nn.transformer_blocks import (
        DecoderBlock,
        EncoderBlock,
        FeedForward,
        TransformerOptions,
    )

# Where the names live, each imported on first use.
_HOMES = {
    ".activations": "ACTIVATIONS",
    ".attention": "Additive Attention AttentionOutput Memory Multiplicative",
    ".cells": "CELLS GRU IRNN LSTM Cell Coupled Elman MinGRU MinLSTM Peephole cell_options",
    ".characters": "CHARACTER_ENCODERS CharacterCNN CharacterLSTM",
    ".convolution": "Convolution ConvolutionStack",
    ".crf": "CRF SeparateTags",
    ".decoders": "Decoder TransformerSeqDecoder",
    ".dot_product": "HeadAttention ScaledDotProduct SlidingWindow",
    ".elmo": "Contextual Elmo ElmoOptions Mix",
    ".encoder": "Encoded Encoder",
    ".heads": "TokenOutput",
    ".images": "Augmentation ConvolutionalInput ImageAugment Patches",
    ".inputs": (
        "AddFeatures ClassToken ConcatFeatures InputLayer OneHot "
        "TokenEmbedding TokenInput VectorInput WordDropout"
    ),
    ".linear_attention": "LinearAttention",
    ".masks": "keep_mask masked_softmax",
    ".models.seq2seq": "Seq2Seq",
    ".multihead": "MultiHeadAttention",
    ".network": "Network NetworkOutput RecurrentState State map_state",
    ".pooling": "POOLINGS Pooling",
    ".positions": "Learned Rotary Sinusoidal",
    ".pretrained": "Pretrained read_pretrained",
    ".recurrent": "Recurrent",
    ".recurrent_decoder": "DECODER_ATTENTIONS RecurrentDecoder RecurrentDecoderState",
    ".scan": "linear_scan",
    ".transformer": "DecoderState TransformerDecoder TransformerEncoder",
    ".transformer_blocks": "DecoderBlock EncoderBlock FeedForward TransformerOptions",
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            value = globals()[name] = getattr(import_module(module, __name__), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "ACTIVATIONS",
    "CELLS",
    "CHARACTER_ENCODERS",
    "CRF",
    "DECODER_ATTENTIONS",
    "GRU",
    "IRNN",
    "LSTM",
    "POOLINGS",
    "AddFeatures",
    "Additive",
    "Attention",
    "AttentionOutput",
    "Augmentation",
    "Cell",
    "CharacterCNN",
    "CharacterLSTM",
    "ClassToken",
    "ConcatFeatures",
    "Contextual",
    "Convolution",
    "ConvolutionStack",
    "ConvolutionalInput",
    "Coupled",
    "Decoder",
    "DecoderBlock",
    "DecoderState",
    "Elman",
    "Elmo",
    "ElmoOptions",
    "Encoded",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "HeadAttention",
    "ImageAugment",
    "InputLayer",
    "Learned",
    "LinearAttention",
    "Memory",
    "MinGRU",
    "MinLSTM",
    "Mix",
    "MultiHeadAttention",
    "Multiplicative",
    "Network",
    "NetworkOutput",
    "OneHot",
    "Patches",
    "Peephole",
    "Pooling",
    "Pretrained",
    "Recurrent",
    "RecurrentDecoder",
    "RecurrentDecoderState",
    "RecurrentState",
    "Rotary",
    "ScaledDotProduct",
    "SeparateTags",
    "Seq2Seq",
    "Sinusoidal",
    "SlidingWindow",
    "State",
    "Tap",
    "TapTrace",
    "TokenEmbedding",
    "TokenInput",
    "TokenOutput",
    "TransformerDecoder",
    "TransformerEncoder",
    "TransformerOptions",
    "TransformerSeqDecoder",
    "VectorInput",
    "WordDropout",
    "cell_options",
    "keep_mask",
    "linear_scan",
    "map_state",
    "masked_softmax",
    "read_pretrained",
    "record",
    "taps",
]
