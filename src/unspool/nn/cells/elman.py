"""Elman's simple recurrent network."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional as F

from unspool.errors import choose
from unspool.nn import init
from unspool.nn.activations import ACTIVATIONS, LEAKY_SLOPE
from unspool.nn.cells.base import (
    Cell,
    KernelWeights,
    OnnxForm,
    State,
    affine,
    fused_unsupported_reason,
    input_bias,
    weights,
)
from unspool.nn.fused import Kernel, fused_sequence
from unspool.nn.taps import Tap

FUSED: dict[str, Kernel] = {"tanh": "rnn_tanh", "relu": "rnn_relu"}
ONNX: dict[str, dict[str, Any]] = {
    "tanh": {"activations": ["Tanh"]},
    "sigmoid": {"activations": ["Sigmoid"]},
    "relu": {"activations": ["Relu"]},
    "leaky_relu": {"activations": ["LeakyRelu"], "activation_alpha": [LEAKY_SLOPE]},
    "elu": {"activations": ["Elu"], "activation_alpha": [1.0]},
}


class Elman(Cell):
    """Elman (1990), "Finding structure in time".

        h_t = φ(W x_t + U h_{t-1} + b)

    φ is `activation`: sigmoid, tanh, relu, leaky_relu (slope 0.1), elu, or maxout, for which
    there are two affine pieces, the blocks 1 and 2:

        h_t = max(W_1 x_t + U_1 h_{t-1} + b_1,  W_2 x_t + U_2 h_{t-1} + b_2)

    Parameters: mn + n² + n for m inputs and n units; twice that for maxout.
    """

    def __init__(self, inputs: int, hidden: int, *, activation: str = "tanh") -> None:
        super().__init__(inputs, hidden)
        self.activation = choose("activation", activation, ACTIVATIONS)
        self.φ, self.pieces = ACTIVATIONS[activation]
        self.W = weights(self.pieces * hidden, inputs)
        self.U = weights(self.pieces * hidden, hidden)
        self.b = weights(self.pieces * hidden)
        self.hidden_state = Tap()
        init.gates_(self.W, self.U, self.b, self.pieces)

    def project(self, x: Tensor) -> Tensor:
        return affine(x, self.W, self.b)

    def step(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        (h,) = state
        h = self.hidden_state(self.φ(u + F.linear(h, self.U)))
        return h, (h,)

    def native(self) -> KernelWeights:
        return KernelWeights(f"elman_{self.activation}", self.W, self.b, self.U)

    def onnx(self) -> OnnxForm | None:
        form = ONNX.get(self.activation)
        if form is None:
            return None
        return OnnxForm("RNN", self.W, self.U, input_bias(self.b), form)

    def sequence_unsupported_reason(self, x: Tensor) -> str | None:
        if self.activation not in FUSED:
            return f"torch has no fused kernel for activation {self.activation!r}"
        return fused_unsupported_reason(x)

    def sequence(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        kernel = FUSED[self.activation]
        return fused_sequence(kernel, x, lengths, state, W=self.W, U=self.U, b=self.b)
