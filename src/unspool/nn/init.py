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

from torch import Tensor, nn


def input_matrix_(W: Tensor, blocks: int) -> None:
    """W (blocks * H, I)"""
    for block in W.detach().chunk(blocks):
        nn.init.xavier_uniform_(block)


def recurrent_matrix_(U: Tensor, blocks: int) -> None:
    """U (blocks * H, H)"""
    for block in U.detach().chunk(blocks):
        nn.init.orthogonal_(block)


def gates_(W: Tensor, U: Tensor, b: Tensor, blocks: int) -> None:
    """The parameters of a cell: W (blocks * H, I), U (blocks * H, H), b (blocks * H)."""
    input_matrix_(W, blocks)
    recurrent_matrix_(U, blocks)
    nn.init.zeros_(b)


def linear_(layer: nn.Linear) -> None:
    """A layer outside the recurrence."""
    nn.init.xavier_uniform_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
