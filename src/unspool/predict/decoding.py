"""Reading sentences out of a decoder: greedily, at random, or by beam search; many at once.

In: a decoder, its state for B sentences, and the token (B,) that each begins with. Out: of each
sentence a `Hypothesis`, or of a beam search the best few. All searches are written over one face:

    logits, state = decoder.step(ids, state)      # (B,) -> (B, V)
    state = decoder.select(state, rows)           # some rows of the batch, which may repeat

Ended sentences leave the batch. A state may have an `alignment` (B, S): of the latest step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from unspool.predict.logits import keep_top_k, keep_top_p

LEAST = -1e9  # the log probability of an impossible end that is the only way out


class Decoder(Protocol):
    def step(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]: ...
    def select(self, state: Any, rows: Tensor) -> Any: ...


class Hypothesis(NamedTuple):
    """A sentence without its end.

    log_probability  of its tokens and its end, as the model gives it, whatever the search did
    score            what a search ranks by: log_probability, for `beam` over the length penalty
    alignment        (tokens, S), or None where the decoder gives none
    """

    tokens: tuple[int, ...]
    score: float
    log_probability: float
    alignment: Tensor | None = None


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What every sentence obeys.

    end              the token that ends a sentence; after max_length tokens it must come
    max_length       most tokens, the end not counted
    min_length       fewest tokens, the end not counted
    no_repeat_ngram  no n tokens in a row come twice; 0: they may
    forbidden        tokens that never come, such as padding

    Where the rules leave nothing, the sentence ends.
    """

    end: int
    max_length: int
    min_length: int = 0
    no_repeat_ngram: int = 0
    forbidden: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.max_length < 1:
            raise ValueError(f"max_length must be 1 or more; got {self.max_length}")
        if not 0 <= self.min_length <= self.max_length:
            raise ValueError(
                f"min_length must lie between 0 and max_length = {self.max_length}; "
                f"got {self.min_length}"
            )
        if self.no_repeat_ngram < 0:
            raise ValueError(f"no_repeat_ngram must be 0 (off) or more; got {self.no_repeat_ngram}")
        if self.end in self.forbidden:
            raise ValueError(f"the end, token {self.end}, may not be forbidden")

    def apply(self, log_p: Tensor, sentences: Sequence[Sentence]) -> Tensor:
        """log_p (R, V), changed in place: -inf for what may not follow each of R sentences, which
        have the same length."""
        steps = len(sentences[0].tokens)
        end = log_p[:, self.end].clamp(min=LEAST)
        if self.forbidden:
            log_p[:, list(self.forbidden)] = -torch.inf
        if steps >= self.max_length:
            log_p[:] = -torch.inf
        elif steps < self.min_length:
            log_p[:, self.end] = -torch.inf
        if self.no_repeat_ngram:
            for row, sentence in enumerate(sentences):
                log_p[row, repeats(sentence.tokens, self.no_repeat_ngram)] = -torch.inf
        stuck = log_p.amax(-1) == -torch.inf
        log_p[stuck, self.end] = end[stuck]
        return log_p


def repeats(tokens: tuple[int, ...], n: int) -> list[int]:
    """The tokens that would make an n-gram that `tokens` already has."""
    begun = tokens[len(tokens) - n + 1 :]  # the n - 1 latest
    return [tokens[i + n - 1] for i in range(len(tokens) - n + 1) if tokens[i : i + n - 1] == begun]


class Sentence(NamedTuple):
    """One that has not ended: its place in the batch that was asked for, and how it began."""

    place: int
    tokens: tuple[int, ...] = ()
    log_probability: float = 0.0
    alignment: tuple[Tensor, ...] = ()

    def longer(self, token: int, log_probability: float, seen: Tensor | None) -> Sentence:
        """With one more token, the log probability of all, and what the step looked at."""
        alignment = self.alignment if seen is None else (*self.alignment, seen)
        return Sentence(self.place, (*self.tokens, token), log_probability, alignment)

    def end(self, log_probability: float, *, penalty: float = 1.0) -> Hypothesis:
        alignment = torch.stack(self.alignment) if self.alignment else None
        return Hypothesis(self.tokens, log_probability / penalty, log_probability, alignment)


def greedy(decoder: Decoder, state: Any, first: Tensor, rules: Rules) -> list[Hypothesis]:
    """The likeliest token at each step."""
    return _walk(decoder, state, first, rules, lambda allowed: allowed.argmax(-1))


def sample(
    decoder: Decoder,
    state: Any,
    first: Tensor,
    rules: Rules,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
) -> list[Hypothesis]:
    """Tokens drawn from p^(1 / temperature), of which the top_k (0: all) likeliest, and of these
    the fewest whose probability reaches top_p.

    A draw depends on the ones before it: other neighbours in the batch, another sentence.
    """
    if not 0 < temperature < float("inf"):
        raise ValueError(f"temperature must be above 0 and finite; got {temperature}")
    if top_k < 0:
        raise ValueError(f"top_k must be 0 (off) or more; got {top_k}")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1; got {top_p}")

    def draw(allowed: Tensor) -> Tensor:
        # The largest becomes 0, which no temperature turns into an infinity.
        logits = (allowed - allowed.amax(-1, keepdim=True)).double() / temperature
        p = keep_top_p(keep_top_k(logits, top_k), top_p).softmax(-1)
        return torch.multinomial(p, 1, generator=generator)[:, 0]

    return _walk(decoder, state, first, rules, draw)


