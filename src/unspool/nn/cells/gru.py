"""The gated recurrent unit, in the four forms in which it is taught and built."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.errors import choose
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


class GRU(Cell):
    """Cho et al. (2014), "Learning phrase representations using RNN encoder-decoder".

        r_t = σ(W_r x_t + U_r h_{t-1} + b_r)                           reset gate
        z_t = σ(W_z x_t + U_z h_{t-1} + b_z)                           update gate
        n_t = tanh(W_n x_t + b_n + U_n (r_t ⊙ h_{t-1}))                candidate, reset="before"
        n_t = tanh(W_n x_t + b_n + r_t ⊙ (U_n h_{t-1} + b_hn))         candidate, reset="after"
        h_t = z_t ⊙ h_{t-1} + (1 - z_t) ⊙ n_t                          update="keep"
        h_t = (1 - z_t) ⊙ h_{t-1} + z_t ⊙ n_t                          update="take"

    reset="before" is the paper's; "after" is cuDNN's and torch's, which needs one product with U
    a step instead of two. It owns the bias b_hn inside the reset product, so that the weights of
    `torch.nn.GRU` can be copied exactly (b_r and b_z are sums of torch's two).
    update="keep": z multiplies the old state, as in Cho et al. and torch; "take": z multiplies the
    candidate, as in Chung et al. (2014) and most lectures. Negating z's weights turns one into the
    other.

    Blocks: r, z, n.
    Parameters: 3(mn + n² + n) for m inputs and n units, and n more (b_hn) for reset="after".
    """

    def __init__(
        self, inputs: int, hidden: int, *, reset: str = "after", update: str = "keep"
    ) -> None:
        super().__init__(inputs, hidden)
        self.reset = choose("position of the reset gate", reset, ["before", "after"])
        self.update = choose("convention of the update gate", update, ["keep", "take"])
        self.W = weights(3 * hidden, inputs)
        self.U = weights(3 * hidden, hidden)
        self.b = weights(3 * hidden)
        self.b_hn = nn.Parameter(torch.zeros(hidden)) if reset == "after" else None
        self.reset_gate, self.update_gate = Tap(), Tap()
        self.candidate, self.hidden_state = Tap(), Tap()
        init.gates_(self.W, self.U, self.b, blocks=3)

    def project(self, x: Tensor) -> Tensor:
        return affine(x, self.W, self.b)

    def step(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        (h,) = state
        r, z, n = u.chunk(3, -1)
        if self.b_hn is None:
            U_rz, U_n = self.U.split([2 * self.hidden, self.hidden])
            r_h, z_h = F.linear(h, U_rz).chunk(2, -1)
            r = self.reset_gate(torch.sigmoid(r + r_h))
            n = self.candidate(torch.tanh(n + F.linear(r * h, U_n)))
        else:
            r_h, z_h, n_h = F.linear(h, self.U).chunk(3, -1)
            r = self.reset_gate(torch.sigmoid(r + r_h))
            n = self.candidate(torch.tanh(n + r * (n_h + self.b_hn)))
        z = self.update_gate(torch.sigmoid(z + z_h))
        h = z * h + (1 - z) * n if self.update == "keep" else (1 - z) * h + z * n
        h = self.hidden_state(h)
        return h, (h,)

    def native(self) -> KernelWeights:
        new = self.update == "take"
        return KernelWeights(f"gru_{self.reset}", self.W, self.b, self.U, self.b_hn, new)

    def onnx(self) -> OnnxForm:
        order = "zrn" if self.update == "keep" else "Zrn"
        W, U, b = (gates(p, order, "rzn") for p in (self.W, self.U, self.b))
        state = None if self.b_hn is None else F.pad(self.b_hn.detach(), (2 * self.hidden, 0))
        form = {"linear_before_reset": int(self.reset == "after")}
        return OnnxForm("GRU", W, U, input_bias(b, state=state), form)

    def sequence_unsupported_reason(self, x: Tensor) -> str | None:
        if self.reset == "before":
            return "torch has no fused kernel for reset='before'"
        return fused_unsupported_reason(x)

    def sequence(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        W, U, b = map(self._as_keep, (self.W, self.U, self.b))
        assert self.b_hn is not None
        b_recurrent = F.pad(self.b_hn, (2 * self.hidden, 0))
        return fused_sequence("gru", x, lengths, state, W=W, U=U, b=b, b_recurrent=b_recurrent)

    def _as_keep(self, p: Tensor) -> Tensor:
        """A parameter as update="keep" has it: 1 - σ(a) = σ(-a)."""
        if self.update == "keep":
            return p
        r, z, n = p.chunk(3)
        return torch.cat([r, -z, n])
