"""How `look` reads what is described: the next token of the caption, and where it looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from unspool.search.decoding import Decoding
from unspool.tasks.series_readings import SeriesInput
from unspool.tasks.translate.answer import Candidate
from unspool.tasks.written_readings import WrittenReading

if TYPE_CHECKING:
    from unspool.tasks.task import Task


class CaptionReading(SeriesInput, WrittenReading):
    """At each step the next token of the caption, after those before it.

    tokens       (S) names of the steps that are read: "row,column" of the positions of a grid over
                 an image, row by row; frames of a video
    written      (T + 1) tokens of the caption and its end
    candidates   the best few captions
    target       ids of the caption; None: the best that a search finds
    alignment()  (T + 1, S) where each token looked, None without attention. Over the pixels of an
                 image: `task.input_field.source.shape.spread(row, width)` of a row of it

    A step is hidden by `without`, which keeps the caption: how much less probable it becomes tells
    what the step was needed for.
    """

    def __init__(
        self,
        task: Task,
        model: Any,
        item: Any,
        vectors: np.ndarray | None = None,
        target: list[int] | None = None,
    ) -> None:
        super().__init__(task, model, item, vectors)
        own: Any = task
        if target is None:
            part = task.part(**{task.input: [self.item]})
            ((_, found),) = own.captioner(model).search(part, Decoding(nbest=5))
            target = list(found[0].tokens)
            self.candidates = [
                Candidate(own.target_tokenizer.decode(h.tokens), h.score, h.log_probability)
                for h in found
            ]
        self.write(own.target_tokenizer, target)

    def together(self, readings: Sequence[Any]) -> Tensor:
        found: Tensor = self.model(*self.batch(readings), self.inputs(readings))
        return found

    def alignment(self) -> np.ndarray | None:
        """(T + 1, S): where each token of the caption, and its end, looked; None where the decoder
        has no attention."""
        decoder = self.model.decoder
        with torch.inference_mode():
            state = decoder.start(self.model.encoder(*self.batch([self])), aligned=True)
            rows = []
            for token in self.inputs([self])[0]:
                _, state = decoder.step(token[None], state)
                rows.append(state.alignment)
        if rows[0] is None:
            return None
        return torch.cat(rows).double().cpu().numpy()

    def without(self, token: int) -> Self:
        hidden = super().without(token)
        return type(self)(self.task, self.model, self.item, hidden.vectors, self.target)

    def blank(self) -> Self:
        vectors = np.tile(self.mean(), (len(self.vectors), 1))
        return type(self)(self.task, self.model, self.item, vectors, self.target)
