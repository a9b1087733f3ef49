"""Readings of tasks that answer with tokens: what follows, what is hidden, what is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.tokens import Tokens
from unspool.data.masking import encode_masked
from unspool.data.part import Part
from unspool.data.store.ragged import Ragged
from unspool.errors import ConfigError
from unspool.nn.copying import number_tokens
from unspool.nn.elmo import ElmoModel
from unspool.nn.encoder import Copies
from unspool.nn.models.language_model import TransformerLanguageModel
from unspool.nn.models.seq2seq import Seq2Seq
from unspool.nn.network import Network
from unspool.search.decoding import Decoding
from unspool.tasks.reading import (
    LONGEST,
    AnswerText,
    Reading,
    longest,
    longest_token,
    named,
    token_batch,
    unknown,
)
from unspool.tasks.translate.answer import Candidate
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import BEGIN, BEGIN_ID, END, END_ID, MASK, MASK_ID, UNK_ID

if TYPE_CHECKING:
    from unspool.tasks.task import Task


class WrittenReading(Reading):
    """At each step the next token of the text, after those before it.

    target      ids of the text
    tokenizer   of it
    beyond      names of tokens that were copied and that the tokenizer does not have
    """

    target: list[int]
    tokenizer: Tokenizer
    beyond: Mapping[int, str]

    def write(
        self, tokenizer: Tokenizer, target: list[int], beyond: Mapping[int, str] | None = None
    ) -> None:
        """The text whose tokens are asked about; `beyond` are names of tokens that the tokenizer
        does not have."""
        self.tokenizer, self.target, self.beyond = tokenizer, target, beyond or {}
        self.written = [*(self.name(token) for token in target), END]

    @property
    def asked(self) -> Sequence[str]:
        return self.written

    def default_step(self) -> int:
        """The longest token that is written."""
        return longest_token(self.written)

    def chosen(self, scores: Tensor) -> list[int]:
        return [*self.target, END_ID]

    def name(self, answer: int) -> str:
        return self.beyond.get(answer) or self.tokenizer.shown([answer])[0] or " "

    def answer_text(self, scores: Tensor) -> AnswerText:
        if not self.candidates:
            return AnswerText(self.tokenizer.decode(self.target), f"{len(self.target)} tokens")
        best = self.candidates[0]
        return AnswerText(best.translation, f"log probability {best.log_probability:.4f}")

    @staticmethod
    def inputs(readings: Sequence[WrittenReading]) -> Tensor:
        """(R, T) what the decoder reads: <s>, and the texts."""
        return torch.tensor([[BEGIN_ID, *each.target] for each in readings])


class TokenReading(Reading):
    """Ids in, a token of the vocabulary at each step out."""

    def __init__(
        self,
        task: Task,
        model: Any,
        text: str,
        ids: np.ndarray,
        *,
        limit: int,
        pieces: Sequence[str] = (),
        first: int = 0,
    ) -> None:
        """`pieces`: what the ids from `first` on stand for, as the text has it."""
        self.task, self.model, self.ids = task, model, ids[:limit]
        names = named(task.tokenizer, self.ids.tolist(), pieces, first=first)
        super().__init__(text, names, len(ids))

    @staticmethod
    def rows(readings: Sequence[TokenReading]) -> Tensor:
        return torch.from_numpy(np.stack([each.ids for each in readings]))

    def unknowns(self, ids: np.ndarray) -> np.ndarray:
        return np.full_like(ids, unknown(self.task.tokenizer))

    def name(self, answer: int) -> str:
        return self.task.tokenizer.shown([answer])[0] or " "


class GenerateReading(TokenReading):
    """At each step the token that follows; after the last one the most probable."""

    def __init__(self, task: Task, model: Any, text: str, ids: np.ndarray | None = None) -> None:
        limit = longest(model)
        if isinstance(model, TransformerLanguageModel):
            limit = min(limit, model.length)
        pieces = task.tokenizer.pieces(text) if ids is None else []
        ids = task.tokenizer.encode(text) if ids is None else ids
        super().__init__(task, model, text, ids, limit=limit, pieces=pieces)

    def together(self, readings: Sequence[TokenReading]) -> Tensor:
        return self.model(self.rows(readings)).logits

    def chosen(self, scores: Tensor) -> list[int]:
        return [*self.ids[1:].tolist(), int(scores[-1].argmax())]

    def answer_text(self, scores: Tensor) -> AnswerText:
        """What follows the text."""
        value, answer = self.values(scores[-1:])[0].max(0)
        return AnswerText(
            self.name(int(answer)), f"most probable next, probability {float(value):.4f}"
        )

    def removable(self, step: int) -> list[int]:
        """What comes before the token that the answer follows."""
        return list(range(step))

    def without(self, token: int) -> GenerateReading:
        return GenerateReading(self.task, self.model, self.text, np.delete(self.ids, token))

    def blank(self) -> GenerateReading:
        return GenerateReading(self.task, self.model, self.text, self.unknowns(self.ids))


class PretrainReading(TokenReading):
    """At each step a token: what may be hidden behind a <mask>, or what stands there."""

    def __init__(self, task: Task, model: Any, text: str, ids: np.ndarray | None = None) -> None:
        pieces: list[str] = []
        if ids is None:
            masked = MASK in text
            ids = encode_masked(task.tokenizer, text) if masked else task.tokenizer.encode(text)
            each = [task.tokenizer.pieces(between) for between in text.split(MASK)]
            pieces = [piece for own in each for piece in (*own, MASK)][:-1]
        limit = longest(model)
        if task.config.model.positions == "learned":
            limit = min(limit, task.config.data.max_length)
        super().__init__(task, model, text, ids, limit=limit, pieces=pieces)

    def default_step(self) -> int:
        """The first <mask>; without one the longest token."""
        masks = np.flatnonzero(self.ids == MASK_ID)
        return int(masks[0]) if len(masks) else longest_token(self.tokens)

    def together(self, readings: Sequence[TokenReading]) -> Tensor:
        rows = self.rows(readings)
        return self.model(rows, torch.full((len(rows),), rows.shape[1]))

    def chosen(self, scores: Tensor) -> list[int]:
        specials = self.task.tokenizer.special_ids()
        return scores.index_fill(1, torch.tensor(specials), -torch.inf).argmax(1).tolist()

    def answer_text(self, scores: Tensor) -> AnswerText:
        """What stands in place of each <mask>."""
        chosen, values = self.chosen(scores), self.values(scores)
        masks = np.flatnonzero(self.ids == MASK_ID).tolist()
        figures = ", ".join(f"{float(values[at, chosen[at]]):.4f}" for at in masks)
        names = ", ".join(self.name(chosen[at]) for at in masks)
        return AnswerText(names, f"probability {figures}" if masks else f"no {MASK} to fill in")

    def without(self, token: int) -> PretrainReading:
        return PretrainReading(self.task, self.model, self.text, np.delete(self.ids, token))

    def blank(self) -> PretrainReading:
        return PretrainReading(self.task, self.model, self.text, self.unknowns(self.ids))


class TranslateReading(WrittenReading, TokenReading):
    """At each step the next token of the translation, after those before it."""

    def __init__(
        self,
        task: Any,
        model: Any,
        text: str,
        ids: np.ndarray | None = None,
        target: list[int] | None = None,
        *,
        decoding: Decoding | None = None,
        copies: Copies | None = None,
        beyond: Mapping[int, str] | None = None,
    ) -> None:
        """`target`: the ids of the translation to follow; None: the best that a search finds.
        `copies` (1, S) of the source, for a model that copies, and the tokens `beyond` the
        vocabulary among them; None: found here."""
        assert isinstance(model, Seq2Seq)
        translator = task.translator(model)
        field = translator.field
        most = min(longest(model), field.room or LONGEST)
        pieces = task.tokenizer.pieces(text)[:most] if ids is None else []
        self.first = first = len(field.frame.before)
        opened = None
        if ids is None:
            ids = task.tokenizer.encode(text)
            if translator.copies:
                opened = field.encode([text]).copies(0)
                opened = np.delete(
                    opened, np.s_[first + most : len(opened) - field.frame.size + first]
                )
        self.source = ids[:most]
        framed = field.frame.around(self.source)
        super().__init__(task, model, text, framed, limit=len(framed), pieces=pieces, first=first)
        self.whole += len(ids) - len(self.source)
        self.backwards = task.config.model.reverse_source
        self.copies, self.beyond = copies, beyond or {}
        if opened is not None:
            self.copies = number_tokens(torch.from_numpy(opened)[None], len(task.target_tokenizer))
            self.beyond = translator.beyond(opened, pieces)
        if target is None:
            options = decoding or Decoding(nbest=5)
            positions = Ragged.of([np.arange(len(framed))])
            values = Tokens(positions, remap=framed, opened=opened)
            part = Part({field.name: field}, {field.name: values})
            ((_, found),) = translator.search(part, options)
            target = list(found[0].tokens)
            self.candidates = [
                Candidate(
                    translator.spell(h, pieces, self.beyond, options), h.score, h.log_probability
                )
                for h in found
            ]
            if opened is not None:
                self.copied = translator.copied(framed, opened, target)
        self.write(task.target_tokenizer, target, self.beyond)

    def together(self, readings: Sequence[TranslateReading]) -> Tensor:
        rows = self.rows(readings)
        inputs = self.inputs(readings)
        copies = None
        if self.copies is not None:
            ids = torch.cat([each.copies.ids for each in readings if each.copies is not None])
            copies = Copies(ids, self.copies.size)
        return self.model(rows, torch.full((len(rows),), rows.shape[1]), inputs, copies)

    def removable(self, step: int) -> list[int]:
        return list(range(len(self.source))) if len(self.source) > 1 else []

    def moved(self, step: int, token: int) -> int:
        return step

    def without(self, token: int) -> TranslateReading:
        copies = self.copies
        if copies is not None:
            kept = np.delete(np.arange(len(self.ids)), token + self.first)
            copies = Copies(copies.ids[:, kept], copies.size)
        return self._other(np.delete(self.source, token), copies)

    def blank(self) -> TranslateReading:
        """Nothing can be copied from it but its end."""
        copies = self.copies
        if copies is not None:
            ids = copies.ids.clone()
            ids[:, self.first : self.first + len(self.source)] = UNK_ID
            copies = Copies(ids, copies.size)
        return self._other(self.unknowns(self.source), copies)

    def _other(self, source: np.ndarray, copies: Copies | None) -> TranslateReading:
        """The same translation of another source."""
        return type(self)(
            *(self.task, self.model, self.text, source, self.target),
            copies=copies,
            beyond=self.beyond,
        )


class ElmoReading(Reading):
    """At each step the word that follows, as the forward language model of the two predicts it."""

    def __init__(self, task: Task, model: Any, text: str) -> None:
        assert isinstance(model, ElmoModel)
        pieces = task.tokenizer.pieces(text) or [""]
        self.task, self.model, self.pieces = task, model, pieces[: longest(model)]
        super().__init__(text, [BEGIN, *self.pieces, END], len(pieces) + 2)

    def together(self, readings: Sequence[ElmoReading]) -> Tensor:
        ids = np.zeros(len(self.pieces), dtype=np.int64)
        field, pieces = self.task.fields[self.task.input], [each.pieces for each in readings]
        words = token_batch(field, [ids] * len(readings), pieces).words
        assert words is not None
        return self.model(*words)[:, :, 0]

    def chosen(self, scores: Tensor) -> list[int]:
        following = self.task.tokenizer.encode(" ".join(self.pieces)).tolist()
        if len(following) != len(self.pieces):
            return scores.argmax(1).tolist()
        return [*following, END_ID, int(scores[-1].argmax())]

    def name(self, answer: int) -> str:
        return self.task.tokenizer.shown([answer])[0]

    def without(self, token: int) -> ElmoReading:
        raise self._refusal()

    def blank(self) -> ElmoReading:
        raise self._refusal()

    @property
    def network(self) -> Network:
        raise self._refusal()

    def _refusal(self) -> ConfigError:
        return ConfigError(
            "an elmo model gives vectors, and no answers to ask for reasons",
            remedy="ask a model that starts from it",
        )
