"""torch's fused recurrent kernels behind one face.

In: a padded batch (B, T, I), its lengths (or None where every sequence fills all T steps), a
start state and the weights of one direction of one layer. Out: outputs (B, T, H) and the final
state. Ragged batches go through a packed sequence.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from unspool.nn.state import State

Kernel = Literal["lstm", "gru", "rnn_tanh", "rnn_relu"]


def fused_sequence(
    kernel: Kernel,
    x: Tensor,
    lengths: Tensor | None,
    state: State,
    *,
    W: Tensor,
    U: Tensor,
    b: Tensor,
    b_recurrent: Tensor | None = None,
) -> tuple[Tensor, State]:
    """Runs one kernel forwards in time.

    torch adds a second bias to U h; all but the reset product of its GRU could do without it,
    and zeros are passed for it unless `b_recurrent` is given.
    """
    run = getattr(torch._VF, kernel)
    weights = [W, U, b, torch.zeros_like(b) if b_recurrent is None else b_recurrent]
    train = torch.is_grad_enabled()
    if lengths is None:
        start = _layered(state)
        outputs, *final = run(x, start, weights, True, 1, 0.0, train, False, True)
        return outputs, tuple(s.squeeze(0) for s in final)

    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    data, sizes, order, back = packed
    assert order is not None
    assert back is not None
    start = _layered(tuple(s.index_select(0, order) for s in state))
    data, *final = run(data, sizes, start, weights, True, 1, 0.0, train, False)
    packed = PackedSequence(data, sizes, order, back)
    outputs, _ = pad_packed_sequence(packed, batch_first=True, total_length=x.shape[1])
    return outputs, tuple(s.squeeze(0).index_select(0, back) for s in final)


def _layered(state: State) -> Tensor | State:
    """State in torch's form: (1, B, H), in a tuple where there are two."""
    layered = tuple(s.unsqueeze(0) for s in state)
    return layered if len(layered) > 1 else layered[0]
