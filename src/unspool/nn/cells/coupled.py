"""The LSTM that writes exactly where it forgets."""

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


class Coupled(Cell):
    """The LSTM with coupled input and forget gates ("CIFG" in Greff et al. 2015).

        f_t = σ(W_f x_t + U_f h_{t-1} + b_f)          forget gate;  i_t = 1 - f_t
        g_t = tanh(W_g x_t + U_g h_{t-1} + b_g)       candidate
        o_t = σ(W_o x_t + U_o h_{t-1} + b_o)          output gate
        c_t = f_t ⊙ c_{t-1} + (1 - f_t) ⊙ g_t
        h_t = o_t ⊙ tanh(c_t)

    Blocks: f, g, o. b_f starts at `forget_bias`.
    Parameters: 3(mn + n² + n) for m inputs and n units.
    """

    state_names = ("h", "c")

    def __init__(self, inputs: int, hidden: int, *, forget_bias: float = 1.0) -> None:
        super().__init__(inputs, hidden)
        self.W = weights(3 * hidden, inputs)
        self.U = weights(3 * hidden, hidden)
        self.b = weights(3 * hidden)
        self.forget_gate, self.output_gate = Tap(), Tap()
        self.candidate, self.cell_state, self.hidden_state = Tap(), Tap(), Tap()
        init.gates_(self.W, self.U, self.b, blocks=3)
        nn.init.constant_(self.b.detach().chunk(3)[0], forget_bias)

    def project(self, x: Tensor) -> Tensor:
        return affine(x, self.W, self.b)

    def step(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        h, c = state
        f, g, o = (u + F.linear(h, self.U)).chunk(3, -1)
        f = self.forget_gate(torch.sigmoid(f))
        g = self.candidate(torch.tanh(g))
        o = self.output_gate(torch.sigmoid(o))
        c = self.cell_state(f * c + (1 - f) * g)
        h = self.hidden_state(o * torch.tanh(c))
        return h, (h, c)

    def native(self) -> KernelWeights:
        return KernelWeights("coupled", self.W, self.b, self.U)

    def onnx(self) -> OnnxForm:
        """onnxruntime couples as f = 1 - i: its i has the weights of our f, negated. Its own block
        for f does not matter, and gets those of g."""
        W, U, b = (gates(p, "Fogg", "fgo") for p in (self.W, self.U, self.b))
        return OnnxForm("LSTM", W, U, input_bias(b), {"input_forget": 1})

    def sequence_unsupported_reason(self, x: Tensor) -> str | None:
        return fused_unsupported_reason(x)

    def sequence(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        # 1 - σ(a) = σ(-a): this is the LSTM whose input gate has the forget gate's weights negated.
        W, U, b = (torch.cat([-p.chunk(3)[0], p]) for p in (self.W, self.U, self.b))
        return fused_sequence("lstm", x, lengths, state, W=W, U=U, b=b)
