"""Views of what a translator reads and writes: a source, and its best translation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from unspool.data.fields.tokens import Tokens
from unspool.data.part import Part
from unspool.data.store.ragged import Ragged
from unspool.nn.copying import number_tokens
from unspool.nn.encoder import Copies
from unspool.search.decoding import Decoding
from unspool.tasks.reading import LONGEST, InputView, longest, named, unknown
from unspool.tasks.reading_answers import WrittenView
from unspool.tasks.reading_inputs import id_rows
from unspool.tasks.translate.answer import Candidate
from unspool.text.vocab import UNK_ID


class SourceView(InputView):
    """A source text, for a model that may copy from it.

    words    the indices of its tokens, without the special ones around them
    pieces   its tokens as they are written
    opened   (T,) ids in a vocabulary that the unknown tokens extend, where the model copies
    copies   (1, T) the same, numbered for the decoder
    """

    opened: np.ndarray | None = None
    copies: Copies | None = None

    def __init__(self, task: Any, model: Any, text: str) -> None:
        translator, tokenizer = task.translator(model), task.tokenizer
        field = translator.field
        most = min(longest(model), field.room or LONGEST)
        first = len(field.frame.before)
        ids = tokenizer.encode(text)
        self.pieces: list[str] = tokenizer.pieces(text)[:most]
        if translator.copies:
            opened = field.encode([text]).copies(0)
            end = len(opened) - field.frame.size + first
            self.opened = np.delete(opened, np.s_[first + most : end])
            numbered = torch.from_numpy(self.opened)[None]
            self.copies = number_tokens(numbered, len(task.target_tokenizer))
        self.words = range(first, first + len(ids[:most]))
        self.ids: np.ndarray = field.frame.around(ids[:most])
        self.backwards = task.config.model.reverse_source
        names = named(tokenizer, self.ids.tolist(), self.pieces, first=first)
        full_length = len(self.ids) + len(ids) - len(self.words)
        super().__init__(task, model, text, names, full_length)

    def batch(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        copies = None
        if self.copies is not None:
            ids = torch.cat([view.copies.ids for view in inputs])
            copies = Copies(ids, self.copies.size)
        return *id_rows(inputs), copies

    def removable(self) -> list[int]:
        return list(self.words) if len(self.words) > 1 else []

    def without(self, token: int) -> Self:
        copies = self.copies
        if copies is not None:
            kept = np.delete(np.arange(len(self.ids)), token)
            copies = Copies(copies.ids[:, kept], copies.size)
        return self.changed(
            ids=np.delete(self.ids, token),
            words=self.words[:-1],
            tokens=self.tokens_without(token),
            copies=copies,
        )

    def blank(self) -> Self:
        """Nothing can be copied from it but its end."""
        words = slice(self.words.start, self.words.stop)
        ids, copies = self.ids.copy(), self.copies
        ids[words] = unknown(self.task.tokenizer)
        if copies is not None:
            numbers = copies.ids.clone()
            numbers[:, words] = UNK_ID
            copies = Copies(numbers, copies.size)
        return self.changed(ids=ids, copies=copies)


class TranslationView(WrittenView):
    """At each step the next token of the best translation, after those before it."""

    def __init__(self, input: SourceView) -> None:
        task, options = input.task, Decoding(nbest=5)
        translator = task.translator(input.model)
        ids, opened = input.ids, input.opened
        field = translator.field
        values = Tokens(Ragged.of([np.arange(len(ids))]), remap=ids, opened=opened)
        part = Part({field.name: field}, {field.name: values})
        ((_, hypotheses),) = translator.search(part, options)
        beyond = {} if opened is None else translator.beyond(opened, input.pieces)
        target = list(hypotheses[0].tokens)
        candidates = [
            Candidate(
                translator.spell(h, input.pieces, beyond, options), h.score, h.log_probability
            )
            for h in hypotheses
        ]
        if opened is not None:
            self.copied = translator.copied(ids, opened, target)
        super().__init__(input, task.target_tokenizer, target, candidates=candidates, beyond=beyond)

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        rows, lengths, copies = batch
        return self.model(rows, lengths, self.decoder_input(len(rows)), copies)
