"""The LSTM whose gates look at the cell state."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.errors import ConfigError, choose
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
from unspool.nn.taps import Tap


class Peephole(Cell):
    """Gers & Schmidhuber (2000), "Recurrent nets that time and count".

        i_t = σ(W_i x_t + U_i h_{t-1} + P_i c_{t-1} + b_i)       input gate
        f_t = σ(W_f x_t + U_f h_{t-1} + P_f c_{t-1} + b_f)       forget gate
        g_t = tanh(W_g x_t + U_g h_{t-1} + b_g)                  candidate
        c_t = f_t ⊙ c_{t-1} + i_t ⊙ g_t
        o_t = σ(W_o x_t + U_o h_{t-1} + P_o c_t + b_o)           output gate: sees the new c
        h_t = o_t ⊙ tanh(c_t)

    `peepholes` names the gates that look, any subset of "ifo"; the other P are absent.
    `matrix`: "diagonal" (each unit sees its own cell, P (H,); as Gers) or "full" (P (H, H)).

    Blocks: i, f, g, o. P starts at 0, b_f at `forget_bias`.
    Parameters: 4(mn + n² + n), and n (diagonal) or n² (full) for each peephole.
    """

    state_names = ("h", "c")

    def __init__(
        self,
        inputs: int,
        hidden: int,
        *,
        peepholes: str = "ifo",
        matrix: str = "diagonal",
        forget_bias: float = 1.0,
    ) -> None:
        super().__init__(inputs, hidden)
        if not set(peepholes) <= set("ifo") or len(set(peepholes)) < len(peepholes):
            raise ConfigError(
                "peepholes must name gates out of i, f and o, each once", got=peepholes
            )
        self.matrix = choose("matrix of peepholes", matrix, ["diagonal", "full"])
        self.W = weights(4 * hidden, inputs)
        self.U = weights(4 * hidden, hidden)
        self.b = weights(4 * hidden)
        shape = (hidden,) if matrix == "diagonal" else (hidden, hidden)
        for gate in "ifo":
            P = nn.Parameter(torch.zeros(shape)) if gate in peepholes else None
            self.register_parameter(f"P_{gate}", P)
        self.input_gate, self.forget_gate, self.output_gate = Tap(), Tap(), Tap()
        self.candidate, self.cell_state, self.hidden_state = Tap(), Tap(), Tap()
        init.gates_(self.W, self.U, self.b, blocks=4)
        nn.init.constant_(self.b.detach().chunk(4)[1], forget_bias)

    P_i: Tensor | None
    P_f: Tensor | None
    P_o: Tensor | None

    def project(self, x: Tensor) -> Tensor:
        return affine(x, self.W, self.b)

    def look(self, P: Tensor | None, c: Tensor) -> Tensor | float:
        """P c, nothing where the gate has no peephole."""
        if P is None:
            return 0.0
        return P * c if self.matrix == "diagonal" else F.linear(c, P)

    def step(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        h, c = state
        i, f, g, o = (u + F.linear(h, self.U)).chunk(4, -1)
        i = self.input_gate(torch.sigmoid(i + self.look(self.P_i, c)))
        f = self.forget_gate(torch.sigmoid(f + self.look(self.P_f, c)))
        g = self.candidate(torch.tanh(g))
        c = self.cell_state(f * c + i * g)
        o = self.output_gate(torch.sigmoid(o + self.look(self.P_o, c)))
        h = self.hidden_state(o * torch.tanh(c))
        return h, (h, c)

    def native(self) -> KernelWeights:
        full = self.matrix == "full"
        shape = (self.hidden, self.hidden) if full else (self.hidden,)
        P = [self.b.new_zeros(shape) if p is None else p for p in self._peepholes()]
        kind = "peephole_full" if full else "peephole"
        return KernelWeights(kind, self.W, self.b, self.U, torch.cat(P))

    def onnx(self) -> OnnxForm | None:
        if self.matrix == "full":
            return None
        W, U, b = (gates(p, "iofg", "ifgo") for p in (self.W, self.U, self.b))
        zero = self.b.new_zeros(self.hidden)
        P = [zero if p is None else p.detach() for p in (self.P_i, self.P_o, self.P_f)]
        return OnnxForm("LSTM", W, U, input_bias(b), {}, torch.cat(P))

    def _peepholes(self) -> tuple[Tensor | None, ...]:
        return self.P_i, self.P_f, self.P_o
