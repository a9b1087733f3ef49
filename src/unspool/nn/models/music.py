"""Frames of music in, the keys that sound in the next frame out.

In: frames (B, T, 88) of zeros and ones. Out: scores (B, T, 88), each key by itself:
p(x_{t+1} | x_1 ... x_t) = Π_k σ(y_k)^{x_k} (1 - σ(y_k))^{1 - x_k}. As the RNN of
Boulanger-Lewandowski et al. (2012).
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn import init
from unspool.nn.dropout import Dropout
from unspool.nn.encoder import Encoder
from unspool.nn.inputs import VectorInput
from unspool.nn.models.causal import CausalModel, RecurrentCausal, TransformerCausal
from unspool.nn.transformer import TransformerDecoder
from unspool.nn.transformer_blocks import TransformerOptions

RARE = -3.0  # the bias that keys begin with: about 4 of 88 sound at a time


class KeysOutput(nn.Module):
    """A score for each key: y = V h + b, p = σ(y), (..., size) -> (..., keys)"""

    def __init__(self, size: int, keys: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, keys)
        init.linear_(self.linear)
        nn.init.constant_(self.linear.bias, RARE)

    def forward(self, h: Tensor) -> Tensor:
        return self.linear(h)

    def losses(self, h: Tensor, targets: Tensor) -> Tensor:
        """(..., size), (..., keys) -> (...) nats of each frame, the sum over its keys"""
        return F.binary_cross_entropy_with_logits(self(h), targets, reduction="none").sum(-1)

    def describe(self) -> str:
        return f"{self.linear.out_features} sigmoid units, one a key"


class FrameModel(CausalModel):
    """A causal model whose steps are frames."""

    output: KeysOutput

    def streaming_unsupported_reason(self) -> str:
        return "music is continued, and has no answer while it comes"


class RecurrentFrames(RecurrentCausal, FrameModel):
    """A recurrent encoder with a distribution of the next frame at every step."""

    def __init__(self, encoder: Encoder, *, keys: int, dropout: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = Dropout(dropout)
        self.output = KeysOutput(encoder.size, keys)


class TransformerFrames(TransformerCausal, FrameModel):
    """A Transformer whose frames see those before them, `options.length` at most."""

    def __init__(self, keys: int, options: TransformerOptions) -> None:
        super().__init__()
        assert options.length is not None
        self.length, self.keys = options.length, keys
        inputs = VectorInput(keys, options.width)
        self.encoder = Encoder(inputs, TransformerDecoder(options, cross=False))
        self.output = KeysOutput(options.width, keys)

    def nothing(self, batch: int) -> Tensor:
        return self.output.linear.weight.new_empty(batch, 0, self.keys)
