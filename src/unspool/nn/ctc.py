"""Connectionist temporal classification (Graves et al. 2006): the probability of a text that is
shorter than its steps.

At each step a network gives the probability of each token and of a blank. A path has one of them at
each step; the text of a path is what is left when repetitions are merged, and then blanks removed.
The probability of a text is the sum over all its paths:

    p(y) = Σ_{paths of y} Π_t p_t(path_t)
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

BLANK = 0  # the id of padding, which is in no text


def ctc_losses(log_p: Tensor, lengths: Tensor, targets: Tensor, sizes: Tensor) -> Tensor:
    """-ln p(y) of each row, (B,); infinite where the steps are too few.

    log_p    (B, T, V) of a log-softmax; its gradient is right for such alone
    lengths  (B,) steps
    targets  (B, S) tokens, padded
    sizes    (B,) tokens of each
    """
    counts = lengths.tolist(), sizes.tolist()  # which stay on the CPU
    return torch.ctc_loss(log_p.transpose(0, 1).float(), targets, *counts, BLANK, reduction=0)


def log_probability(log_p: Tensor, target: Tensor) -> Tensor:
    """ln p(y) of one row, (T, V) and (S,): the readable reference of `ctc_losses`.

    States are blank, y_1, blank, y_2, ..., blank. A path stays in a state, goes to the next, or
    skips a blank between two tokens that differ:

        α_t(s) = p_t(s) (α_{t-1}(s) + α_{t-1}(s - 1) [+ α_{t-1}(s - 2)])
    """
    states = with_blanks(target)
    never = log_p.new_tensor(-1e30)  # of which gradients are 0, not NaN
    alpha = never.repeat(len(states))
    alpha[: min(2, len(states))] = log_p[0, states[:2]]
    skips = torch.zeros(len(states), dtype=torch.bool)
    skips[2:] = (states[2:] != BLANK) & (states[2:] != states[:-2])
    for step in log_p[1:]:
        one = torch.cat([never[None], alpha[:-1]])
        two = torch.where(skips, torch.cat([never.repeat(2), alpha[:-2]])[: len(states)], never)
        alpha = step[states] + torch.stack([alpha, one, two]).logsumexp(0)
    return alpha[-2:].logsumexp(0)


def with_blanks(target: Tensor) -> Tensor:
    """(S,) -> (2 S + 1,)"""
    states = target.new_full((2 * len(target) + 1,), BLANK)
    states[1::2] = target
    return states


def steps_needed(targets: Tensor, sizes: Tensor) -> Tensor:
    """(B,) the fewest steps of a path: one a token, and a blank between two that are equal."""
    inside = torch.arange(1, targets.shape[1]) < sizes[:, None]
    again = (targets[:, 1:] == targets[:, :-1]) & inside
    return sizes + again.sum(1)


class StepSpan(NamedTuple):
    """The steps of a token on the best path: from `start` up to before `end`."""

    start: int
    end: int


def align(log_p: Tensor, target: list[int]) -> list[StepSpan]:
    """Steps of each token of a text on its most probable path; (T, V), with enough steps for it."""
    states = with_blanks(torch.tensor(target, dtype=torch.int64))
    scores = log_p.double().cpu()[:, states]  # (T, N)
    n, steps = len(states), len(scores)
    skips = torch.zeros(n, dtype=torch.bool)
    skips[2:] = (states[2:] != BLANK) & (states[2:] != states[:-2])
    best = torch.full((n,), -torch.inf, dtype=torch.float64)
    best[: min(2, n)] = scores[0, :2]
    back = torch.zeros(steps, n, dtype=torch.int64)
    for t in range(1, steps):
        candidates = torch.full((3, n), -torch.inf, dtype=torch.float64)
        candidates[0] = best
        candidates[1, 1:] = best[:-1]
        candidates[2, 2:] = torch.where(skips[2:], best[:-2], -torch.inf)
        step = candidates.max(0)
        best, back[t] = step.values + scores[t], step.indices
    state = n - 1 if n == 1 or best[-1] >= best[-2] else n - 2
    path = [state]
    for t in range(steps - 1, 0, -1):
        state -= int(back[t, state])
        path.append(state)
    path.reverse()
    spans: dict[int, StepSpan] = {}
    for t, symbol in enumerate(path):
        if symbol % 2:
            start = spans[symbol // 2].start if symbol // 2 in spans else t
            spans[symbol // 2] = StepSpan(start, t + 1)
    return [spans[i] for i in range(len(target))]
