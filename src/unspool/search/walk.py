"""One way through a decoder: the most probable token at each step, or a sampled one.

In: a decoder, its state for B sentences, and the token (B,) that each begins with. Out: of each
sentence a `Hypothesis`. Ended sentences leave the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from unspool.search import logits
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


def greedy(decoder: StepDecoder, state: Any, first: Tensor, rules: SearchRules) -> list[Hypothesis]:
    """The most probable token at each step."""
    return _walk(decoder, state, first, rules, lambda allowed: largest(allowed, 1)[1][:, 0])


def sample(
    decoder: StepDecoder,
    state: Any,
    first: Tensor,
    rules: SearchRules,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
) -> list[Hypothesis]:
    """Tokens sampled from p^(1 / temperature), of which the top_k (0: all) most probable, and of
    these the fewest whose probability reaches top_p.

    A sample depends on those before it: other neighbours in the batch, another sentence.
    """
    if not 0 < temperature < float("inf"):
        raise ValueError(f"temperature must be above 0 and finite; got {temperature}")
    if top_k < 0:
        raise ValueError(f"top_k must be 0 (off) or more; got {top_k}")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1; got {top_p}")

    def pick(allowed: Tensor) -> Tensor:
        return logits.sample(
            allowed, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator
        )

    return _walk(decoder, state, first, rules, pick)


@torch.inference_mode()
def _walk(
    decoder: StepDecoder,
    state: Any,
    first: Tensor,
    rules: SearchRules,
    pick: Callable[[Tensor], Tensor],
) -> list[Hypothesis]:
    """One way through: pick (R, V) -> (R,) chooses among what the rules allow."""
    check_first(first)
    live = [Sentence(example) for example in range(len(first))]
    ended: list[Hypothesis | None] = [None] * len(live)
    ids = first
    while live:
        allowed, state = step(decoder, ids, state, rules, live)
        chosen = pick(allowed)
        log_ps = allowed.gather(-1, chosen[:, None])[:, 0].tolist()
        longer, rows, looked = [], [], seen(state, len(live))
        for row, (sentence, token) in enumerate(zip(live, chosen.tolist())):
            total = sentence.log_probability + log_ps[row]
            if token == rules.end:
                ended[sentence.example] = sentence.end(total)
            else:
                longer.append(sentence.longer(token, total, looked[row]))
                rows.append(row)
        live, ids = longer, chosen[rows]
        state = select(decoder, state, rows, len(chosen))
    return [hypothesis for hypothesis in ended if hypothesis is not None]
