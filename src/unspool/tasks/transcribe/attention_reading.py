"""How `look` reads a recording whose text an attention decoder writes: the next token at each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from unspool.tasks.transcribe.attention import AttentionSearch
from unspool.tasks.transcribe.options import GREEDY
from unspool.tasks.transcribe.reading import ReducedInput
from unspool.tasks.written_readings import WrittenReading

if TYPE_CHECKING:
    from unspool.tasks.task import Task


class AttentionReading(ReducedInput, WrittenReading):
    """At each step the next token of the text, after those before it; `target` are its ids, None:
    the text that a greedy search finds."""

    def __init__(
        self,
        task: Task,
        model: Any,
        item: Any,
        vectors: np.ndarray | None = None,
        target: list[int] | None = None,
    ) -> None:
        super().__init__(task, model, item, vectors)
        tokenizer: Any = task.target_tokenizer
        if target is None:
            x, lengths = self.batch([self])
            with torch.inference_mode():
                search = AttentionSearch(model, tokenizer, GREEDY)
                (found,) = search(model.encode(x, lengths), model.steps(lengths))
            target = found.texts[0].ids
        self.write(tokenizer, target)

    @property
    def token_spans(self) -> list[tuple[int, int]]:
        end = len(self.vectors)
        return [(at, min(end, at + self.stride)) for at in range(0, end, self.stride)]

    def together(self, readings: Sequence[Any]) -> Tensor:
        found: Tensor = self.model(*self.batch(readings), self.inputs(readings)).logits
        return found

    def without(self, token: int) -> Self:
        vectors = self.vectors.copy()
        vectors[token * self.stride : (token + 1) * self.stride] = self.mean()
        return type(self)(self.task, self.model, self.item, vectors, self.target)

    def blank(self) -> Self:
        vectors = np.tile(self.mean(), (len(self.vectors), 1))
        return type(self)(self.task, self.model, self.item, vectors, self.target)
