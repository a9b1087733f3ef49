"""The recurrent network of rectified units that starts as the identity."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

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
from unspool.nn.fused import fused_sequence
from unspool.nn.taps import Tap


class IRNN(Cell):
    """Le, Jaitly & Hinton (2015), "A simple way to initialize recurrent networks of rectified
    linear units".

        h_t = max(0, W x_t + U h_{t-1} + b),    U = identity and b = 0 at the start

    so that, before it learns, the cell sums its inputs and forgets nothing. W starts Gaussian
    with standard deviation `input_std` (0.001 in the paper).

    Parameters: mn + n² + n for m inputs and n units.
    """

    def __init__(self, inputs: int, hidden: int, *, input_std: float = 0.001) -> None:
        super().__init__(inputs, hidden)
        self.W = weights(hidden, inputs)
        self.U = weights(hidden, hidden)
        self.b = weights(hidden)
        self.hidden_state = Tap()
        nn.init.normal_(self.W, std=input_std)
        nn.init.eye_(self.U)
        nn.init.zeros_(self.b)

    def project(self, x: Tensor) -> Tensor:
        return affine(x, self.W, self.b)

    def step(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        (h,) = state
        h = self.hidden_state(torch.relu(u + F.linear(h, self.U)))
        return h, (h,)

    def native(self) -> KernelWeights:
        return KernelWeights("elman_relu", self.W, self.b, self.U)

    def onnx(self) -> OnnxForm:
        form = {"activations": ["Relu"]}
        return OnnxForm("RNN", self.W, self.U, input_bias(self.b), form)

    def sequence_unsupported_reason(self, x: Tensor) -> str | None:
        return fused_unsupported_reason(x)

    def sequence(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        return fused_sequence("rnn_relu", x, lengths, state, W=self.W, U=self.U, b=self.b)
