"""Initial weights of all layers.

In: freshly allocated parameters. Out: the same, filled:

* input matrices W: Xavier (Glorot & Bengio 2010), each gate's block on its own;
* recurrent matrices U: orthogonal (Saxe et al. 2014), each gate's block on its own, so that a
  signal neither grows nor dies in the linear part of the recurrence;
* biases: zero, but 1 for an LSTM's forget gate (Jozefowicz et al. 2015): it starts by remembering;
* peepholes: zero, so that the cell starts as a plain LSTM;
* IRNN (Le et al. 2015): U = identity, b = 0, W Gaussian with standard deviation 0.001;
* embeddings: Gaussian with standard deviation 0.1; output layers: Xavier, zero bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor, nn

_filled = ContextVar("filled", default=True)


@contextmanager
def left_empty() -> Iterator[None]:
    """Inside this block matrices stay as they were allocated: those of a model whose weights are
    then read from a file. To make them orthogonal takes longer than all else of its loading."""
    before = _filled.set(False)
    try:
        yield
    finally:
        _filled.reset(before)


def input_matrix_(W: Tensor, blocks: int) -> None:
    """W (blocks * H, I)"""
    for block in W.detach().chunk(blocks) if _filled.get() else ():
        nn.init.xavier_uniform_(block)


def recurrent_matrix_(U: Tensor, blocks: int) -> None:
    """U (blocks * H, H)"""
    for block in U.detach().chunk(blocks) if _filled.get() else ():
        nn.init.orthogonal_(block)


def gates_(W: Tensor, U: Tensor, b: Tensor, blocks: int) -> None:
    """The parameters of a cell: W (blocks * H, I), U (blocks * H, H), b (blocks * H)."""
    input_matrix_(W, blocks)
    recurrent_matrix_(U, blocks)
    nn.init.zeros_(b)


def linear_(layer: nn.Linear) -> None:
    """A layer outside the recurrence."""
    input_matrix_(layer.weight, blocks=1)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


def embedding_(E: Tensor, std: float) -> None:
    """E (V, size)"""
    if _filled.get():
        nn.init.normal_(E.detach(), std=std)
