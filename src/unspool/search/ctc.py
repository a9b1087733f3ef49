"""The texts behind the steps of a CTC network: log probabilities in, tokens out.

greedy_ctc    the text of the most probable path
prefix_beam   the most probable texts, each summed over its paths (Graves and Jaitly 2014), perhaps
              weighed by a language model
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from unspool.nn.ctc import BLANK

MIX = -7046029254386353131  # an odd number for hashes, 2⁶⁴ / φ


class NextScores(Protocol):
    """A language model beside the search: of each of N prefixes the log probability of each token
    of the network."""

    def start(self, prefixes: int) -> Tensor:
        """Before the first token: (N, V)"""

    def advance(self, rows: Tensor, new: Tensor, tokens: Tensor) -> Tensor:
        """Prefix i is what prefix rows[i] was, with tokens[i] behind it where new[i]: (N, V)"""

    def end(self) -> Tensor:
        """(N,) log probability that each prefix is all"""


class Text(NamedTuple):
    """What was found.

    ids       the tokens
    log_p     ln p of the text, as far as its paths were in the beam
    score     that it was ranked by: ln p + weight · ln p of the language model + bonus · tokens
    """

    ids: list[int]
    log_p: float
    score: float


def greedy_ctc(log_p: Tensor, lengths: Tensor) -> list[list[int]]:
    """The text of the best path: (B, T, V) and (B,) -> B lists of ids"""
    best = log_p.argmax(-1).cpu()
    found = []
    for own, length in zip(best, lengths.tolist()):
        merged = torch.unique_consecutive(own[:length])
        found.append(merged[merged != BLANK].tolist())
    return found


def prefix_beam(
    log_p: Tensor,
    lengths: Tensor,
    *,
    beam: int,
    nbest: int = 1,
    forbidden: tuple[int, ...] = (),
    language: NextScores | None = None,
    weight: float = 0.0,
    bonus: float = 0.0,
) -> list[list[Text]]:
    """The best texts of each row, the best first.

    A prefix has two probabilities: of paths that end in a blank, and of paths that end in its last
    token. At each step it stays (by a blank, or its last token again) or grows by a token, after
    the same token through a blank alone. A prefix grown into one that is in the beam, too, joins
    it: they are known by hashes of their tokens.

    log_p      (B, T, V); lengths (B,)
    forbidden  tokens that are never written
    """
    log_p = log_p.detach().double().cpu()
    rows, steps, vocab = log_p.shape
    log_p = log_p.clone()
    if forbidden:
        log_p[..., list(forbidden)] = -torch.inf
    never = -torch.inf
    blank = torch.full((rows, beam), never, dtype=torch.float64)  # ends in a blank
    token = blank.clone()  # ends in its last token
    blank[:, 0] = 0.0
    last = torch.zeros(rows, beam, dtype=torch.int64)
    size = torch.zeros(rows, beam, dtype=torch.int64)
    # Slots that hold no prefix yet have hashes of their own.
    key = -1 - torch.arange(beam).repeat(rows, 1)
    key[:, 0] = 1
    parent = torch.zeros(rows, beam, dtype=torch.int64)
    language_score = torch.zeros(rows, beam, dtype=torch.float64)  # weighed
    scores = None if language is None else language.start(rows * beam).view(rows, beam, vocab)
    chosen: list[tuple[Tensor, Tensor]] = []  # of each step: the slot before, and a token or 0
    base = torch.arange(rows)[:, None]
    for t in range(steps):
        p = log_p[:, t]  # (B, V)
        both = torch.logaddexp(blank, token)
        stay_blank = both + p[:, BLANK, None]
        stay_token = token + p.gather(1, last)
        stay_token[last == BLANK] = never
        grow = both[..., None] + p[:, None]  # (B, K, V)
        own = last[..., None]
        again = (blank + p.gather(1, last))[..., None]
        grow.scatter_(2, own, again)
        grow[..., BLANK] = never
        # Prefix j is prefix i and its last token: what grows into it joins it.
        same = parent[:, None, :] == key[:, :, None]  # (B, i, j)
        joins = grow.gather(2, last[:, None, :].expand(-1, beam, -1))  # (B, i, j): i by last of j
        joins = torch.where(same & (last != BLANK)[:, None], joins, never)
        stay_token = torch.logaddexp(stay_token, joins.logsumexp(1))
        row, i, j = same.nonzero(as_tuple=True)
        grow[row, i, last[row, j]] = never
        stay = torch.logaddexp(stay_blank, stay_token)
        rank_stay, rank_grow = (
            stay + language_score + bonus * size,
            grow + (language_score + bonus * size)[..., None],
        )
        if scores is not None:
            rank_grow = rank_grow + weight * scores
        rank_grow = rank_grow + bonus
        rank = torch.cat([rank_stay, rank_grow.view(rows, -1)], 1)
        best = rank.topk(beam, 1).indices  # (B, K)
        grown = best >= beam
        slot = torch.where(grown, (best - beam) // vocab, best)
        new = torch.where(grown, (best - beam) % vocab, 0)
        over = (lengths.cpu() <= t)[:, None]  # the row has ended: all stays as it is
        keep = torch.arange(beam).expand(rows, -1)
        slot, new, grown = (
            torch.where(over, keep, slot),
            torch.where(over, 0, new),
            grown & ~over,
        )
        value = grow[base, slot, new]
        if scores is not None:
            language_score = language_score[base, slot] + torch.where(
                grown, weight * scores[base, slot, new], 0.0
            )
        blank = torch.where(
            over, blank, torch.where(grown, torch.tensor(never), stay_blank[base, slot])
        )
        token = torch.where(over, token, torch.where(grown, value, stay_token[base, slot]))
        before = key[base, slot]
        parent = torch.where(grown, before, parent[base, slot])
        key = torch.where(grown, mixed(before, new), before)
        last = torch.where(grown, new, last[base, slot])
        size = size[base, slot] + grown
        chosen.append((slot, new))
        if scores is not None and language is not None:
            flat = (base * beam + slot).view(-1)
            scores = language.advance(flat, grown.view(-1), new.view(-1)).view(rows, beam, vocab)
    total = torch.logaddexp(blank, token)
    final = total + language_score + bonus * size
    if language is not None:
        final = final + weight * language.end().view(rows, beam)
    order = final.sort(dim=1, descending=True, stable=True).indices
    texts = written(chosen, rows, beam)
    found: list[list[Text]] = []
    for number in range(rows):
        best_first = [
            Text(texts[number][k], float(total[number, k]), float(final[number, k]))
            for k in order[number].tolist()
            if total[number, k] > never
        ]
        found.append(best_first[:nbest])
    return found


def mixed(key: Tensor, token: Tensor) -> Tensor:
    """The hash of a prefix and one more token."""
    found = (key ^ (token + 1)) * MIX
    found = (found ^ (found >> 29)) * MIX
    return found ^ (found >> 32)


def written(chosen: list[tuple[Tensor, Tensor]], rows: int, beam: int) -> list[list[list[int]]]:
    """The tokens of each slot of the last step: followed back through the steps."""
    at = torch.arange(beam).repeat(rows, 1)
    steps = []
    for slot, new in reversed(chosen):
        steps.append(new.gather(1, at))
        at = slot.gather(1, at)
    if not steps:
        return [[[] for _ in range(beam)] for _ in range(rows)]
    tokens = torch.stack(steps[::-1], 2)  # (B, K, T)
    return [[own[own != BLANK].tolist() for own in row] for row in tokens]
