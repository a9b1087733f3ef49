"""The Transformer's blocks against torch.nn, and what its options mean."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from closeness import close, gradients, normal, shake
from torch import nn

from unspool.errors import ConfigError
from unspool.nn.dropout import Dropout
from unspool.nn.masks import causal_mask, keep_mask
from unspool.nn.transformer import TransformerDecoder, TransformerEncoder
from unspool.nn.transformer_blocks import (
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    TransformerOptions,
)

B, T, S, E, A, H = 3, 5, 7, 8, 2, 12
LENGTHS, MEMORY_LENGTHS = torch.tensor([5, 2, 4]), torch.tensor([3, 7, 1])
OPTIONS = TransformerOptions(E, A, hidden=H, layers=2)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(1)


ENCODER_NAMES = {
    "attention.W": "self_attn.in_proj_weight",
    "attention.b": "self_attn.in_proj_bias",
    "attention.W_o": "self_attn.out_proj.weight",
    "attention.b_o": "self_attn.out_proj.bias",
    "feed_forward.W_1.weight": "linear1.weight",
    "feed_forward.W_1.bias": "linear1.bias",
    "feed_forward.W_2.weight": "linear2.weight",
    "feed_forward.W_2.bias": "linear2.bias",
    "norm1.weight": "norm1.weight",
    "norm1.bias": "norm1.bias",
    "norm2.weight": "norm2.weight",
    "norm2.bias": "norm2.bias",
}
DECODER_NAMES = {
    **{k: v.replace("norm2", "norm3") for k, v in ENCODER_NAMES.items()},
    "cross_attention.W": "multihead_attn.in_proj_weight",
    "cross_attention.b": "multihead_attn.in_proj_bias",
    "cross_attention.W_o": "multihead_attn.out_proj.weight",
    "cross_attention.b_o": "multihead_attn.out_proj.bias",
    "cross_norm.weight": "norm2.weight",
    "cross_norm.bias": "norm2.bias",
}


def pair(ours: nn.Module, theirs: nn.Module, names: dict[str, str]) -> list[list[nn.Parameter]]:
    """Parameters side by side, ours with the values of theirs."""
    assert set(names) == {name for name, _ in ours.named_parameters()}
    assert set(names.values()) == {name for name, _ in theirs.named_parameters()}
    shake(theirs)
    pairs = [[ours.get_parameter(a), theirs.get_parameter(b)] for a, b in names.items()]
    with torch.no_grad():
        for mine, other in pairs:
            mine.copy_(other)
    return [list(side) for side in zip(*pairs)]


def their_options(norm: str, activation: str) -> dict[str, object]:
    return {
        "d_model": E,
        "nhead": A,
        "dim_feedforward": H,
        "dropout": 0.0,
        "activation": activation,
        "batch_first": True,
        "norm_first": norm == "pre",
        "dtype": torch.double,
    }


@pytest.mark.parametrize("padded", [False, True], ids=["full", "padded"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_encoder_block_against_torch(norm: str, activation: str, padded: bool) -> None:
    ours = EncoderBlock(replace(OPTIONS, norm=norm, activation=activation)).double()
    theirs = nn.TransformerEncoderLayer(**their_options(norm, activation))
    mine, others = pair(ours, theirs, ENCODER_NAMES)
    x, weight = normal(B, T, E, grad=True), normal(B, T, E)
    keep = keep_mask(LENGTHS, T) if padded else torch.ones(B, T, dtype=torch.bool)
    weight = weight * keep[..., None]
    y1 = ours(x, keep if padded else None)
    y2 = theirs(x, src_key_padding_mask=~keep if padded else None)
    close(y1[keep], y2[keep])
    for a, b in zip(gradients(y1, weight, x, *mine), gradients(y2, weight, x, *others)):
        close(a, b)


@pytest.mark.parametrize("padded", [False, True], ids=["full", "padded"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_decoder_block_against_torch(norm: str, activation: str, padded: bool) -> None:
    ours = DecoderBlock(replace(OPTIONS, norm=norm, activation=activation)).double()
    theirs = nn.TransformerDecoderLayer(**their_options(norm, activation))
    mine, others = pair(ours, theirs, DECODER_NAMES)
    x, memory, weight = normal(B, T, E, grad=True), normal(B, S, E, grad=True), normal(B, T, E)
    keep = keep_mask(LENGTHS, T) if padded else torch.ones(B, T, dtype=torch.bool)
    memory_keep = keep_mask(MEMORY_LENGTHS, S)
    weight = weight * keep[..., None]
    masks = (keep, memory_keep) if padded else (None, None)
    y1 = ours(x, memory, *masks)
    y2 = theirs(
        x,
        memory,
        tgt_mask=~causal_mask(T),
        tgt_key_padding_mask=~keep if padded else None,
        memory_key_padding_mask=~memory_keep if padded else None,
    )
    close(y1[keep], y2[keep])
    found1 = gradients(y1, weight, x, memory, *mine)
    found2 = gradients(y2, weight, x, memory, *others)
    for a, b in zip(found1, found2):
        close(a, b)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_stacks_are_their_blocks(norm: str) -> None:
    """torch's stack of our blocks' counterparts, with its final norm under pre."""
    options = replace(OPTIONS, norm=norm, positions="none")
    ours = TransformerEncoder(options).double()
    layer = nn.TransformerEncoderLayer(**their_options(norm, "relu"))
    final = nn.LayerNorm(E, dtype=torch.double) if norm == "pre" else None
    theirs = nn.TransformerEncoder(layer, 2, norm=final, enable_nested_tensor=False)
    names = {f"layers.{k}.{a}": f"layers.{k}.{b}" for k in (0, 1) for a, b in ENCODER_NAMES.items()}
    if norm == "pre":
        names |= {"norm.weight": "norm.weight", "norm.bias": "norm.bias"}
    pair(ours, theirs, names)
    x, keep = normal(B, T, E), keep_mask(LENGTHS, T)
    y = ours(x, LENGTHS).outputs
    close(y[keep], theirs(x, src_key_padding_mask=~keep)[keep])
    assert not y[~keep].any()


def test_swiglu_is_its_formula() -> None:
    layer = shake(FeedForward(E, H, activation="swiglu").double())
    x = normal(B, T, E)
    W, b = layer.W_1.weight, layer.W_1.bias
    a, g = x @ W[:H].T + b[:H], x @ W[H:].T + b[H:]
    expected = (a / (1 + (-a).exp()) * g) @ layer.W_2.weight.T + layer.W_2.bias
    close(layer(x), expected)


def test_dropout_falls_in_the_papers_places() -> None:
    options = replace(OPTIONS, dropout=0.5, layers=3)
    for module in (TransformerEncoder(options), TransformerDecoder(options, cross=False)):
        rates = {n: m.p for n, m in module.named_modules() if isinstance(m, Dropout)}
        assert rates == dict.fromkeys(rates, 0.5)
        assert len(rates) == 1 + 3
        x = torch.randn(B, T, E)
        assert not torch.equal(module(x).outputs, module(x).outputs)
        module.eval()
        assert torch.equal(module(x).outputs, module(x).outputs)
    block = EncoderBlock(replace(OPTIONS, attention_dropout=0.3))
    assert block.attention.inner.dropout == 0.3


def test_counts_are_the_papers() -> None:
    def count(module: nn.Module) -> int:
        return sum(p.numel() for p in module.parameters())

    attention, norm = 4 * (E * E + E), 2 * E
    feed_forward = 2 * E * H + H + E
    post = replace(OPTIONS, norm="post")
    assert count(TransformerEncoder(post)) == 2 * (attention + feed_forward + 2 * norm)
    assert count(TransformerEncoder(OPTIONS)) == 2 * (attention + feed_forward + 2 * norm) + norm
    assert count(TransformerDecoder(post)) == 2 * (2 * attention + feed_forward + 3 * norm)
    assert count(FeedForward(E, H, activation="swiglu")) == 3 * E * H + 2 * H + E


def test_hidden_is_four_times_the_width() -> None:
    assert EncoderBlock(TransformerOptions(E, A)).feed_forward.W_1.out_features == 4 * E


def test_descriptions() -> None:
    assert TransformerEncoder(OPTIONS).describe() == "2 pre-norm encoder blocks, 2 heads, relu"
    linear = replace(OPTIONS, layers=1, kind="linear", norm="post", activation="gelu")
    described = "1 post-norm decoder block, 2 linear attention heads, gelu"
    assert TransformerDecoder(linear).describe() == described


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'gelu'"):
        TransformerEncoder(replace(OPTIONS, activation="gellu"))
    with pytest.raises(ConfigError, match="unknown norm; got 'prepost'"):
        TransformerEncoder(replace(OPTIONS, norm="prepost"))
    with pytest.raises(ConfigError, match="unknown positions"):
        TransformerEncoder(replace(OPTIONS, positions="absolute"))
    x = torch.zeros(B, T, E)
    encoder, decoder = TransformerEncoder(OPTIONS), TransformerDecoder(OPTIONS)
    with pytest.raises(ValueError, match=r"shape \(batch, time, 8\); got \(3, 5, 7\)"):
        encoder(x[..., :-1])
    with pytest.raises(ValueError, match=r"lengths must have shape \(3,\); got \(2,\)"):
        encoder(x, LENGTHS[:2])
    with pytest.raises(ValueError, match="reads a memory: give one"):
        decoder(x)
    with pytest.raises(ValueError, match="reads a memory: give one"):
        decoder.start()
    with pytest.raises(ValueError, match="built without attention to a memory"):
        TransformerDecoder(OPTIONS, cross=False)(x, memory=x)
