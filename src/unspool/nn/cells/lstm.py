"""The long short-term memory."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn import init
from unspool.nn.cells.base import (
    Cell,
    KernelWeights,
    OnnxForm,
    State,
    affine,
    fused_unsupported_reason,
    gates,
    input_bias,
    weights,
)
from unspool.nn.fused import fused_sequence
from unspool.nn.taps import Tap


class LSTM(Cell):
    """Hochreiter & Schmidhuber (1997), with the forget gate of Gers et al. (2000).

        i_t = σ(W_i x_t + U_i h_{t-1} + b_i)          input gate
        f_t = σ(W_f x_t + U_f h_{t-1} + b_f)          forget gate
        g_t = tanh(W_g x_t + U_g h_{t-1} + b_g)       candidate
        o_t = σ(W_o x_t + U_o h_{t-1} + b_o)          output gate
        c_t = f_t ⊙ c_{t-1} + i_t ⊙ g_t
        h_t = o_t ⊙ tanh(c_t)

    Blocks: i, f, g, o. b_f starts at `forget_bias`, the other biases at 0.
    Parameters: 4(mn + n² + n) for m inputs and n units.
    """

    state_names = ("h", "c")

    def __init__(self, inputs: int, hidden: int, *, forget_bias: float = 1.0) -> None:
        super().__init__(inputs, hidden)
        self.W = weights(4 * hidden, inputs)
        self.U = weights(4 * hidden, hidden)
        self.b = weights(4 * hidden)
        self.input_gate, self.forget_gate, self.output_gate = Tap(), Tap(), Tap()
        self.candidate, self.cell_state, self.hidden_state = Tap(), Tap(), Tap()
        init.gates_(self.W, self.U, self.b, blocks=4)
        nn.init.constant_(self.b.detach().chunk(4)[1], forget_bias)

    def project(self, x: Tensor) -> Tensor:
        return affine(x, self.W, self.b)

    def step(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        h, c = state
        i, f, g, o = (u + F.linear(h, self.U)).chunk(4, -1)
        i = self.input_gate(torch.sigmoid(i))
        f = self.forget_gate(torch.sigmoid(f))
        g = self.candidate(torch.tanh(g))
        o = self.output_gate(torch.sigmoid(o))
        c = self.cell_state(f * c + i * g)
        h = self.hidden_state(o * torch.tanh(c))
        return h, (h, c)

    def native(self) -> KernelWeights:
        return KernelWeights("lstm", self.W, self.b, self.U)

    def onnx(self) -> OnnxForm:
        W, U, b = (gates(p, "iofg", "ifgo") for p in (self.W, self.U, self.b))
        return OnnxForm("LSTM", W, U, input_bias(b), {})

    def sequence_unsupported_reason(self, x: Tensor) -> str | None:
        return fused_unsupported_reason(x)

    def sequence(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        return fused_sequence("lstm", x, lengths, state, W=self.W, U=self.U, b=self.b)
