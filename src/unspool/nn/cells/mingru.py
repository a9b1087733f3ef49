"""The GRU cut down until it can be computed for all time steps at once."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unspool.nn import init
from unspool.nn.cells.base import (
    Cell,
    KernelWeights,
    OnnxForm,
    State,
    affine,
    gates,
    input_bias,
    weights,
)
from unspool.nn.masks import keep_mask
from unspool.nn.scan import linear_scan
from unspool.nn.taps import Tap


class MinGRU(Cell):
    """Feng et al. (2024), "Were RNNs all we needed?", section 3.1, the vanilla form.

        z_t = σ(W_z x_t + b_z)                  update gate: multiplies the candidate
        g_t = W_g x_t + b_g                     candidate (h̃ in the paper), without tanh
        h_t = (1 - z_t) ⊙ h_{t-1} + z_t ⊙ g_t

    Neither gate nor candidate sees h_{t-1}, so the recurrence is linear: training goes through
    `linear_scan`.

    Blocks: z, g. Parameters: 2(mn + n) for m inputs and n units.
    """

    is_scan = True

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__(inputs, hidden)
        self.W = weights(2 * hidden, inputs)
        self.b = weights(2 * hidden)
        self.update_gate, self.candidate, self.hidden_state = Tap(), Tap(), Tap()
        init.input_matrix_(self.W, blocks=2)
        nn.init.zeros_(self.b)

    def project(self, x: Tensor) -> Tensor:
        return affine(x, self.W, self.b)

    def step(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        (h,) = state
        z, g = u.chunk(2, -1)
        z = self.update_gate(torch.sigmoid(z))
        g = self.candidate(g)
        h = self.hidden_state((1 - z) * h + z * g)
        return h, (h,)

    def native(self) -> KernelWeights:
        return KernelWeights("mingru", self.W, self.b)

    def onnx(self) -> OnnxForm:
        """A GRU without recurrent weights, whose z is 1 - z and whose reset gate has no effect."""
        W, b = (gates(torch.cat([p, torch.zeros_like(p)]), "Z.g", "zg.-") for p in (self.W, self.b))
        form = {
            "activations": ["Sigmoid", "Affine"],
            "activation_alpha": [1.0],
            "activation_beta": [0.0],
        }
        return OnnxForm("GRU", W, W.new_zeros(3 * self.hidden, self.hidden), input_bias(b), form)

    def sequence_unsupported_reason(self, x: Tensor) -> str | None:
        return None

    def sequence(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        z, g = self.project(x).chunk(2, -1)
        z = torch.sigmoid(z)
        if lengths is not None:  # z = 0 keeps the state
            z = z.masked_fill(~keep_mask(lengths, x.shape[1], device=x.device)[..., None], 0)
        h = linear_scan(1 - z, z * g, state[0])
        return h, (h[:, -1],)