@torch.inference_mode()
def _walk(
    decoder: Decoder, state: Any, first: Tensor, rules: Rules, pick: Callable[[Tensor], Tensor]
) -> list[Hypothesis]:
    """One way through: pick (R, V) -> (R,) chooses among what the rules allow."""
    _check_first(first)
    live = [Sentence(place) for place in range(len(first))]
    found: list[Hypothesis | None] = [None] * len(live)
    ids = first
    while live:
        allowed, state = _step(decoder, ids, state, rules, live)
        chosen = pick(allowed)
        log_ps = allowed.gather(-1, chosen[:, None])[:, 0].tolist()
        longer, rows = [], []
        for row, (sentence, token) in enumerate(zip(live, chosen.tolist())):
            total = sentence.log_probability + log_ps[row]
            if token == rules.end:
                found[sentence.place] = sentence.end(total)
            else:
                longer.append(sentence.longer(token, total, _seen(state, row)))
                rows.append(row)
        live, ids = longer, chosen[rows]
        state = _select(decoder, state, rows, len(chosen))
    return [hypothesis for hypothesis in found if hypothesis is not None]


def length_penalty(n: int, alpha: float) -> float:
    """Wu et al. (2016), equation 14: ((5 + n) / 6)^α, for n tokens with the end among them."""
    return ((5 + n) / 6) ** alpha


@torch.inference_mode()
def beam(
    decoder: Decoder,
    state: Any,
    first: Tensor,
    rules: Rules,
    *,
    width: int,
    best: int = 1,
    alpha: float = 0.0,
    early_stop: bool = True,
) -> list[list[Hypothesis]]:
    """The `best` sentences that a beam of `width` meets, the highest score first.

    At each step the `width` likeliest continuations of a sentence's beam are kept; those that end
    are set aside, and of them the `best` by

        score = log p / ((5 + n) / 6)^alpha

    early_stop  leave a sentence when nothing in its beam can get among the best any more. This
                changes no result: log p only falls, and no penalty is above that of the longest
                sentence, so no continuation gets above log p / penalty(max_length + 1).
    """
    _check_first(first)
    if width < 1:
        raise ValueError(f"the beam's width must be 1 or more; got {width}")
    if not 1 <= best <= width:
        raise ValueError(f"best must lie between 1 and the width {width}; got {best}")
    if not 0 <= alpha < float("inf"):
        raise ValueError(f"alpha must be 0 (no length penalty) or more, and finite; got {alpha}")
    largest = length_penalty(rules.max_length + 1, alpha)
    found: list[list[Hypothesis]] = [[] for _ in range(len(first))]
    live = [Sentence(place) for place in range(len(first))]  # those of one place side by side
    ids = first
    while live:
        allowed, state = _step(decoder, ids, state, rules, live)
        penalty = length_penalty(len(live[0].tokens) + 1, alpha)
        longer: list[list[Sentence]] = [[] for _ in found]
        parents: list[list[int]] = [[] for _ in found]
        for row, token, total in _continuations(allowed, live, width):
            place = live[row].place
            if token == rules.end:
                ended = [*found[place], live[row].end(total, penalty=penalty)]
                # Sorting is stable: of equals the one that was met first stays.
                found[place] = sorted(ended, key=lambda h: -h.score)[:best]
            else:
                longer[place].append(live[row].longer(token, total, _seen(state, row)))
                parents[place].append(row)
        live, rows = [], []
        for sentences, above, ended in zip(longer, parents, found):
            if not (early_stop and _settled(sentences, ended, best, largest)):
                live += sentences
                rows += above
        ids = torch.tensor([s.tokens[-1] for s in live], dtype=first.dtype, device=first.device)
        state = _select(decoder, state, rows, len(allowed))
    return found


def _continuations(
    allowed: Tensor, live: Sequence[Sentence], width: int
) -> Iterator[tuple[int, int, float]]:
    """(row, token, log probability of all) of the `width` likeliest of each place's beam."""
    log_ps, tokens = allowed.topk(min(width, allowed.shape[-1]))  # (R, k)
    before = [[s.log_probability] for s in live]
    totals = log_ps.new_tensor(before, dtype=torch.double) + log_ps
    # The rows of each place side by side, (P, M, k): M is the fullest beam of the P places.
    starts = [row for row, s in enumerate(live) if row == 0 or live[row - 1].place != s.place]
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
    """Whether no continuation of `live` can get above the worst of the `best` that have ended."""
    worst = ended[-1].score if len(ended) == best else -torch.inf
    return all(s.log_probability / largest <= worst for s in live)


def _step(
    decoder: Decoder, ids: Tensor, state: Any, rules: Rules, live: Sequence[Sentence]
) -> tuple[Tensor, Any]:
    """Log probabilities (R, V), in single precision at least, of what the rules allow."""
    logits, state = decoder.step(ids, state)
    log_p = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float))
    if log_p[:, 0].isnan().any():  # one NaN makes the whole row NaN
        raise ValueError("the decoder gave scores that are not numbers (NaN or infinite)")
    return rules.apply(log_p, live), state


def _seen(state: Any, row: int) -> Tensor | None:
    alignment = getattr(state, "alignment", None)
    return None if alignment is None else alignment[row]


def _select(decoder: Decoder, state: Any, rows: list[int], size: int) -> Any:
    """The state of `rows` out of `size`; untouched where these are all, or none is left."""
    same = not rows or rows == list(range(size))
    return state if same else decoder.select(state, torch.tensor(rows))


def _check_first(first: Tensor) -> None:
    if first.dim() != 1 or first.is_floating_point():
        raise ValueError(f"first must be integers (batch,), one a sentence; got {first.tolist()}")
