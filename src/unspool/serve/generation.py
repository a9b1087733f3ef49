"""Continuous batching of language models: requests join and leave between the steps of a batch.

In: prompts with their options. Out: of each, pieces of text as they grow. A text is the one that
`generate` writes alone with the same seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from unspool.nn.cells import pack_steps, packed_steps
from unspool.nn.models.causal import CausalModel, RecurrentCausal
from unspool.search import Sampling
from unspool.text.growing import GrowingText

PROMPT = 512  # tokens that are read at once


class TextPiece(NamedTuple):
    """Text that a step adds.

    text      new characters, perhaps none
    tokens    that were sampled, as they are shown
    nats      their log probabilities
    top       of each the most probable tokens with their log probabilities
    reason    "stop" or "length" at the end, else None
    """

    text: str
    tokens: list[str]
    nats: list[float]
    top: list[dict[str, float]]
    reason: str | None


@dataclass(eq=False)
class GrowingRow:
    """One text that is written.

    length  tokens to write
    stop    texts at which it ends, which are not shown
    top     how many of the most probable tokens are given; None: no log probabilities
    emit    gets each piece
    """

    ids: list[int]
    sampling: Sampling
    length: int
    stop: tuple[str, ...]
    top: int | None
    emit: Callable[[TextPiece], None]
    text: GrowingText
    written: int = 0
    held: str = ""  # characters that may become a stop
    tokens: list[str] = field(default_factory=list)
    nats: list[float] = field(default_factory=list)
    best: list[dict[str, float]] = field(default_factory=list)
    cancelled: bool = False
    generator: torch.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.generator = torch.Generator().manual_seed(self.sampling.seed)

    def add(self, new: str) -> bool:
        """Whether the text goes on after these characters."""
        self.written += 1
        self.held += new
        positions = [at for stop in self.stop if (at := self.held.find(stop)) >= 0]
        if positions:
            self.give(self.held[: min(positions)], "stop")
            return False
        if self.written >= self.length:
            self.give(self.held, "length")
            return False
        open_end = max((possible_stop(self.held, stop) for stop in self.stop), default=0)
        shown, self.held = (
            self.held[: len(self.held) - open_end],
            self.held[len(self.held) - open_end :],
        )
        if shown:
            self.give(shown, None)
        return True

    def give(self, text: str, reason: str | None) -> None:
        self.emit(TextPiece(text, self.tokens, self.nats, self.best, reason))
        self.tokens, self.nats, self.best = [], [], []


def possible_stop(text: str, stop: str) -> int:
    """Characters at the end of a text that a stop may begin with."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if stop.startswith(text[-n:])), 0)


class TextGroup:
    """Texts that are written side by side, with the state of the model for all of them."""

    def __init__(self, rows: list[GrowingRow], state: Any, logits: Tensor) -> None:
        self.rows, self.state, self.logits = rows, state, logits


