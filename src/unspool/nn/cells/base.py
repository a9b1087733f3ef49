"""Recurrent cell: parameters and the equations of one time step.

In: x_t (B, I), or (B,) integers that stand for one-hot vectors, and a state, a tuple of (B, H).
Out: the output (B, H) and the next state. `Recurrent` runs any cell over whole sequences.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unspool.native import recurrence
from unspool.native.recurrence import KernelWeights, Stepper
from unspool.nn.network import State
from unspool.nn.taps import recording


class OnnxForm(NamedTuple):
    """One direction of an ONNX operator, `RNN`, `LSTM` or `GRU`, with its gates in ONNX's order.

    W            (G·H, I)
    R            (G·H, H)
    B            (2·G·H,): the biases of the input, then those of the state
    attributes   of the node; a list has what each direction needs
    P            (3·H,) peepholes
    """

    operator: str
    W: Tensor
    R: Tensor
    B: Tensor
    attributes: dict[str, Any]
    P: Tensor | None = None


class Cell(nn.Module, ABC):
    """A recurrent cell with I `inputs` and H `hidden` units.

    Weights are in blocks of H rows, one a gate, in the order that the subclass documents:
    W (G·H, I) for the input, U (G·H, H) for the state, b (G·H) the only bias.

    A subclass writes `step`, and `project` for the part of the equations that does not need the
    state. It may also offer faster ways to the same numbers for whole sequences: `native`, where
    there is a kernel for it, and `sequence`.
    """

    state_names: ClassVar[tuple[str, ...]] = ("h",)
    is_scan: ClassVar[bool] = False  # its kernel reads one sequence after the other

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.hidden = hidden

    def project(self, x: Tensor) -> Tensor:
        """u = what needs x alone, for one step (B, I) or for all at once (B, T, I)."""
        return x

    @abstractmethod
    def step(self, u: Tensor, state: State) -> tuple[Tensor, State]:
        """The equations of one time step: (u_t, state_{t-1}) -> (output_t, state_t)."""

    def forward(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One step of x (B, I): by the native kernel where no gradient and no tap is asked for."""
        stepper = self.single_step(x)
        if stepper is None:
            return self.step(self.project(x), state)
        new = stepper(x.contiguous(), state)
        return new[0], new

    def single_step(self, x: Tensor) -> Stepper | None:
        """The native kernel of steps like this one, None where there is none."""
        if torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"):
            return None
        if self.hidden % recurrence.WIDTH[False] or x.shape[0] > recurrence.FEW:
            return None
        kept = steady_stepper(self)
        if kept is not None:
            return None if recording(self) else kept
        weights = self.native()
        if (
            weights is None
            or recording(self)
            or recurrence.unsupported_reason(x, weights.W) is not None
        ):
            return None
        return Stepper(weights, self.hidden)

    def start(self, batch: int, like: Tensor | None = None) -> State:
        """A state of zeros, of the type and on the device of `like` (None: of the parameters)."""
        like = next(self.parameters()) if like is None else like
        return tuple(like.new_zeros(batch, self.hidden) for _ in self.state_names)

    def native(self) -> KernelWeights | None:
        """Its weights as a native kernel takes them, None where there is no kernel for it."""
        return None

    def onnx(self) -> OnnxForm | None:
        """Its weights as an operator of ONNX takes them; None: an export loops over `step`."""
        return None

    def native_unsupported_reason(self, x: Tensor) -> str | None:
        """None where a native kernel can take `x`, otherwise the reason."""
        weights = self.native()
        return (
            "it has no native kernel"
            if weights is None
            else recurrence.unsupported_reason(x, weights.W)
        )

    def sequence_unsupported_reason(self, x: Tensor) -> str | None:
        """None where `sequence` can take `x`, otherwise the reason."""
        return "it has no whole-sequence form, only its step"

    def sequence(self, x: Tensor, lengths: Tensor | None, state: State) -> tuple[Tensor, State]:
        """Outputs (B, T, H) and final state of x (B, T, I) or (B, T); lengths None: all are T.

        Its outputs at padding are ignored.
        """
        raise NotImplementedError

    def extra_repr(self) -> str:
        return f"{self.inputs}, {self.hidden}"


# Of each `steady` block of this thread, the latest first.
_steppers: ContextVar[tuple[dict[Cell, Stepper], ...]] = ContextVar("steppers")


def pack_steps(model: nn.Module) -> dict[Cell, Stepper]:
    """The weights of its cells, packed for single steps by native kernels: a copy, which later
    changes of the weights do not reach."""
    steppers: dict[Cell, Stepper] = {}
    with torch.no_grad():
        for cell in model.modules():
            if not isinstance(cell, Cell) or cell.hidden % recurrence.WIDTH[False]:
                continue
            weights = cell.native()
            if weights is not None and recurrence.unsupported_reason(weights.W, weights.W) is None:
                steppers[cell] = Stepper(weights, cell.hidden, pack=True)
    return steppers


@contextmanager
def packed_steps(steppers: dict[Cell, Stepper]) -> Iterator[None]:
    """Inside this block single steps of this thread are made with weights of `pack_steps`."""
    _steppers.set((steppers, *_steppers.get(())))
    try:
        yield
    finally:
        _steppers.set(tuple(each for each in _steppers.get(()) if each is not steppers))


@contextmanager
def steady(model: nn.Module) -> Iterator[None]:
    """Inside this block the weights must not change: they are packed once for all single steps of
    this thread. Nothing is kept on the model, so other threads may do what they like with it."""
    steppers = pack_steps(model)
    with packed_steps(steppers):
        try:
            yield
        finally:
            # Emptied too: a generator that is abandoned may end its block in another thread.
            steppers.clear()


def steady_stepper(cell: Cell) -> Stepper | None:
    """The packed weights of a cell inside `steady`, None outside."""
    for steppers in _steppers.get(()):
        stepper = steppers.get(cell)
        if stepper is not None:
            return stepper
    return None


def gates(p: Tensor, order: str, blocks: str) -> Tensor:
    """The blocks of `p`, named by the letters of `blocks`, in another order; a capital letter
    negates its block."""
    named = dict(zip(blocks, p.detach().chunk(len(blocks))))
    return torch.cat([-named[g.lower()] if g.isupper() else named[g] for g in order])


def input_bias(b: Tensor, *, state: Tensor | None = None) -> Tensor:
    """ONNX's B: a bias of the input, and none of the state unless one is given."""
    return torch.cat([b.detach(), torch.zeros_like(b) if state is None else state])


def affine(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """W x + b. Integers (...) are one-hot vectors (..., I): W's columns are looked up."""
    if x.is_floating_point():
        return F.linear(x, W, b)
    return F.embedding(x, W.t()) + b


def weights(rows: int, columns: int | None = None) -> nn.Parameter:
    """An unfilled parameter (rows, columns), or (rows,)."""
    return nn.Parameter(torch.empty(rows) if columns is None else torch.empty(rows, columns))


def fused_unsupported_reason(x: Tensor) -> str | None:
    """The one thing torch's fused kernels cannot do that every cell here can."""
    return None if x.is_floating_point() else "torch's fused kernels take no one-hot integers"


def cell_options(cell: type[Cell]) -> dict[str, Any]:
    """The options of a cell and their defaults, as its constructor declares them."""
    parameters = inspect.signature(cell.__init__).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
