"""Gradients through time: how far back a recurrent cell learns.

In: a cell, fresh or trained, and what it reads, x (T, I). Out: how large ∂L/∂s_t is at each
distance T - t from the output, and the singular values of the product of Jacobians ∂s_T/∂s_t.

s_t is the whole state of the cell, (h_t) or (h_t, c_t): an LSTM's gradient flows through c_t, and
at h_t alone it would seem to vanish. L = v · h_T for a random v of length 1, so ‖∂L/∂s_T‖ = 1.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from unspool.errors import ConfigError, choose
from unspool.nn.cells import CELLS, GRU, LSTM, Cell, Coupled, Peephole, State
from unspool.nn.cells.elman import Elman
from unspool.nn.recurrent import check_options

CELL_NAMES = ("elman", "irnn", "lstm", "gru")
# The block of b of the gate that keeps the state.
KEEPS: dict[type[Cell], int] = {LSTM: 1, Peephole: 1, Coupled: 0, GRU: 1}
SHUT = 20.0  # so much off 0, a gate is 0 or 1 whatever it reads
VANISHED, EXPLODED = 1e-3, 1e3  # how much of a gradient has to be left, or may have become of it


class Flow(NamedTuple):
    """Gradient norm at each distance d = 0, 1, ... from the output.

    norms      ‖∂L/∂s_{T-d}‖
    parts      the same of each part of the state by itself: h, and c where there is one
    largest    largest singular value of each block of U, by the index of the block
    """

    name: str
    norms: np.ndarray
    parts: dict[str, np.ndarray]
    largest: list[float]

    @property
    def reach(self) -> int:
        """The distance up to which a thousandth of the gradient is left."""
        gone = np.flatnonzero(self.norms < VANISHED * self.norms[0])
        return int(gone[0]) - 1 if len(gone) else len(self.norms) - 1

    @property
    def verdict(self) -> str:
        with np.errstate(divide="ignore"):
            share = self.norms[-1] / self.norms[0]
        if not np.isfinite(share) or share > EXPLODED:
            return "explodes"
        return "vanishes" if share < VANISHED else "lasts"


class GradientFlow(NamedTuple):
    """Several cells side by side, at the distances 0 to T - 1."""

    flows: list[Flow]

    def to_json(self) -> dict[str, Any]:
        return {
            "flows": [
                {
                    "name": flow.name,
                    "norms": flow.norms.tolist(),
                    "parts": {name: part.tolist() for name, part in flow.parts.items()},
                    "largest_singular_values": flow.largest,
                    "reach": flow.reach,
                    "verdict": flow.verdict,
                }
                for flow in self.flows
            ]
        }

    def lines(self) -> list[str]:
        """Norms at some distances, and how far a thousandth of the gradient gets."""
        last = len(self.flows[0].norms) - 1
        shown = [d for d in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if d < last] + [last]
        width = max(len(flow.name) for flow in self.flows)
        lines = [
            "what is left of a gradient, so many steps before the output",
            f"{'':<{width}}" + "".join(f"{d:>9}" for d in shown) + "    reach",
        ]
        for flow in self.flows:
            left = "".join(f"{flow.norms[d]:9.1e}" for d in shown)
            lines.append(f"{flow.name:<{width}}{left}  {flow.reach:7d}  {flow.verdict}")
        return lines


def gradient_flow(
    cells: Sequence[str] | Mapping[str, Cell] = CELL_NAMES,
    *,
    distance: int = 200,
    inputs: int = 32,
    hidden: int = 64,
    scale: float = 1.0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    x: Tensor | None = None,
    clip: float | None = None,
    seed: int = 1,
) -> GradientFlow:
    """The flow of several cells that read the same, from one output `distance` steps back.

    cells      names of fresh ones, or cells of any kind by the names they are to be shown under
    scale      what the recurrent matrix of a fresh one is multiplied by: a large start
    options    of a fresh one by its name, such as {"lstm": {"forget_bias": 5.0}}
    x          (T, I) what is read; None: Gaussian noise
    clip       see `flow`
    """
    if distance < 1:
        raise ConfigError("the distance must be 1 step or more", got=distance)
    generator = torch.Generator().manual_seed(seed)
    if x is None:
        x = torch.randn(distance + 1, inputs, generator=generator)
    if not isinstance(cells, Mapping):
        cells = {
            name: fresh(
                name, x.shape[-1], hidden, scale=scale, options=(options or {}).get(name), seed=seed
            )
            for name in cells
        }
    return GradientFlow([flow(c, x, name=name, clip=clip, seed=seed) for name, c in cells.items()])


def fresh(
    name: str,
    inputs: int,
    hidden: int,
    *,
    scale: float = 1.0,
    options: Mapping[str, Any] | None = None,
    seed: int = 1,
) -> Cell:
    """A cell with its initial weights; its U times `scale`."""
    kind = CELLS[choose("cell", name, CELLS)]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        cell = kind(inputs, hidden, **check_options(kind, options or {}))
    if scale != 1 and isinstance(U := getattr(cell, "U", None), Tensor):
        U.detach().mul_(scale)
    return cell


def flow(
    cell: Cell, x: Tensor, *, name: str = "", clip: float | None = None, seed: int = 1
) -> Flow:
    """∂L/∂s_t for t = T, ..., 1, by ∂L/∂s_{t-1} = (∂s_t/∂s_{t-1})ᵀ ∂L/∂s_t.

    clip   a gradient longer than this is shortened to it before it goes on to the step before
    """
    cell = precise(cell)
    u, states = run(cell, x)
    v = torch.randn(cell.hidden, generator=torch.Generator().manual_seed(seed)).double()
    gradient: State = (v[None] / v.norm(), *(torch.zeros_like(s) for s in states[-1][1:]))
    gradients = [gradient]
    for t in range(len(u) - 1, 0, -1):
        before = tuple(s.requires_grad_() for s in states[t])
        with torch.enable_grad():
            _, after = cell.step(u[t], before)
            gradient = torch.autograd.grad(after, before, gradient, materialize_grads=True)
        length = torch.cat(gradient, -1).norm()
        if clip is not None and length > clip:
            gradient = tuple(g * (clip / length) for g in gradient)
        gradients.append(gradient)
    norms = [float(torch.cat(g, -1).norm()) for g in gradients]
    parts = {
        part: np.array([float(g[i].norm()) for g in gradients])
        for i, part in enumerate(cell.state_names)
    }
    return Flow(name or type(cell).__name__.lower(), np.array(norms), parts, singular_values(cell))


def jacobians(cell: Cell, x: Tensor, *, distances: Sequence[int] | None = None) -> np.ndarray:
    """The singular values (D, n), falling, of ∂s_T/∂s_{T-d} for some distances d; None: all.

    n is the size of the whole state. The product of Jacobians shows what no single gradient does:
    the largest value bounds every gradient, and how many are not near 0 shows how much of a state
    can be remembered at all.
    """
    cell = precise(cell)
    u, states = run(cell, x)
    wanted = range(len(u)) if distances is None else distances
    if not all(0 <= d < len(u) for d in wanted):
        raise ValueError(f"distances must lie between 0 and {len(u) - 1}; got {list(wanted)}")
    product = torch.eye(cell.hidden * len(cell.state_names), dtype=torch.double)
    spectra = {}
    for d in range(max(wanted) + 1):
        if d:
            product = product @ jacobian(cell, u[-d], states[-d - 1])
        if d in wanted:
            spectra[d] = torch.linalg.svdvals(product)
    return torch.stack([spectra[d] for d in wanted]).numpy()


def jacobian(cell: Cell, u: Tensor, state: State) -> Tensor:
    """∂s_t/∂s_{t-1} (n, n): row i from a copy of the step of which only output i counts."""
    size = cell.hidden * len(cell.state_names)
    before = torch.cat(state, -1).expand(size, -1).detach().clone().requires_grad_()
    with torch.enable_grad():
        _, after = cell.step(u.expand(size, -1), tuple(before.split(cell.hidden, -1)))
        (rows,) = torch.autograd.grad(torch.cat(after, -1).trace(), before)
    return rows


def run(cell: Cell, x: Tensor) -> tuple[list[Tensor], list[State]]:
    """u_1 ... u_T of x (T, I), or (T,) ids, and the states s_0 ... s_T, of a cell in float64."""
    x = x.double() if x.is_floating_point() else x
    with torch.no_grad():
        u = list(cell.project(x[None]).unbind(1))
        states = [tuple(s.double() for s in cell.start(1))]
        for u_t in u:
            states.append(cell.step(u_t, states[-1])[1])
    return u, states


def precise(cell: Cell) -> Cell:
    """The same cell in float64: over 200 steps a gradient can shrink below what float32 holds."""
    return copy.deepcopy(cell).double() if next(cell.parameters()).dtype != torch.double else cell


def singular_values(cell: Cell) -> list[float]:
    """The largest singular value of each block of the recurrent matrix U; cells without have none.

    Of Elman's cell, h_t = φ(U h_{t-1} + ...) with |φ'| ≤ 1, it bounds what is left of a gradient
    after d steps: at most its d-th power (Pascanu et al. 2013, section 2.1).
    """
    U = getattr(cell, "U", None)
    if not isinstance(U, Tensor):
        return []
    return [float(torch.linalg.matrix_norm(b, 2)) for b in U.detach().double().split(cell.hidden)]


def what_ifs(cell: Cell) -> dict[str, Cell]:
    """The cell with one thing different, its other weights unchanged: a recurrent matrix twice as
    large, or the identity in each block; of Elman's cell rectified units; of a cell with gates the
    one that keeps the state (forget or update gate) wide open, or shut."""
    changes: dict[str, Cell] = {}
    if isinstance(getattr(cell, "U", None), nn.Parameter):
        for name, change in (("U doubled", _doubled), ("U = identity", _identity)):
            changes[name] = copy.deepcopy(cell)
            change(changes[name])
    if isinstance(cell, Elman) and cell.activation != "relu" and cell.pieces == 1:
        rectified = Elman(cell.inputs, cell.hidden, activation="relu")
        rectified.load_state_dict(cell.state_dict())
        changes["relu"] = rectified
    if type(cell) in KEEPS:
        for name, bias in (("gates keep all", SHUT), ("gates keep nothing", -SHUT)):
            changes[name] = copy.deepcopy(cell)
            _gated(changes[name], bias)
    return changes


def _doubled(cell: Any) -> None:
    cell.U.detach().mul_(2)


def _identity(cell: Any) -> None:
    for block in cell.U.detach().split(cell.hidden):
        nn.init.eye_(block)


def _gated(cell: Any, bias: float) -> None:
    takes = getattr(cell, "update", None) == "take"  # a GRU whose z multiplies the candidate
    cell.b.detach().split(cell.hidden)[KEEPS[type(cell)]].fill_(-bias if takes else bias)