class Generator:
    """All texts that a language model is writing."""

    def __init__(self, model: CausalModel, tokenizer: Any, most: int) -> None:
        self.model, self.tokenizer, self.most = model, tokenizer, most
        self.packed = pack_steps(model)
        self.forbidden = list(tokenizer.special_ids())
        self.waiting: list[GrowingRow] = []
        self.groups: list[TextGroup] = []
        self.steps = self.made = 0

    def __len__(self) -> int:
        return len(self.waiting) + sum(len(group.rows) for group in self.groups)

    def add(self, row: GrowingRow) -> None:
        self.waiting.append(row)

    @torch.inference_mode()
    def step(self) -> None:
        """Admit a text that waits, and write a token of each."""
        with packed_steps(self.packed):
            self.admit()
            for group in self.groups:
                self.advance(group)
        self.groups = [group for group in self.groups if group.rows]

    def admit(self) -> None:
        """Read the prompts of texts that wait, as many as there is room for."""
        self.waiting = [row for row in self.waiting if not row.cancelled]
        room = self.most - sum(len(group.rows) for group in self.groups)
        admitted, self.waiting = self.waiting[:room], self.waiting[room:]
        by_prompt: dict[tuple[int, ...], list[GrowingRow]] = {}
        for row in admitted:
            by_prompt.setdefault(tuple(row.ids), []).append(row)
        for ids, rows in by_prompt.items():
            self.join(self.read(ids, rows))

    def read(self, ids: Sequence[int], rows: list[GrowingRow]) -> TextGroup:
        """The state after a prompt, for all texts that begin with it."""
        state, logits = None, None
        for first in range(0, len(ids), PROMPT):
            values = torch.tensor([list(ids[first : first + PROMPT])])
            scores, state = self.model.extend(state, values)
            logits = scores[:, -1]
        assert logits is not None
        copies = torch.zeros(len(rows), dtype=torch.int64)
        return TextGroup(rows, self.model.select(state, copies), logits[copies])

    def join(self, new: TextGroup) -> None:
        """Recurrent states have no length, so all texts are one group."""
        if self.groups and isinstance(self.model, RecurrentCausal):
            group = self.groups[0]
            group.rows += new.rows
            group.state = joined(group.state, new.state)
            group.logits = torch.cat([group.logits, new.logits])
        else:
            self.groups.append(new)

    def advance(self, group: TextGroup) -> None:
        """Sample a token of each text, show it, and read it where the text goes on."""
        ids = self.sampled(group)
        pieces = [row.text.add(token) for row, token in zip(group.rows, ids)]
        self.steps, self.made = self.steps + 1, self.made + len(ids)
        self.explain(group, ids)
        goes_on = [not row.cancelled and row.add(piece) for row, piece in zip(group.rows, pieces)]
        kept = [i for i, on in enumerate(goes_on) if on]
        if len(kept) < len(group.rows):
            group.rows = [group.rows[i] for i in kept]
            if not kept:
                return
            group.state = self.model.select(group.state, torch.tensor(kept))
        group.logits, group.state = self.model.step(
            torch.tensor([ids[i] for i in kept]), group.state
        )

    def sampled(self, group: TextGroup) -> list[int]:
        """A token of each text: the one that its `Sampling` takes alone."""
        logits = group.logits.double()
        logits[:, self.forbidden] = -torch.inf
        settings = [row.sampling for row in group.rows]
        plain = [not s.top_k and s.top_p >= 1 and s.temperature > 0 for s in settings]
        heat = torch.tensor([s.temperature or 1.0 for s in settings], dtype=torch.float64)
        p = ((logits - logits.amax(-1, keepdim=True)) / heat[:, None]).softmax(-1)
        q = torch.ones_like(p)
        for row, simple, noise in zip(group.rows, plain, q):
            if simple:
                noise.exponential_(generator=row.generator)
        ids: list[int] = (p / q).argmax(-1).tolist()  # as torch.multinomial samples one of a row
        for i, (row, simple) in enumerate(zip(group.rows, plain)):
            if row.sampling.temperature and not simple:
                ids[i] = int(row.sampling.sample(group.logits[i : i + 1], row.generator))
        return ids

    def explain(self, group: TextGroup, ids: list[int]) -> None:
        """Keep the log probabilities of tokens, where they are asked for."""
        rows = [i for i, row in enumerate(group.rows) if row.top is not None]
        if not rows:
            return
        logs = group.logits[rows].double().log_softmax(-1)
        for log, i in zip(logs, rows):
            row = group.rows[i]
            best = log.topk(min(row.top or 0, len(log)))
            names = self.tokenizer.shown([ids[i], *best.indices.tolist()])
            row.tokens.append(names[0])
            row.nats.append(float(log[ids[i]]))
            row.best.append(dict(zip(names[1:], best.values.tolist())))


def joined(one: Any, other: Any) -> Any:
    """Two states of nested tuples, row by row."""
    if isinstance(one, Tensor):
        return torch.cat([one, other])
    return tuple(joined(a, b) for a, b in zip(one, other))


def prompts_of(value: Any) -> Iterator[str]:
    """A prompt, or several."""
    yield from [value] if isinstance(value, str) else value
