"""torch's fused recurrent kernels with one interface.

In: a padded batch (B, T, I), its lengths (or None where every sequence fills all T steps), a
start state and the weights of one direction of one layer. Out: outputs (B, T, H) and the final
state.

The kernels know no lengths. Reading forwards, padding cannot reach the outputs before it, so a
ragged batch runs over its padding and only the final state needs care: h is the output at the last
real step, and an LSTM's c is carried unchanged through the padding by gates that are forced open
and shut. torch's own way, a packed sequence, trains in a time that grows with T² on a CPU: the
gradient of each step there fills a tensor of the size of the whole batch.

Under bfloat16 autocast on a processor that does not multiply bfloat16 the kernels run in float32:
that is faster, no less precise, and oneDNN has no LSTM of bfloat16 below AVX-512.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from unspool import native
from unspool.native.recurrence import is_half
from unspool.nn.masks import at_last, keep_mask
from unspool.nn.network import State

Kernel = Literal["lstm", "gru", "rnn_tanh", "rnn_relu"]

# What one more input, 1 at padding and 0 elsewhere, adds to the blocks of a kernel. ±10⁴ makes a
# sigmoid exactly 1 or 0 in every precision, with a gradient of exactly 0.
PADDING_WEIGHTS: dict[Kernel, tuple[float, ...]] = {
    "lstm": (-1e4, 1e4, 0.0, 0.0),  # i = 0 and f = 1: c stays
    "rnn_relu": (-1e30,),  # h = 0: nothing can grow to infinity over the padding
}


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
    if is_half() and x.device.type == "cpu" and not native.multiplies_bf16():
        with torch.autocast("cpu", enabled=False):
            return fused_sequence(
                kernel, x.to(W.dtype), lengths, state, W=W, U=U, b=b, b_recurrent=b_recurrent
            )
    if lengths is not None and kernel in PADDING_WEIGHTS:
        padding = ~keep_mask(lengths, x.shape[1], device=x.device)[..., None]
        x = torch.cat([x, padding.to(x.dtype)], -1)  # (B, T, I + 1)
        column = W.new_tensor(PADDING_WEIGHTS[kernel]).repeat_interleave(U.shape[1])
        W = torch.cat([W, column[:, None]], 1)
    weights = [W, U, b, torch.zeros_like(b) if b_recurrent is None else b_recurrent]
    start = tuple(s.unsqueeze(0) for s in state)  # each (1, B, H)
    outputs, *final = getattr(torch._VF, kernel)(
        x,
        start if len(start) > 1 else start[0],
        weights,
        True,  # with biases
        1,  # layer
        0.0,  # dropout
        torch.is_grad_enabled(),
        False,  # bidirectional
        True,  # batch first
    )
    h, *rest = (s.squeeze(0) for s in final)
    if lengths is not None:
        h = at_last(outputs, lengths)
    return outputs, (h, *rest)
