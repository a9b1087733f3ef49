"""Beam search: the few most probable sentences of a decoder, side by side.

In: a decoder, its state for B sentences, and the token (B,) that each begins with. Out: of each
sentence the best few `Hypothesis`es. Sentences that are settled leave the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from unspool.search.logits import largest
from unspool.search.rules import (
    Hypothesis,
    SearchRules,
    Sentence,
    StepDecoder,
    check_first,
    seen,
    select,
    step,
)


def length_penalty(n: int, alpha: float) -> float:
    """Wu et al. (2016), equation 14: ((5 + n) / 6)^α, for n tokens with the end among them."""
    return ((5 + n) / 6) ** alpha


@torch.inference_mode()
def beam(
    decoder: StepDecoder,
    state: Any,
    first: Tensor,
    rules: SearchRules,
    *,
    width: int,
    best: int = 1,
    alpha: float = 0.0,
    early_stop: bool = True,
) -> list[list[Hypothesis]]:
    """The `best` sentences that a beam of `width` meets, the highest score first.

    At each step the `width` most probable continuations of a sentence's beam are kept; those that
    end are set aside, and of them the `best` by

        score = log p / ((5 + n) / 6)^alpha

    early_stop  leave a sentence when nothing in its beam can get among the best any more. This
                changes no result: log p only falls, and no penalty is above that of the longest
                sentence, so no continuation gets above log p / penalty(max_length + 1).
    """
    check_first(first)
    if width < 1:
        raise ValueError(f"the beam's width must be 1 or more; got {width}")
    if not 1 <= best <= width:
        raise ValueError(f"best must lie between 1 and the width {width}; got {best}")
    if not 0 <= alpha < float("inf"):
        raise ValueError(f"alpha must be 0 (no length penalty) or more, and finite; got {alpha}")
    finished: list[list[Hypothesis]] = [[] for _ in range(len(first))]
    live = [Sentence(example) for example in range(len(first))]  # those of one example side by side
    ids = first
    while live:
        allowed, state = step(decoder, ids, state, rules, live)
        penalty = length_penalty(len(live[0].tokens) + 1, alpha)
        looked = seen(state, len(live))
        longer: list[list[Sentence]] = [[] for _ in finished]
        parents: list[list[int]] = [[] for _ in finished]
        for row, token, total in _continuations(allowed, live, width):
            example = live[row].example
            if token == rules.end:
                ended = [*finished[example], live[row].end(total, penalty=penalty)]
                # Sorting is stable: of equals the one that was met first stays.
                finished[example] = sorted(ended, key=lambda h: -h.score)[:best]
            else:
                longer[example].append(live[row].longer(token, total, looked[row]))
                parents[example].append(row)
        live, rows = [], []
        for example, (sentences, above, ended) in enumerate(zip(longer, parents, finished)):
            largest = length_penalty(rules.limit(example) + 1, alpha)
            if not (early_stop and _settled(sentences, ended, best, largest)):
                live += sentences
                rows += above
        ids = torch.tensor([s.tokens[-1] for s in live], dtype=first.dtype, device=first.device)
        state = select(decoder, state, rows, len(allowed))
    return finished


def _continuations(
    allowed: Tensor, live: Sequence[Sentence], width: int
) -> Iterator[tuple[int, int, float]]:
    """(row, token, log probability of all) of the `width` most probable of each beam."""
    log_ps, tokens = largest(allowed, width)  # (R, k)
    before = [[s.log_probability] for s in live]
    totals = log_ps.new_tensor(before, dtype=torch.double) + log_ps
    # The rows of each example side by side, (P, M, k): M is the fullest beam of the P examples.
    starts = [row for row, s in enumerate(live) if row == 0 or live[row - 1].example != s.example]
    sizes = [end - start for start, end in zip(starts, [*starts[1:], len(live)])]
    side = totals.new_full((len(starts), max(sizes), totals.shape[-1]), -torch.inf)
    which = [p for p, size in enumerate(sizes) for _ in range(size)]
    slots = [slot for size in sizes for slot in range(size)]
    side[which, slots] = totals
    values, at = side.flatten(1).topk(min(width, side[0].numel()))
    flat = tokens.flatten().tolist()
    for start, row_values, row_at in zip(starts, values.tolist(), at.tolist()):
        for total, index in zip(row_values, row_at):
            if total > -torch.inf:
                index += start * tokens.shape[-1]
                yield index // tokens.shape[-1], flat[index], total


def _settled(live: Sequence[Sentence], ended: list[Hypothesis], best: int, largest: float) -> bool:
    """Return whether no continuation of `live` can beat the worst of the `best` that ended."""
    worst = ended[-1].score if len(ended) == best else -torch.inf
    return all(s.log_probability / largest <= worst for s in live)
