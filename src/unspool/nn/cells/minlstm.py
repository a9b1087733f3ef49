"""The LSTM cut down until it can be computed for all time steps at once."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.nn import init
from unspool.nn.cells.base import Cell, KernelWeights, State, affine, weights
from unspool.nn.masks import keep_mask
from unspool.nn.scan import linear_scan
from unspool.nn.taps import Tap


class MinLSTM(Cell):
    """Feng et al. (2024), "Were RNNs all we needed?", section 3.2, the vanilla form.

        f_t = σ(W_f x_t + b_f),   f'_t = f_t / (f_t + i_t)      forget gate, normalised
        i_t = σ(W_i x_t + b_i),   i'_t = i_t / (f_t + i_t)      input gate, normalised
        g_t = W_g x_t + b_g                                     candidate (h̃ in the paper)
        h_t = f'_t ⊙ h_{t-1} + i'_t ⊙ g_t

    Computed as f' = σ(log f - log i) and i' = 1 - f', which are the same and do not become 0/0
    where both gates are closed. b_f starts at `forget_bias`.

    Blocks: f, i, g. Parameters: 3(mn + n) for m inputs and n units.
    """

    is_scan = True

    def __init__(self, inputs: int, hidden: int, *, forget_bias: float = 0.0) -> None:
        super().__init__(inputs, hidden)
        self.W = weights(3 * hidden, inputs)
        self.b = weights(3 * hidden)
        self.input_gate, self.forget_gate = Tap(), Tap()
        self.candidate, self.hidden_state = Tap(), Tap()
        init.input_matrix_(self.W, blocks=3)
        nn.init.zeros_(self.b)
        nn.init.constant_(self.b.detach().chunk(3)[0], forget_bias)

    def project(self, x: Tensor) -> Tensor:
        return affine(x, self.W, self.b)

    def gates(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """f' and g, for one step or for all."""
        f, i, g = u.chunk(3, -1)
        return torch.sigmoid(F.logsigmoid(f) - F.logsigmoid(i)), g

    def step(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        (h,) = state
        f, g = self.gates(u)
        f = self.forget_gate(f)
        i = self.input_gate(1 - f)
        g = self.candidate(g)
        h = self.hidden_state(f * h + i * g)
        return h, (h,)

    def native(self) -> KernelWeights:
        return KernelWeights("minlstm", self.W, self.b)

    def sequence_unsupported_reason(self, x: Tensor) -> str | None:
        return None

    def sequence(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        f, g = self.gates(self.project(x))
        if lengths is not None:  # f' = 1, i' = 0 keeps the state
            f = f.masked_fill(~keep_mask(lengths, x.shape[1])[..., None], 1)
        h = linear_scan(f, (1 - f) * g, state[0])
        return h, (h[:, -1],)
