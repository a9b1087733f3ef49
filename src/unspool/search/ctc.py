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
NEVER = -torch.inf


class NextScores(Protocol):
    """A language model within the search: of each of N prefixes the log probability of each token
    of the network."""

    def start(self, prefixes: int) -> Tensor:
        """Before the first token: (N, V)"""

    def advance(self, rows: Tensor, new: Tensor, tokens: Tensor) -> Tensor:
        """Prefix i is what prefix rows[i] was, with tokens[i] behind it where new[i]: (N, V)"""

    def end(self) -> Tensor:
        """(N,) log probability that each prefix is all"""


class CtcText(NamedTuple):
    """Hypothesis of a CTC search.

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
    results = []
    for path, length in zip(best, lengths.tolist()):
        merged = torch.unique_consecutive(path[:length])
        results.append(merged[merged != BLANK].tolist())
    return results


class Prefixes(NamedTuple):
    """K prefixes of each of B rows, (B, K) each.

    blank     ln p of the paths that end in a blank
    token     ln p of those that end in the last token
    last      this token, BLANK where there is none
    size      how many tokens there are
    key       a hash of them
    parent    the key of the prefix without its last token
    language  what the language model gives all of them, weighed
    """

    blank: Tensor
    token: Tensor
    last: Tensor
    size: Tensor
    key: Tensor
    parent: Tensor
    language: Tensor

    @classmethod
    def start(cls, rows: int, beam: int) -> Prefixes:
        """The empty prefix, in the first slot of each row."""
        never = torch.full((rows, beam), NEVER, dtype=torch.float64)
        blank = never.clone()
        blank[:, 0] = 0.0
        none = torch.zeros(rows, beam, dtype=torch.int64)
        # Slots that hold no prefix yet have hashes of their own.
        key = -1 - torch.arange(beam).repeat(rows, 1)
        key[:, 0] = 1
        return cls(blank, never, none, none, key, none, torch.zeros_like(blank))

    def total(self) -> Tensor:
        return torch.logaddexp(self.blank, self.token)

    def continued(self, p: Tensor) -> Continued:
        """Extend by one step with the log probabilities p (B, V)."""
        beam = self.last.shape[1]
        total = self.total()
        stay_blank = total + p[:, BLANK, None]
        again = p.gather(1, self.last)
        stay_token = self.token + again
        stay_token[self.last == BLANK] = NEVER
        grow = total[..., None] + p[:, None]  # (B, K, V)
        grow.scatter_(2, self.last[..., None], (self.blank + again)[..., None])
        grow[..., BLANK] = NEVER
        # Prefix j is prefix i and its last token: what grows into it joins it.
        same = self.parent[:, None, :] == self.key[:, :, None]  # (B, i, j)
        joins = grow.gather(2, self.last[:, None, :].expand(-1, beam, -1))  # i by the last of j
        joins = torch.where(same & (self.last != BLANK)[:, None], joins, NEVER)
        stay_token = torch.logaddexp(stay_token, joins.logsumexp(1))
        row, i, j = same.nonzero(as_tuple=True)
        grow[row, i, self.last[row, j]] = NEVER
        return Continued(stay_blank, stay_token, grow)

    def chosen(
        self, after: Continued, slot: Tensor, grown: Tensor, new: Tensor, language: Tensor
    ) -> Prefixes:
        """Prefixes of the slots (B, K), some extended by the token `new` (B, K), to which the
        language model gives `language` (B, K)."""
        rows = torch.arange(len(slot))[:, None]
        before = self.key[rows, slot]
        return Prefixes(
            torch.where(grown, NEVER, after.stay_blank[rows, slot]),
            torch.where(grown, after.grow[rows, slot, new], after.stay_token[rows, slot]),
            torch.where(grown, new, self.last[rows, slot]),
            self.size[rows, slot] + grown,
            torch.where(grown, mixed(before, new), before),
            torch.where(grown, before, self.parent[rows, slot]),
            self.language[rows, slot] + torch.where(grown, language, 0.0),
        )


class Continued(NamedTuple):
    """ln p of prefixes after one step more.

    stay_blank  (B, K) by a blank
    stay_token  (B, K) by the last token again, or grown into from another prefix
    grow        (B, K, V) by each token
    """

    stay_blank: Tensor
    stay_token: Tensor
    grow: Tensor


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
) -> list[list[CtcText]]:
    """The best texts of each row, the best first.

    A prefix has two probabilities: of paths that end in a blank, and of paths that end in its last
    token. At each step it stays (by a blank, or its last token again) or grows by a token, after
    the same token through a blank alone. A prefix grown into one that is in the beam, too, joins
    it: they are known by hashes of their tokens.

    log_p      (B, T, V); lengths (B,)
    forbidden  tokens that are never written
    """
    log_p = log_p.detach().double().cpu().clone()
    rows, steps, vocab = log_p.shape
    if forbidden:
        log_p[..., list(forbidden)] = NEVER
    prefixes = Prefixes.start(rows, beam)
    scores = torch.zeros(rows, beam, vocab, dtype=torch.float64)  # of the language model, weighed
    if language is not None:
        scores = weight * language.start(rows * beam).view(rows, beam, vocab)
    chosen: list[tuple[Tensor, Tensor]] = []  # of each step: the slot before, and a token or 0
    base = torch.arange(rows)[:, None]
    for t in range(steps):
        after = prefixes.continued(log_p[:, t])
        prior = prefixes.language + bonus * prefixes.size
        stay = torch.logaddexp(after.stay_blank, after.stay_token) + prior
        grow = after.grow + prior[..., None]
        if language is not None:
            grow = grow + scores
        grow = grow + bonus
        best = torch.cat([stay, grow.view(rows, -1)], 1).topk(beam, 1).indices  # (B, K)
        over = (lengths.cpu() <= t)[:, None]  # the row has ended: all stays as it is
        slot = torch.where(best < beam, best, (best - beam) // vocab)
        slot = torch.where(over, torch.arange(beam).expand(rows, -1), slot)
        grown = (best >= beam) & ~over
        new = torch.where(grown, (best - beam) % vocab, 0)
        longer = prefixes.chosen(after, slot, grown, new, scores[base, slot, new])
        prefixes = longer._replace(
            blank=torch.where(over, prefixes.blank, longer.blank),
            token=torch.where(over, prefixes.token, longer.token),
        )
        chosen.append((slot, new))
        if language is not None:
            flat = (base * beam + slot).view(-1)
            advanced = language.advance(flat, grown.view(-1), new.view(-1))
            scores = weight * advanced.view(rows, beam, vocab)
    total = prefixes.total()
    final = total + prefixes.language + bonus * prefixes.size
    if language is not None:
        final = final + weight * language.end().view(rows, beam)
    texts = written(chosen, rows, beam)
    best_texts: list[list[CtcText]] = []
    for row, order in enumerate(final.sort(dim=1, descending=True, stable=True).indices.tolist()):
        best_first = [
            CtcText(texts[row][k], float(total[row, k]), float(final[row, k]))
            for k in order
            if total[row, k] > NEVER
        ]
        best_texts.append(best_first[:nbest])
    return best_texts


def mixed(key: Tensor, token: Tensor) -> Tensor:
    """The hash of a prefix and one more token."""
    hashed = (key ^ (token + 1)) * MIX
    hashed = (hashed ^ (hashed >> 29)) * MIX
    return hashed ^ (hashed >> 32)


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
    return [[ids[ids != BLANK].tolist() for ids in row] for row in tokens]
