"""A vector for each document: a folder of a trained model and texts in, (N, E) at length 1 out.

The mean of the vectors that the model's encoder gives for the tokens of a text; of an ELMo, of all
its layers. Folders are those of runs, and those of `nn/pretrained` (MiniLM, BERT, ...).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from unspool.data.store.cache import cached
from unspool.data.store.columns import Progress
from unspool.errors import ConfigError
from unspool.io.files import hash_of
from unspool.nn.encoder import Encoder
from unspool.nn.pooling import MeanPooling
from unspool.nn.pretrained import is_pretrained, read_pretrained
from unspool.tasks.abilities import GivesVectors
from unspool.tasks.task import as_array, chunks
from unspool.text.subwords import read_pretrained_tokenizer
from unspool.text.tokenizers import Tokenizer
from unspool.topic_model.corpus import Documents
from unspool.topic_model.methods import unit_length
from unspool.training.folder import RunFolder

CHUNK = 1024  # texts that are sorted by length
BATCH_TOKENS = 8192


class DocumentVectors(Protocol):
    """Texts in, their vectors (N, E) at length 1 out; of a text without tokens, zeros."""

    def __call__(self, texts: list[str]) -> np.ndarray: ...


def open_vectors(path: str | Path, *, max_length: int) -> DocumentVectors:
    """The vectors of the model in a folder; at most `max_length` tokens of a text are read."""
    folder = RunFolder(Path(path))
    if folder.config_file.exists() and is_pretrained(folder.path):
        model = read_pretrained(folder.path)
        assert model.options.length is not None
        tokenizer = read_pretrained_tokenizer(
            folder.path, kind=model.kind, size=model.embedding.vocab
        )
        return TokenMeans(tokenizer, model, min(max_length, model.options.length))
    task, trained = folder.load_model()
    if isinstance(task, GivesVectors):
        return ContextualMeans(task, trained, max_length)
    encoder = getattr(trained, "encoder", None)
    if not isinstance(encoder, Encoder) or not task.reads_tokens or encoder.extra is not None:
        raise ConfigError(
            "has no encoder that makes a vector of a text alone",
            where=folder.path,
            got=f"{task.name}, {task.config.model_name}",
            remedy="give a run of pretrain or elmo, or a folder such as MiniLM's",
        )
    limit = max_length
    if task.config.model.positions == "learned":
        limit = min(limit, task.config.model.context or task.config.data.max_length or limit)
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


def model_record(path: str | Path) -> dict[str, str]:
    """The folder of a model, known again by the hashes of its weights."""
    folder = Path(path).resolve()
    hashes = [hash_of(file) for file in sorted(folder.glob("model*.safetensors"))]
    return {"path": str(folder), "sha256": "-".join(hashes)}


def corpus_vectors(
    documents: Documents,
    start: str | Path,
    vectors: DocumentVectors,
    *,
    max_length: int,
    progress: Progress | None = None,
) -> np.ndarray:
    """(N, E) of the documents of a corpus, kept in the cache: they take longest, and do not change
    with the number of topics."""
    model = model_record(start)["sha256"]
    key = {**documents.plan.key, "vectors": model, "max_length": max_length}

    def build(folder: Path) -> None:
        total = len(documents)
        read = read_vectors(vectors, documents.texts(), total=total, progress=progress)
        np.save(folder / "vectors.npy", read)

    return cached(key, build, lambda folder: np.load(folder / "vectors.npy"))[0]


def read_vectors(
    vectors: DocumentVectors, texts: Iterable[str], *, total: int, progress: Progress | None = None
) -> np.ndarray:
    """(N, E) of any number of texts."""
    parts = []
    for chunk in chunks(texts, CHUNK):
        parts.append(vectors(chunk))
        if progress is not None:
            progress("reading documents", min(1.0, sum(map(len, parts)) / max(1, total)))
    return np.concatenate(parts)
