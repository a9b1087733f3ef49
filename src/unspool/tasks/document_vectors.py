"""A vector for each document: a task with its model and texts in, (N, E) at length 1 out.

The mean of the vectors that the model's encoder gives for the tokens of a text; of an ELMo, of all
its layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from unspool.errors import ConfigError
from unspool.nn.encoder import Encoder
from unspool.nn.pooling import MeanPooling
from unspool.nn.positions import Learned
from unspool.tasks.abilities import GivesVectors
from unspool.tasks.task import as_array
from unspool.text.tokenizers import Tokenizer

BATCH_TOKENS = 8192


class DocumentVectors(Protocol):
    """Texts in, their vectors (N, E) at length 1 out; of a text without tokens, zeros."""

    def __call__(self, texts: list[str]) -> np.ndarray: ...


def text_vectors(task: Any, model: nn.Module, *, max_length: int, where: object) -> DocumentVectors:
    """The vectors of a model; at most `max_length` tokens of a text are read."""
    if isinstance(task, GivesVectors):
        return ContextualMeans(task, model, max_length)
    encoder = getattr(model, "encoder", None)
    if not isinstance(encoder, Encoder) or not task.reads_tokens or encoder.extra is not None:
        raise ConfigError(
            "has no encoder that makes a vector of a text alone",
            where=where,
            got=f"{task.name}, {task.config.model_name}",
            remedy="give a run of pretrain or elmo, or a folder such as MiniLM's",
        )
    learned = [module.length for module in encoder.modules() if isinstance(module, Learned)]
    limit = min([max_length, *learned]) - (bool(learned) and encoder.cls is not None)
    return TokenMeans(task.tokenizer, lambda ids, n: encoder(ids, n).outputs, limit)


class TokenMeans:
    """The mean of what `read` gives for ids (B, T) of lengths (B,)."""

    def __init__(
        self, tokenizer: Tokenizer, read: Callable[[Tensor, Tensor], Tensor], max_length: int
    ) -> None:
        self.tokenizer, self.read, self.max_length = tokenizer, read, max_length

    @torch.inference_mode()
    def __call__(self, texts: list[str]) -> np.ndarray:
        ids = [self.tokenizer.document(text, limit=self.max_length) for text in texts]
        means: list[Any] = [None] * len(texts)
        for rows in by_length([len(row_ids) for row_ids in ids]):
            lengths = torch.tensor([len(ids[row]) for row in rows])
            batch = nn.utils.rnn.pad_sequence(
                [torch.from_numpy(ids[row]) for row in rows], batch_first=True
            )
            outputs = self.read(batch, lengths)
            extra = outputs.shape[1] - batch.shape[1]  # a class token
            vectors = MeanPooling(outputs.shape[-1])(outputs, lengths + extra)
            for row, vector in zip(rows, as_array(vectors.float())):
                means[row] = vector if texts[row].strip() else np.zeros_like(vector)
        return unit_length(np.stack(means))


class ContextualMeans:
    """The mean over words and layers of the contextual vectors of a task."""

    def __init__(self, task: Any, model: nn.Module, max_length: int) -> None:
        self.task, self.model, self.max_length = task, model, max_length

    def __call__(self, texts: list[str]) -> np.ndarray:
        pieces = (self.task.tokenizer.pieces(text)[: self.max_length] for text in texts)
        read = self.task.vectors(self.model, [" ".join(words) for words in pieces])
        means = [words.vectors().mean(0) * bool(text.strip()) for words, text in zip(read, texts)]
        return unit_length(np.stack(means))


def by_length(lengths: list[int]) -> Iterator[list[int]]:
    """Rows of similar length together, BATCH_TOKENS at most with padding."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def unit_length(x: np.ndarray) -> np.ndarray:
    """Rows of length 1; a row of zeros stays one."""
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.divide(x, length, out=np.zeros_like(x), where=length > 0)
