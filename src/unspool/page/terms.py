"""The terms that the equations of a recurrent cell add up, for every unit and step.

In: a cell, what it was given at each step and what its taps passed. Out: for each of its blocks,
by the letter that the cell's docstring has for it, the summands inside σ( ), tanh( ) or φ( ):

    x    (T, H) W x_t
    h    (T, H) U h_{t-1}; of a GRU with reset="before" U_n (r_t ⊙ h_{t-1})
    c    (T, H) P c_{t-1}, of an output gate P c_t: where there is a peephole
    b    (H) the bias
    hn   (H) of a GRU with reset="after": the bias inside the reset, b_hn
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.insight.trace import ASIDE
from unspool.nn.cells import GRU, IRNN, LSTM, Cell, Coupled, Elman, MinGRU, MinLSTM, Peephole, State

Terms = dict[str, dict[str, Tensor]]

# Of the rows of W, U and b, from the top downwards.
BLOCKS: dict[type[Cell], str] = {
    Elman: "a",
    IRNN: "a",
    LSTM: "ifgo",
    Peephole: "ifgo",
    Coupled: "fgo",
    GRU: "rzn",
    MinGRU: "zg",
    MinLSTM: "fig",
}
MAXOUT = "pq"  # the two affine pieces of Elman's cell with activation="maxout"


@contextmanager
def watched(model: nn.Module) -> Iterator[dict[str, list[tuple[Tensor, State]]]]:
    """Inputs (u_t, s_{t-1}) of each cell of the model at each step of this block, by its path.

    Only of cells with a recorded tap, whose `step` is called for every step.
    """
    cells: dict[str, Any] = {
        path: module
        for path, module in model.named_modules()
        if isinstance(module, Cell) and not ASIDE.match(path)
    }
    inputs: dict[str, list[tuple[Tensor, State]]] = {path: [] for path in cells}

    def watching(cell: Cell, calls: list[tuple[Tensor, State]]) -> Any:
        step = cell.step

        def watched_step(u: Tensor, state: State) -> tuple[Tensor, State]:
            calls.append((u, state))
            return step(u, state)

        return watched_step

    for path, cell in cells.items():
        cell.step = watching(cell, inputs[path])
    try:
        yield inputs
    finally:
        for cell in cells.values():
            del cell.step  # the one of its class is there again


@torch.no_grad()
def terms(cell: Any, u: Tensor, before: State, passed: Mapping[str, Tensor]) -> Terms:
    """u (T, G·H), the states before each step (T, H), and what passed the taps (T, H) by their
    names. A cell of another kind than these has none that are known."""
    if type(cell) not in BLOCKS:
        return {}
    letters = MAXOUT if getattr(cell, "pieces", 1) == 2 else BLOCKS[type(cell)]
    blocks, b = len(letters), cell.b.detach()
    parts: Terms = {
        letter: {"x": x, "b": part}
        for letter, x, part in zip(letters, (u - b).chunk(blocks, -1), b.chunk(blocks))
    }
    if hasattr(cell, "U"):
        for letter, part in zip(letters, F.linear(before[0], cell.U).chunk(blocks, -1)):
            parts[letter]["h"] = part
    if isinstance(cell, GRU):
        if cell.b_hn is not None:
            parts["n"]["hn"] = cell.b_hn.detach()
        else:
            U_n = cell.U.chunk(3)[2]
            parts["n"]["h"] = F.linear(passed["reset_gate"] * before[0], U_n)
    if isinstance(cell, Peephole):
        seen = {"i": before[1], "f": before[1], "o": passed["cell_state"]}
        for gate, c in seen.items():
            if (P := getattr(cell, f"P_{gate}")) is not None:
                parts[gate]["c"] = torch.as_tensor(cell.look(P, c))
    return parts
